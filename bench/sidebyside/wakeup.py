"""Wake-up latency: linespeed run wakeup against cyclictest."""

import math
import re
import statistics

from . import linespeed, tools
from .intervals import AtLeast, Within
from .rounds import interleave
from .rows import Missing, Ratio, Section, nanoseconds

# cyclictest's histogram ends here (µs); a median beyond is no median.
HISTOGRAM_US = 1000
# "Visibly differ": the kernel's default slack for SCHED_OTHER is 50 µs, on top of a wake-up of 2 to 60 µs.
VISIBLE = 1.2


def compare(bench):
    """Rows: FIFO with C-states held, SCHED_OTHER as the machine is, and linespeed as-is against tuned."""
    duration = 1 if bench.quick else 4
    section = Section(
        "Wake-up latency",
        "Median of how late an absolute timer of 1 ms wakes its thread, one thread a CPU on all CPUs; over the CPUs "
        "the median of the ratios. FIFO: `cyclictest -m -p 80 -i 1000 -S` against linespeed's policy `fifo`, setting "
        "`tuned`; both hold /dev/cpu_dma_latency at 0. SCHED_OTHER: `cyclictest -m -i 1000 -S --laptop` (which "
        "leaves C-states alone) against policy `other`, setting `as-is`; both carry the kernel's 50 µs of timer slack. "
        "cyclictest's histogram has bins of 1 µs; its median is interpolated within the bin. Not corrected for "
        "missed periods on either side.",
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
    add(section, "FIFO, C-states held", "cyclictest", fifo, found["cyclictest fifo"], Within(0.10))
    add(section, "SCHED_OTHER, as is", "cyclictest", other, found["cyclictest other"])
    add(section, "SCHED_OTHER, as is", "linespeed, tuned", other, tuned, AtLeast(VISIBLE))
    return section


def add(section, what, tool, ours, theirs, *target):
    """Adds a row from each round's medians by CPU."""
    pairs = [paired(a, b) for a, b in zip(ours, theirs)]
    if not any(pairs):
        section.rows.append(Missing(f"{what} ÷ {tool}", "no round in which both measured the same CPUs"))
        return
    left, right = zip(*(pair or (None, None) for pair in pairs))
    section.rows.append(Ratio(what, tool, list(left), list(right), nanoseconds, *target))


def paired(ours, theirs):
    """One figure of each side for a round: such that their quotient is the median over the CPUs of the quotients, and
    that each is near its own median. None when no CPU was measured by both."""
    cpus = sorted(set(ours or {}) & set(theirs or {}))
    cpus = [cpu for cpu in cpus if ours[cpu] > 0 and theirs[cpu] > 0]
    if not cpus:
        return None
    quotient = math.exp(statistics.median(math.log(ours[cpu] / theirs[cpu]) for cpu in cpus))
    # Split about the geometric middle of all, so that neither side's figure is favoured.
    middle = math.exp(statistics.median((math.log(ours[cpu]) + math.log(theirs[cpu])) / 2 for cpu in cpus))
    return middle * math.sqrt(quotient), middle / math.sqrt(quotient)


def medians(record, policy, setting):
    """linespeed's uncorrected medians in ns by CPU; where the CPUs were kept together, under None."""
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
    """The medians in ns by thread (which -S puts on the CPU of its number) of cyclictest's histogram. A bin `k` holds
    what lay in [k, k + 1) µs; the overflows lie beyond the last. A thread whose median is among them has none."""
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
