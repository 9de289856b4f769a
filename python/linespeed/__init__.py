"""linespeed's records in Python: read them, tabulate them, make them.

    import linespeed

    record = linespeed.measure("run", "clock", "--quick")
    before = linespeed.read("before.json")
    table = linespeed.frame([before, record])      # with pandas
"""

from linespeed.running import Failed, measure, program
from linespeed.reading import NotARecord, read, record_of
from linespeed.records import Finding, Machine, Measurement, Record, Summary
from linespeed.table import frame, rows

__all__ = ["Failed", "Finding", "Machine", "Measurement", "NotARecord", "Record", "Summary", "frame", "measure", "program", "read",
           "record_of", "rows"]
