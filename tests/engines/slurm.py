"""Slurm's controller and three node daemons, each in namespaces of its own, run the job and the health check on a node that is
held back by a cgroup's quota."""

import json
import os
import pathlib
import pwd
import subprocess

from support import CONTRIB, Skipped, free_port, until

PACKAGES = ["slurmctld", "slurmd", "slurm-client", "munge"]
NODES = ["n1", "n2", "n3"]
SLOW = "n2"
QUOTA = 0.4


def trial(engine):
    if os.geteuid() != 0:
        raise Skipped("namespaces and cgroups are root's")
    folder = engine.folder
    tasks = quota(engine)
    start_munge(engine)
    environment = os.environ | {"PATH": f"{folder}:{os.environ['PATH']}", "SLURM_CONF": str(folder / "slurm.conf")}
    (folder / "linespeed").symlink_to(engine.linespeed)
    baseline = folder / "baseline.json"
    environment["LINESPEED_BASELINE"] = str(baseline)
    (folder / "slurm.conf").write_text(configuration(folder))
    for name in ["state", *NODES]:
        (folder / name).mkdir(exist_ok=True)
    engine.run(engine.linespeed, "inspect", "--output", baseline)
    engine.start("slurmctld", "-D", "-f", folder / "slurm.conf", env=environment)
    for node in NODES:
        join = f"echo $$ > {tasks} && " if node == SLOW else ""
        daemon = f"hostname {node} && mount --bind {folder / node} {folder / 'spool'} && exec slurmd -D -N {node} -f {folder / 'slurm.conf'}"
        unshare = f"exec unshare --uts --mount --pid --fork --mount-proc --kill-child sh -c '{daemon}'"
        engine.start("sh", "-c", join + unshare, env=environment)
    until("idle nodes", lambda: states(environment) == ["idle"] * len(NODES), 120)

    records = folder / "records"
    job = CONTRIB / "slurm" / "linespeed.sbatch"
    more = environment | {"LINESPEED_RECORDS": str(records), "LINESPEED_RUN": "run clock costs --quick"}
    engine.run("sbatch", "--wait", f"--nodes={len(NODES)}", f"--output={folder / 'job.log'}", job, env=more, cwd=folder)
    log = (folder / "job.log").read_text()
    assert sorted(path.name for path in records.iterdir()) == [f"{node}.json" for node in NODES], log
    hosts = {path.stem: json.loads(path.read_text())["machine"] for path in records.iterdir()}
    assert all(machine["hostname"] == node for node, machine in hosts.items()), hosts.keys()

    # The fleet reads a machine a node; that one is held back is a fact of its record alone.
    fleet = engine.run(engine.linespeed, "fleet", records, "--csv")
    machines = {line.split(",")[0] for line in fleet.splitlines()[1:]}
    assert machines == set(NODES), fleet
    held = [node for node in hosts if "cpu_quota" in hosts[node].get("limits", {})]
    assert held == [SLOW], hosts

    # The health check says it, prints the command, and drains nothing.
    said = {}
    for node in NODES:
        word = ["srun", "--nodelist", node, "linespeed", "check", "--exit", "slurm", "--baseline", baseline]
        said[node] = engine.run(*word, env=environment, cwd=folder, code=None)
        logged = engine.run("srun", "--nodelist", node, CONTRIB / "slurm" / "healthcheck", env=environment, cwd=folder)
        assert logged == "", logged
    assert f"CPU quota {QUOTA} CPUs" in said[SLOW] and f"scontrol update nodename={SLOW} state=drain" in said[SLOW], said
    assert all("scontrol" not in said[node] for node in NODES if node != SLOW), said
    # Idle, and not drained.
    until("idle nodes", lambda: states(environment) == ["idle"] * len(NODES))
    return f"{len(NODES)} records of one job; {SLOW} says: {said[SLOW].splitlines()[0]}"


def states(environment):
    """The state of each node, or nothing while the controller does not answer."""
    asked = subprocess.run(["sinfo", "-h", "-N", "-o", "%T"], env=environment, capture_output=True, text=True, timeout=60, check=False)
    return asked.stdout.split()


def start_munge(engine):
    """munged with a key of its own, as root."""
    place = engine.folder / "munge"
    place.mkdir(mode=0o755)
    key = place / "key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    engine.start("munged", "--foreground", "--force", f"--key-file={key}", f"--socket={place / 'socket'}",
                 f"--pid-file={place / 'pid'}", f"--seed-file={place / 'seed'}", f"--log-file={place / 'log'}")
    until("munged", (place / "socket").exists)


def configuration(folder):
    """slurm.conf of a cluster on this machine."""
    name = engine_host()
    (folder / "spool").mkdir()
    user = pwd.getpwuid(os.geteuid()).pw_name
    nodes = "\n".join(f"NodeName={node} NodeHostname={node} NodeAddr=127.0.0.1 Port={free_port()} CPUs={os.cpu_count()} State=UNKNOWN" for node in NODES)
    return f"""ClusterName=linespeed
SlurmctldHost={name}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
SlurmctldPort={free_port()}
SlurmdPort={free_port()}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/spool/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.txt
SlurmdLogFile={folder}/spool/slurmd.txt
MailProg=/bin/true
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
SelectType=select/cons_tres
ReturnToService=2
HealthCheckProgram={CONTRIB}/slurm/healthcheck
HealthCheckInterval=10
HealthCheckNodeState=ANY
{nodes}
PartitionName=all Nodes={','.join(NODES)} Default=YES MaxTime=INFINITE State=UP
"""


def engine_host():
    """This machine's name, as Slurm has it: up to the first dot."""
    return os.uname().nodename.split(".")[0]


def quota(engine):
    """The file that puts a process into a cgroup with a quota."""
    of_cpu = pathlib.Path("/sys/fs/cgroup/cpu")
    second = not of_cpu.exists()
    group = (pathlib.Path("/sys/fs/cgroup") if second else of_cpu) / f"linespeed-trial-{os.getpid()}"
    try:
        if second:
            (group.parent / "cgroup.subtree_control").write_text("+cpu")
        group.mkdir()
        engine.at_the_end(lambda: until("empty cgroup", lambda: not remove(group)))
        if second:
            (group / "cpu.max").write_text(f"{int(QUOTA * 100000)} 100000")
        else:
            (group / "cpu.cfs_quota_us").write_text(str(int(QUOTA * 100000)))
    except OSError as error:
        raise Skipped(f"no cgroup with a quota can be made here: {error}") from error
    return group / "cgroup.procs"


def remove(group):
    """Removes a cgroup that is empty; whether it is still there."""
    try:
        group.rmdir()
    except OSError:
        pass
    return group.exists()
