"""Ansible collects a record of each of three hosts, beside one that does not answer, checks them, and reads the local fact."""

import json
import os

from support import CONTRIB

PACKAGES = ["python3-venv", "openssh-client"]


def trial(engine):
    programs = engine.virtual_environment("ansible-core")
    hosts = ["n1", "n2", "n3"]
    inventory = engine.folder / "hosts"
    python = f"ansible_python_interpreter={programs / 'python'}"
    lines = [f"{host} ansible_connection=local {python} linespeed_folder={engine.folder / 'on' / host}" for host in hosts]
    # Nobody listens there: a host that does not answer.
    lines.append("n4 ansible_connection=ssh ansible_host=127.0.0.1 ansible_port=1")
    inventory.write_text("\n".join([*lines, ""]))
    (engine.folder / "on").mkdir()
    environment = os.environ | {"HOME": str(engine.folder), "LC_ALL": "C.UTF-8", "ANSIBLE_NOCOLOR": "1"}
    environment["PATH"] = f"{programs}:{environment['PATH']}"

    def play(name, *more, code=0):
        book = CONTRIB / "ansible" / name
        words = [programs / "ansible-playbook", "-i", inventory, book, "-e", f"linespeed_program={engine.linespeed}", *more]
        return engine.run(*words, code=code, env=environment)

    records = engine.folder / "records"
    # The three are one machine, which measures for one of them at a time.
    measure = json.dumps({"linespeed_run": ["run", "clock", "costs", "--quick"], "linespeed_records": str(records)})
    said = play("collect.yml", "--forks", "1", "-e", measure, code=4)
    assert said.count("unreachable=1") == 1, said
    assert sorted(path.stem for path in records.iterdir()) == hosts
    for path in records.iterdir():
        assert json.loads(path.read_text())["measurements"], path
        engine.run(engine.linespeed, "show", path, "-q")

    # Held against one of themselves nothing is off; with another kernel in the baseline every host says so.
    baseline = engine.folder / "baseline.json"
    baseline.write_text((records / "n1.json").read_text())
    answering = ["-l", ",".join(hosts)]
    said = play("check.yml", *answering, "-e", f"linespeed_baseline={baseline}")
    assert said.count("OK: ") >= len(hosts) and "failed=0" in said, said
    changed = json.loads(baseline.read_text())
    changed["machine"]["kernel"]["release"] = "1.0.0"
    baseline.write_text(json.dumps(changed))
    said = play("check.yml", *answering, "-e", f"linespeed_baseline={baseline}", code=2)
    assert said.count("failed=1") == len(hosts) and "not 1.0.0" in said, said

    facts = engine.folder / "facts.d"
    facts.mkdir()
    (facts / "linespeed.fact").symlink_to(CONTRIB / "ansible" / "linespeed.fact")
    environment |= {"LINESPEED_BASELINE": str(baseline), "PATH": f"{engine.linespeed.parent}:{environment['PATH']}"}
    asked = [programs / "ansible", "-i", inventory, "n2", "-m", "ansible.builtin.setup", "-a", f"filter=ansible_local fact_path={facts}"]
    said = engine.run(*asked, env=environment)
    fact = json.loads(said[said.index("{"):])["ansible_facts"]["ansible_local"]["linespeed"]
    assert fact["result"]["outcome"] == "setting" and "not 1.0.0" in fact["line"], fact
    return f"{len(hosts)} records fetched; of another kernel each host says: {fact['line']}"
