"""Core to core: the tool's figure alone, for the day when linespeed measures it as well."""

import statistics

from . import tools
from .rounds import interleave
from .rows import Figure, Missing, Section, nanoseconds


def compare(bench):
    """One row without a ratio."""
    section = Section(
        "Core to core",
        "Not compared yet: linespeed does not measure this. The figure is core-to-core-latency's median over all pairs "
        "of its mean one-way times (compare-and-swap on one shared line, 1,000 round trips × 300 samples).",
        [],
    )
    if len(bench.cpus) < 2:
        section.rows.append(Missing("core-to-core-latency", "it needs two CPUs"))
        return section
    found = interleave("core to core", bench.rounds, {"core-to-core-latency": measure}, section.remarks)
    values = found["core-to-core-latency"]
    if any(values):
        section.rows.append(Figure("core-to-core-latency (tool only)", values, nanoseconds))
    else:
        section.rows.append(Missing("core-to-core-latency", "it did not run"))
    return section


def measure():
    """The median over all pairs in ns. Raises tools.Failed."""
    # Its time grows with the square of the CPUs: beyond 64 the limit ends it.
    return of_csv(tools.run([tools.CORE_TO_CORE, "--csv"], 120))


def of_csv(text):
    """The median of the cells of the tool's CSV: a triangle, empty where there is no figure."""
    cells = [float(cell) for line in text.splitlines() for cell in line.split(",") if cell.strip()]
    if not cells:
        raise tools.Failed("core-to-core-latency printed no figures")
    return statistics.median(cells)
