"""Core to core: linespeed run core-to-core against core-to-core-latency, on one pair of CPUs."""

import statistics

from . import linespeed, tools
from .intervals import Under, Within
from .rounds import interleave
from .rows import Figure, Missing, Ratio, Section, nanoseconds

TARGET = Within(0.10)

# What a pair may take, in both ways together.
PAIR = Under(1e6, "1 ms")

# A run of either takes a fraction of a second, and one line of the tool's is not another's: many rounds.
ROUNDS = 40

# Of the tool's samples in a run, each 1,000 round trips: about as long as linespeed takes for a pair. It tells their mean
# only, and a mean over its usual 300 is of everything else that ran meanwhile.
SAMPLES = 10


def compare(bench):
    """The pair of the first two CPUs: by compare-and-swap beside the tool's, by loads and stores alone, and what it took."""
    section = Section(
        "Core to core",
        "Nanoseconds one way. linespeed: `linespeed run core-to-core`, median of samples of eight lines each on a fresh page; "
        "the median over both homes where the CPUs are on two nodes. It hands a line over by compare-and-swap and, in turns "
        "on the same lines, by loads and stores. core-to-core-latency: compare-and-swap on one line, mean of "
        f"{SAMPLES} samples of 1,000 round trips. Its benchmark of loads and stores passes two lines and is not beside ours, "
        "which passes one. In which slice of the cache that one line lies is chance from run to "
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
    section.remarks += linespeed.lost(found["linespeed"], "core-to-core")
    cas, store = (of_way(found["linespeed"], way) for way in ("cas", "store"))
    what = f"CPU {first} to {second}, one way"
    section.rows += [
        Ratio(what, "core-to-core-latency", cas, found["core-to-core-latency"], nanoseconds, TARGET),
        Figure(f"{what}, by loads and stores", store, nanoseconds),
        Figure("what the pair took, both ways", [took(record) for record in found["linespeed"]], nanoseconds, PAIR),
    ]
    return section


def of_way(records, way):
    """The pair's figure of each record in one way of handing over, ns; None where it has none."""
    return [linespeed.value(linespeed.find(record, "core_to_core.latency", handover=way)) for record in records]


def took(record):
    """How long the pair took, ns; None where it has no figures."""
    pair = linespeed.find(record, "core_to_core.latency")
    return pair[0]["detail"]["pair_us"] * 1e3 if pair else None


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
