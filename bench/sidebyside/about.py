"""Facts about a run that readers need: the machine (from linespeed inspect), the versions, the load."""

from . import tools
from .inventory import of_record
from .rows import size


def machine(record):
    """Lines about the machine, by name, from a record of `linespeed inspect`."""
    machine_, before = record["machine"], record["conditions"].get("before", {})
    processor, kernel = machine_.get("processor", {}), machine_.get("kernel", {})
    virtual = machine_.get("virtualization", {})
    words = of_record(record)
    lines = {
        "Processor": ", ".join(
            filter(None, (processor.get("model_name"), processor.get("microarchitecture"), machine_["architecture"]))
        ),
        "Shape": f"{words['packages']} packages, {words['cores']} cores, {words['CPUs']} CPUs, {words['nodes']} nodes",
        "Caches": ", ".join(f"{name} {words[name]}" for name in ("L1d", "L1i", "L2", "L3") if name in words),
        "Memory": size(machine_["memory_bytes"]) if machine_.get("memory_bytes") else None,
        "Hypervisor": virtual.get("hypervisor"),
        "Container": virtual.get("container"),
        "Kernel": kernel.get("release"),
        "Transparent huge pages": before.get("thp"),
        "Clock source": before.get("clocksource"),
    }
    return {name: words for name, words in lines.items() if words}


def state():
    """The load average and, if the kernel records it, the share of the last ten seconds in which a task waited for a
    CPU, as text."""
    with open("/proc/loadavg", encoding="ascii") as file:
        words = "load average " + " ".join(file.read().split()[:3])
    try:
        with open("/proc/pressure/cpu", encoding="ascii") as file:
            words += ", CPU pressure " + file.readline().split()[1].removeprefix("avg10=") + " % over 10 s"
    except (OSError, IndexError):
        pass
    return words


def cpu_time():
    """The machine's CPU time since boot as `(total, stolen)`, in ticks."""
    with open("/proc/stat", encoding="ascii") as file:
        ticks = [int(part) for part in file.readline().split()[1:]]
    # User time already includes guest time.
    return sum(ticks[:8]), ticks[7] if len(ticks) > 7 else 0


def stolen(before, after):
    """Steal time between two readings of `cpu_time`, as a share of CPU time, as text."""
    total = after[0] - before[0]
    return f"{(after[1] - before[1]) / total * 100:.2g} %" if total else "unknown"


def versions(linespeed):
    """The versions of linespeed and of every tool, in one line."""
    try:
        own = tools.run(linespeed.command("--version")).strip()
    except tools.Failed as failure:
        own = f"linespeed: {failure}"
    return ", ".join([own, *(f"{name} {version}" for name, version in tools.versions().items())])
