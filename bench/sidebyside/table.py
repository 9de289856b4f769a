"""The one table: on the terminal and as Markdown."""

import datetime
import statistics
import textwrap

from .intervals import CONFIDENCE, estimate, ratio, unrest
from .rows import Agreement, Figure, Missing, Ratio

HEAD = ("what", "linespeed", "beside", "its figure", "ratio [95 %]", "rounds", "A/A", "target", "verdict")


def cells(row):
    """A row's words, one for each column of HEAD."""
    if isinstance(row, Agreement):
        ours = row.said.get("linespeed")
        others = {name: words for name, words in row.said.items() if name != "linespeed" and words is not None}
        told = sorted(set(others.values()))
        return (
            row.what, ours or "not told", ", ".join(others), " / ".join(told), "", "", "", "the same",
            "yes" if row.agree() else "no",
        )
    if isinstance(row, Missing):
        return (row.what, "", "", "", "", "", "", "", f"not compared: {row.reason}")
    if isinstance(row, Figure):
        found = estimate(row.values)
        if found is None:
            return (row.what, "", "", "", "", "0", "", row.target.words(), "not measured")
        figure = row.show(found.median)
        if found.interval is not None:
            figure += f" [{row.show(found.interval[0])}, {row.show(found.interval[1])}]"
        verdict = row.target.verdict(found) if row.target.words() else ""
        if row.what.endswith("(tool only)"):
            return (row.what, "", "", figure, "", str(found.count), "", "", "not compared yet")
        return (row.what, figure, "", "", "", str(found.count), "", row.target.words(), verdict)
    found = ratio(row.ours, row.theirs)
    if found is None:
        return (row.what, "", row.tool, "", "", "0", "", row.target.words(), "not compared: no round with both figures")
    text = f"{found.median:.3f}"
    if found.interval is not None:
        text += f" [{found.interval[0]:.3f}, {found.interval[1]:.3f}]"
    noise = [unrest(row.ours), unrest(row.theirs)]
    return (
        row.what, row.show(middle(row.ours)), row.tool, row.show(middle(row.theirs)), text, str(found.count),
        " / ".join("" if each is None else f"{each * 100:.2g} %" for each in noise), row.target.words(),
        row.target.verdict(found),
    )


def middle(values):
    """The median of the values that are there."""
    return statistics.median(value for value in values if value is not None)


def terminal(sections):
    """The table as text: columns as wide as their words, a section's remarks below it."""
    blocks = [(section, [cells(row) for row in section.rows]) for section in sections]
    rows = [HEAD] + [row for _, each in blocks for row in each]
    # The last column ends the line, so long words in it (a reason) widen nothing.
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD) - 1)]
    line = lambda row: "  ".join([*(w.ljust(n) for w, n in zip(row, widths)), row[-1]]).rstrip()  # noqa: E731
    text = [line(HEAD), ""]
    for section, each in blocks:
        text += [section.title, *map(line, each)]
        for remark in section.remarks:
            text += textwrap.wrap(remark, 110, initial_indent="  * ", subsequent_indent="    ")
        text.append("")
    return "\n".join(text)


def escape(words):
    """Words that stay in their cell."""
    return words.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def markdown(sections, run):
    """The whole document. `run` tells of the machine, the versions, the load and how to do it again."""
    text = [
        "# Measured side by side",
        "",
        *wrapped(
            f"The table of one run of `bench/run`, written by it on {run['date']}: linespeed beside the tools that people "
            "use for the same question today, interleaved on one machine."
        ),
        "",
        "## How to do it again",
        "",
        "```",
        run["command"],
        "```",
        "",
        *wrapped(
            "As root on Debian 12; it installs the tools (Debian packages, and core-to-core-latency by cargo), builds "
            "linespeed and `bench/chase`, and runs everything. `--quick` takes about three minutes, without it about "
            "ten. Leave the machine alone meanwhile: whatever else runs is measured too."
        ),
        "",
        "## How to read it",
        "",
        *wrapped(
            "A ratio is linespeed ÷ the tool: the median over the rounds of the logarithm of each round's ratio, with "
            f"its exact {CONFIDENCE * 100:.0f} % interval by the sign test, which assumes no shape of distribution "
            "(six rounds at least). Rounds run forwards and backwards in turn (A B B A), so that a drift meets both "
            "sides alike. An interval that contains 1 is *no difference resolved*. The figures beside it are medians "
            "over the rounds. A/A is the noise floor: the median difference of a side from itself in the round before, "
            "linespeed's and the tool's; a difference below it says nothing. A target is what linespeed set itself; a "
            "row without one stands for comparison."
        ),
        "",
        "## The machine",
        "",
        *[line for name, words in run["machine"].items() for line in item(f"{name}: {words}")],
        "",
        "## The run",
        "",
        *[line for name, words in run["about"].items() for line in item(f"{name}: {words}")],
        "",
        "## The table",
        "",
    ]
    for section in sections:
        text += [f"### {section.title}", "", *wrapped(section.how), ""]
        rows = [cells(row) for row in section.rows]
        used = [c for c in range(len(HEAD)) if c in (0, len(HEAD) - 1) or any(row[c] for row in rows)]
        text.append("| " + " | ".join(HEAD[c] for c in used) + " |")
        text.append("|" + "---|" * len(used))
        text += ["| " + " | ".join(escape(row[c]) for c in used) + " |" for row in rows]
        text.append("")
        if section.remarks:
            text += [*(line for remark in section.remarks for line in item(escape(remark))), ""]
    return "\n".join(text).rstrip() + "\n"


def item(text):
    """One item of a list."""
    return textwrap.wrap(
        text, 120, initial_indent="- ", subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )


def wrapped(text):
    """Prose in lines of 120 characters."""
    return textwrap.wrap(text, 120, break_long_words=False, break_on_hyphens=False)


def today():
    """The date and time in UTC."""
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
