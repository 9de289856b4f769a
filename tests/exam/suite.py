"""What the exam's runner and its experiments have in common: the table of programs, how they are built and started."""

import contextlib
import dataclasses
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import time
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"
ROOT = HERE.parent.parent
WORK = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve() / "exam"
CPUS = len(os.sched_getaffinity(0))
LEVELS = ["O0", "O2", "O3"]
# A process that hangs is ended after so many seconds.
LIMIT = 120


def table():
    return tomllib.loads((HERE / "truth.toml").read_text())


@dataclasses.dataclass
class Case:
    """A program as it is run: built with one optimization, in so many copies."""

    name: str
    program: dict
    level: str
    copies: int

    def truth(self):
        """The name of the right answer: copies on all CPUs are not one thread any more."""
        name = self.program.get(self.level, self.program["truth"])
        return "all-cpus-compute" if self.copies > 1 and name == "computing" else name

    def arguments(self, seconds, change=None):
        """The command, with what an experiment changes."""
        program = {**self.program, **(change or {})}
        if "source" not in program:
            loop = f"echo ready; while :; do {program['shell']} >/dev/null 2>&1; done"
            return ["timeout", str(seconds), "sh", "-c", loop]
        threads = program.get("threads", program.get("threads_per_cpu", 0) * CPUS)
        command = build(program["source"], self.level) + program.get("arguments", []) + [str(seconds)]
        if "size" in program or threads:
            command.append(program.get("size", "0"))
        if threads:
            command.append(str(threads))
        return [str(PROGRAMS / "copies.sh"), str(self.copies), *command] if self.copies > 1 else command


def levels_of(program):
    return LEVELS if pathlib.Path(program.get("source", "")).suffix in (".c", ".cpp") else ["-"]


def cases(names, levels, with_copies):
    """All cases of the programs with these names (all, if there are none)."""
    programs = table()["programs"]
    for name in names:
        if name not in programs:
            sys.exit(f"there is no program {name}; there are: {' '.join(programs)}")
    for name, program in programs.items():
        if names and name not in names:
            continue
        for level in levels_of(program):
            if level in (*levels, "-"):
                yield Case(name, program, level, 1)
                if with_copies and program.get("copies") and CPUS > 1:
                    yield Case(name, program, level, CPUS)


COMPILERS = {".c": "gcc", ".cpp": "g++", ".rs": "rustc", ".go": "go", ".java": "javac", ".py": "python3", ".sh": "sh"}


def missing(program):
    """Why a program cannot be run here; None if it can."""
    if compiler := COMPILERS.get(pathlib.Path(program.get("source", "")).suffix):
        if not shutil.which(compiler):
            return f"{compiler} is not installed"
    for package in program.get("package", "").split():
        installed = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Status}", package], capture_output=True, text=True)
        if installed.stdout != "installed":
            return f"the package {package} is not installed"
    return None


def install(programs):
    """Installs the Debian packages that are missing, without starting a service. What fails is skipped later."""
    packages = sorted({package for program in programs if missing(program) for package in program.get("package", "").split()})
    if packages and os.geteuid() == 0 and shutil.which("apt-get"):
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
        for package in packages:
            subprocess.run(["apt-get", "install", "-q", "-y", "--no-install-recommends", package], env=environment, check=False, **quiet)


def build(source, level):
    """Builds a program, unless it is newer than its source; the command that runs it."""
    path = PROGRAMS / source
    optimization = f"-{level}" if level != "-" else "-O2"
    at = WORK / f"{path.stem}{'' if level == '-' else '.' + level}"
    compile_with = {
        ".c": ["gcc", optimization, "-g1", "-pthread", "-o", at, path, "-lm"],
        ".cpp": ["g++", optimization, "-g1", "-pthread", "-o", at, path, "-lm"],
        ".rs": ["rustc", "-O", "-o", at, path],
        ".go": ["go", "build", "-o", at, path],
        ".java": ["javac", "-d", at, path],
    }.get(path.suffix)
    if compile_with is None:
        return [sys.executable, str(path)] if path.suffix == ".py" else [str(path)]
    newest = max(file.stat().st_mtime for file in (path, *PROGRAMS.glob("exam.*")))
    if not at.exists() or at.stat().st_mtime < newest:
        WORK.mkdir(parents=True, exist_ok=True)
        # Outside the tree, whose settings are for linespeed.
        subprocess.run([str(part) for part in compile_with], check=True, cwd=WORK)
        os.utime(at)
    return ["java", "-cp", str(at), path.stem] if path.suffix == ".java" else [str(at)]


