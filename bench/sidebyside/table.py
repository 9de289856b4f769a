"""The table, for the terminal and as Markdown."""

import datetime
import statistics
import textwrap

from .intervals import CONFIDENCE, estimate, ratio, unrest
from .rows import Agreement, Figure, Missing, Ratio

HEAD = ("what", "linespeed", "other tool", "its result", "ratio [95 %]", "rounds", "A/A", "target", "verdict")


def cells(row):
    """The cells of a row, one for each column of HEAD."""
    if isinstance(row, Agreement):
        ours = row.said.get("linespeed")
        others = {name: words for name, words in row.said.items() if name != "linespeed" and words is not None}
        told = sorted(set(others.values()))
        return (
            row.what, ours or "not reported", ", ".join(others), " / ".join(told), "", "", "", "the same",
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
        return (row.what, "", row.tool, "", "", "0", "", row.target.words(), "not compared: no round with both results")
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
    """The median of the existing values."""
    return statistics.median(value for value in values if value is not None)


def terminal(sections):
    """The table as text, with columns as wide as their contents, and a section's remarks below the section."""
    blocks = [(section, [cells(row) for row in section.rows]) for section in sections]
    rows = [HEAD] + [row for _, each in blocks for row in each]
    # The last column ends the line, so its long texts (reasons) do not widen the table.
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
    """A text in which all characters with a meaning in Markdown tables are escaped."""
    return words.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def markdown(sections, run):
    """The complete document. `run` contains the machine, the versions, the load and the command to repeat the run."""
    text = [
        "# Comparison with other tools",
        "",
        *wrapped(
            f"These tables are from one run of `bench/run` on {run['date']}. They compare linespeed with common tools that "
            "answer the same questions. All runs were interleaved on one machine."
        ),
        "",
        "## How to reproduce it",
        "",
        "```",
        run["command"],
        "```",
        "",
        *wrapped(
            "Run it as root on Debian 12. It installs the tools (Debian packages, and core-to-core-latency with cargo), builds "
            "linespeed and `bench/chase`, and runs all comparisons. `--quick` takes about three minutes, a full run about "
            "ten. Do not use the machine during the run, because other load affects the results."
        ),
        "",
        "## How to read it",
        "",
        *wrapped(
            "A ratio is linespeed's result ÷ the tool's: the median over the rounds, computed from logarithms, with "
            f"an exact {CONFIDENCE * 100:.0f} % interval from the sign test, which assumes no distribution "
            "and requires at least six rounds. The order alternates between rounds (A B B A), so that drift affects both "
            "sides equally. An interval that contains 1 is reported as *no difference resolved*. The results next to the ratio "
            "are medians over the rounds. A/A is the noise floor of linespeed and of the tool: the median difference between "
            "successive rounds of the same program. Differences below the noise floor are meaningless. The targets are linespeed's own; "
            "rows without a target are only for comparison."
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
