"""gitlab-ci-local runs contrib/ci/gitlab-ci.yml: a slower head fails the job, the same one passes."""

import os
import shutil

from ci import QUICK, SLOW, Repository, archive, failures
from support import CONTRIB, Skipped

# An npm that came with its own node stays.
PACKAGES = ["git", "make", "curl", "rsync", *([] if shutil.which("npm") else ["npm"])]
# Of later ones some want a newer node than Debian has.
RUNNER = "gitlab-ci-local@4.55.0"


def trial(engine):
    place = engine.kept / "gitlab-ci-local"
    runner = place / "node_modules/.bin/gitlab-ci-local"
    if not runner.exists():
        try:
            engine.run("npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", place, RUNNER)
        except AssertionError as why:
            raise Skipped(f"npm cannot install {RUNNER}: {str(why).splitlines()[-1]}") from why
    variables = archive(engine)

    def run(name, rounds, code):
        repository = Repository(engine, name, {".gitlab-ci.yml": (CONTRIB / "ci/gitlab-ci.yml").read_text(), ".gitignore": ".gitlab-ci-local/\n"})
        repository.git("remote", "add", "origin", "git@gitlab.invalid:a/a.git")
        repository.change(rounds)
        given = variables | {"CI_PIPELINE_SOURCE": "merge_request_event", "CI_MERGE_REQUEST_DIFF_BASE_SHA": repository.base}
        words = [word for name, value in given.items() for word in ("--variable", f"{name}={value}")]
        home = os.environ | {"HOME": str(engine.folder)}
        engine.run(runner, *words, code=code, cwd=repository.folder, env=home)
        # Reports it keeps nowhere but in the job's folder.
        kept = repository.folder / ".gitlab-ci-local/artifacts/speed/speed.md"
        return failures(repository.folder / "speed.xml"), kept.read_text()

    failed, comment = run("slower", SLOW, 1)
    assert failed == 1 and "Gate FAILED" in comment, comment
    failed, comment = run("same", QUICK, 0)
    assert failed == 0 and "Gate passed" in comment, comment
    return "a head that counts three times as far fails its job, the same one passes"
