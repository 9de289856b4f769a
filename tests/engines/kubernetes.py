"""The manifests are valid by the API's schemas; node-problem-detector's plugin and the features file are as their readers want them.

The detector itself is built where Go is installed, and runs the plugin once."""

import json
import os
import re
import shutil

from support import CONTRIB, fetch, free_port, until

PACKAGES = ["python3-venv"]

VALIDATE = """
import sys, yaml, kubernetes_validate
for path in sys.argv[1:]:
    for document in yaml.safe_load_all(open(path)):
        kubernetes_validate.validate(document, kubernetes_validate.latest_version(), strict=True)
        print(path, document["kind"])
"""


def trial(engine):
    here = CONTRIB / "kubernetes"
    programs = engine.virtual_environment("kubernetes-validate")
    manifests = sorted(here.glob("*.yaml"))
    valid = engine.run(programs / "python", "-c", VALIDATE, *manifests)
    assert len(valid.splitlines()) == len(manifests) == 2, valid
    broken = engine.folder / "broken.yaml"
    broken.write_text(manifests[0].read_text().replace("containers:", "container:"))
    engine.run(programs / "python", "-c", VALIDATE, broken, code=1)

    environment = os.environ | {"PATH": f"{engine.linespeed.parent}:{os.environ['PATH']}"}
    same, other, setting = (engine.folder / name for name in ("same.json", "other.json", "setting.json"))
    engine.run(engine.linespeed, "inspect", "--output", same)
    for path, place, value in [(other, ("machine", "architecture"), "riscv64"), (setting, ("machine", "kernel", "release"), "1.0.0")]:
        record = json.loads(same.read_text())
        inner = record
        for step in place[:-1]:
            inner = inner[step]
        inner[place[-1]] = value
        path.write_text(json.dumps(record))

    config = json.loads((here / "npd-linespeed.json").read_text())
    most = config["pluginConfig"]["max_output_length"]
    missing = engine.folder / "none.json"
    for baseline, code in [(same, 0), (setting, 1), (other, 2), (missing, 2)]:
        said = engine.run(here / "npd-linespeed", baseline, code=code, env=environment)
        assert said.count("\n") == 1 and len(said.strip()) <= most, said

    features = engine.folder / "features.d"
    features.mkdir()
    for baseline, off in [(same, "false"), (setting, "true"), (other, "unknown"), (missing, "unknown")]:
        engine.run(here / "features", baseline, features, env=environment)
        lines = dict(line.split("=") for line in (features / "linespeed").read_text().splitlines())
        assert lines["linespeed.off"] == off and set(lines) == {"linespeed.off", "linespeed.reason"}, lines
        assert all(re.fullmatch(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?", value) for value in lines.values()), lines
    return f"{len(manifests)} manifests valid; the plugin ends with 0, 1 and 2; {detector(engine, config, setting, environment)}"


def detector(engine, config, baseline, environment):
    """What the real detector makes of the plugin, where it can be built."""
    go = shutil.which("go") or (shutil.which("/usr/local/go/bin/go"))
    if go is None:
        return "without Go the detector itself is not built"
    binary = engine.kept / "node-problem-detector"
    if not binary.exists():
        source = engine.folder / "npd"
        source.mkdir()
        build = environment | {"CGO_ENABLED": "0", "GOFLAGS": "-mod=mod"}
        how = {"cwd": source, "env": build, "code": None}
        engine.run(go, "mod", "init", "linespeed-trial", **how)
        engine.run(go, "get", "k8s.io/node-problem-detector@v1.34.0", **how)
        engine.run(go, "build", "-tags", "disable_system_log_monitor", "-o", binary,
                   "k8s.io/node-problem-detector/cmd/nodeproblemdetector", **how)
    if not binary.exists():
        return "the detector's Go module could not be built"
    config["rules"][0]["path"] = str(CONTRIB / "kubernetes" / "npd-linespeed")
    config["rules"][0]["args"] = [str(baseline)]
    file = engine.folder / "npd.json"
    file.write_text(json.dumps(config))
    port = free_port()
    engine.start(binary, f"--config.custom-plugin-monitor={file}", "--enable-k8s-exporter=false", f"--prometheus-port={port}",
                 "--port=0", "--logtostderr", "--v=3", env=environment | {"NODE_NAME": "n1"})

    def is_off():
        lines = [line for line in fetch(f"http://127.0.0.1:{port}/metrics").splitlines() if line.startswith("problem_gauge{")]
        return any('"FactsDiffer"' in line and '"LinespeedOff"' in line and line.endswith(" 1") for line in lines)

    until("condition of the detector", is_off)
    assert "not 1.0.0" in (engine.folder / "node-problem-detector.log").read_text()
    return "the real detector sets the condition LinespeedOff"
