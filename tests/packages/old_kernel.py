"""The static program starts and measures where the kernel knows no system call younger than 3.10, and where it calls itself 3.10."""

import json
import tarfile

from roots import is_version, only, version

PACKAGES = ["strace", "qemu-user"]

#: x86-64's numbers of what came after 3.10: sched_setattr to rseq, and pidfd_send_signal on.
YOUNGER = [*range(314, 335), *range(424, 451)]


def trial(made):
    name = f"linespeed-{version()}-x86_64-linux"
    with tarfile.open(only(made, f"{name}.tar.gz")) as archive:
        archive.extract(f"{name}/linespeed", made.folder)
    program = made.folder / name / "linespeed"
    refused = set()
    record = made.folder / "record.json"
    for arguments in (["--version"], ["inspect", "--json"], ["run", "costs", "clock", "--quick", "--quiet-output", "--output", record],
                      ["stat", "--quiet-output", "--", "true"]):
        calls = made.folder / "calls"
        made.run("strace", "-f", "-qq", "-o", calls, "-e", f"inject={','.join(map(str, YOUNGER))}:error=ENOSYS", program, *arguments)
        refused |= {line.split("(")[0].split()[-1] for line in calls.read_text().splitlines() if "(INJECTED)" in line and " resumed" not in line}
    assert {"getrandom", "statx", "clone3", "rseq"} <= refused, refused
    assert {each["metric"] for each in json.loads(record.read_text())["measurements"]} >= {"core.clock", "cost.syscall"}
    assert is_version(made.run("qemu-x86_64", "-r", "3.10.0", program, "--version"))
    made.run("qemu-x86_64", "-r", "3.10.0", program, "inspect")
    return f"starts and measures without {', '.join(sorted(refused))}"
