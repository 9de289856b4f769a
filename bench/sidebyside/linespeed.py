"""Runs linespeed and finds results in its records."""

import statistics

from . import tools

# Time limit of a single run; a run that exceeds it has failed.
LONGEST_SECONDS = 300


class Linespeed:
    """The program under test."""

    def __init__(self, binary, quick):
        self.binary = binary
        self.quick = quick

    def command(self, *arguments):
        """The command line of linespeed with these arguments."""
        return [str(self.binary), *map(str, arguments)]

    def record(self, *measurements, quick=None):
        """The record of one run of these measurements. Raises tools.Failed."""
        extent = ["--quick"] if (self.quick if quick is None else quick) else []
        return tools.run_json(self.command("run", *measurements, "--json", *extent), LONGEST_SECONDS)

    def inspect(self):
        """The record of `linespeed inspect`. Raises tools.Failed."""
        return tools.run_json(self.command("inspect", "--json"))


def find(record, metric, **place):
    """The measurements of `metric` whose labels include all of these keys and values."""
    if record is None:
        return []
    return [
        measurement
        for measurement in record["measurements"]
        if measurement["metric"] == metric
        and all(measurement["where"].get(key) == value for key, value in place.items())
    ]


def value(measurements):
    """The median of the medians of all measurements; None without measurements."""
    medians = [measurement["summary"]["median"] for measurement in measurements]
    return statistics.median(medians) if medians else None


def lost(records, measurement):
    """Remarks on incomplete or missing parts of a measurement, according to the records' coverage: one for each part."""
    said = {}
    for record in filter(None, records):
        for line in record["coverage"]:
            if line["what"].split()[0] == measurement and line["state"] not in ("measured", "skipped"):
                said.setdefault((line["what"], line["state"]), []).append(line.get("reason", "no reason given"))
    count = sum(record is not None for record in records)
    return [
        f"linespeed, {what}: {state} in {len(reasons)} of {count} runs: {reasons[0]}"
        for (what, state), reasons in said.items()
    ]
