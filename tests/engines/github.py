"""act runs contrib/ci/github.yml: a slower head fails the job, the same one passes; actionlint finds nothing."""

import json
import os
import shutil

from ci import QUICK, SLOW, Repository, archive
from support import CONTRIB, Skipped

PACKAGES = ["git", "make", "curl"]
# What runs workflows on this machine, and what checks them.
PROGRAMS = {"act": "github.com/nektos/act@v0.2.89", "actionlint": "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12"}


def trial(engine):
    go = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
    if go is None:
        raise Skipped("no Go, which builds act")
    for name, module in PROGRAMS.items():
        if not (engine.kept / name).exists():
            try:
                engine.run(go, "install", module, env=os.environ | {"GOBIN": str(engine.kept), "GOFLAGS": "-p=2"})
            except AssertionError as why:
                raise Skipped(f"go cannot install {module}: {str(why).splitlines()[-1]}") from why
    workflow = (CONTRIB / "ci/github.yml").read_text()
    engine.run(engine.kept / "actionlint", "-shellcheck=", CONTRIB / "ci/github.yml")
    variables = [word for name, value in archive(engine).items() for word in ("--var", f"{name}={value}")]

    def run(name, rounds, code):
        repository = Repository(engine, name, {".github/workflows/speed.yml": workflow})
        head = repository.change(rounds)
        event = engine.folder / f"{name}.json"
        event.write_text(json.dumps({"pull_request": {"base": {"sha": repository.base, "ref": "main"}, "head": {"sha": head, "ref": "head"}}}))
        home = os.environ | {"HOME": str(engine.folder), "XDG_CACHE_HOME": str(engine.folder / "cache")}
        words = ["--eventpath", event, "--platform", "ubuntu-latest=-self-hosted", *variables]
        return engine.run(engine.kept / "act", "pull_request", *words, code=code, cwd=repository.folder, env=home)

    assert "Gate FAILED" in run("slower", SLOW, 1)
    assert "Gate passed" in run("same", QUICK, 0)
    return "a head that counts three times as far fails its job, the same one passes"
