"""Memory bandwidth: linespeed's triad on all CPUs compared with likwid-bench, sysbench memory and mbw."""

import re
import statistics
import time

from . import linespeed, tools
from .intervals import AtLeast
from .rounds import interleave
from .rows import Missing, Ratio, Section, bandwidth, size

# Approximate duration of a run of likwid-bench; its rate is the mean over this time.
LIKWID_SECONDS = 1.0
# How many of likwid's variants in the survey are also measured in the rounds, and the time limit of the survey.
BEST_VARIANTS = 2
SURVEY_SECONDS = 30
SURVEY_SECONDS_QUICK = 10


def compare(bench):
    """Rows: triad compared with each tool's best result, and other loops compared with the same loop of a tool, if it has one."""
    section = Section(
        "Memory bandwidth",
        "All results are in bytes as counted by STREAM (10⁹ bytes are 1 GB): the program's reads and writes, without the "
        "write-allocate reads of regular stores. linespeed's results have `bytes_counted: stream`. likwid-bench's stream kernels "
        "count 24 bytes per element, as STREAM does; 1 MByte is 10⁶ bytes. likwid-bench's triad kernels, "
        "a = b × c + d, read three arrays, unlike any STREAM kernel, and appear only in the survey. sysbench counts each block that it reads or writes once, in MiB. mbw "
        "counts copied bytes once, in MiB; STREAM counts them twice, so mbw's result is doubled. mbw uses one thread. All tools "
        "use arrays of linespeed's size (sysbench uses the next power of two). linespeed requests huge pages, but the other "
        "tools do not. For each tool, including linespeed, the variant with the highest median over the rounds is used.",
        [],
    )
    try:
        first = bench.linespeed.record("bandwidth")
    except tools.Failed as failure:
        section.rows.append(Missing("memory bandwidth", str(failure)))
        return section
    places = triads(first)
    if not places:
        section.rows.append(Missing("memory bandwidth", "linespeed measured no triad with all CPUs"))
        return section
    example = places[0]
    threads = example["where"]["threads"]
    array = example["detail"]["array_bytes"]
    machine = first["machine"]
    groups = workgroups(machine, 3 * array, threads)
    budget = SURVEY_SECONDS_QUICK if bench.quick else SURVEY_SECONDS
    survey = survey_likwid(machine, groups, 3 * array, budget, section.remarks)
    # linespeed uses the largest arrays that the machine can prepare in time, so their size may differ between runs. The tools
    # use the size of linespeed's latest run.
    latest = Latest(array)
    arms = {"linespeed": lambda: latest.note(bench.linespeed.record("bandwidth"))}
    for kernel in survey:
        arms[f"likwid {kernel}"] = lambda kernel=kernel: likwid(
            kernel, workgroups(machine, 3 * latest.array, threads), iterations(3 * latest.array, survey[kernel])
        )
    seconds = 1 if bench.quick else 2
    for direction in ("read", "write"):
        arms[f"sysbench {direction}"] = lambda direction=direction: sysbench(
            direction, power_of_two(latest.array // threads), threads, seconds
        )
    arms["mbw"] = lambda: mbw(latest.array, 2)
    found = interleave("bandwidth", bench.rounds, arms, section.remarks)
    records = found.pop("linespeed")
    section.remarks += linespeed.lost([first, *records], "bandwidth")
    arrays = sorted({m["detail"]["array_bytes"] for record in records if record for m in triads(record)})
    if arrays:
        section.remarks.append(
            f"arrays of {size(arrays[0])}"
            + (f" to {size(arrays[-1])}, depending on the run" if arrays[-1] > arrays[0] else "")
            + f"; the last-level caches have {size(last_level(machine))} in total"
        )

    triad = best([series(records, "triad", stores, threads) for stores in ("regular", "streaming")])
    read = best([series(records, "read", "regular", threads)])
    write = best([series(records, "write", stores, threads) for stores in ("regular", "streaming")])
    copy = best([series(records, "copy", stores, 1) for stores in ("regular", "streaming")])
    streams = {name: values for name, values in found.items() if name.startswith("likwid stream")}
    target = AtLeast(1.0)
    for name, values in filter(None, [best_named(streams)]):
        section.rows.append(Ratio(f"triad, {called(threads)}", name, triad, values, bandwidth, target))
    if not streams:
        section.rows.append(Missing("triad ÷ likwid-bench stream", "no kernel of likwid-bench ran"))
    for tool in ("sysbench write", "sysbench read"):
        section.rows.append(Ratio(f"triad, {called(threads)}", tool, triad, found[tool], bandwidth, target))
    section.rows.append(
        Ratio(f"triad, {called(threads)}", "mbw × 2, one thread", triad, best_mbw(found["mbw"]), bandwidth, target)
    )
    section.rows.append(Ratio(f"read, {called(threads)}", "sysbench read", read, found["sysbench read"], bandwidth))
    if any(write):
        section.rows.append(
            Ratio(f"write, {called(threads)}", "sysbench write", write, found["sysbench write"], bandwidth)
        )
    else:
        section.rows.append(Missing(f"write, {called(threads)} ÷ sysbench write", "short runs measure no writes"))
    section.rows.append(Ratio("copy, one thread", "mbw × 2, one thread", copy, best_mbw(found["mbw"]), bandwidth))
    return section


def called(threads):
    """`one thread`, `2 threads`."""
    return "one thread" if threads == 1 else f"{threads} threads"


class Latest:
    """The size in bytes of each array of linespeed's latest run."""

    def __init__(self, array):
        self.array = array

    def note(self, record):
        """Stores the size in a record, and returns the record."""
        for triad in triads(record):
            self.array = triad["detail"]["array_bytes"]
        return record


def last_level(machine):
    """Total size of all last-level caches, bytes."""
    caches = [cache for cache in machine["caches"] if cache["kind"] != "instruction" and cache.get("bytes")]
    last = max((cache["level"] for cache in caches), default=0)
    return sum(cache["bytes"] for cache in caches if cache["level"] == last)


def triads(record):
    """The record's triads with the highest number of threads."""
    found = linespeed.find(record, "memory.bandwidth", op="triad", bytes_counted="stream")
    most = max((m["where"]["threads"] for m in found), default=0)
    return [m for m in found if m["where"]["threads"] == most]


def series(records, op, stores, threads):
    """One value per round, None if it is missing."""
    return [
        linespeed.value(
            linespeed.find(record, "memory.bandwidth", op=op, stores=stores, threads=threads, bytes_counted="stream")
        )
        for record in records
    ]


def middle(values):
    """The median of the existing values, or 0."""
    there = [value for value in values if value is not None]
    return statistics.median(there) if there else 0.0


def best(variants):
    """The series with the highest median."""
    return max(variants, key=middle)


def best_named(variants):
    """The name and series with the highest median; None without any."""
    return max(variants.items(), key=lambda item: middle(item[1]), default=None)


def best_mbw(rounds):
    """The series of mbw's best method."""
    methods = {method for each in rounds if each for method in each}
    return best([[each and each.get(method) for each in rounds] for method in sorted(methods)] or [[None] * len(rounds)])


def workgroups(machine, bytes_, threads):
    """likwid's working groups: one per node with CPUs and memory, each with its share of the bytes and threads, so that all
    threads use memory of their own node."""
    nodes = [node for node in machine["nodes"] if node.get("cpus") and node.get("bytes") != 0]
    if len(nodes) < 2 or threads % len(nodes):
        return [f"N:{bytes_ // 1000}kB:{threads}"]
    count = len(nodes)
    return [f"M{index}:{bytes_ // count // 1000}kB:{threads // count}" for index in range(count)]


def usable(kernel, features):
    """Whether a kernel of likwid-bench uses double precision and only instruction sets of the CPU (those in a
    record's `features`; NEON and SSE2 are always available)."""
    if not re.match(r"(stream|triad)(_|$)", kernel) or "_sp" in kernel:
        return False
    needs = {"_avx512": "avx512f", "_avx": "avx", "_fma": "fma", "_sve": "sve"}
    words = kernel.replace("_avx512", "_avx512 ").split()
    wanted = {need for part, need in needs.items() if part in kernel and not (part == "_avx" and "_avx512" in words[0])}
    return wanted <= set(features)


def promising(kernel):
    """The order of the survey: kernels that are probably fastest (streaming stores, wide vectors) come first, in case there is
    not enough time for all."""
    width = next((bits for part, bits in (("avx512", 512), ("avx", 256), ("sse", 128)) if part in kernel), 64)
    return ("_mem" not in kernel, -width, kernel)


def survey_likwid(machine, groups, bytes_, budget, remarks):
    """Runs each kernel once, for `budget` seconds in total, and returns the best stream kernels: `{kernel: bytes per
    second}`."""
    try:
        listed = [line.split(" ")[0] for line in tools.run(["likwid-bench", "-a"]).splitlines() if " - " in line]
    except tools.Failed as failure:
        remarks.append(f"likwid-bench: {failure}")
        return {}
    features = machine["processor"].get("features", [])
    chosen = {}
    # The triad kernels count 32 bytes per element and are only shown for information: a quarter of the time, no rounds.
    for family, time_ in (("stream", budget * 0.75), ("triad", budget * 0.25)):
        kernels = sorted((k for k in listed if k.startswith(family) and usable(k, features)), key=promising)
        rates = {}
        end = time.monotonic() + time_
        for kernel in kernels:
            if rates and time.monotonic() > end:
                break
            tools.say(f"bench: bandwidth, survey: likwid {kernel}")
            try:
                rates[kernel] = likwid(kernel, groups, iterations(bytes_, None))
            except tools.Failed as failure:
                remarks.append(f"likwid {kernel}: {failure}")
        ranked = sorted(rates, key=rates.get, reverse=True)
        if family == "stream":
            chosen = {kernel: rates[kernel] for kernel in ranked[:BEST_VARIANTS]}
        remarks.append(
            f"likwid-bench, survey before the rounds: one short run of each of {len(rates)} (of {len(kernels)}) {family} "
            "kernels. The best: "
            + (", ".join(f"{kernel} {bandwidth(rates[kernel])}" for kernel in ranked[:BEST_VARIANTS]) or "none ran")
        )
    return chosen


def iterations(bytes_, rate):
    """The number of passes over the arrays that fill the time at this rate; a few if the rate is not yet known."""
    return 4 if rate is None else max(4, round(LIKWID_SECONDS * rate / bytes_))


def likwid(kernel, groups, passes):
    """likwid-bench's rate in bytes per second. Raises tools.Failed."""
    command = ["likwid-bench", "-t", kernel, "-i", passes]
    for group in groups:
        command += ["-w", group]
    found = re.search(r"^MByte/s:\s+([0-9.]+)", tools.run(command), re.MULTILINE)
    if not found:
        raise tools.Failed("likwid-bench printed no MByte/s")
    return float(found[1]) * 1e6


def power_of_two(bytes_):
    """The next power of two, which sysbench requires as the size of a block."""
    return 1 << (max(bytes_, 4096) - 1).bit_length()


def sysbench(direction, block, threads, seconds):
    """sysbench memory's rate in bytes per second, with a separate block for each thread. Raises tools.Failed."""
    text = tools.run(
        ["sysbench", "memory", f"--threads={threads}", f"--memory-block-size={block}", "--memory-scope=local",
         f"--memory-oper={direction}", "--memory-access-mode=seq", f"--time={seconds}", "--memory-total-size=1000T",
         "run"]
    )
    found = re.search(r"\(([0-9.]+) MiB/sec\)", text)
    if not found:
        raise tools.Failed("sysbench printed no MiB/sec")
    return float(found[1]) * (1 << 20)


def mbw(array, runs):
    """mbw's rate by method, in bytes per second as STREAM counts a copy: twice mbw's own result. Raises tools.Failed."""
    text = tools.run(["mbw", "-q", "-n", runs, max(1, round(array / (1 << 20)))])
    # mbw's own average divides by the total time; the median of the single runs is not affected by one bad run.
    rates = {}
    for method, rate in re.findall(r"^\d+\s+Method: (\w+)\s.*Copy: ([0-9.]+) MiB/s", text, re.MULTILINE):
        rates.setdefault(method, []).append(2 * float(rate) * (1 << 20))
    if not rates:
        raise tools.Failed("mbw printed no rates")
    return {method: statistics.median(each) for method, each in rates.items()}
