"""What an answer of linespeed is worth: by type and number, never by the words of a sentence."""

import dataclasses

RIGHT, UNDECIDED, WRONG = "right", "undecided", "wrong"
# Figures beside the shares of `sampled`: counts, bytes, ns.
NO_SHARES = {"in_kernel", "load_ns", "samples", "unread", "undecoded", "lost", "working_set", "ns", "bytes", "n", "count"}


@dataclasses.dataclass
class Answer:
    """What one way of asking said, and what the machine did meanwhile."""

    by: str
    kind: str | None = None
    runnable: float = 0  # share of the time that its threads wanted to run, without a CPU
    others: float = 0  # CPUs that other programs used
    false_zeros: tuple = ()  # shares that are 0 without an upper bound

    def said(self):
        return f"{self.by}/{self.kind}" if self.kind else self.by

    def is_disturbed(self):
        """Whether other programs used the CPUs: its own surplus of threads is none of that."""
        return self.others > 0.2 and (self.runnable > 0.5 or self.by == "cpu-contention")


@dataclasses.dataclass
class Verdict:
    worth: str
    because: str = ""


def expand(entries, groups):
    return [word for entry in entries for word in groups.get(entry, [entry])]


def is_among(answer, entries, lenient=False):
    """Whether an entry has this `by` and, where it names a kind, this kind; lenient: or none that is told."""
    told = answer.kind if answer.kind != "caches-or-memory" else None
    for entry in entries:
        by, _, kind = entry.partition("/")
        if by == answer.by and (not kind or kind == told or lenient and not told):
            return True
    return False


def judge(answer, truth, table):
    """The verdict on an answer to a case with this truth, of truth.toml's table."""
    spec, groups = table["answers"][truth], table["groups"]
    right = spec["right"]
    if answer.by in table["needs_kind"] and not answer.kind:
        if any(entry.split("/")[0] == answer.by for entry in right):
            return Verdict(UNDECIDED, "its kind is not told")
    if is_among(answer, right, lenient=answer.by not in table["needs_kind"]):
        return Verdict(RIGHT)
    if is_among(answer, expand(spec.get("undecided", []), groups)):
        return Verdict(UNDECIDED, f"{answer.said()} is true in part")
    if is_among(answer, expand(spec["wrong"], groups)):
        return Verdict(WRONG)
    if answer.is_disturbed():
        return Verdict(UNDECIDED, "other programs used the CPUs")
    return Verdict(UNDECIDED, f"{answer.said()} is neither right nor wrong")


def false_zeros(sampled, path=""):
    """Shares of `sampled` that are 0 and have no upper bound. One has it as [low, high], as an object with `high`, or as a
    pair beside it: `far` and `far_interval`."""
    if not isinstance(sampled, dict):
        return []
    found = []
    for name, value in sampled.items():
        at = f"{path}{name}"
        if isinstance(value, dict):
            if "high" not in value:
                found += false_zeros(value, at + ".")
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            bounded = any(f"{name}{ending}" in sampled for ending in ("_interval", "_bounds", "_high", "_range"))
            if value == 0 and name not in NO_SHARES and not bounded:
                found.append(at)
    return found


def share(part, whole):
    return part / whole if whole > 0 else 0


def of_record(record):
    """The answer in a record of `stat`."""
    bound = (record.get("diagnosis") or {}).get("bound") or {}
    states, detail = {}, {}
    for figure in record["measurements"]:
        where = figure.get("where", {})
        if figure["metric"] == "workload.cpu_time" and "thread" not in where:
            states[where.get("state")] = figure["summary"]["median"]
        if figure["metric"] == "workload.time":
            detail = figure.get("detail", {})
    on_cpu = states.get("user", 0) + states.get("system", 0)
    around = detail.get("around", {})
    others = share(around.get("busy_seconds", 0) - on_cpu, around.get("seconds", 0))
    return Answer(bound.get("by", "unknown"), bound.get("kind"), share(states.get("runnable", 0), states.get("runnable", 0) + on_cpu),
                  others, tuple(false_zeros(detail.get("sampled"))))


def of_screen(screen):
    """The answer in an object of `live --json -p`."""
    bound = screen.get("bound") or {}
    service, interval = screen.get("service") or {}, screen.get("interval", {})
    states = service.get("states", {})
    on_cpu = states.get("user", 0) + states.get("system", 0)
    times = interval.get("times", {})
    busy = sum(times.get(state, 0) for state in ("user", "nice", "system", "irq", "softirq"))
    return Answer(bound.get("by", "unknown"), bound.get("kind"), share(states.get("runnable", 0), states.get("runnable", 0) + on_cpu),
                  share(busy - on_cpu, interval.get("seconds", 0)), tuple(false_zeros(service.get("sampled"))))
