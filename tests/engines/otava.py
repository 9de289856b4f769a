"""A machine's history as comma-separated values is what Apache Otava reads, and it finds the change where linespeed does."""

import copy
import datetime
import json

PACKAGES = ["python3-venv"]

CONFIGURATION = """
tests:
  machine:
    type: csv
    file: {table}
    time_column: time
    attributes: [record]
    metrics: [core]
"""


def trial(engine):
    programs = engine.virtual_environment("apache-otava")
    seed, records = engine.folder / "seed.json", engine.folder / "records"
    engine.run(engine.linespeed, "run", "clock", "--quick", "-q", "--output", seed)
    measured = json.loads(seed.read_text(encoding="utf-8"))
    host = measured["machine"]["hostname"]
    records.mkdir()
    first = datetime.datetime(2026, 1, 1)
    for day in range(20):
        record, at = copy.deepcopy(measured), first + datetime.timedelta(days=day)
        record["started"] = f"{at:%Y-%m-%dT%H:%M:%SZ}"
        factor = (0.8 if day >= 12 else 1.0) * (1 + 0.001 * (day * 7 % 5))
        for figure in record["measurements"]:
            figure["samples"] = [sample * factor for sample in figure.get("samples", [])]
            summary = figure["summary"]
            for name in ("min", "median", "max", "mean"):
                if summary.get(name) is not None:
                    summary[name] *= factor
            if summary.get("interval"):
                summary["interval"] = [end * factor for end in summary["interval"]]
        (records / f"{host}-{at:%Y%m%dT%H%M%SZ}.json").write_text(json.dumps(record), encoding="utf-8")
    table, configuration = engine.folder / "history.csv", engine.folder / "otava.yaml"
    asked = [engine.linespeed, "history", "core", "--from", records]
    engine.run(*asked, "--csv", "--output", table)
    ours = json.loads(engine.run(*asked, "--json"))
    changes = [ours["records"][change["after"]]["started"][:10] for change in ours["lines"][0]["changes"]]
    assert changes == ["2026-01-13"], changes
    configuration.write_text(CONFIGURATION.format(table=table), encoding="utf-8")
    told = engine.run(programs / "otava", "analyze", "machine", "--config-file", configuration, "--since", "2025-12-01", code=None)
    lines = [line for line in told.splitlines() if line.strip()]
    percent = [at for at, line in enumerate(lines) if "%" in line]
    assert len(percent) == 1, told
    # The line after the one of the change and its border is the first record after it.
    after = next(line for line in lines[percent[0] + 1:] if line.startswith("20"))
    assert after.startswith("2026-01-13"), told
    return "Otava reads the history and dates the change between the same two records"
