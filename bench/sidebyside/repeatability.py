"""Consistency of linespeed's own results: whole cycles in L1, two chains that agree, repeatable runs."""

from . import linespeed
from .intervals import Under
from .rounds import interleave
from .rows import Figure, Missing, Section, share

# A working set counts as inside a cache up to half of the cache's size; sizes near the boundary between two caches are omitted.
INSIDE = 2


def compare(bench):
    """Rows about core.clock and the first two cache levels, over the records of all rounds."""
    section = Section(
        "Clock and repeatability",
        "This table compares linespeed with itself. The row \"distance from whole cycles\" shows the relative distance of the "
        "L1 latency in cycles from the nearest whole number, for working sets up to half of L1d. The rows \"two chains differ\" "
        "compare adds with multiplies; both are from the record. The rows \"two runs differ\" show |ratio − 1| of successive "
        "reliable runs: a difference in ns but not in cycles means that the clock changed.",
        [],
        ["On a machine without a PMU (most guests), there is no row for perf's cycle counter: the second chain is then "
         "the only check of a clock derived from time."],
    )
    clocks = interleave("clock", bench.rounds, {"linespeed": lambda: bench.linespeed.record("clock")}, section.remarks)
    clock_records = [record for record in clocks["linespeed"] if record]
    latency_records = [record for record in bench.latency_records if record]
    section.remarks += linespeed.lost(clock_records, "clock")

    alone = [linespeed.find(record, "core.clock", active="one", vector="scalar") for record in clock_records]
    chains = [each[0].get("detail", {}).get("chains_differ") for each in alone if each]
    add(section, "two chains differ, one CPU active", chains, Under(0.01, "1 %"))
    add_repeated(section, "core.clock, one CPU active", alone)

    sizes = data_caches(clock_records or latency_records)
    if 1 in sizes:
        inside = [points(record, "load.latency_cycles", 0, sizes[1] // INSIDE) for record in latency_records]
        distances = [from_whole(linespeed.value(each)) for each in inside if each]
        add(section, "L1 latency, distance from whole cycles", distances, Under(0.03, "3 %"))
        for level, low, high in levels(sizes):
            for metric, unit in (("load.latency", "ns"), ("load.latency_cycles", "cycles")):
                runs = [points(record, metric, low, high) for record in latency_records]
                add_repeated(section, f"L{level} latency in {unit}", runs)
    else:
        section.rows.append(Missing("L1 and L2 latency", "the machine does not report the sizes of its caches"))
    return section


def add(section, what, values, target):
    """Adds the row, or reports that nothing was measured."""
    if any(value is not None for value in values):
        section.rows.append(Figure(what, values, share, target))
    else:
        section.rows.append(Missing(what, "linespeed's records contain no such result"))


def levels(sizes):
    """`(level, from bytes, to bytes)` of working sets that fit in L1, and that fit in L2 but not in L1."""
    found = [(1, 0, sizes[1] // INSIDE)]
    if 2 in sizes and sizes[2] // INSIDE > sizes[1] * INSIDE:
        found.append((2, sizes[1] * INSIDE, sizes[2] // INSIDE))
    return found


def points(record, metric, low, high):
    """The metric's points on 2 MiB pages with a working set in [low, high]; on 4 KiB pages if there are none."""
    for page in ("2MiB", "4KiB"):
        found = [m for m in linespeed.find(record, metric, page=page) if low <= m["where"]["bytes"] <= high]
        if found:
            return found
    return []


def data_caches(records):
    """The size of the smallest data or unified cache of each level, bytes."""
    sizes = {}
    for cache in records[0]["machine"]["caches"] if records else []:
        if cache["kind"] != "instruction" and cache.get("bytes"):
            sizes[cache["level"]] = min(cache["bytes"], sizes.get(cache["level"], cache["bytes"]))
    return sizes


def from_whole(cycles):
    """The relative distance from the nearest whole number of cycles."""
    return abs(cycles - max(round(cycles), 1)) / max(round(cycles), 1)


def steps(runs):
    """|ratio − 1| of the values of successive runs."""
    values = [value for value in map(linespeed.value, runs) if value]
    return [abs(after / before - 1) for before, after in zip(values, values[1:])]


def doubted(run):
    """Why a run's result is unreliable: the first doubt, if at least half of the points behind the median have one; otherwise
    None."""
    reasons = [measurement["doubt"] for measurement in run if measurement.get("doubt")]
    return reasons[0] if reasons and 2 * len(reasons) >= len(run) else None


def add_repeated(section, name, runs):
    """Adds the row with the difference between successive runs, and a remark on the omitted runs."""
    runs = [run for run in runs if run]
    sure = [run for run in runs if doubted(run) is None]
    reasons = [doubted(run) for run in runs if doubted(run) is not None]
    what = f"{name}, two runs differ"
    if len(sure) < 2 and reasons:
        section.rows.append(
            Missing(what, f"{len(reasons)} of {len(runs)} records mark the result as unreliable; first reason: {reasons[0]}")
        )
        return
    add(section, what, steps(sure), Under(0.01, "1 %"))
    if reasons:
        section.remarks.append(
            f"{name}: {len(reasons)} of {len(runs)} records mark the result as unreliable and are omitted; "
            f"first reason: {reasons[0]}"
        )
