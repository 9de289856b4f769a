"""The static archives: unpacked, checked against their sums, installed by a user who has no ~/.local/bin, used and removed."""

from roots import files, fresh_root, is_version, only, version

PACKAGES = ["mmdebstrap", "qemu-user"]


def trial(made):
    name = f"linespeed-{version()}"
    archive = only(made, f"{name}-x86_64-linux.tar.gz")
    made.run("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=made.linespeed)
    with fresh_root(made) as inside:
        home = inside.place / "home/user"
        made.run("tar", "--extract", "--file", archive, "--directory", home)
        folder = f"/home/user/{name}-x86_64-linux"
        before = files(inside.place)
        said = inside("sh", f"{folder}/install.sh", user=1000)
        assert "/home/user/.local/bin is not in PATH" in said and "export PATH=" in said, said
        assert is_version(inside("/home/user/.local/bin/linespeed", "--version", user=1000))
        inside("sh", "-c", "MANPATH=$HOME/.local/share/man man --where linespeed linespeed-stat", user=1000)
        assert "linespeed" in inside("bash", "-c", ". ~/.local/share/bash-completion/completions/linespeed && complete -p linespeed", user=1000)
        # Over itself, from its own folder, with the folder in PATH.
        path = ["PATH=/home/user/.local/bin:/usr/bin:/bin"]
        again = inside("sh", "-c", f"cd {folder} && ./install.sh", user=1000, environment=path)
        assert "PATH" not in again, again
        inside("linespeed", "run", "clock", "--quick", "--quiet-output", "--output", "/home/user/record.json", user=1000, environment=path)
        assert "core.clock" in inside("linespeed", "show", "/home/user/record.json", "--csv", user=1000, environment=path)
        inside("sh", f"{folder}/install.sh", "--remove", user=1000)
        left = files(inside.place) - before
        assert left and all("record.json" in path or ".local/state" in path for path in left), left

        nobody = inside("sh", f"{folder}/install.sh", "--prefix", "/opt/tools/linespeed")
        assert "/opt/tools/linespeed/bin" in nobody and (inside.place / "opt/tools/linespeed/bin/linespeed").exists()
        (home / "file").write_text("")
        (home / "taken/bin/linespeed").mkdir(parents=True)
        inside("chown", "-R", "1000:1000", "/home/user/taken")
        refused = [
            (["sh", f"{folder}/install.sh", "--prefix", "/home/user/file"], 1000, "could not write to /home/user/file"),
            (["sh", f"{folder}/install.sh", "--prefix", "/home/user/taken"], 1000, "/home/user/taken/bin/linespeed is a folder"),
            (["sh", f"{folder}/install.sh", "--prefix", "/usr"], 1000, "could not write to /usr"),
            (["sh", f"{folder}/install.sh", "--what"], 1000, "usage:"),
            (["sh", f"{folder}/install.sh", "--prefix"], 1000, "usage:"),
            (["sh", f"{folder}/install.sh", "--remove", "--prefix", "/home/user/none"], 1000, "nothing was removed"),
            (["env", "-u", "HOME", "sh", f"{folder}/install.sh"], 1000, "HOME is not set"),
        ]
        for command, user, why in refused:
            said = inside("sh", "-c", '"$@" 2>&1; test $? != 0', "sh", *command, user=user)
            assert why in said, (command, said)
        (home / f"{name}-x86_64-linux/linespeed").write_bytes(b"\x7fELF damaged")
        said = inside("sh", "-c", f"sh {folder}/install.sh 2>&1; test $? != 0", user=1000)
        assert "does not run on this machine" in said and not (home / ".local/bin/linespeed").exists(), said

    foreign = only(made, f"{name}-aarch64-linux.tar.gz")
    made.run("tar", "--extract", "--file", foreign, "--directory", made.folder)
    program = made.folder / f"{name}-aarch64-linux" / "linespeed"
    assert is_version(made.run("qemu-aarch64", program, "--version"))
    return f"{archive.name} of {archive.stat().st_size:,} B, installed without root; {foreign.name} runs under qemu"
