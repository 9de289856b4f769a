"""The bill of materials names every crate of the program, each with its licence, and no folder of the machine that it was made on."""

import json

from roots import only, version
from support import ROOT

PACKAGES = []


def trial(made):
    text = only(made, f"linespeed-{version()}.cdx.json").read_text()
    bill = json.loads(text)
    assert bill["bomFormat"] == "CycloneDX" and bill["metadata"]["component"]["name"] == "linespeed", bill["metadata"]
    assert str(ROOT) not in text and "/tmp/" not in text
    tree = made.run("cargo", "tree", "--package", "linespeed", "--edges", "normal", "--prefix", "none", "--format", "{p}", cwd=ROOT)
    crates = {tuple(line.split()[:2]) for line in tree.splitlines() if line} - {("linespeed", f"v{version()}")}
    named = {(each["name"], f"v{each['version']}") for each in bill["components"]}
    assert crates <= named, crates - named
    without = [each["name"] for each in bill["components"] if not each.get("licenses")]
    assert not without, without
    return f"{len(named)} crates with their licences"
