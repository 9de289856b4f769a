"""The wheels: installed by pip in a virtual environment, used as a program and as a package, removed; and that for aarch64 read."""

import os
import zipfile

from roots import files, is_version, only, version
from support import ROOT

PACKAGES = ["python3-venv", "qemu-user"]


def trial(made):
    wheel = only(made, f"linespeed-{version()}-py3-none-manylinux*x86_64*.whl")
    foreign = only(made, f"linespeed-{version()}-py3-none-manylinux*aarch64*.whl")
    place = made.folder / "environment"
    made.run("python3", "-m", "venv", place)
    before = files(place)
    pip = [place / "bin/pip", "--disable-pip-version-check"]
    made.run(*pip, "install", "--no-index", "--find-links", made.linespeed, "linespeed")
    assert is_version(made.run(place / "bin/linespeed", "--version"))

    # Neither $LINESPEED nor PATH helps it to its program.
    alone = {name: value for name, value in os.environ.items() if name not in ("LINESPEED", "PYTHONPATH")}
    alone |= {"PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
    python = place / "bin/python"
    assert made.run(python, "-c", "import linespeed; print(linespeed.program())", env=alone).strip() == str(place / "bin/linespeed")
    made.run(python, "-W", "error", "-m", "unittest", "discover", "-s", ROOT / "python/tests", env=alone)
    made.run(python, ROOT / "docs/python.py", env=alone)

    # With pandas, and as a type checker sees it.
    programs = made.virtual_environment("pandas", "pandas-stubs", "mypy")
    made.run(programs / "pip", "--disable-pip-version-check", "install", "--force-reinstall", "--no-index", "--find-links", made.linespeed, "linespeed")
    made.run(programs / "python", "-m", "unittest", "discover", "-s", ROOT / "python/tests", env=alone)
    assert "core.clock" in made.run(programs / "python", ROOT / "docs/python.py", env=alone)
    typed = made.folder / "typed.py"
    typed.write_text("import linespeed\nhz: int = linespeed.read('x').measurements[0].summary.median\n")
    said = made.run(programs / "mypy", "--strict", "--cache-dir", made.folder / "mypy", typed, code=1)
    assert 'expression has type "float", variable has type "int"' in said and said.count("error:") == 1, said
    made.run(programs / "mypy", "--strict", "--cache-dir", made.folder / "mypy", "--package", "linespeed", cwd=made.folder)

    made.run(*pip, "uninstall", "--yes", "linespeed")
    left = {path for path in files(place) - before if "__pycache__" not in path}
    assert not left, left

    got = made.folder / "foreign"
    made.run(*pip, "download", "--no-index", "--find-links", made.linespeed, "--only-binary=:all:", "--platform", "manylinux2014_aarch64",
             "--dest", got, "linespeed")
    with zipfile.ZipFile(next(got.iterdir())) as archive:
        program = archive.extract(f"linespeed-{version()}.data/scripts/linespeed", got)
    os.chmod(program, 0o755)
    assert is_version(made.run("qemu-aarch64", program, "--version"))
    return f"{wheel.name} of {wheel.stat().st_size:,} B, used as a program and as a package; {foreign.name} runs under qemu"
