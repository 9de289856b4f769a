"""The packages are built a second time, of a copy of the tree in another place, at another hour, with another mask: the same bytes."""

import os
import subprocess

from support import ROOT

PACKAGES = []


def trial(made):
    place = made.folder / "elsewhere"
    place.mkdir()
    made.run("bash", "-c", 'tar -c --exclude-vcs --exclude=./target . | tar -x -C "$0"', place, cwd=ROOT)
    target = made.folder / "target"
    target.mkdir()
    (target / "packaging").symlink_to(made.kept)
    when = made.run("git", "log", "-1", "--format=%ct", cwd=ROOT).strip()
    commit = made.run("git", "rev-parse", "--short=10", "HEAD", cwd=ROOT).strip()
    if made.run("git", "status", "--porcelain", "--untracked-files=no", cwd=ROOT).strip():
        commit += "+"
    environment = os.environ | {"CARGO_TARGET_DIR": str(target), "SOURCE_DATE_EPOCH": when, "LINESPEED_COMMIT": commit, "TZ": "Asia/Tokyo", "LANG": "C.UTF-8"}
    environment.pop("LINESPEED_PACKAGES", None)
    subprocess.run(["bash", "-c", "umask 077 && exec packaging/build"], cwd=place, env=environment, check=True, timeout=3000)
    first, second = ((folder / "SHA256SUMS").read_text() for folder in (made.linespeed, target / "packages"))
    assert first == second, f"{first}\n{second}"
    return f"{len(first.splitlines())} packages, the same bytes"
