"""Start-up and memory: linespeed's start-up time, compared with limits and with lscpu and lstopo, and its memory use."""

import json
import os
import signal
import subprocess
import tempfile
import time

from . import tools
from .intervals import Under
from .rounds import interleave
from .rows import Figure, Missing, Ratio, Section, nanoseconds, size

RUNS = 10
MADE_UP = ("1024", "8", "4", "2")  # CPUs, nodes, packages, threads per core
CHECKED = ("512", "8", "2", "2")


def compare(bench):
    """Rows of times by hyperfine and of maximum resident memory by GNU time."""
    section = Section(
        "Start-up and memory",
        f"Wall time is from `hyperfine -N`: the median of {RUNS} runs per round, after two warm-up runs. Memory is the maximum "
        "resident size from `/usr/bin/time`; `clock`, `wakeup` and `stolen` measure without arrays, so all memory is linespeed's "
        "own.",
        [],
    )
    ours = bench.linespeed
    commands = {
        "linespeed --version": ours.command("--version"),
        "linespeed inspect": ours.command("inspect"),
        "lscpu": ["lscpu"],
        "lstopo": ["lstopo-no-graphics"],
    }
    tree = f"linespeed inspect --root, {MADE_UP[0]} CPUs"
    check, checked = "linespeed check", f"linespeed check --root, {CHECKED[0]} CPUs"
    try:
        commands[tree] = ours.command("inspect", "--root", made_up_tree(MADE_UP))
        commands[check] = ours.command("check", "--baseline", baseline(ours))
        large = made_up_tree(CHECKED)
        commands[checked] = ours.command("check", "--root", large, "--baseline", baseline(ours, "--root", large))
    except tools.Failed as failure:
        section.rows.append(Missing(tree, str(failure)))
    arms = {name: lambda command=command: hyperfine(command) for name, command in commands.items()}
    times = interleave("start-up", bench.rounds, arms, section.remarks)
    limits = {
        "linespeed --version": (5e6, "5 ms"),
        "linespeed inspect": (50e6, "50 ms"),
        tree: (300e6, "300 ms"),
        check: (100e6, "100 ms"),
        checked: (500e6, "500 ms"),
    }
    for name, limit in limits.items():
        if any(times.get(name, [])):
            section.rows.append(Figure(name, times[name], nanoseconds, Under(*limit)))
    for tool in ("lscpu", "lstopo"):
        section.rows.append(Ratio("linespeed inspect", tool, times["linespeed inspect"], times[tool], nanoseconds))
    screens = [first_screen(ours.command("live", "-i", "1s")) for _ in range(bench.rounds)]
    section.rows.append(Figure("linespeed live, first screen", screens, nanoseconds, Under(1.2e9, "1.2 s")))
    memory = {
        "inspect": ["inspect"],
        "list": ["list"],
        "run clock wakeup stolen --quick": ["run", "clock", "wakeup", "stolen", "--quick", "--json"],
    }
    for name, arguments in memory.items():
        what = f"memory of linespeed {name}"
        try:
            section.rows.append(
                Figure(what, [resident(ours.command(*arguments))], size, Under(32 << 20, "32 MiB"))
            )
        except tools.Failed as failure:
            section.rows.append(Missing(what, str(failure)))
    return section


def baseline(ours, *root):
    """The baseline record for a check, which contains only an inventory. Raises tools.Failed."""
    record = tools.WORK / f"baseline-{len(root)}.json"
    tools.run(ours.command("inspect", *root, "--output", record))
    return record


def made_up_tree(shape):
    """The directory with the synthetic tree of a large machine. Raises tools.Failed."""
    folder = tools.WORK / f"made-up-{shape[0]}"
    if not (folder / "sys").exists():
        folder.mkdir(parents=True, exist_ok=True)
        maker = tools.build(tools.REPOSITORY, ["--package", "linespeed-machine", "--example", "made_up_tree"])
        tools.run([maker, folder, *shape])
    return folder


def first_screen(command):
    """The wall time in ns from the start of `live` to its first screen, including the interval of one second; `live` is then stopped.
    None if it prints nothing."""
    began = time.monotonic_ns()
    watch = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    said = watch.stdout.read(1)
    took = time.monotonic_ns() - began
    watch.send_signal(signal.SIGINT)
    watch.communicate()
    return took if said else None


def hyperfine(command):
    """The median wall time of a command in ns. Raises tools.Failed."""
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        # hyperfine splits a command into words like a shell.
        line = " ".join("'" + part.replace("'", "'\\''") + "'" for part in command)
        tools.run(["hyperfine", "-N", "--warmup", "2", "--runs", RUNS, "--style", "none", "--export-json", report, line])
        try:
            with open(report, encoding="utf-8") as file:
                return json.load(file)["results"][0]["median"] * 1e9
        except (OSError, ValueError, KeyError, IndexError) as error:
            raise tools.Failed(f"hyperfine's report: {error}") from None


def resident(command):
    """The maximum resident size of a command in bytes. Raises tools.Failed. GNU time starts the command, not this
    program, because a process inherits the maximum of the process from which it was forked."""
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report")
        tools.run(["/usr/bin/time", "-o", report, "-f", "%M", *command])
        try:
            with open(report, encoding="utf-8") as file:
                return int(file.read().split()[-1]) << 10
        except (OSError, ValueError, IndexError) as error:
            raise tools.Failed(f"/usr/bin/time's report: {error}") from None
