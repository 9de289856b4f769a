"""Statistics of differences: exact intervals of a median, ratios paired by round, and verdicts on a target."""

import math
import statistics
from dataclasses import dataclass

# The confidence level of every interval, which requires at least six values: with five, even the full range covers only 93.75 %.
CONFIDENCE = 0.95
FEWEST = 6


def median_interval(values):
    """The interval of the median by order statistics (that is, by the sign test), which is valid for any
    distribution: `(low, high)` with at least 95 % confidence, or None with fewer than six values."""
    ordered = sorted(values)
    count = len(ordered)
    best = None
    outside = 0.0
    # `outside` is the probability that fewer than `rank` of `count` values are below the median.
    for rank in range(1, count // 2 + 1):
        outside += math.comb(count, rank - 1) / 2**count
        if 1 - 2 * outside < CONFIDENCE:
            break
        best = rank
    return None if best is None else (ordered[best - 1], ordered[count - best])


@dataclass
class Estimate:
    """A median with its interval (None with fewer than six values) and the number of values on which it is based."""

    median: float
    interval: tuple | None
    count: int


def estimate(values):
    """The median of `values` with its interval; None without values."""
    values = [value for value in values if value is not None]
    if not values:
        return None
    return Estimate(statistics.median(values), median_interval(values), len(values))


def ratio(ours, theirs):
    """The ratio ours ÷ theirs over rounds: the median of the logarithms of the rounds' ratios, and its interval.
    Rounds in which one side is None or not positive do not count. None if no round counts."""
    logs = [math.log(a / b) for a, b in zip(ours, theirs) if a and b and a > 0 and b > 0]
    if not logs:
        return None
    interval = median_interval(logs)
    return Estimate(
        math.exp(statistics.median(logs)),
        None if interval is None else tuple(math.exp(end) for end in interval),
        len(logs),
    )


def unrest(values):
    """The difference of a side from itself between rounds: the median of |ratio − 1| of successive rounds,
    an A/A comparison. None with fewer than two values."""
    values = [value for value in values if value]
    steps = [abs(math.log(after / before)) for before, after in zip(values, values[1:])]
    return math.exp(statistics.median(steps)) - 1 if steps else None


@dataclass
class Within:
    """The target that a ratio is within `share` of 1."""

    share: float

    def words(self):
        return f"within {self.share * 100:g} %"

    def verdict(self, found):
        inside = lambda value: 1 - self.share <= value <= 1 + self.share  # noqa: E731
        if found.interval is None:
            return too_few(found)
        low, high = found.interval
        if inside(low) and inside(high):
            return "reached"
        if high < 1 - self.share or low > 1 + self.share:
            return "missed"
        if inside(found.median):
            return "median within the target, interval not"
        return "median outside the target, interval does not rule it out"


@dataclass
class AtLeast:
    """The target that a ratio is at least `least`. An inconclusive ratio does not miss the target."""

    least: float

    def words(self):
        return f"at least {self.least:g}"

    def verdict(self, found):
        if found.interval is None:
            return too_few(found)
        low, high = found.interval
        if low >= self.least:
            return "reached"
        if high < self.least:
            return "missed"
        return "no difference resolved"


@dataclass
class Under:
    """The target that a result is below `limit` (in the result's unit); `text` is the limit in words."""

    limit: float
    text: str

    def words(self):
        return f"under {self.text}"

    def verdict(self, found):
        low, high = found.interval or (found.median, found.median)
        if high < self.limit:
            return "reached"
        if low >= self.limit:
            return "missed"
        return "median within the target, interval not" if found.median < self.limit else "missed in the median"


class Untargeted:
    """No target."""

    def words(self):
        return ""

    def verdict(self, found):
        if found.interval is None:
            return too_few(found)
        low, high = found.interval
        return "no difference resolved" if low <= 1 <= high else ""


def too_few(found):
    """The text that replaces a verdict if there are too few rounds for an interval."""
    return f"too few rounds: {found.count} of {FEWEST}"
