"""A record's figures as comma-separated values are one table for DuckDB, which writes them as Parquet."""

import csv

PACKAGES = ["python3-venv"]

# The line of the README, with the folder's names.
SCRIPT = """
import duckdb
duckdb.sql("COPY (FROM read_csv('{folder}/*.csv')) TO '{folder}/figures.parquet'")
rows = duckdb.sql("SELECT count(*), count(DISTINCT time), count(value), count(low) FROM '{folder}/figures.parquet'").fetchall()[0]
kinds = duckdb.sql("SELECT typeof(value), typeof(time) FROM '{folder}/figures.parquet' LIMIT 1").fetchall()[0]
print(*rows, *kinds, sep=";")
"""


def trial(engine):
    programs = engine.virtual_environment("duckdb")
    rows, values = 0, 0
    for number in range(2):
        record, table = engine.folder / f"{number}.json", engine.folder / f"{number}.csv"
        engine.run(engine.linespeed, "run", "clock", "costs", "--quick", "-q", "--output", record)
        engine.run(engine.linespeed, "show", record, "--csv", "--output", table)
        with open(table, encoding="utf-8", newline="") as text:
            figures = list(csv.DictReader(text))
        rows += len(figures)
        values += sum(figure["value"] != "" for figure in figures)
    told = engine.run(programs / "python", "-c", SCRIPT.format(folder=engine.folder)).strip().split(";")
    assert [int(told[0]), int(told[1]), int(told[2])] == [rows, 2, values], (told, rows, values)
    assert told[4] == "DOUBLE" and told[5].startswith("TIMESTAMP"), told
    return f"{rows} figures of two records are one Parquet file"
