"""Core to core: linespeed run core-to-core against core-to-core-latency, on one pair of CPUs."""

import statistics

from . import linespeed, tools
from .intervals import Within
from .rounds import interleave
from .rows import Missing, Ratio, Section, nanoseconds

TARGET = Within(0.10)

# A run of either takes a fraction of a second, and one line of the tool's is not another's: many rounds.
ROUNDS = 40

# Of the tool's samples in a run, each 1,000 round trips: about as long as linespeed takes for a pair. It tells their mean
# only, and a mean over its usual 300 is of everything else that ran meanwhile.
SAMPLES = 10


def compare(bench):
    """One row: the pair of the first two CPUs."""
    section = Section(
        "Core to core",
        "Nanoseconds one way. linespeed: `linespeed run core-to-core`, each side waits with loads and stores on its turn, "
        "median of samples of eight lines each on a fresh page, in 1 ms; the median over both homes where the CPUs are on "
        "two nodes. core-to-core-latency: compare-and-swap on one line, mean of "
        f"{SAMPLES} samples of 1,000 round trips. In which slice of the cache that one line lies is chance from run to "
        f"run, so there are at least {ROUNDS} rounds. A mean follows what other programs took; a median does not.",
        [],
    )
    if len(bench.cpus) < 2:
        section.rows.append(Missing("core to core", "it needs two CPUs"))
        return section
    first, second = bench.cpus[:2]
    arms = {
        "linespeed": lambda: ours(bench, first, second),
        "core-to-core-latency": lambda: measure(first, second),
    }
    found = interleave("core to core", max(ROUNDS, bench.rounds), arms, section.remarks)
    values = [linespeed.value(linespeed.find(record, "core_to_core.latency")) for record in found["linespeed"]]
    section.remarks += linespeed.lost(found["linespeed"], "core-to-core")
    what = f"CPU {first} to {second}, one way"
    section.rows.append(
        Ratio(what, "core-to-core-latency", values, found["core-to-core-latency"], nanoseconds, TARGET)
    )
    return section


def ours(bench, first, second):
    """The record of that pair. Raises tools.Failed."""
    return tools.run_json(
        bench.linespeed.command("run", "core-to-core", "--json", "--cpus", f"{first},{second}"),
        linespeed.LONGEST_SECONDS,
    )


def measure(first, second):
    """The tool's figure for the pair in ns. Raises tools.Failed."""
    return of_csv(tools.run([tools.CORE_TO_CORE, "--csv", "--cores", f"{first},{second}", 1000, SAMPLES], 120))


def of_csv(text):
    """The median of the cells of the tool's CSV: a triangle, empty where there is no figure."""
    cells = [float(cell) for line in text.splitlines() for cell in line.split(",") if cell.strip()]
    if not cells:
        raise tools.Failed("core-to-core-latency printed no figures")
    return statistics.median(cells)
