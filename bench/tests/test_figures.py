"""Tests for errors that would mislead readers of the table: wrong intervals, wrong units, medians from the wrong bin."""

import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from sidebyside import bandwidth, core_to_core, intervals, inventory, latency, repeatability, table, wakeup  # noqa: E402
from sidebyside.rows import Agreement, Figure, Missing, Ratio, Section, nanoseconds, size  # noqa: E402

HISTOGRAM = """# /dev/cpu_dma_latency set to 0us
# Histogram
000000 000000\t000000
000001 000000\t000002
000002 000004\t000000
000003 000004\t000002
# Total: 000000008 000000004
# Min Latencies: 00002 00001
# Avg Latencies: 00002 00900
# Max Latencies: 00003 05702
# Histogram Overflows: 00000 00001
# Histogram Overflow at cycle number:
# Thread 0:
# Thread 1: 00820
"""


class Intervals(unittest.TestCase):
    def test_six_values_reach_from_least_to_most_and_five_give_none(self):
        self.assertIsNone(intervals.median_interval([1, 2, 3, 4, 5]))
        self.assertEqual(intervals.median_interval([6, 1, 5, 2, 4, 3]), (1, 6))

    def test_ranks_are_those_of_the_sign_test(self):
        # From tables of the sign test: ranks 2 and 8 for 9 values (96.1 %), ranks 6 and 15 for 20 values (95.9 %).
        self.assertEqual(intervals.median_interval(range(1, 10)), (2, 8))
        self.assertEqual(intervals.median_interval(range(1, 21)), (6, 15))

    def test_a_ratio_is_paired_by_round_so_that_drift_cancels(self):
        theirs = [1, 2, 4, 8, 16, 32]
        found = intervals.ratio([1.1 * value for value in theirs], theirs)
        self.assertAlmostEqual(found.median, 1.1)
        self.assertAlmostEqual(found.interval[0], 1.1)
        self.assertAlmostEqual(found.interval[1], 1.1)

    def test_a_round_that_failed_on_one_side_does_not_count(self):
        self.assertEqual(intervals.ratio([1, None, 3], [1, 2, None]).count, 1)
        self.assertIsNone(intervals.ratio([None], [1]))
        self.assertIsNone(intervals.ratio([0.0], [1]))

    def test_verdicts(self):
        told = lambda target, *values: target.verdict(intervals.estimate(values))  # noqa: E731
        within, least, under = intervals.Within(0.05), intervals.AtLeast(1), intervals.Under(5, "5 ms")
        self.assertEqual(told(within, 0.96, 0.97, 0.98, 1, 1.01, 1.04), "reached")
        self.assertEqual(told(within, 1.06, 1.07, 1.08, 1.1, 1.1, 1.2), "missed")
        self.assertIn("interval not", told(within, 0.9, 1, 1, 1, 1, 1.1))
        self.assertIn("rule it out", told(within, 1, 1.06, 1.07, 1.07, 1.08, 1.1))
        self.assertIn("too few", told(within, 1, 1))
        self.assertEqual(told(least, 0.8, 0.8, 0.8, 0.8, 0.8, 0.9), "missed")
        self.assertEqual(told(least, 0.9, 1, 1, 1, 1, 1.1), "no difference resolved")
        self.assertEqual(told(least, 1, 1.1, 1.1, 1.1, 1.2, 1.2), "reached")
        self.assertEqual(told(under, 1, 1, 1, 1, 1, 1), "reached")
        self.assertEqual(told(under, 6), "missed")


