"""Load latency of memory on 2 MiB pages: linespeed run latency compared with an independent pointer chase."""

import statistics

from . import linespeed, tools
from .intervals import Within
from .rounds import interleave
from .rows import Missing, Ratio, Section, nanoseconds, size

WANTED_BYTES = 512 << 20
PAGE = "2MiB"
TARGET = Within(0.05)

# With a lower share of huge pages, a chase also measures page walks and is not comparable.
LEAST_HUGE_SHARE = 0.99


def compare(bench):
    """One row: the point nearest to 512 MiB. Saves the records in `bench.latency_records` for other comparisons."""
    section = Section(
        "Memory latency",
        "The results are nanoseconds per dependent load. linespeed's result is from `linespeed run latency` on 2 MiB "
        "pages: the median of the samples for the working set nearest to 512 MiB. The other tool is `bench/chase`, which was written for "
        "this comparison and shares no code with linespeed. It uses Sattolo's shuffle of an index table, one element per 64-byte "
        "line, a separate assembly loop, and huge pages requested with madvise and verified in smaps. It uses the same CPU and "
        "the same number of bytes; its result is the median of 64 samples that together make one full cycle.",
        [],
    )
    try:
        chase = tools.build_chase()
        first = bench.linespeed.record("latency")
    except tools.Failed as failure:
        section.rows.append(Missing("memory latency", str(failure)))
        return section
    point = nearest(first)
    if point is None:
        section.rows.append(Missing("memory latency", "linespeed measured no point on 2 MiB pages"))
        return section
    place = point["where"]
    arms = {
        "linespeed": lambda: bench.linespeed.record("latency"),
        "chase": lambda: chased(chase, place["bytes"], place["cpu"]),
    }
    found = interleave("latency", bench.rounds, arms, section.remarks)
    bench.latency_records = [first, *found["linespeed"]]
    section.remarks += linespeed.lost(bench.latency_records, "latency")
    ours = [
        linespeed.value(linespeed.find(record, "load.latency", bytes=place["bytes"], page=PAGE, cpu=place["cpu"]))
        for record in found["linespeed"]
    ]
    if None in ours:
        reached = len(ours) - ours.count(None)
        section.remarks.append(f"linespeed reached {size(place['bytes'])} in only {reached} of {len(ours)} rounds")
    what = f"latency at {size(place['bytes'])} on 2 MiB pages, CPU {place['cpu']}"
    section.rows.append(Ratio(what, "bench/chase", ours, found["chase"], nanoseconds, TARGET))
    return section


def nearest(record):
    """The point on huge pages whose working set is nearest to the requested size, as a ratio."""
    points = linespeed.find(record, "load.latency", page=PAGE)
    return min(
        points,
        key=lambda point: max(point["where"]["bytes"] / WANTED_BYTES, WANTED_BYTES / point["where"]["bytes"]),
        default=None,
    )


def chased(program, bytes_, cpu):
    """The chase's median in nanoseconds. Raises tools.Failed, also if the memory was not on huge pages."""
    result = tools.run_json([program, bytes_, cpu])
    if result["huge_share"] < LEAST_HUGE_SHARE:
        raise tools.Failed(f"only {result['huge_share'] * 100:.0f} % of the chase's memory is on huge pages")
    return statistics.median(result["ns"])
