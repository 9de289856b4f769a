"""linespeed on a node: the core's clock, memory latency and memory bandwidth."""

import json
import pathlib

import reframe as rfm
import reframe.utility.sanity as sn


def figures(record):
    """The headline results of a machine, by the names of the performance functions: value and unit."""
    def best(metric, choose, scale, unit, **where):
        found = [one for one in record["measurements"]
                 if one["metric"] == metric and "doubt" not in one
                 and all(one["where"].get(key) == value for key, value in where.items())]
        values = [one["summary"]["median"] * scale for one in found]
        return (choose(values), unit) if values else None

    def beyond_caches():
        curve = [one for one in record["measurements"] if one["metric"] == "load.latency" and "doubt" not in one]
        if not curve:
            return None
        largest = max(one["where"]["bytes"] for one in curve)
        return (min(one["summary"]["median"] for one in curve if one["where"]["bytes"] == largest), "ns")

    return {
        "clock": best("core.clock", max, 1e-9, "GHz", active="one", vector="scalar"),
        "memory_latency": beyond_caches(),
        "triad": best("memory.bandwidth", max, 1e-9, "GB/s", op="triad", bytes_counted="stream"),
    }


@rfm.simple_test
class Linespeed(rfm.RunOnlyRegressionTest):
    """Measures for ten seconds."""

    descr = "how far the node runs below its hardware's speed"
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "linespeed"
    executable_opts = ["run", "clock", "latency", "bandwidth", "--quick", "--output", "record.json"]
    time_limit = "5m"
    # A record to compare with, and how far below it a result may be.
    reference_file = variable(str, value="")
    bound = variable(float, value=-0.1)
    # The test reserves the complete node.
    exclusive_access = True

    @run_before("performance")
    def hold_against_a_record(self):
        names = ["clock", "memory_latency", "triad"]
        self.perf_variables = {name: sn.make_performance_function(self.figure(name), figure_unit(name)) for name in names}
        if not self.reference_file:
            return
        known = figures(json.loads(pathlib.Path(self.reference_file).read_text(encoding="utf-8")))
        held = {}
        for name, figure in known.items():
            if figure is not None:
                # A longer time is worse.
                limits = (None, -self.bound) if name == "memory_latency" else (self.bound, None)
                held[name] = (figure[0], *limits, figure[1])
        self.reference = {"*": held}

    @sanity_function
    def a_record_is_there(self):
        return sn.assert_true(sn.path_isfile("record.json"), "linespeed wrote no record")

    @deferrable
    def figure(self, name):
        record = json.loads(pathlib.Path(self.stagedir, "record.json").read_text(encoding="utf-8"))
        figure = figures(record)[name]
        if figure is None:
            raise rfm.core.exceptions.SanityError(f"{name}: linespeed's result is unreliable; measure an idle node")
        return figure[0]


def figure_unit(name):
    """The unit of a performance function."""
    return {"clock": "GHz", "memory_latency": "ns", "triad": "GB/s"}[name]
