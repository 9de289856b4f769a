"""Wake-up latency: linespeed run wakeup compared with cyclictest."""

import math
import re
import statistics

from . import linespeed, tools
from .intervals import AtLeast, Within
from .rounds import interleave
from .rows import Missing, Ratio, Section, nanoseconds

# The end of cyclictest's histogram (µs); a median beyond it is unknown.
HISTOGRAM_US = 1000
# The minimum ratio between untuned and tuned: the kernel's default slack for SCHED_OTHER adds 50 µs to a wake-up of 2 to 60 µs.
VISIBLE = 1.2


def compare(bench):
    """Rows: FIFO without deep C-states, SCHED_OTHER on the unchanged machine, and linespeed as-is compared with tuned."""
    duration = 1 if bench.quick else 4
    section = Section(
        "Wake-up latency",
        "One thread runs on each CPU. The result is the median delay with which an absolute 1 ms timer wakes its thread; the "
        "ratio is the median over the CPUs. The FIFO rows compare `cyclictest -m -p 80 -i 1000 -S` with linespeed's policy "
        "`fifo` and setting `tuned`; both hold /dev/cpu_dma_latency at 0. The SCHED_OTHER rows compare `cyclictest -m -i 1000 -S "
        "--laptop` (which leaves C-states unchanged) with policy `other` and setting `as-is`; both include the kernel's 50 µs of "
        "timer slack. cyclictest's histogram has bins of 1 µs; its median is interpolated within the bin. Neither side is "
        "corrected for missed periods.",
        [],
    )
    arms = {
        "linespeed": lambda: bench.linespeed.record("wakeup"),
        "cyclictest fifo": lambda: cyclictest(duration, "-p", "80"),
        "cyclictest other": lambda: cyclictest(duration, "--policy=other", "--laptop"),
    }
    found = interleave("wake-up", bench.rounds, arms, section.remarks)
    records = found["linespeed"]
    section.remarks += linespeed.lost(records, "wakeup")
    fifo = [medians(record, "fifo", "tuned") for record in records]
    other = [medians(record, "other", "as-is") for record in records]
    tuned = [medians(record, "other", "tuned") for record in records]
    add(section, "FIFO, deep C-states disabled", "cyclictest", fifo, found["cyclictest fifo"], Within(0.10))
    add(section, "SCHED_OTHER, as is", "cyclictest", other, found["cyclictest other"])
    add(section, "SCHED_OTHER, as is", "linespeed, tuned", other, tuned, AtLeast(VISIBLE))
    return section


def add(section, what, tool, ours, theirs, *target):
    """Adds a row from each round's medians by CPU."""
    pairs = [paired(a, b) for a, b in zip(ours, theirs)]
    if not any(pairs):
        section.rows.append(Missing(f"{what} ÷ {tool}", "in no round did both tools measure the same CPUs"))
        return
    left, right = zip(*(pair or (None, None) for pair in pairs))
    section.rows.append(Ratio(what, tool, list(left), list(right), nanoseconds, *target))


def paired(ours, theirs):
    """One value of each side for a round, such that their quotient is the median of the CPUs' quotients, and each value is
    near the median of its side. None if no CPU was measured by both."""
    cpus = sorted(set(ours or {}) & set(theirs or {}))
    cpus = [cpu for cpu in cpus if ours[cpu] > 0 and theirs[cpu] > 0]
    if not cpus:
        return None
    quotient = math.exp(statistics.median(math.log(ours[cpu] / theirs[cpu]) for cpu in cpus))
    # The quotient is split symmetrically around the geometric mean of both sides, so that neither side is favored.
    middle = math.exp(statistics.median((math.log(ours[cpu]) + math.log(theirs[cpu])) / 2 for cpu in cpus))
    return middle * math.sqrt(quotient), middle / math.sqrt(quotient)


def medians(record, policy, setting):
    """linespeed's uncorrected medians in ns by CPU; the key is None for a result of all CPUs together."""
    found = linespeed.find(record, "wakeup.latency", policy=policy, setting=setting, corrected=False)
    return {measurement["where"].get("cpu"): measurement["summary"]["median"] for measurement in found}


def cyclictest(seconds, *arguments):
    """cyclictest's medians in ns by CPU. Raises tools.Failed."""
    text = tools.run(
        ["cyclictest", "-m", "-i", "1000", "-S", "-h", HISTOGRAM_US, "-q", "-D", seconds, *arguments], seconds + 60
    )
    found = histogram_medians(text)
    if not found:
        raise tools.Failed("cyclictest printed no histogram")
    return found


def histogram_medians(text):
    """The medians in ns by thread (which -S puts on the CPU of its number) of cyclictest's histogram. Bin `k` contains
    the values in [k, k + 1) µs; overflows are values beyond the last bin. A thread whose median is an overflow has no result."""
    rows = [
        [int(part) for part in line.split()]
        for line in text.splitlines()
        if re.match(r"^\d+(\s+\d+)+\s*$", line)
    ]
    overflows = re.search(r"^# Histogram Overflows:((?:\s+\d+)+)", text, re.MULTILINE)
    if not rows or not overflows:
        return {}
    beyond = [int(part) for part in overflows[1].split()]
    found = {}
    for thread in range(len(rows[0]) - 1):
        half = (sum(row[thread + 1] for row in rows) + beyond[thread]) / 2
        below = 0
        for row in rows:
            count = row[thread + 1]
            if count and below + count >= half:
                found[thread] = (row[0] + (half - below) / count) * 1000
                break
            below += count
    return found if found else {}
