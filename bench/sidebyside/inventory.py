"""The machine's inventory: linespeed inspect compared with lscpu and lstopo."""

import xml.etree.ElementTree as ElementTree

from . import tools
from .rows import Agreement, Missing, Section, size

CACHES = ("L1d", "L1i", "L2", "L3")


def compare(bench):
    """Rows for the numbers of packages, cores, CPUs and nodes, and for the sizes of the caches."""
    section = Section(
        "Inventory",
        "The inventory of the same machine from each tool: `lscpu` (its parsable output), `lstopo-no-graphics --of xml` and "
        "`linespeed inspect --json`. CPUs are online CPUs; a cache is shown as its size times the number of such caches.",
        [],
    )
    readings = {}
    for name, read in (("linespeed", lambda: of_record(bench.linespeed.inspect())), ("lscpu", lscpu), ("lstopo", lstopo)):
        try:
            readings[name] = read()
        except (tools.Failed, KeyError, ValueError) as failure:
            section.rows.append(Missing(name, str(failure)))
    for what in ("packages", "cores", "CPUs", "nodes", *CACHES):
        said = {name: reading.get(what) for name, reading in readings.items()}
        if any(words is not None for words in said.values()):
            section.rows.append(Agreement(what, said))
    return section


def caches(sizes):
    """`48 KiB × 2` from the sizes in bytes of all caches of one kind."""
    return ", ".join(f"{size(each)} × {sizes.count(each)}" for each in sorted(set(sizes)))


def of_record(record):
    """The inventory in a record of linespeed, as text."""
    machine = record["machine"]
    counts = machine["counts"]
    words = {
        "packages": str(counts.get("packages")),
        "cores": str(counts.get("cores")),
        "CPUs": str(counts.get("cpus_online")),
        "nodes": str(counts.get("nodes")),
    }
    letters = {"data": "d", "instruction": "i", "unified": ""}
    kinds = {}
    for cache in machine["caches"]:
        if cache.get("bytes"):
            kinds.setdefault(f"L{cache['level']}{letters[cache['kind']]}", []).append(cache["bytes"])
    return words | {kind: caches(sizes) for kind, sizes in kinds.items()}


def lscpu():
    """The inventory from lscpu, as text."""
    rows = [
        line.split(",")
        for line in tools.run(["lscpu", "-p=CPU,CORE,SOCKET,NODE"]).splitlines()
        if line and not line.startswith("#")
    ]
    words = {
        what: str(len({row[column] for row in rows}))
        for column, what in enumerate(("CPUs", "cores", "packages", "nodes"))
    }
    for cache in tools.run_json(["lscpu", "-C=NAME,ONE-SIZE,ALL-SIZE", "-J", "-B"])["caches"]:
        one = int(cache["one-size"])
        words[cache["name"]] = caches([one] * (int(cache["all-size"]) // one))
    return words


def lstopo():
    """The inventory from lstopo, as text."""
    objects = list(ElementTree.fromstring(tools.run(["lstopo-no-graphics", "--of", "xml"])).iter("object"))
    count = lambda kind: str(sum(each.get("type") == kind for each in objects))  # noqa: E731
    words = {"packages": count("Package"), "cores": count("Core"), "CPUs": count("PU"), "nodes": count("NUMANode")}
    for kind, name in (("L1Cache", "L1d"), ("L1iCache", "L1i"), ("L2Cache", "L2"), ("L3Cache", "L3")):
        sizes = [int(each.get("cache_size")) for each in objects if each.get("type") == kind]
        if sizes:
            words[name] = caches(sizes)
    return words
