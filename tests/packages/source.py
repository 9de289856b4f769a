"""`cargo install --path`, and the archive where `cargo binstall` looks for it."""

import os
import tarfile
import tomllib

from roots import is_version, only, version
from support import ROOT

PACKAGES = []


def trial(made):
    place = made.folder / "installed"
    # With the release's own flags nothing is compiled twice.
    flags = made.run("bash", "-c", '. tests/steps.sh && printf "%s\\n" "${release_config[@]}"', cwd=ROOT).splitlines()
    made.run("cargo", "install", "--quiet", "--locked", "--path", "crates/linespeed", "--root", place, *flags, cwd=ROOT,
             env=os.environ | {"CARGO_TARGET_DIR": os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))})
    assert is_version(made.run(place / "bin/linespeed", "--version"))
    made.run("cargo", "uninstall", "--root", place, "linespeed")
    assert not (place / "bin/linespeed").exists()

    said = tomllib.loads((ROOT / "crates/linespeed/Cargo.toml").read_text())["package"]["metadata"]["binstall"]
    for machine in ("x86_64", "aarch64"):
        places = {"repo": "R", "version": version(), "name": "linespeed", "target-arch": machine, "bin": "linespeed"}

        def filled(template):
            for name, value in places.items():
                template = template.replace(f"{{ {name} }}", value)
            assert "{" not in template, template
            return template

        archive = only(made, filled(said["pkg-url"]).rsplit("/", 1)[1])
        with tarfile.open(archive) as opened:
            assert opened.getmember(filled(said["bin-dir"])).mode & 0o111
    return "cargo install, cargo uninstall; binstall's names are the archives'"
