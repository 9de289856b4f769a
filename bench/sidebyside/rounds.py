"""Interleaved rounds: every arm runs once per round, in alternating order (A B B A …), so that drift of the machine affects
all arms equally."""

import os

from .tools import Failed, say


def interleave(title, rounds, arms, remarks):
    """Runs every arm (name: function without arguments) once in each of `rounds` rounds. Returns, by name, the list of
    the arm's results, None where it failed. Each distinct failure is added to `remarks` once."""
    results = {name: [] for name in arms}
    cpus = os.sched_getaffinity(0)
    for number in range(rounds):
        names = list(arms) if number % 2 == 0 else list(reversed(arms))
        for name in names:
            say(f"bench: {title}, round {number + 1} of {rounds}: {name}")
            try:
                now = os.sched_getaffinity(0)
                if now != cpus:
                    note(remarks, f"the CPUs changed during the run: first {sorted(cpus)}, then {sorted(now)}")
                results[name].append(arms[name]())
            except Failed as failure:
                results[name].append(None)
                note(remarks, f"{name}: {failure}")
    return results


def note(remarks, text):
    """Adds a remark, unless it is already present."""
    if text not in remarks:
        remarks.append(text)
