"""What all trials of engines and of packages need: a folder, programs that end with the trial, free ports, and packages. Standard library only."""

import contextlib
import importlib
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONTRIB = ROOT / "contrib"


class Skipped(Exception):
    """A trial that cannot be made here, and why."""


class Trial:
    """A folder and programs that go when the trial ends."""

    def __init__(self, linespeed, packages):
        # The program, or the folder of packages that are tried.
        self.linespeed = pathlib.Path(linespeed).resolve()
        # What is kept between trials.
        self.kept = pathlib.Path(packages).resolve()
        self.kept.mkdir(parents=True, exist_ok=True)
        self._stack = contextlib.ExitStack()
        self.folder = None

    def __enter__(self):
        self.folder = pathlib.Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="linespeed-engine-")))
        # Others than root look in, too.
        self.folder.chmod(0o755)
        os.environ["XDG_STATE_HOME"] = str(self.folder / "state")
        return self

    def __exit__(self, *why):
        return self._stack.__exit__(*why)

    def run(self, *command, code=0, **how):
        """What a command printed; it must end with `code`, unless that is None."""
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=900, **how)
        if code not in (None, done.returncode):
            words = " ".join(str(word) for word in command)
            raise AssertionError(f"{words}: exit code {done.returncode}, not {code}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def start(self, *command, **how):
        """Starts a program that is ended with the trial; its output is a file in the folder."""
        log = self._stack.enter_context(open(self.folder / f"{pathlib.Path(command[0]).name}.log", "a", encoding="utf-8"))
        started = subprocess.Popen([str(word) for word in command], stdout=log, stderr=log, **how)
        self._stack.callback(_end, started)
        return started

    def at_the_end(self, done):
        """What is done when the trial ends, after all that is started later has ended."""
        self._stack.callback(done)

    def virtual_environment(self, *packages):
        """The programs' folder of a virtual environment with these packages of PyPI, kept between trials."""
        place = self.kept / packages[0].partition("=")[0]
        if not (place / "complete").exists():
            self.run(sys.executable, "-m", "venv", "--clear", place)
            install = [place / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", *packages]
            done = subprocess.run(install, capture_output=True, text=True, timeout=600, check=False)
            if done.returncode != 0:
                raise Skipped(f"pip cannot install {' '.join(packages)}: {done.stderr.strip().splitlines()[-1:]}")
            (place / "complete").touch()
        return place / "bin"


def _end(started):
    started.terminate()
    try:
        started.wait(20)
    except subprocess.TimeoutExpired:
        started.kill()
        started.wait()


def free_port():
    """A port of this machine that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def until(what, found, seconds=60):
    """What `found` gives as soon as it gives something."""
    end = time.monotonic() + seconds
    while True:
        value = found()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"after {seconds} s still no {what}")
        time.sleep(0.2)


def fetch(address):
    """The text at an address, or nothing while nobody answers there."""
    try:
        with urllib.request.urlopen(address, timeout=10) as answer:
            return answer.read().decode()
    except OSError:
        return ""


def install(packages):
    """Installs Debian's packages that are missing, without services that start."""
    def is_missing(package):
        asked = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Status}", package], capture_output=True, text=True, check=False)
        return asked.stdout != "installed"

    missing = [package for package in packages if is_missing(package)]
    if not missing:
        return
    print(f"installing {' '.join(missing)}", flush=True)
    sudo = [] if os.geteuid() == 0 else ["sudo"]
    environment = [*sudo, "env", "DEBIAN_FRONTEND=noninteractive", "RUNLEVEL=1"]
    subprocess.run([*environment, "apt-get", "update", "-q"], check=True, stdout=subprocess.DEVNULL)
    install_them = ["apt-get", "install", "-q", "-y", "--no-install-recommends", *missing]
    subprocess.run([*environment, *install_them], check=True, stdout=subprocess.DEVNULL)


def trials(linespeed, packages, names):
    """Makes the trial of each module named, with Debian's packages that it wants; 1 where one failed."""
    failed = []
    for name in names:
        try:
            engine = importlib.import_module(name)
            install(engine.PACKAGES)
            with Trial(linespeed, packages) as made:
                print(f"ok {name}: {engine.trial(made)}", flush=True)
        except Skipped as why:
            print(f"skipped {name}: {why}", flush=True)
        except Exception:  # pylint: disable=broad-except
            traceback.print_exc()
            print(f"FAILED {name}", flush=True)
            failed.append(name)
    return 1 if failed else 0
