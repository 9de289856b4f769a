"""The image: what its layout says is read by other tools, its root is run, and the Containerfile makes the same."""

import json
import os

from roots import is_version, only, version
from support import Skipped

PACKAGES = ["skopeo", "umoci", "buildah"]


def trial(made):
    if os.geteuid() != 0:
        raise Skipped("only root runs a program in another root")
    told = []
    for machine, architecture in (("x86_64", "amd64"), ("aarch64", "arm64")):
        layout = made.folder / machine
        layout.mkdir()
        made.run("tar", "--extract", "--file", only(made, f"linespeed-{version()}-{machine}-oci.tar.gz"), "--directory", layout)
        seen = json.loads(made.run("skopeo", "inspect", f"oci:{layout}:{version()}"))
        assert (seen["Architecture"], seen["Os"], len(seen["Layers"])) == (architecture, "linux", 1), seen
        told.append(json.loads(made.run("skopeo", "inspect", "--config", f"oci:{layout}:{version()}"))["config"])
    made.run("umoci", "unpack", "--image", f"{made.folder / 'x86_64'}:{version()}", made.folder / "bundle")
    root = made.folder / "bundle/rootfs"
    entry = told[0]["Entrypoint"]
    assert entry == ["/usr/bin/linespeed"] and told[0] == told[1], told
    variables = dict(word.split("=") for word in told[0]["Env"])
    in_it = ["env", "-i", *told[0]["Env"], "/usr/sbin/chroot", root, *entry]
    assert is_version(made.run(*in_it, "--version"))
    # Nothing is there, neither /proc nor /tmp: it measures what it can and says what it lacks.
    made.run(*in_it, "run", "clock", "--quick", "--quiet-output", "--output", "/record.json", code=None)
    kept = root / variables["XDG_STATE_HOME"].lstrip("/")
    here = sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file() and kept not in path.parents)
    assert [path for path in here if path != "record.json"] == \
        ["usr/bin/linespeed", *(f"usr/share/doc/linespeed/LICENSE{which}" for which in ("", "-APACHE", "-MIT"))], here
    return f"skopeo and umoci read both, its root is run; {built(made, told[0])}"


def built(made, config):
    """The Containerfile makes an image of the same configuration."""
    made.run("tar", "--extract", "--file", only(made, f"linespeed-{version()}-x86_64-linux.tar.gz"), "--directory", made.folder)
    context = made.folder / f"linespeed-{version()}-x86_64-linux"
    buildah = ["buildah", "--storage-driver", "vfs", "--root", made.folder / "storage", "--runroot", made.folder / "run"]
    environment = os.environ | {"BUILDAH_ISOLATION": "chroot"}
    try:
        made.run(*buildah, "bud", "--file", context / "Containerfile", "--tag", "linespeed", context, env=environment)
    except AssertionError as error:
        if "operation not permitted" in str(error):
            return "buildah may not work here"
        raise
    made.run(*buildah, "push", "linespeed", f"oci:{made.folder / 'built'}:linespeed", env=environment)
    seen = json.loads(made.run("skopeo", "inspect", "--config", f"oci:{made.folder / 'built'}:linespeed"))["config"]
    labels = {name: seen["Labels"][name] for name in config["Labels"] if not name.endswith(".version")}
    assert seen["Entrypoint"] == config["Entrypoint"] and set(seen["Env"]) == set(config["Env"]), (seen, config)
    assert labels == {name: value for name, value in config["Labels"].items() if not name.endswith(".version")}, (seen, config)
    return "buildah makes the same of the Containerfile"
