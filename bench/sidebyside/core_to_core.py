"""Core to core: linespeed run core-to-core compared with core-to-core-latency, on one pair of CPUs."""

import statistics

from . import linespeed, tools
from .intervals import Under, Within
from .rounds import interleave
from .rows import Figure, Missing, Ratio, Section, nanoseconds

TARGET = Within(0.10)

# Time limit for a pair, both methods together.
PAIR = Under(1e6, "1 ms")

# A run of either program takes a fraction of a second, and the tool's line differs from run to run: many rounds.
ROUNDS = 40

# Number of the tool's samples per run, each of 1,000 round trips, which take about as long as linespeed needs for a pair. The tool
# prints only their mean, and a mean over its default of 300 samples would include disturbances by other programs.
SAMPLES = 10


def compare(bench):
    """The pair of the first two CPUs: compare-and-swap next to the tool's result, loads and stores, and the time for the pair."""
    section = Section(
        "Core to core",
        "The results are one-way latencies in nanoseconds. linespeed's result (`linespeed run core-to-core`) is the median of "
        "samples of eight lines, each sample on a fresh page; if the CPUs are on two nodes, it is the median over both home "
        "nodes. linespeed transfers each line by compare-and-swap and, alternately on the same lines, by loads and stores. "
        f"core-to-core-latency uses compare-and-swap on one line; its result is the mean of {SAMPLES} samples of 1,000 round "
        "trips. Its load/store benchmark transfers two lines and is not comparable with linespeed's, which transfers one. The "
        "cache slice to which core-to-core-latency's line maps varies by chance from run to run, so there are at least "
        f"{ROUNDS} rounds. CPU use by other programs affects a mean, but hardly a median.",
        [],
    )
    if len(bench.cpus) < 2:
        section.rows.append(Missing("core to core", "requires two CPUs"))
        return section
    first, second = bench.cpus[:2]
    arms = {
        "linespeed": lambda: ours(bench, first, second),
        "core-to-core-latency": lambda: measure(first, second),
    }
    found = interleave("core to core", max(ROUNDS, bench.rounds), arms, section.remarks)
    section.remarks += linespeed.lost(found["linespeed"], "core-to-core")
    cas, store = (of_way(found["linespeed"], way) for way in ("cas", "store"))
    what = f"CPU {first} to {second}, one way"
    section.rows += [
        Ratio(what, "core-to-core-latency", cas, found["core-to-core-latency"], nanoseconds, TARGET),
        Figure(f"{what}, by loads and stores", store, nanoseconds),
        Figure("time for the pair, both methods", [took(record) for record in found["linespeed"]], nanoseconds, PAIR),
    ]
    return section


def of_way(records, way):
    """The pair's result in each record, for one method of transfer, ns; None if it is missing."""
    return [linespeed.value(linespeed.find(record, "core_to_core.latency", handover=way)) for record in records]


def took(record):
    """The time for the pair, ns; None if the record has no results."""
    pair = linespeed.find(record, "core_to_core.latency")
    return pair[0]["detail"]["pair_us"] * 1e3 if pair else None


def ours(bench, first, second):
    """linespeed's record for this pair. Raises tools.Failed."""
    return tools.run_json(
        bench.linespeed.command("run", "core-to-core", "--json", "--cpus", f"{first},{second}"),
        linespeed.LONGEST_SECONDS,
    )


def measure(first, second):
    """The tool's result for the pair in ns. Raises tools.Failed."""
    return of_csv(tools.run([tools.CORE_TO_CORE, "--csv", "--cores", f"{first},{second}", 1000, SAMPLES], 120))


def of_csv(text):
    """The median of the cells of the tool's CSV: a triangle, whose other cells are empty."""
    cells = [float(cell) for line in text.splitlines() for cell in line.split(",") if cell.strip()]
    if not cells:
        raise tools.Failed("core-to-core-latency printed no results")
    return statistics.median(cells)