def make_inputs():
    """Writes the inputs of the installed programs, once."""
    WORK.mkdir(parents=True, exist_ok=True)
    if not (WORK / "big.c").exists():
        subprocess.run([sys.executable, str(PROGRAMS / "inputs.py")], check=True, cwd=WORK)


def environment(change=None):
    return {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **(change or {}).get("env", {})}


class Started:
    """A program at work. Leaving the context ends it and all that it started."""

    def __init__(self, case, seconds):
        self.case, self.seconds = case, seconds

    def __enter__(self):
        began = time.monotonic()
        self.process = subprocess.Popen(self.case.arguments(self.seconds), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        cwd=WORK, env=environment(), text=True, start_new_session=True)
        ready = 0
        for line in self.process.stdout:
            ready += line.strip() == "ready"
            if ready == self.case.copies:
                break
        self.preparation = time.monotonic() - began
        return self

    def pids(self):
        """The program, or its copies; of a server that left its session, all processes of that name."""
        if server := self.case.program.get("server"):
            found = subprocess.run(["pgrep", "-x", server], stdout=subprocess.PIPE, text=True, check=False).stdout.split()
            return [int(pid) for pid in found]
        if self.case.copies == 1:
            return [self.process.pid]
        return [int(pid) for pid in pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()]

    def __exit__(self, *_):
        # By the session: timeout and servers make groups of their own. First those that can clean up behind them.
        for sent in (signal.SIGTERM, signal.SIGKILL):
            members = session(self.process.pid)
            for pid in members:
                try:
                    os.kill(pid, sent)
                except ProcessLookupError:
                    pass
            if sent is signal.SIGTERM:
                self.wait_for_end()
        self.process.stdout.close()
        self.process.wait()

    def wait_for_end(self):
        deadline = time.monotonic() + 3
        while time.monotonic() < deadline and (self.process.poll() is None or session(self.process.pid)):
            time.sleep(0.05)


def session(leader):
    """The processes of a session that have not ended."""
    members = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, of = stat.read_text().rpartition(")")[2].split()[:4]
        except (OSError, ValueError):
            continue
        if int(of) == leader and state != "Z":
            members.append(int(stat.parent.name))
    return members


@dataclasses.dataclass
class Run:
    """What a whole run took, of the program and its children, and what it printed."""

    user: float
    system: float
    wall: float
    printed: dict


def run_once(case, seconds, change=None):
    """A run as an experiment has it: an installed program's shell line once, beside another program where that is asked for."""
    change = change or {}
    program = {**case.program, **change}
    shell = "source" not in program
    command = ["sh", "-c", program["shell"]] if shell else case.arguments(seconds, change)
    with beside(change.get("beside"), case.level):
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        ended = subprocess.run(command, cwd=WORK, env=environment(change), timeout=LIMIT, check=True, text=True, errors="replace",
                               stdout=subprocess.DEVNULL if shell else subprocess.PIPE, stderr=subprocess.DEVNULL)
        wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    printed = dict(line.split() for line in (ended.stdout or "").splitlines() if len(line.split()) == 2)
    return Run(after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime, wall, printed)


def beside(name, level):
    """Another program at work on each other CPU, or nothing."""
    if not name:
        return contextlib.nullcontext()
    program = table()["programs"][name]
    return Started(Case(name, program, level if level in levels_of(program) else "O2", max(CPUS - 1, 1)), LIMIT)


def figure(case, seconds, change=None):
    """An experiment's figure: ns of an operation, CPU seconds of a shell line, or a share of the run's time."""
    change = change or {}
    run = run_once(case, seconds, change)
    cpu = run.user + run.system
    if share := change.get("share"):
        return {"system": run.system / cpu if cpu else 0, "cpu": cpu / run.wall}[share]
    if "source" not in {**case.program, **change}:
        return cpu / change.get("work", 1)
    return float(run.printed[change.get("measure", "cpu_ns")])


def others_busy(seconds):
    """CPUs in use during a short look: of others, as long as the exam itself only waits."""
    def busy():
        user, nice, system, _idle, _iowait, irq, softirq, *_ = map(int, pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:])
        return user + nice + system + irq + softirq
    before = busy()
    time.sleep(seconds)
    return (busy() - before) / os.sysconf("SC_CLK_TCK") / seconds


def wait_for_quiet(limit, below=0.3):
    """Waits until other programs leave the CPUs alone, so long at most; whether they do."""
    deadline = time.monotonic() + limit
    while others_busy(0.3) > below:
        if time.monotonic() > deadline:
            return False
    return True

