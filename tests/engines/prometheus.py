"""What linespeed writes goes through promtool, node_exporter and Prometheus, and comes back from a query."""

import json
import urllib.parse

from support import CONTRIB, fetch, free_port, until

PACKAGES = ["prometheus", "prometheus-node-exporter"]


def trial(engine):
    texts = engine.folder / "textfile"
    texts.mkdir()
    record = engine.folder / "record.json"
    file = texts / "linespeed.prom"
    engine.run(engine.linespeed, "run", "clock", "costs", "--quick", "-q", "--output", record, "--prom", file)
    engine.run(engine.linespeed, "live", "--once", "1s", "-q", "--prom", texts / "linespeed-live.prom")
    for text in texts.iterdir():
        assert engine.run("promtool", "check", "metrics", stdin=open(text, encoding="utf-8")) == ""
    measured = json.loads(record.read_text())
    units = {figure["metric"] for figure in measured["measurements"] if not figure.get("doubt")}
    assert "core.clock" in units or "cost.syscall" in units, units

    exporter = free_port()
    engine.start("prometheus-node-exporter", "--collector.disable-defaults", "--collector.textfile",
                 f"--collector.textfile.directory={texts}", f"--web.listen-address=127.0.0.1:{exporter}")
    served = until("node_exporter", lambda: fetch(f"http://127.0.0.1:{exporter}/metrics"))
    assert "node_textfile_scrape_error 0" in served, served
    assert "linespeed_run_timestamp_seconds" in served and "linespeed_live_cpu_ratio" in served

    for name in ["linespeed.rules.yml", "prometheus.yml"]:
        text = (CONTRIB / "prometheus" / name).read_text()
        (engine.folder / name).write_text(text.replace("localhost:9100", f"127.0.0.1:{exporter}")
                                          .replace("scrape_configs:", "global:\n  scrape_interval: 1s\nscrape_configs:"))
    engine.run("promtool", "check", "rules", engine.folder / "linespeed.rules.yml")
    engine.run("promtool", "check", "config", engine.folder / "prometheus.yml")
    port = free_port()
    engine.start("prometheus", f"--config.file={engine.folder / 'prometheus.yml'}",
                 f"--storage.tsdb.path={engine.folder / 'data'}", f"--web.listen-address=127.0.0.1:{port}")

    def query(words):
        text = fetch(f"http://127.0.0.1:{port}/api/v1/query?{urllib.parse.urlencode({'query': words})}")
        return json.loads(text)["data"]["result"] if text else []

    metric = "linespeed_cost_syscall_seconds" if "cost.syscall" in units else "linespeed_core_clock_hertz"
    series = until(metric, lambda: query(metric))
    value = float(series[0]["value"][1])
    name, divisor = ("cost.syscall", 1e9) if "syscall" in metric else ("core.clock", 1)
    cpu = series[0]["metric"]["cpu"]
    there = [figure["summary"]["median"] / divisor for figure in measured["measurements"]
             if figure["metric"] == name and str(figure["where"].get("cpu")) == cpu]
    assert any(abs(value - one) <= 1e-9 * one for one in there), (series, there)
    return f"Prometheus answers {metric} {value:g}, as the record has it"
