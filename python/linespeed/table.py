"""Records as one table in long form: one row per result, with the columns of `linespeed show RECORD --csv`."""

from __future__ import annotations

import csv
import io
import json
import subprocess
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Union

from linespeed.running import Failed, line_of, program
from linespeed.records import Record

if TYPE_CHECKING:
    import pandas

#: Columns without numbers.
WORDS = frozenset(["machine", "time", "metric", "unit", "places", "better", "doubt", "bound"])


def rows(records: Union[Record, Iterable[Record]]) -> List[Dict[str, Any]]:
    """One row per result of each record, in order, or per moment of a recording. Numbers are numbers; a missing one is None.

    The program writes them, so that results equal those in every report. Raises Failed if it rejects a record."""
    found: List[Dict[str, Any]] = []
    for record in [records] if isinstance(records, Record) else records:
        command = [program(), "show", "-", "--csv", "--no-pager"]
        done = subprocess.run(command, input=json.dumps(record.json).encode(), capture_output=True, check=False)
        if done.returncode != 0:
            raise Failed(line_of(done.stderr.decode("utf-8", "replace")), done.returncode)
        for row in csv.DictReader(io.StringIO(done.stdout.decode("utf-8"), newline="")):
            found.append({name: value if name in WORDS else _number(value) for name, value in row.items()})
    return found


def _number(text: str) -> Any:
    if not text:
        return None
    try:
        return float(text) if not text.lstrip("-").isdigit() else int(text)
    except ValueError:
        return text


def frame(records: Union[Record, Iterable[Record]]) -> "pandas.DataFrame":
    """The same rows as a pandas data frame, with `time` as a time. Needs pandas, which linespeed does not install."""
    try:
        import pandas  # pylint: disable=import-outside-toplevel
    except ImportError as error:
        raise ImportError("linespeed.frame needs pandas (pip install pandas); linespeed.rows does without") from error
    table: pandas.DataFrame = pandas.DataFrame(rows(records))
    if "time" in table:
        table["time"] = pandas.to_datetime(table["time"], utc=True)
    return table
