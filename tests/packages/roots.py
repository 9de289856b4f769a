"""Packages by their names, and fresh roots of Debian's in which they are tried."""

import contextlib
import os
import re
import shutil

from support import ROOT, Skipped

#: The largest that each may be, bytes.
MOST = {".deb": 5_000_000, ".whl": 8_000_000}


def only(trial, pattern):
    """The one package whose name fits, no larger than it may be."""
    found = sorted(trial.linespeed.glob(pattern))
    assert len(found) == 1, (pattern, found)
    size = found[0].stat().st_size
    assert size <= MOST.get(found[0].suffix, size), (found[0], size)
    return found[0]


def version():
    """The version that the packages have."""
    return next(line.split('"')[1] for line in (ROOT / "Cargo.toml").read_text().splitlines() if line.startswith("version"))


def is_version(text):
    """Whether a program printed the version of the packages, with its commit where the sources had a history."""
    return re.fullmatch(rf"linespeed {re.escape(version())}( \([0-9a-f]{{10}}\+?\))?\n", text) is not None


@contextlib.contextmanager
def fresh_root(trial, *included):
    """A root made by mmdebstrap, with /proc and /sys of this machine: a function that runs a command in it."""
    if os.geteuid() != 0:
        raise Skipped("only root makes a root and runs programs in it")
    kept = trial.kept / f"root-{'-'.join(included) or 'minimal'}.tar"
    if not kept.exists():
        suite = trial.run("sh", "-c", ". /etc/os-release && echo $VERSION_CODENAME").strip()
        half = kept.with_suffix(".half.tar")
        trial.run("mmdebstrap", "--variant=minbase", f"--include={','.join(('man-db', *included))}", suite, half)
        half.rename(kept)
    place = trial.folder / "root"
    place.mkdir()
    trial.run("tar", "--extract", "--file", kept, "--directory", place, "--exclude=./dev/*")
    trial.run("sh", "-c", f"cp -a /dev/null {place}/dev/ && mkdir -p {place}/home/user && chown 1000:1000 {place}/home/user")

    def inside(*command, user=0, code=0, environment=(), **how):
        words = ["unshare", "--mount", "sh", "-c", 'mount --rbind /proc "$0/proc" && mount --rbind /sys "$0/sys" && exec "$@"', place,
                 "chroot", f"--userspec={user}:{user}", place,
                 "env", "-i", f"HOME={'/root' if user == 0 else '/home/user'}", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", *environment]
        return trial.run(*words, *command, code=code, **how)

    inside.place = place
    yield inside
    shutil.rmtree(place)


def files(place):
    """Every file below a folder, but for what package managers and manual pages' index keep of their own."""
    own = ("var/lib/dpkg", "var/cache", "var/log", "var/lib/apt", "proc", "sys", "dev", "tmp")
    found = set()
    for folder, folders, names in os.walk(place):
        inner = os.path.relpath(folder, place)
        folders[:] = [name for name in folders if os.path.normpath(os.path.join(inner, name)) not in own]
        found.update(os.path.normpath(os.path.join(inner, name)) for name in names)
    return found
