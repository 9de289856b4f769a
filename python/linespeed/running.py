"""Runs the program that lies beside this package."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from typing import Any, Iterator, Tuple

from linespeed.reading import read
from linespeed.records import Record


class Failed(RuntimeError):
    """The program made no record: its line, and its exit code (2 wrong usage, 3 could not do it, 128+n ended by signal n)."""

    def __init__(self, line: str, code: int) -> None:
        super().__init__(line)
        self.line = line
        self.code = code

    def __reduce__(self) -> Tuple[Any, ...]:
        return Failed, (self.line, self.code)


def program() -> str:
    """The program's path: $LINESPEED where that is set, else the one that was installed with this package, else the PATH's."""
    named = os.environ.get("LINESPEED")
    if named:
        return named
    for folder in _folders():
        path = os.path.join(folder, "linespeed")
        if os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    found = shutil.which("linespeed")
    if found is None:
        raise FileNotFoundError("the program linespeed lies neither beside this package nor in PATH: name it in $LINESPEED")
    return found


def _folders() -> Iterator[str]:
    """Where pip puts programs: of this environment, of the user, of --target and --prefix."""
    yield sysconfig.get_path("scripts")
    yield sysconfig.get_path("scripts", "posix_user")
    above = pathlib.Path(__file__).resolve().parents
    yield str(above[1] / "bin")
    if len(above) > 4:
        yield str(above[4] / "bin")


def measure(*arguments: str) -> Record:
    """The record that `linespeed ARGUMENTS` makes, without a report: measure("run", "clock", "--quick"), measure("stat", "--", "make").

    What the program warns of goes to standard error. Raises Failed where there is no record; one that a finding, a command's own
    exit code or a signal ended otherwise than with 0 is returned."""
    with tempfile.TemporaryDirectory(prefix="linespeed-") as folder:
        file = os.path.join(folder, "record.json")
        command = [program(), "--quiet-output", "--output", file, *map(os.fspath, arguments)]
        done = subprocess.run(command, stderr=subprocess.PIPE, check=False)
        said = done.stderr.decode("utf-8", "replace")
        if os.path.exists(file):
            sys.stderr.write(said)
            return read(file)
    code = done.returncode if done.returncode >= 0 else 128 - done.returncode
    raise Failed(line_of(said) or f"linespeed ended with {code} and made no record", code)


def line_of(said: str) -> str:
    """The line of what the program said that tells why it failed."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    own = [line for line in lines if line.startswith("linespeed: ")]
    return (own or lines or [""])[-1]
