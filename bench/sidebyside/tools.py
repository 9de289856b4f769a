"""Installs and runs the tools. Every command has a time limit, and a failure raises an exception."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
WORK = REPOSITORY / "bench" / "work"
CORE_TO_CORE = WORK / "cargo" / "bin" / "core-to-core-latency"

# Debian packages, each with a command that exists if the package is installed.
PACKAGES = {
    "util-linux": "lscpu",
    "hwloc-nox": "lstopo-no-graphics",
    "rt-tests": "cyclictest",
    "sysbench": "sysbench",
    "mbw": "mbw",
    "likwid": "likwid-bench",
    "hyperfine": "hyperfine",
    "time": "time",
}

CORE_TO_CORE_VERSION = "1.2.0"


class Failed(Exception):
    """A command could not be run, failed, or printed unreadable output."""


def say(text):
    """Prints progress on standard error, because the table is on standard output."""
    print(text, file=sys.stderr, flush=True)


def run(command, seconds=120, cwd="/", environment=None):
    """Runs a command and returns its standard output. Raises Failed."""
    command = [str(part) for part in command]
    # The parsers expect English output, with decimal points.
    variables = dict(os.environ, LC_ALL="C", NO_COLOR="1", XDG_STATE_HOME=str(WORK / "state"), **(environment or {}))
    try:
        done = subprocess.run(
            command, cwd=cwd, env=variables, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            errors="replace", timeout=seconds,
        )
    except FileNotFoundError:
        raise Failed(f"{command[0]} is not installed") from None
    except subprocess.TimeoutExpired:
        raise Failed(f"{command[0]} was still running after {seconds} s") from None
    except OSError as error:
        raise Failed(f"{command[0]} cannot be run: {error.strerror}") from None
    if done.returncode != 0:
        name = " ".join([Path(command[0]).name, *command[1:3]])
        if done.returncode < 0:
            raise Failed(f"{name} was terminated by {signal.Signals(-done.returncode).name}")
        lines = (done.stderr.strip() or done.stdout.strip() or "it printed nothing").splitlines()
        raise Failed(f"{name} exited with {done.returncode}: {lines[-1][:200]}")
    return done.stdout


def run_json(command, seconds=120, cwd="/"):
    """Runs a command and reads its standard output as JSON. Raises Failed."""
    text = run(command, seconds, cwd)
    try:
        return json.loads(text)
    except ValueError as error:
        raise Failed(f"{command[0]} printed no JSON: {error}") from None


def install():
    """Installs missing tools: Debian packages with apt, and core-to-core-latency with cargo into bench/work."""
    missing = [package for package, command in PACKAGES.items() if shutil.which(command) is None]
    if missing:
        if shutil.which("apt-get") is None or os.geteuid() != 0:
            say(f"bench: missing, and cannot be installed here (no apt-get, or not root): {', '.join(missing)}")
        else:
            say(f"bench: installing {', '.join(missing)}")
            quiet = {"DEBIAN_FRONTEND": "noninteractive"}
            try:
                run(["apt-get", "update", "-qq"], 300, environment=quiet)
                run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing], 600, environment=quiet)
            except Failed as failure:
                say(f"bench: {failure}")
    if not CORE_TO_CORE.exists():
        say("bench: installing core-to-core-latency")
        try:
            # In the root directory, so that the project's cargo settings do not apply.
            run(
                ["cargo", "install", "--quiet", "--locked", "--version", CORE_TO_CORE_VERSION, "--root", WORK / "cargo",
                 "core-to-core-latency"], 900, environment={"CARGO_TARGET_DIR": str(WORK / "target-installed")},
            )
        except Failed as failure:
            say(f"bench: {failure}")


def versions():
    """The version of every tool, by name."""
    found = {}
    for package in PACKAGES:
        try:
            found[package] = run(["dpkg-query", "-W", "-f", "${Version}", package]).strip()
        except Failed:
            found[package] = "not installed"
    found["core-to-core-latency"] = CORE_TO_CORE_VERSION if CORE_TO_CORE.exists() else "not installed"
    return found


def build(folder, arguments, target_folder=None):
    """Builds with cargo in `folder` and returns the path of the executable that cargo reports."""
    environment = {} if target_folder is None else {"CARGO_TARGET_DIR": str(target_folder)}
    text = run(
        ["cargo", "build", "--release", "--message-format=json-render-diagnostics", *arguments], 1800, cwd=folder,
        environment=environment,
    )
    for line in reversed(text.splitlines()):
        try:
            message = json.loads(line)
        except ValueError:
            continue
        if message.get("reason") == "compiler-artifact" and message.get("executable"):
            return Path(message["executable"])
    raise Failed(f"cargo build in {folder} created no executable")


def build_chase():
    """Builds the independent pointer chase in bench/work; returns its path."""
    return build(REPOSITORY / "bench" / "chase", ["--locked"], WORK / "target")
