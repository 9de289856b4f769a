"""Tests that records of this version, of 0.1 and of later versions are read; other inputs are rejected with one line that contains the place."""

import dataclasses
import io
import json
import pathlib
import typing
import unittest

import linespeed
from linespeed import records

ROOT = pathlib.Path(__file__).resolve().parents[2]
EARLIER = ROOT / "crates/linespeed/tests/records/0.1"
RECORD = ROOT / "crates/report/tests/all/records/default-run.json"


class Reading(unittest.TestCase):
    def test_a_record_has_what_its_file_has(self):
        record = linespeed.read(RECORD)
        there = json.loads(RECORD.read_text())
        self.assertEqual(record.tool.version, there["tool"]["version"])
        self.assertEqual(record.machine.architecture, there["machine"]["architecture"])
        self.assertEqual([m.summary.median for m in record.measurements], [m["summary"]["median"] for m in there["measurements"]])
        self.assertEqual([m.where for m in record.measurements], [m["where"] for m in there["measurements"]])
        self.assertEqual(record.ended.how, "complete")
        self.assertEqual(record.json, there)

    def test_findings_stand_in_their_order(self):
        file = EARLIER / "main.json"
        there = json.loads(file.read_text())["diagnosis"]["findings"]
        self.assertTrue(there)
        self.assertEqual([(f.rule, f.loss.share) for f in linespeed.read(file).diagnosis.findings],
                         [(f["rule"], f["loss"].get("share")) for f in there])

    def test_every_field_of_every_kept_record_is_read(self):
        """Reading preserves everything that the schema describes."""
        def held(value, read, place):
            if dataclasses.is_dataclass(read):
                names = {field.name for field in dataclasses.fields(read)}
                for key, each in value.items():
                    name = key if key in names else f"{key}_"
                    if name in names and each is not None:
                        held(each, getattr(read, name), f"{place}.{key}")
            elif isinstance(read, tuple):
                self.assertEqual(len(value), len(read), place)
                for index, (each, own) in enumerate(zip(value, read)):
                    held(each, own, f"{place}[{index}]")
            elif isinstance(read, dict):
                self.assertEqual(value.keys(), read.keys(), place)
                for key in value:
                    held(value[key], read[key], f"{place}.{key}")
            else:
                self.assertEqual(value, read, place)

        for file in [RECORD, RECORD.with_name("overhead.json"), *(EARLIER / f"{name}.json" for name in ("main", "stat", "import"))]:
            with self.subTest(file=file.name):
                held(json.loads(file.read_text()), linespeed.read(file), "")

    def test_it_cannot_be_changed(self):
        with self.assertRaises(dataclasses.FrozenInstanceError):
            linespeed.read(RECORD).machine.hostname = "another"

    def test_an_open_file_is_read_too(self):
        with open(RECORD, "rb") as binary, open(RECORD, encoding="utf-8") as text:
            self.assertEqual(linespeed.read(binary), linespeed.read(text))

    def test_what_a_later_version_adds_is_kept_aside(self):
        later = json.loads(RECORD.read_text())
        later["weather"] = {"sky": "blue"}
        later["machine"]["colour"] = "grey"
        later["ended"] = {"how": "postponed", "until": "tomorrow"}
        later["measurements"][0]["better"] = "sideways"
        record = linespeed.record_of(later)
        self.assertEqual(record.ended.how, "postponed")
        self.assertEqual(record.json["weather"], {"sky": "blue"})
        self.assertEqual(record.measurements[0].better, "sideways")

    def test_the_least_record_has_everything_empty(self):
        record = linespeed.record_of({"schema": 1, "tool": {"name": "linespeed", "version": "9"}, "started": "2030-01-01T00:00:00Z"})
        self.assertEqual(record.measurements, ())
        self.assertIsNone(record.machine.hostname)
        self.assertEqual(record.machine.processor.features, ())
        self.assertEqual(record.ended.how, "complete")
        self.assertEqual(record.diagnosis.findings, ())
        self.assertIsNone(record.watch)

    def test_what_is_no_record_is_told(self):
        whole = json.loads(RECORD.read_text())

        def without(*path):
            harmed = json.loads(RECORD.read_text())
            inner = harmed
            for key in path[:-1]:
                inner = inner[key]
            del inner[path[-1]]
            return harmed

        told = [
            ("", "not JSON"),
            ("{", "not JSON"),
            ("\xff", "not JSON"),
            ("[]", "not a linespeed record"),
            ("null", "not a linespeed record"),
            ("{}", "not a linespeed record"),
            ('"schema tool started"', "not a linespeed record"),
            (json.dumps({**whole, "started": 3}), "started is not text"),
            (json.dumps({**whole, "measurements": {}}), "measurements is not a list"),
            (json.dumps({**whole, "machine": []}), "machine is not an object"),
            (json.dumps(without("measurements", 2, "summary")), "measurements[2].summary is missing"),
            (json.dumps({**whole, "measurements": [{"metric": "m", "unit": "s", "where": {}, "summary": {"median": "1"}}]}),
             "measurements[0].summary.median is not a number"),
            (json.dumps({**whole, "measurements": [{"metric": "m", "unit": "s", "where": {}, "summary": {"interval": [1]}}]}),
             "measurements[0].summary.interval has 1 values instead of 2"),
            ("[" * 100_000, "not JSON"),
        ]
        for text, why in told:
            with self.subTest(text=text[:40], why=why), self.assertRaises(linespeed.NotARecord) as refused:
                linespeed.read(io.BytesIO(text.encode("latin-1")))
            self.assertIn(why, str(refused.exception))
        with self.assertRaises(linespeed.NotARecord) as refused:
            linespeed.read(EARLIER / "compared.json")
        self.assertEqual(str(refused.exception), f"{EARLIER / 'compared.json'}: a comparison, not a record")
        with self.assertRaises(FileNotFoundError):
            linespeed.read("/nowhere/record.json")

    def test_each_class_names_types_that_there_are(self):
        for name, kind in vars(records).items():
            if dataclasses.is_dataclass(kind):
                with self.subTest(name):
                    typing.get_type_hints(kind, vars(records))


if __name__ == "__main__":
    unittest.main()
