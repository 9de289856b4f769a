"""Runs the program installed with this package."""

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
    """The program wrote no record: its message and exit code (2 wrong usage, 3 failed, 128+n terminated by signal n)."""

    def __init__(self, line: str, code: int) -> None:
        super().__init__(line)
        self.line = line
        self.code = code

    def __reduce__(self) -> Tuple[Any, ...]:
        return Failed, (self.line, self.code)


def program() -> str:
    """The program's path: $LINESPEED if set, else the one installed with this package, else the one on the PATH."""
    named = os.environ.get("LINESPEED")
    if named:
        return named
    for folder in _folders():
        path = os.path.join(folder, "linespeed")
        if os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    found = shutil.which("linespeed")
    if found is None:
        raise FileNotFoundError("the program linespeed is neither next to this package nor in the PATH: set $LINESPEED to its path")
    return found


def _folders() -> Iterator[str]:
    """Where pip installs programs: in this environment, for the user, with --target and --prefix."""
    yield sysconfig.get_path("scripts")
    yield sysconfig.get_path("scripts", "posix_user")
    above = pathlib.Path(__file__).resolve().parents
    yield str(above[1] / "bin")
    if len(above) > 4:
        yield str(above[4] / "bin")


def measure(*arguments: str) -> Record:
    """The record of `linespeed ARGUMENTS`, without a report: measure("run", "clock", "--quick"), measure("stat", "--", "make").

    The program's warnings go to standard error. Raises Failed if there is no record. A record is also returned if the exit code is
    not 0 because of a finding, the command's own exit code or a signal."""
    with tempfile.TemporaryDirectory(prefix="linespeed-") as folder:
        file = os.path.join(folder, "record.json")
        command = [program(), "--quiet-output", "--output", file, *map(os.fspath, arguments)]
        done = subprocess.run(command, stderr=subprocess.PIPE, check=False)
        said = done.stderr.decode("utf-8", "replace")
        if os.path.exists(file):
            sys.stderr.write(said)
            return read(file)
    code = done.returncode if done.returncode >= 0 else 128 - done.returncode
    raise Failed(line_of(said) or f"linespeed exited with {code} and wrote no record", code)


def line_of(said: str) -> str:
    """The line of the program's output with the reason for its failure."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    own = [line for line in lines if line.startswith("linespeed: ")]
    return (own or lines or [""])[-1]
