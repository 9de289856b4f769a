"""The result of a comparison: rows of a table, in sections that describe what each tool counts."""

from dataclasses import dataclass, field

from .intervals import Untargeted


@dataclass
class Ratio:
    """linespeed ÷ a tool, paired by round. A value is None in a round that failed."""

    what: str
    tool: str
    ours: list
    theirs: list
    show: callable
    target: object = field(default_factory=Untargeted)


@dataclass
class Figure:
    """A result of linespeed (or of a tool, if linespeed has no such result) compared with a limit."""

    what: str
    values: list
    show: callable
    target: object = field(default_factory=Untargeted)


@dataclass
class Agreement:
    """Whether linespeed and other tools report the same: the text of each, by name."""

    what: str
    said: dict

    def agree(self):
        told = [words for words in self.said.values() if words is not None]
        return len(told) > 1 and len(set(told)) == 1


@dataclass
class Missing:
    """A comparison that was not made, and why."""

    what: str
    reason: str


@dataclass
class Section:
    """Rows of one kind, a description of what each tool counts, and remarks from the run."""

    title: str
    how: str
    rows: list
    remarks: list = field(default_factory=list)


def nanoseconds(value):
    """`132.4 ns`, `42.1 µs`, `3.1 ms`."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if abs(value) >= size:
            return f"{value / size:.4g} {unit}"
    return f"{value:.4g} ns"


def bandwidth(value):
    """Bytes per second as `12.3 GB/s` (10⁹ bytes)."""
    return f"{value / 1e9:.4g} GB/s"


def share(value):
    """A share as `0.31 %`."""
    return f"{value * 100:.2g} %"


def size(value):
    """Bytes as `512 MiB`."""
    for unit, bytes_ in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if value >= bytes_:
            return f"{value / bytes_:.4g} {unit}"
    return f"{value} B"