class Readings(unittest.TestCase):
    def test_cyclictests_median_lies_within_its_bin(self):
        # Thread 0: half of eight samples are in bin 2, so the median is at its end. Thread 1: 2.5 of five samples,
        # a quarter into bin 3.
        self.assertEqual(wakeup.histogram_medians(HISTOGRAM), {0: 3000.0, 1: 3250.0})

    def test_a_median_beyond_the_histogram_is_none(self):
        late = HISTOGRAM.replace("Overflows: 00000 00001", "Overflows: 00000 00009")
        self.assertEqual(wakeup.histogram_medians(late), {0: 3000.0})
        self.assertEqual(wakeup.histogram_medians("# Histogram\n"), {})

    def test_the_ratio_over_cpus_is_the_median_of_each_cpus_own(self):
        ours, theirs = wakeup.paired({0: 10.0, 1: 40.0, 2: 30.0}, {0: 10.0, 1: 20.0, 2: 10.0, 3: 5.0})
        self.assertAlmostEqual(ours / theirs, 2)
        self.assertIsNone(wakeup.paired({0: 1.0}, {1: 1.0}))
        self.assertEqual([round(x, 9) for x in wakeup.paired({0: 12.0}, {0: 8.0})], [12.0, 8.0])

    def test_likwid_kernels_that_this_cpu_cannot_run_are_left_out(self):
        old, new = ["avx"], ["avx", "fma", "avx512f"]
        self.assertTrue(bandwidth.usable("stream_mem_sse", []))
        self.assertTrue(bandwidth.usable("stream_avx", old))
        self.assertFalse(bandwidth.usable("stream_avx_fma", old))
        self.assertFalse(bandwidth.usable("stream_mem_avx512", old))
        self.assertTrue(bandwidth.usable("triad_avx512_fma", new))
        for other in ("stream_sp_avx", "copy_avx", "streamer"):
            self.assertFalse(bandwidth.usable(other, new))

    def test_likwid_takes_memory_of_each_node_for_its_own_threads(self):
        nodes = [{"cpus": "0-3", "bytes": 1}, {"cpus": "4-7", "bytes": 1}, {"cpus": "", "bytes": 1}]
        self.assertEqual(bandwidth.workgroups({"nodes": nodes}, 8000, 8), ["M0:4kB:4", "M1:4kB:4"])
        self.assertEqual(bandwidth.workgroups({"nodes": nodes[:1]}, 8000, 4), ["N:8kB:4"])

    def test_sysbench_gets_a_block_that_it_accepts(self):
        self.assertEqual([bandwidth.power_of_two(n) for n in (1, 4096, 4097, 3 << 20)], [4096, 4096, 8192, 4 << 20])

    def test_of_variants_the_best_over_all_rounds_counts_not_the_best_of_each(self):
        self.assertEqual(bandwidth.best([[1, 9, 1], [2, 2, 2]]), [2, 2, 2])
        self.assertEqual(bandwidth.best_mbw([{"A": 1, "B": 2}, None, {"A": 1, "B": 3}]), [2, None, 3])
        self.assertEqual(bandwidth.best_mbw([None]), [None])

    def test_core_to_core_reads_the_triangle(self):
        self.assertEqual(core_to_core.of_csv(",,\n10,,\n20,40,\n"), 20)

    def test_core_to_core_holds_the_tool_against_the_same_way_of_handing_over(self):
        pair = lambda way, ns: {  # noqa: E731
            "metric": "core_to_core.latency", "where": {"from": 0, "to": 1, "handover": way},
            "summary": {"median": ns}, "detail": {"pair_us": 860.5},
        }
        record = {"measurements": [pair("store", 40.0), pair("cas", 27.0)]}
        self.assertEqual(core_to_core.of_way([record, None], "cas"), [27.0, None])
        self.assertEqual(core_to_core.of_way([record], "store"), [40.0])
        self.assertEqual((core_to_core.took(record), core_to_core.took(None)), (860500.0, None))

    def test_the_point_nearest_to_the_wanted_size_is_on_huge_pages(self):
        point = lambda bytes_, page: {"metric": "load.latency", "where": {"bytes": bytes_, "page": page}}  # noqa: E731
        record = {"measurements": [point(512 << 20, "4KiB"), point(362 << 20, "2MiB"), point(1 << 30, "2MiB")]}
        self.assertEqual(latency.nearest(record)["where"]["bytes"], 362 << 20)
        self.assertIsNone(latency.nearest({"measurements": []}))

    def test_caches_read_alike_whatever_their_order(self):
        self.assertEqual(inventory.caches([2 << 20, 1 << 20, 2 << 20]), "1 MiB × 1, 2 MiB × 2")

    def test_runs_that_doubt_themselves_do_not_count_as_repeated(self):
        run = lambda value, doubt=None: [{"summary": {"median": value}, "doubt": doubt}]  # noqa: E731
        section = Section("", "", [])
        repeatability.add_repeated(section, "x", [run(1.0), run(5.0, "too noisy"), run(1.0)])
        self.assertEqual(section.rows[0].values, [0.0])
        self.assertIn("too noisy", section.remarks[0])
        section = Section("", "", [])
        repeatability.add_repeated(section, "x", [run(1.0, "too noisy"), run(5.0, "too noisy")])
        self.assertIsInstance(section.rows[0], Missing)
        self.assertAlmostEqual(repeatability.from_whole(4.9), 0.02)
        self.assertAlmostEqual(repeatability.from_whole(0.4), 0.6)


class Table(unittest.TestCase):
    def sections(self):
        rows = [
            Agreement("cores", {"linespeed": "2", "lscpu": "2", "lstopo": "4"}),
            Ratio("latency", "chase", [101.0] * 6, [100.0] * 6, nanoseconds, intervals.Within(0.05)),
            Figure("memory", [5 << 20], size, intervals.Under(32 << 20, "32 MiB")),
            Missing("x | y", "no <tool>"),
            Ratio("none", "chase", [None], [1.0], nanoseconds),
        ]
        return [Section("Title", "How it counts.", rows, ["a | remark"])]

    def test_disagreement_is_told_with_what_each_said(self):
        self.assertEqual(table.cells(self.sections()[0].rows[0])[3::5], ("2 / 4", "no"))

    def test_every_row_stands_in_both_forms(self):
        run = {"date": "today", "command": "bench/run", "machine": {"Shape": "one"}, "about": {"Took": "1 s"}}
        for text in (table.terminal(self.sections()), table.markdown(self.sections(), run)):
            for words in ("cores", "1.010 [1.010, 1.010]", "reached", "5 MiB", "no round with both results", "remark"):
                self.assertIn(words, text)

    def test_words_from_a_tool_stay_in_their_cell(self):
        run = {"date": "", "command": "", "machine": {}, "about": {}}
        lines = table.markdown(self.sections(), run).splitlines()
        row = next(line for line in lines if "x \\|" in line)
        self.assertEqual(row.replace("\\|", "").count("|"), lines[lines.index(row) - 4].count("|"))
        self.assertIn("&lt;tool>", row)


if __name__ == "__main__":
    unittest.main()
