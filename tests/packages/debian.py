"""The Debian packages: lintian has no error; installed in a fresh root, used, and gone without a trace."""

from roots import files, fresh_root, is_version, only, version

PACKAGES = ["mmdebstrap", "lintian"]


def trial(made):
    package = only(made, f"linespeed_{version()}-1_amd64.deb")
    foreign = only(made, f"linespeed_{version()}-1_arm64.deb")
    for each in (package, foreign):
        made.run("lintian", "--allow-root", "--fail-on", "error", each)
    assert made.run("dpkg-deb", "--field", foreign, "Architecture") == "arm64\n"
    with fresh_root(made) as inside:
        before = files(inside.place)
        (inside.place / "linespeed.deb").write_bytes(package.read_bytes())
        inside("dpkg", "--install", "/linespeed.deb")
        (inside.place / "linespeed.deb").unlink()
        assert is_version(inside("linespeed", "--version"))
        inside("linespeed", "inspect", user=1000)
        for page in ("linespeed", "linespeed-stat"):
            assert inside("man", "--where", page).strip() == f"/usr/share/man/man1/{page}.1.gz"
        assert "linespeed" in inside("bash", "-c", ". /usr/share/bash-completion/completions/linespeed && complete -p linespeed")
        there = files(inside.place) - before
        for place in ("zsh/vendor-completions/_linespeed", "fish/vendor_completions.d/linespeed.fish", "doc/linespeed/copyright",
                      "doc/linespeed/changelog.Debian.gz", "doc/linespeed/recipes/sysbench-cpu.toml"):
            assert f"usr/share/{place}" in there, place
        inside("linespeed", "scale", "--recipe", "/usr/share/doc/linespeed/recipes/bc-pi.toml", "--help")
        inside("dpkg", "--purge", "linespeed")
        left = files(inside.place) - before
        assert not left, left
    return f"{package.name} of {package.stat().st_size:,} B, no error of lintian; installed, used, purged"
