"""Tests records and tables from the program: the one specified by $LINESPEED, or the installed one."""

import csv
import io
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import linespeed

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECORDS = [ROOT / "crates/report/tests/all/records/default-run.json", *(ROOT / "crates/linespeed/tests/records/0.1").glob("[!c]*.json")]

try:
    linespeed.program()
    HERE = True
except FileNotFoundError:
    HERE = False

try:
    import pandas
except ImportError:
    pandas = None


@unittest.skipUnless(HERE, "the program is not installed")
class Program(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # The measurements of these tests are not saved with the user's records.
        cls.state = tempfile.TemporaryDirectory()
        cls.environment = mock.patch.dict(os.environ, {"XDG_STATE_HOME": cls.state.name})
        cls.environment.start()

    @classmethod
    def tearDownClass(cls):
        cls.environment.stop()
        cls.state.cleanup()

    def test_a_measurement_returns_its_record(self):
        record = linespeed.measure("run", "costs", "--quick")
        self.assertEqual(record.ended.how, "complete")
        self.assertTrue(record.measurements)
        self.assertLessEqual({m.metric for m in record.measurements}, {row["metric"] for row in linespeed.rows(record)})

    def test_a_command_that_fails_leaves_its_record_all_the_same(self):
        record = linespeed.measure("stat", "--", "sh", "-c", "exit 7")
        self.assertEqual(record.command[-3:], ("sh", "-c", "exit 7"))

    def test_wrong_usage_is_an_exception_with_line_and_code(self):
        with self.assertRaises(linespeed.Failed) as failed:
            linespeed.measure("run", "nonsense")
        self.assertEqual(failed.exception.code, 2)
        self.assertIn("nonsense", failed.exception.line)
        self.assertEqual(str(failed.exception), failed.exception.line)
        self.assertEqual(len(failed.exception.line.splitlines()), 1)
        again = pickle.loads(pickle.dumps(failed.exception))
        self.assertEqual((again.line, again.code), (failed.exception.line, failed.exception.code))

    def test_what_makes_no_record_is_told(self):
        with self.assertRaises(linespeed.Failed) as failed, mock.patch.dict(os.environ, {"LINESPEED": "/bin/true"}):
            linespeed.measure("run")
        self.assertEqual((failed.exception.code, failed.exception.line), (0, "linespeed exited with 0 and wrote no record"))

    def test_rows_are_those_of_csv(self):
        for file in RECORDS:
            with self.subTest(file.name):
                printed = subprocess.run([linespeed.program(), "show", file, "--csv"], check=True, capture_output=True).stdout
                there = list(csv.DictReader(io.StringIO(printed.decode(), newline="")))
                rows = linespeed.rows(linespeed.read(file))
                self.assertEqual(len(rows), len(there))
                for row, own in zip(there, rows):
                    self.assertEqual(row.keys(), own.keys())
                    for name, text in row.items():
                        if isinstance(own[name], (int, float)):
                            self.assertEqual(float(text), own[name])
                        else:
                            self.assertEqual(text, own[name] or "")

    def test_rows_of_several_records_follow_one_another(self):
        several = [linespeed.read(file) for file in RECORDS]
        self.assertEqual(linespeed.rows(iter(several)), [row for record in several for row in linespeed.rows(record)])
        self.assertEqual(linespeed.rows([]), [])

    def test_a_record_that_the_program_refuses_is_an_exception(self):
        later = linespeed.record_of({"schema": 4_000_000, "tool": {"name": "linespeed", "version": "9"}, "started": "later"})
        with self.assertRaises(linespeed.Failed) as failed:
            linespeed.rows(later)
        self.assertNotEqual(failed.exception.code, 0)
        self.assertTrue(failed.exception.line)

    @unittest.skipIf(pandas is None, "pandas is not installed")
    def test_a_frame_has_numbers_and_times(self):
        table = linespeed.frame(linespeed.read(RECORDS[0]))
        self.assertEqual(len(table), len(linespeed.rows(linespeed.read(RECORDS[0]))))
        self.assertEqual(table["value"].dtype.kind, "f")
        self.assertEqual(table["time"].dtype.kind, "M")
        clock = table[table.metric == "core.clock"].value
        self.assertTrue(((clock > 1e8) & (clock < 1e10)).all())

    def test_without_pandas_a_frame_says_what_to_do(self):
        with mock.patch.dict(sys.modules, {"pandas": None}), self.assertRaises(ImportError) as error:
            linespeed.frame(linespeed.read(RECORDS[0]))
        self.assertIn("pip install pandas", str(error.exception))

    def test_where_there_is_no_program_it_is_told(self):
        with tempfile.TemporaryDirectory() as empty, mock.patch.dict(os.environ, {"PATH": empty}), \
                mock.patch("linespeed.running._folders", lambda: iter([empty])):
            os.environ.pop("LINESPEED", None)
            with self.assertRaises(FileNotFoundError) as error:
                linespeed.program()
        self.assertIn("$LINESPEED", str(error.exception))


if __name__ == "__main__":
    unittest.main()
