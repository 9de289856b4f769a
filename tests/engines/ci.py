"""What the trials of CI share: a repository whose head is slower than its base, or as fast, and linespeed's archive."""

import hashlib
import os
import xml.etree.ElementTree

# A program that counts: `make` builds it, ./benchmark runs it.
MAKEFILE = "benchmark:\n\t(echo '#!/bin/sh'; echo 'i=0; while [ $$i -lt '$$(cat rounds)' ]; do i=$$((i + 1)); done') > $@\n\tchmod +x $@\n"
QUICK, SLOW = 20_000, 60_000


class Repository:
    """A commit of the base, and above it one of the head."""

    def __init__(self, engine, name, files):
        self.folder = engine.folder / name
        self.folder.mkdir()
        self.engine = engine
        self.git("init", "--quiet", "--initial-branch", "main")
        for file, content in {"Makefile": MAKEFILE, "rounds": f"{QUICK}\n", **files}.items():
            path = self.folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        self.base = self.commit("base")

    def git(self, *words):
        """What git printed."""
        who = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b.invalid", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b.invalid"}
        return self.engine.run("git", *words, cwd=self.folder, env=os.environ | who).strip()

    def commit(self, name):
        """A commit of all that lies there; its hash."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", name)
        return self.git("rev-parse", "HEAD")

    def change(self, rounds):
        """The head, which counts so far."""
        (self.folder / "rounds").write_text(f"{rounds}\n")
        return self.commit("head")


def archive(engine):
    """The variables that name linespeed's archive: a folder with the program, as packaging/build makes it."""
    name = "linespeed-x86_64-linux"
    folder = engine.folder / name
    folder.mkdir(exist_ok=True)
    (folder / "linespeed").write_bytes(engine.linespeed.read_bytes())
    (folder / "linespeed").chmod(0o755)
    file = engine.folder / f"{name}.tar.gz"
    engine.run("tar", "--create", "--gzip", "--file", file, "--directory", engine.folder, name)
    return {"LINESPEED_ARCHIVE": f"file://{file}", "LINESPEED_SHA256": hashlib.sha256(file.read_bytes()).hexdigest()}


def failures(junit):
    """How many tests of a report failed, of those it has."""
    tests = list(xml.etree.ElementTree.parse(junit).iter("testcase"))
    assert tests, junit
    return sum(test.find("failure") is not None for test in tests)
