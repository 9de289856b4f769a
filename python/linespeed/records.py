"""The parts of a record as data classes, from the JSON Schema that `linespeed schema` prints. Written by python/classes.

Lists are tuples. An absent or null value is None, an empty tuple or an empty mapping. A field named like a Python keyword ends with
an underscore (`from_`). Fields that this version does not know are omitted; Record.json contains all fields."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, Mapping, Optional, Tuple, Union


@dataclass(frozen=True)
class Access:
    """Latency and bandwidth of a node's memory from the nearest CPUs, according to the firmware (HMAT)."""

    #: The nodes of the nearest CPUs; empty if the kernel does not report them.
    initiators: CpuList = ()
    #: Bandwidth of reads, B/s.
    read_bytes_per_second: Optional[int] = None
    #: Latency of a read, ns.
    read_latency_ns: Optional[int] = None


@dataclass(frozen=True)
class Advice:
    """Another setting."""

    #: The subject of the advice: `memory`, `huge pages`, `interrupts`.
    about: str = ''
    #: Commands to paste.
    commands: Tuple[str, ...] = ()
    #: The results on which the advice is based.
    evidence: Tuple[Evidence, ...] = ()
    #: The advice with its reason.
    says: str = ''
    #: Commands that undo the advice.
    undo: Tuple[str, ...] = ()


@dataclass(frozen=True)
class AgainstFirst:
    """The time of a command compared with the first command's time, round by round."""

    #: The command's time relative to the first: the median of the ratios of all rounds.
    ratio: float
    #: Number of rounds with both times.
    rounds: int
    #: The comparison in words.
    says: str
    #: The verdict on the difference; `costs` is the time of the first command minus the time of this command, as a
    #: share of the first command's time.
    verdict: Verdict
    #: Other differences, one sentence each: how the time was used, and counted events. Empty if no difference is
    #: resolved.
    explained: Tuple[str, ...] = ()
    #: The interval of the ratio, at 95 % confidence for all commands together; absent if there are too few rounds.
    interval: Optional[Tuple[float, float]] = None
    #: Whether this command is the slower of the two; absent if no difference is resolved.
    slower: Optional[bool] = None


#: Whether results support a conclusion.
Answer = Literal["supported", "contradicted", "cannot-tell"]


#: What a result is based on.
Basis = Literal["measured", "extrapolated"]


#: Whether higher or lower values are better.
Better = Literal["higher", "lower"]


@dataclass(frozen=True)
class Bound:
    """The limiting factor of a command, with its evidence."""

    #: `cpu`, `memory-latency`, `memory-bandwidth`, `frontend`, `branches`, `waiting`, `cpu-contention`, `too-few-cpus`,
    #: `kernel`, `quota`, `one-thread`, `imbalance`, `stolen`, `lock`, `cache`, `own-threads`, `clock`, `idle`,
    #: `unknown`.
    by: BoundBy
    #: The results on which the verdict is based.
    evidence: Tuple[Evidence, ...]
    #: The answer in words.
    says: str
    #: What to try.
    advice: Tuple[str, ...] = ()
    #: The kind of the limiting factor. For `memory-latency`, it is `l2`, `l3`, `dram`, `remote` or `caches-or-memory`.
    #: For `own-threads`, it is `spinning` or `shared-lines`. For `kernel`, it is `process-creation`, `page-faults`,
    #: `futex`, `network`, `file-io`, `path-lookups`, `signals`, `timers`, `memory-mapping`, `context-switches`, or
    #: `syscall-` and the name of a system call.
    kind: Optional[BoundKind] = None


#: What limited a command.
BoundBy = str


#: A more detailed kind of the limiting factor, if known.
BoundKind = str


@dataclass(frozen=True)
class Bucket:
    """One bin of a distribution: the number of samples in `[from, to)`."""

    #: Number of samples in the bin.
    count: int
    #: Lower bound, in the measurement's unit.
    from_: float
    #: Upper bound, in the measurement's unit.
    to: float


@dataclass(frozen=True)
class Cache:
    """One cache."""

    #: The CPUs that share the cache; empty if an imported record does not list them, in which case the entry may
    #: represent several caches.
    cpus: CpuList
    #: The contents of the cache.
    kind: CacheKind
    #: The cache level; 1 is nearest to the core.
    level: int
    #: Capacity in bytes; absent if the kernel does not report it.
    bytes: Optional[int] = None
    #: Line size in bytes.
    line: Optional[int] = None
    #: Associativity.
    ways: Optional[int] = None


@dataclass(frozen=True)
class CacheDomains:
    """The last-level caches of a node that has several."""

    #: The usable CPUs of each cache.
    domains: Tuple[CpuList, ...] = ()
    #: The results on which the consequences are based.
    evidence: Tuple[Evidence, ...] = ()
    #: The level of the cache.
    level: int = 0
    #: The consequences for a program.
    says: str = ''


#: The contents of a cache.
CacheKind = Literal["data", "instruction", "unified"]


#: The source of a ceiling.
CeilingSource = Literal["parts", "family", "measured"]


@dataclass(frozen=True)
class Ceilings:
    """The best earlier results of this machine; results not yet measured are absent."""

    #: Memory bandwidth of all CPUs, B/s.
    bandwidth_all: Optional[float] = None
    #: Memory bandwidth of one CPU, B/s.
    bandwidth_one: Optional[float] = None
    #: The core clock while all CPUs are busy, Hz: the median over CPUs.
    clock_all_hz: Optional[float] = None
    #: The core clock, Hz.
    clock_hz: Optional[float] = None
    #: The latency curve: load latency by working-set size.
    curve: Tuple[CurvePoint, ...] = ()
    #: The day on which each value was measured, by the value's field name in this struct; for a workload's IPC, the
    #: name is `ipc.` followed by the workload.
    days: Mapping[str, str] = field(default_factory=dict)
    #: Instructions per cycle of the built-in workloads, by their names.
    ipc: Mapping[str, float] = field(default_factory=dict)
    #: Latency of memory, ns.
    latency_ns: Optional[float] = None
    #: The memory probe's latency under increasing load; the first point is without load.
    probe: Tuple[ProbePoint, ...] = ()
    #: The record file that contains each value, by the same names.
    records: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Claim:
    """A published conclusion, compared with the results of this machine."""

    #: The verdict of these results on the conclusion.
    answer: Answer
    #: The conclusion.
    claim: str
    #: Why.
    why: str


@dataclass(frozen=True)
class Clock:
    """The core clock."""

    #: The median clock of the sampled CPUs, Hz.
    hz: float
    #: Source of the clock: `cppc`, `cpufreq`.
    source: str


@dataclass(frozen=True)
class ClockHolders:
    """Possible reasons for a limited clock, other than the settings of cpufreq."""

    #: Cooling devices that are currently lowering clocks.
    cooling: Tuple[Cooling, ...] = ()
    #: How long heat has lowered clocks since boot, ms; the maximum over cores and packages.
    heat_ms: Optional[int] = None
    #: The limits that were active at any time since the processor's log was cleared, usually at boot.
    held_before: Tuple[HeldBy, ...] = ()
    #: The limits that the processor reported as active at the time of the snapshot.
    holding: Tuple[HeldBy, ...] = ()
    #: The range from which the processor may choose its clocks (HWP), for the package with the tightest limit.
    hwp: Optional[HwpRange] = None
    #: The longest single period for which heat lowered clocks, ms.
    longest_heat_ms: Optional[int] = None
    #: The highest performance that the driver allows, as a percentage of the maximum (`intel_pstate/max_perf_pct`).
    max_percent: Optional[int] = None
    #: The firmware's profile: `performance`, `balanced`, `low-power`, `quiet`, `cool`…
    platform_profile: Optional[str] = None
    #: Power limits of processor packages, one per interface and window.
    power_limits: Tuple[PowerLimit, ...] = ()
    #: Uncore clocks (mesh, last-level cache, memory controllers), one per die.
    uncore: Tuple[UncoreClock, ...] = ()


@dataclass(frozen=True)
class ClockSetting:
    """Clock settings of a group of CPUs."""

    #: Upper limit set by the firmware (`bios_limit`), Hz.
    bios_hz: Optional[int] = None
    #: The CPUs.
    cpus: CpuList = ()
    #: Range of the current clocks of these CPUs in Hz, as reported by the kernel.
    current_hz: Optional[Tuple[int, int]] = None
    #: Scaling driver: `intel_pstate`, `amd-pstate-epp`, `acpi-cpufreq`, `cppc_cpufreq`…
    driver: Optional[str] = None
    #: Energy-performance bias, 0 (performance) to 15.
    epb: Optional[int] = None
    #: Energy-performance preference.
    epp: Optional[str] = None
    #: Governor: `performance`, `powersave`, `schedutil`…
    governor: Optional[str] = None
    #: Configured upper limit, Hz.
    max_hz: Optional[int] = None
    #: Configured lower limit, Hz.
    min_hz: Optional[int] = None
    #: The only clock, set by a program (`scaling_setspeed`, with the governor `userspace`), Hz.
    set_hz: Optional[int] = None


@dataclass(frozen=True)
class CommandInTurn:
    """One of the commands."""

    #: The `workload` of its results.
    workload: str
    #: The comparison with the first command; absent for the first command itself, or if no round has both times.
    against_first: Optional[AgainstFirst] = None
    #: What limited the command.
    bound: Optional[Bound] = None


@dataclass(frozen=True)
class Conditions:
    """The state of the machine before and after the measurements, and what else ran."""

    #: The state at the end; absent if only the inventory was recorded or the run was killed.
    after: Optional[Snapshot] = None
    #: The state at the start of the run.
    before: Snapshot = field(default_factory=lambda: Snapshot())
    #: Other active processes, busiest first.
    beside: Tuple[Process, ...] = ()
    #: Knobs that linespeed set for the run and restored afterwards.
    knobs: Tuple[Knob, ...] = ()


#: How certain a finding is.
Confidence = Literal["low", "medium", "high"]


@dataclass(frozen=True)
class Contended:
    """Two CPUs that each kept one execution unit busy, first separately and then simultaneously."""

    #: The CPUs, the lower one first.
    pair: Tuple[int, int]
    #: Time of the loop when both CPUs run it, relative to its time on a single CPU: 1 on separate cores, 2 on one core.
    slowdown: float


@dataclass(frozen=True)
class Contradiction:
    """Two statements in the texts that cannot both be true."""

    #: The locations of the statements.
    origins: Tuple[Origin, ...]
    #: One or two sentences: the contradiction, and which statement the record uses.
    says: str


@dataclass(frozen=True)
class Cooling:
    """A cooling device that lowers clocks."""

    #: The device's highest step.
    highest_step: int = 0
    #: The device's type: `Processor`, `cpufreq-cpu0`, `intel_powerclamp`.
    kind: str = ''
    #: The device's current step, above 0.
    step: int = 0


@dataclass(frozen=True)
class Cores:
    """The cores' counters."""

    #: The smallest share of time for which any of the events was counted (the kernel multiplexes counters).
    coverage: float = 0.0
    #: Instructions per cycle, user mode and kernel together.
    ipc: Optional[float] = None
    #: Instructions per cycle in the kernel.
    ipc_kernel: Optional[float] = None
    #: Instructions per cycle in user mode.
    ipc_user: Optional[float] = None
    #: Shares of the issue slots: `retiring`, `bad-speculation`, `frontend-bound`, `backend-bound`.
    top_down: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Counts:
    """Numbers of components. Packages, dies, clusters and cores without an online CPU are not counted."""

    #: Clusters of cores (for instance with a shared L2) in all packages; absent if the kernel does not report them.
    clusters: Optional[int] = None
    #: Physical cores in all packages.
    cores: Optional[int] = None
    #: CPUs on which this process may run; absent if the inventory was read from another machine's captured files.
    cpus_allowed: Optional[int] = None
    #: CPUs online.
    cpus_online: Optional[int] = None
    #: CPUs present, online or not.
    cpus_present: Optional[int] = None
    #: Dies in all packages; absent if the kernel does not report them.
    dies: Optional[int] = None
    #: NUMA nodes online.
    nodes: Optional[int] = None
    #: Packages (sockets) with at least one CPU online.
    packages: Optional[int] = None


@dataclass(frozen=True)
class Coverage:
    """The coverage of a measurement or fact."""

    #: The degree of coverage.
    state: State
    #: The measurement (`latency`), or a part of it (`latency 2MiB`), or a part of the inventory (`memory devices`).
    what: str
    #: The code of the reason, for use by programs: the code stays the same if the wording changes. Absent in records
    #: written by version 0.1.
    code: Optional[str] = None
    #: Why the coverage is incomplete; absent if it is complete.
    reason: Optional[str] = None
    #: The remedy, as an instruction.
    remedy: Optional[str] = None


@dataclass(frozen=True)
class Cpu:
    """One CPU (hardware thread)."""

    #: Whether this process may run on the CPU.
    allowed: bool = False
    #: Nominal clock in Hz.
    base_hz: Optional[int] = None
    #: The kernel's relative capacity, 1024 for the fastest.
    capacity: Optional[int] = None
    #: Cluster number within the machine, from 0.
    cluster: Optional[int] = None
    #: Core number within the machine, from 0, in order of the core's lowest CPU; not the kernel's `core_id`, which
    #: repeats in every package.
    core: Optional[int] = None
    #: Die number within the machine, from 0.
    die: Optional[int] = None
    #: The kernel's CPU number.
    id: int = 0
    #: Kind of core on a hybrid machine: `performance`, `efficiency`, or the name of the Arm core (`Cortex-A76`).
    kind: Optional[str] = None
    #: Highest clock in Hz.
    max_hz: Optional[int] = None
    #: Lowest clock in Hz.
    min_hz: Optional[int] = None
    #: NUMA node, by the kernel's number.
    node: Optional[int] = None
    #: Whether the CPU is online.
    online: bool = False
    #: Package number within the machine, from 0.
    package: Optional[int] = None
    #: The CPUs of the same core, including this one; empty if the CPU is offline.
    siblings: CpuList = ()


#: CPU or node numbers in ascending order.
CpuList = Tuple[int, ...]


@dataclass(frozen=True)
class CpuTimes:
    """CPU time, s, summed over CPUs."""

    #: Other idle time.
    idle: float = 0.0
    #: Idle time of a CPU during which a task that last ran on this CPU waits for a disk.
    iowait: float = 0.0
    #: Time in interrupts.
    irq: float = 0.0
    #: Time in softirqs.
    softirq: float = 0.0
    #: Steal time.
    steal: float = 0.0
    #: Time in the kernel on behalf of processes.
    system: float = 0.0
    #: Time in user mode, including nice and guest time.
    user: float = 0.0


@dataclass(frozen=True)
class CurvePlace:
    """The CPU and the memory node of a latency curve; each is absent if the record does not contain it."""

    #: The CPU that issues the loads.
    cpu: Optional[int] = None
    #: The node of the memory.
    node: Optional[int] = None


@dataclass(frozen=True)
class CurvePoint:
    """A point of a latency curve."""

    #: The size of the memory accessed at random, bytes.
    bytes: int
    #: The latency of a load from this memory, ns.
    ns: float


@dataclass(frozen=True)
class Diagnosis:
    """All conclusions from a record's results."""

    #: The limiting factor of a command; only in records of `linespeed stat`.
    bound: Optional[Bound] = None
    #: Causes of lost speed, worst first.
    findings: Tuple[Finding, ...] = ()
    #: For each resource, the causes that separate the delivered result from the ceiling, with the loss due to each.
    ladders: Tuple[Ladder, ...] = ()
    #: The place of the latency curve on which the levels, the headline and the chart are based; absent if there is no
    #: curve.
    latency_curve: Optional[CurvePlace] = None
    #: The time that one routine takes in each layer of the machine, fastest layer first.
    layers: Tuple[Layer, ...] = ()
    #: The levels of the memory hierarchy found in the latency curve, nearest first, memory last.
    levels: Tuple[Level, ...] = ()
    #: Rules whose data is missing from the record.
    not_looked_for: Tuple[NotLookedFor, ...] = ()
    #: Resources that the measurements did not exercise, one sentence each; for example memory, if the working set
    #: fitted in the caches.
    not_reached: Tuple[str, ...] = ()
    #: Conclusions from the matrices of a machine with several nodes; absent if there is only one node.
    numa: Optional[Numa] = None
    #: The cost of each step between two layers, with an interpretation; absent if layers were not timed alternately.
    overhead: Optional[Overhead] = None
    #: The best layout of a program on a machine with several nodes; absent if there is only one node.
    plan: Optional[Plan] = None
    #: One entry per resource: its ceiling and the delivered result.
    resources: Tuple[Resource, ...] = ()
    #: The scaling of workloads, one entry per workload and placement.
    scaling: Tuple[Scaling, ...] = ()
    #: The actual placement of the machine's CPUs; absent if not measured.
    shape: Optional[Shape] = None
    #: The gain from SMT siblings, for each workload measured with and without siblings.
    siblings: Tuple[SiblingsAdd, ...] = ()
    #: Differences between alternating commands; only in records of `linespeed stat` with several commands.
    turns: Optional[Turns] = None
    #: Average number of CPUs used by other processes during the run (or, for a command, while it ran); absent if the
    #: run was too short.
    used_by_others: Optional[float] = None


@dataclass(frozen=True)
class Distance:
    """A class of distances."""

    #: The highest latency, ns.
    high_ns: float
    #: The lowest latency, ns.
    low_ns: float
    #: The median one-way latency, ns.
    median_ns: float
    #: The share of pairs that are in this class, over all pairs and checks.
    share: float


@dataclass(frozen=True)
class Ended:
    """How a run ended."""

    #: The form of this object: complete, interrupted, failed.
    how: Literal["complete", "interrupted", "failed"]
    #: The signal's number.
    signal: Optional[int] = None
    #: The error.
    reason: Optional[str] = None


@dataclass(frozen=True)
class Evidence:
    """One result behind a finding."""

    #: The result's place in the record: `conditions.before.thp`, `wakeup.latency cpu=0 setting=as-is`.
    from_: str
    #: The result as text, with its unit.
    says: str


@dataclass(frozen=True)
class Finding:
    """A cause of lost speed."""

    #: The results on which the finding is based, each with its place in the record.
    evidence: Tuple[Evidence, ...]
    #: The loss of speed.
    loss: Verdict
    #: Whether the loss was measured here or modelled.
    measured: bool
    #: The rule's name, which never changes: `timer-slack`.
    rule: str
    #: How severe the finding is.
    severity: Severity
    #: The finding, in one line.
    what: str
    #: The confidence in the finding.
    confidence: Confidence = 'medium'
    #: Which programs are affected; absent in records written by version 0.1.
    relevance: Relevance = 'all'
    #: What to do: commands to paste, or what to buy or change.
    remedy: Tuple[str, ...] = ()
    #: The command of each entry of `remedy`; `null` if it has none. Absent in records written by version 0.1.
    remedy_commands: Tuple[Optional[str], ...] = ()
    #: The knob that each entry of `remedy` sets; `linespeed fix` sets it and measures its gain. `null` for an entry
    #: without a knob; absent if no entry has one.
    remedy_sets: Tuple[Optional[KnobValue], ...] = ()
    #: The affected resource, as in `diagnosis.resources[].name`, if there is one.
    resource: Optional[str] = None
    #: How to undo the remedy.
    undo: Tuple[str, ...] = ()
    #: The command of each entry of `undo`; `null` if it has none. Absent in records written by version 0.1.
    undo_commands: Tuple[Optional[str], ...] = ()
    #: The affected CPUs, nodes or devices.
    where: Optional[str] = None


@dataclass(frozen=True)
class Gain:
    """The expected gain of one kind of program."""

    #: The results.
    evidence: Tuple[Evidence, ...] = ()
    #: The work that the program does in the same time with this plan, relative to a NUMA-unaware program.
    factor: float = 0.0
    #: The interval of the factor, derived from the intervals of the results; absent if they have none.
    interval: Optional[Tuple[float, float]] = None
    #: The kind: `memory-latency-bound`, `memory-bandwidth-bound`.
    program: str = ''
    #: How the factor is derived from the results.
    why: str = ''


@dataclass(frozen=True)
class Held:
    """The total time of a verdict."""

    #: The verdict.
    by: BoundBy
    #: The total time with this verdict, s.
    seconds: float


#: A reason for a lowered clock, as the processor reports it (Intel SDM volume 4: IA32_THERM_STATUS,
#: IA32_PACKAGE_THERM_STATUS, MSR_CORE_PERF_LIMIT_REASONS).
HeldBy = Literal["prochot", "heat", "average-heat", "regulator-heat", "regulator-current", "current", "long-power", "short-power"]


@dataclass(frozen=True)
class HugePages:
    """Reserved huge pages of one size."""

    #: Pages free.
    free: int = 0
    #: Page size in bytes.
    page_bytes: int = 0
    #: Pages reserved.
    total: int = 0


@dataclass(frozen=True)
class HwpRange:
    """Performance levels of a processor that chooses its own clocks. A level usually corresponds to 100 MHz (Intel SDM
    volume 3B: HWP)."""

    #: The highest level that the processor is allowed to choose.
    allowed: int = 0
    #: The level that the processor sustains under any load.
    guaranteed: int = 0
    #: The highest level that the processor supports.
    highest: int = 0


@dataclass(frozen=True)
class Idle:
    """Idle driver and governor."""

    #: `intel_idle`, `acpi_idle`, `haltpoll`, `none`…
    driver: Optional[str] = None
    #: `menu`, `teo`, `haltpoll`…
    governor: Optional[str] = None


@dataclass(frozen=True)
class IdleState:
    """One idle state of the boot CPU."""

    #: Whether the idle state is disabled.
    disabled: Optional[bool] = None
    #: Exit latency, ns.
    exit_ns: Optional[int] = None
    #: `POLL`, `C1`, `C6`…
    name: str = ''
    #: Target residency: the shortest stay for which entering the state is worthwhile, ns.
    residency_ns: Optional[int] = None


@dataclass(frozen=True)
class Import:
    """The sources of a record not measured by linespeed."""

    #: Contradictory statements in the texts.
    contradictions: Tuple[Contradiction, ...] = ()
    #: The source of each part of the inventory, by its path: `machine.counts.packages`.
    inventory: Mapping[str, Origin] = field(default_factory=dict)
    #: The machine's name in the texts: a host name or a heading; absent if there is none.
    name: Optional[str] = None
    #: Lines that belong to no known output.
    not_understood: NotUnderstood = field(default_factory=lambda: NotUnderstood())
    #: The recognized outputs in the texts, in order.
    outputs: Tuple[Output, ...] = ()
    #: The texts.
    texts: Tuple[Text, ...] = ()
    #: Impossible results, of which only the text is saved.
    withheld: Tuple[Withheld, ...] = ()


@dataclass(frozen=True)
class Interval:
    """One interval of a recording. Values not reported by Linux are absent."""

    #: Average number of threads in uninterruptible sleep, from samples of `procs_blocked`.
    blocked: Optional[float] = None
    #: The core clock.
    clock: Optional[Clock] = None
    #: The cores' hardware counters, for all running tasks.
    cores: Optional[Cores] = None
    #: The hardware counters for the selected cgroup.
    cores_of_group: Optional[Cores] = None
    #: CPUs online at the end of the interval.
    cpus: int = 0
    #: How often threads were sampled.
    looks: Looks2 = field(default_factory=lambda: Looks2())
    #: CPU time of linespeed itself, s.
    own_seconds: float = 0.0
    #: Shares of time in which at least one task waited: `cpu`, `io`, `memory` (pressure stall information).
    pressure: Mapping[str, float] = field(default_factory=dict)
    #: The probe's readings.
    probe: Optional[Probe] = None
    #: The processes with the most CPU time, busiest first.
    processes: Tuple[Process, ...] = ()
    #: The time covered by `processes`, s: if there are many processes, they are not read in every interval.
    processes_seconds: Optional[float] = None
    #: Events per second: `context-switches`, `interrupts`, `forks`, `page-faults`, `major-faults`, `page-migrations`,
    #: `reclaimed-pages` (by direct reclaim), `softirqs`, and each kind of softirq, such as `softirqs-net-rx`.
    rates: Mapping[str, float] = field(default_factory=dict)
    #: How much memory of other nodes was used; only on machines with several nodes.
    remote: Optional[Remote] = None
    #: Time that threads waited in run queues, s, summed over threads.
    run_queue_delay: Optional[float] = None
    #: Average number of running and ready threads, from samples of `procs_running`.
    runnable: Optional[float] = None
    #: Samples of all running tasks in user mode.
    sampled: Optional[Sampled] = None
    #: The length of the interval, s.
    seconds: float = 0.0
    #: The sensors' values.
    sensors: Optional[Sensors] = None
    #: The times and waits of the selected processes; absent if no processes were selected.
    service: Optional[Service] = None
    #: Results of the placement checks made so far, without the state in each check; absent if there was no check.
    shape: Optional[Shape] = None
    #: How long the machine was suspended during the interval, s; `seconds` does not include this time.
    suspended: Optional[float] = None
    #: The threads of the selected processes with the most CPU time; empty if no processes were selected.
    threads: Tuple[Thread, ...] = ()
    #: The cgroup most throttled by its quota.
    throttled: Optional[Throttled] = None
    #: The CPU times.
    times: CpuTimes = field(default_factory=lambda: CpuTimes())
    #: Memory traffic.
    traffic: Optional[Traffic] = None
    #: What the threads of these processes waited for.
    waits: Mapping[str, Waits] = field(default_factory=dict)


@dataclass(frozen=True)
class Kernel:
    """The kernel, its build and its boot options."""

    #: The distribution, from os-release.
    distribution: Optional[str] = None
    #: Timer interrupts per second, if the kernel's configuration can be read.
    hz: Optional[int] = None
    #: CPUs isolated at boot.
    isolated: CpuList = ()
    #: Each vulnerability with its mitigation, as the kernel reports it.
    mitigations: Mapping[str, str] = field(default_factory=dict)
    #: CPUs without a timer tick.
    nohz_full: CpuList = ()
    #: Options on the kernel command line that affect speed, as written.
    options: Tuple[str, ...] = ()
    #: Base page size in bytes.
    page_bytes: Optional[int] = None
    #: Preemption model: `none`, `voluntary`, `full`, `lazy`, `rt`, or `dynamic` if the current model is unknown.
    preemption: Optional[str] = None
    #: `6.1.0-18-amd64`.
    release: Optional[str] = None
    #: The kernel's build line.
    version: Optional[str] = None


@dataclass(frozen=True)
class KernelTime:
    """The kernel's work for a program."""

    #: The kind of work.
    kind: BoundKind
    #: The share of the samples that show this kind of work.
    share: Share


#: A value of a label: a number, a word, or a switch (true or false).
Key = Union[bool, int, float, str]


@dataclass(frozen=True)
class Knob:
    """A knob set for the run."""

    #: The knob's name, as in `linespeed quiet`.
    name: str = ''
    #: Why the knob could not be set.
    not_set: Optional[str] = None
    #: The knob's value during the run; absent if it could not be set.
    set_to: Optional[str] = None
    #: The knob's value before the run.
    was: str = ''


#: A knob of `linespeed quiet` that remedies can set, by its name in that command.
KnobName = Literal["boost", "governor", "epp", "epb", "clock-range", "power-limit", "idle-states", "guest-halt", "smt", "numa-balancing", "thp"]


@dataclass(frozen=True)
class KnobValue:
    """A knob and its new value, for `linespeed fix`."""

    #: The knob.
    knob: KnobName
    #: The CPUs to which it applies; absent for all CPUs.
    cpus: Optional[CpuList] = None
    #: The value; absent for the value that `linespeed quiet` sets.
    value: Optional[str] = None


@dataclass(frozen=True)
class Ladder:
    """The losses from the ceiling down to the delivered result. They add up exactly. If more is better, ceiling − `takes`
    of every step − `unexplained` = delivered. If less is better (latencies), the steps are added instead of subtracted."""

    #: Whether higher or lower values are better.
    better: Better
    #: The hardware maximum.
    ceiling: float
    #: The ceiling, in a few words: `6 channels at 2933 MT/s`.
    ceiling_is: str
    #: The delivered result.
    delivered: float
    #: The delivered result, in a few words: `triad on 64 threads`.
    delivered_is: str
    #: The resource, as in `diagnosis.resources[].name`.
    resource: str
    #: The losses in order, from the ceiling down.
    rungs: Tuple[Rung, ...]
    #: The source of the ceiling.
    source: CeilingSource
    #: The part of the loss without a known cause; negative if the losses to known causes exceed the total loss.
    unexplained: float
    #: Unit of the ceiling, the steps and the delivered result.
    unit: str


@dataclass(frozen=True)
class Layer:
    """One layer of the machine in which a routine was timed."""

    #: The measurement.
    from_: str
    #: The layer's name, such as `kernel`, `user`, `guest kernel` or `guest user`.
    layer: str
    #: How much longer this layer's passes took in total than those of the fastest layer (0.12 is 12 %).
    over: float
    #: The result in words.
    says: str
    #: Time of a pass, in the measurement's unit: the mean of all passes.
    time: float
    #: Events during the passes: interrupts, switches, migrations per second.
    beside: Tuple[str, ...] = ()
    #: The binding of the routine, if known: `none`, `cpu 3`.
    bound: Optional[str] = None
    #: Why the result is unreliable: "too noisy: …", "placed 97 % …". Absent if nothing is wrong.
    doubt: Optional[str] = None
    #: The code of the doubt, for programs: it stays the same if the words change. Absent in records written by version
    #: 0.1.
    doubt_code: Optional[str] = None
    #: Whether interrupts were `on` or `off`, if known.
    interrupts: Optional[str] = None
    #: 95 % CI of the median pass time, if there are enough samples.
    interval: Optional[Tuple[float, float]] = None
    #: The interval of `over`, from the slices that both layers ran alternately; the confidence level is 95 % for all
    #: steps together.
    over_interval: Optional[Tuple[float, float]] = None
    #: The time of a pass in seconds, if it was measured.
    seconds: Optional[float] = None
    #: Standard deviation of the passes divided by their mean; included because published tables use it.
    variation: Optional[float] = None


@dataclass(frozen=True)
class LayerStep:
    """Two layers that differ in a single property, and the cost of that property."""

    #: Number of slices of the routine that both layers ran alternately.
    rounds: int
    #: The cost in words.
    says: str
    #: The cost of the property, as a share of the time without the property.
    verdict: Verdict
    #: The property in which the layers differ: `interrupts`, `not bound to a CPU`.
    what: str
    #: The layer with the property.
    with_: str
    #: The layer without the property.
    without: str
    #: The stable code of `what`: `overhead-step-interrupts`. Absent in records written by version 0.1.
    code: Optional[str] = None
    #: The cost per event for each kind of counted event (`0.8 µs for each of 250 interrupts/s`), or the reason why it
    #: cannot be computed.
    each: Optional[str] = None
    #: Whether the time of either layer is in doubt.
    unreliable: Optional[bool] = None


@dataclass(frozen=True)
class Level:
    """One level of the memory hierarchy, as found in the latency curve."""

    #: Comparison of the two sizes, one sentence.
    judgement: str
    #: Latency on the plateau of this level, ns.
    latency_ns: float
    #: `L1`, `L2`, `L3`, `memory`.
    name: str
    #: The size reported in sysfs, bytes.
    advertised_bytes: Optional[int] = None
    #: The latency in cycles of the core clock.
    latency_cycles: Optional[float] = None
    #: Size of the working set beyond which the latency rises to that of the next level, bytes; absent for memory.
    measured_bytes: Optional[int] = None


@dataclass(frozen=True)
class Limits:
    """Limits that restrict this process to a part of the machine's resources."""

    #: CPUs of the affinity mask.
    affinity: CpuList = ()
    #: Version of the cgroups that set these limits, `1` or `2`; absent without cgroups.
    cgroup_version: Optional[int] = None
    #: The lowest CPU quota of this process's cgroups, in CPUs (0.5 is half a CPU).
    cpu_quota: Optional[float] = None
    #: CPUs of the cpuset.
    cpuset: CpuList = ()
    #: Maximum number of bytes that this process may lock in memory.
    locked_bytes: Optional[int] = None
    #: Memory still available under that limit, bytes.
    memory_available_bytes: Optional[int] = None
    #: The lowest memory limit of this process's cgroups, bytes.
    memory_bytes: Optional[int] = None
    #: Nodes whose memory may be used.
    memory_nodes: CpuList = ()
    #: Whether the effective user is root.
    root: Optional[bool] = None
    #: Highest real-time priority allowed for this process; 0 if real-time scheduling is not allowed.
    rt_priority: Optional[int] = None


@dataclass(frozen=True)
class LockWaits:
    """The time for which the threads of one process waited for locks or for each other."""

    #: Total time that the process's threads were running or ready to run, s.
    active: float = 0.0
    #: Total time that threads were blocked on locks, s. A wait after which the thread did not run is excluded, because
    #: the thread may be waiting for work.
    blocked: float = 0.0
    #: The part of `blocked` that is certainly due to a mutex: the arguments of the futex call show that the thread
    #: expected a locked mutex with waiters.
    mutex: float = 0.0
    #: Number of threads that waited for a mutex in all samples and never ran.
    stuck: int = 0


@dataclass(frozen=True)
class LongGap:
    """A gap in a busy loop, or a late wake-up."""

    #: Start time, seconds since boot (CLOCK_MONOTONIC), as in `dmesg`.
    at_seconds: float
    #: The CPU.
    cpu: int
    #: Length of the gap or delay of the wake-up, ns.
    ns: float
    #: How the causes of the gap were determined.
    witness: Witness
    #: The causes that used the time, largest share first.
    takers: Tuple[Taker, ...] = ()
    #: The scheduling policy of the thread that woke up late (`other`, `fifo`); absent for a gap in a busy loop.
    woken: Optional[str] = None


@dataclass(frozen=True)
class Look:
    """One placement check: where the CPUs were located during a few milliseconds."""

    #: The start of the check, in seconds since the start of the run.
    at_seconds: float = 0.0
    #: Whether all CPUs were busy right before the check; hosts place busy CPUs differently.
    busy: Optional[bool] = None
    #: Results for pairs of CPUs that computed simultaneously.
    contended: Tuple[Contended, ...] = ()
    #: Whether the check shows no placement, because a CPU did not run for most of the check or while it was tested for
    #: a shared core.
    interrupted: Optional[bool] = None
    #: Latency of a cache-line transfer from one CPU of a pair to the other, ns (the minimum of a few short blocks);
    #: null if either CPU did not run.
    line_ns: Tuple[Optional[float], ...] = ()
    #: Latency of a load from memory by each CPU, ns. All CPUs load from the same page. Null if the CPU did not run.
    #: Empty if cache lines cannot be flushed.
    memory_ns: Tuple[Optional[float], ...] = ()
    #: The duration of the check, ms.
    took_ms: float = 0.0


@dataclass(frozen=True)
class Looks:
    """Placement checks on the same CPUs, in chronological order."""

    #: The CPUs, ascending.
    cpus: Tuple[int, ...] = ()
    #: The placement checks.
    looks: Tuple[Look, ...] = ()
    #: The pairs, as indices into `cpus`; absent if every pair was measured: 0-1, 0-2, … 1-2, ….
    pairs: Optional[Tuple[Tuple[int, int], ...]] = None


@dataclass(frozen=True)
class Looks2:
    """How many samples of a command's threads were taken, and what they showed."""

    #: Number of active threads, summed over the samples.
    active: int = 0
    #: Number of samples.
    all: int = 0
    #: Number of samples in which all threads were waiting.
    idle: int = 0
    #: Maximum number of simultaneously active threads; 0 if unknown.
    most_active: int = 0
    #: Number of waiting threads whose reason for waiting could not be read, summed over the samples.
    unread: int = 0


@dataclass(frozen=True)
class Machine:
    """The inventory of a machine. Every list is in ascending order of ids."""

    #: Instruction set: `x86_64` or `aarch64`.
    architecture: str = ''
    #: All caches; a cache shared by several CPUs is listed once.
    caches: Tuple[Cache, ...] = ()
    #: Number of each kind of part.
    counts: Counts = field(default_factory=lambda: Counts())
    #: All CPUs present, online or not.
    cpus: Tuple[Cpu, ...] = ()
    #: The host name, if known.
    hostname: Optional[str] = None
    #: The idle driver and governor.
    idle: Idle = field(default_factory=lambda: Idle())
    #: CPU idle states, deepest last.
    idle_states: Tuple[IdleState, ...] = ()
    #: The kernel, its build and its boot options.
    kernel: Kernel = field(default_factory=lambda: Kernel())
    #: The limits of this process.
    limits: Limits = field(default_factory=lambda: Limits())
    #: Memory managed by the kernel, in bytes.
    memory_bytes: Optional[int] = None
    #: All memory slots that the firmware lists, populated or empty.
    memory_devices: Tuple[MemoryDevice, ...] = ()
    #: Number of memory slots according to the board (SMBIOS type 16); an imported text may list fewer.
    memory_slots: Optional[int] = None
    #: All NUMA nodes; exactly one on a machine without NUMA.
    nodes: Tuple[Node, ...] = ()
    #: Parts of the inventory that could not be read or that contradict each other: one sentence each, with the name of
    #: the file.
    notes: Tuple[str, ...] = ()
    #: The processor model.
    processor: Processor = field(default_factory=lambda: Processor())
    #: System vendor and product from the firmware, for instance `Dell Inc. PowerEdge R740`.
    system: System = field(default_factory=lambda: System())
    #: The hypervisor and container in which linespeed runs.
    virtualization: Virtualization = field(default_factory=lambda: Virtualization())


#: A known event during a sample.
Mark = Literal["clock-moved", "switched", "migrated", "stolen", "throttled", "quota"]


@dataclass(frozen=True)
class Measurement:
    """One metric with one set of labels."""

    #: The metric's name; the definition of a name never changes.
    metric: str
    #: The summary of the samples.
    summary: Summary
    #: Unit of all values of the measurement.
    unit: str
    #: Where and how the metric was measured.
    where: Where
    #: Whether higher or lower values are better; absent if neither is.
    better: Optional[Better] = None
    #: Details of the method: kernel, variant, verified placement, counts.
    detail: Mapping[str, Any] = field(default_factory=dict)
    #: The distribution, if there are too many samples to save them individually (wake-up latency, gaps).
    distribution: Tuple[Bucket, ...] = ()
    #: Why the result is unreliable: "too noisy: …", "placed 97 % …". Absent if nothing is wrong.
    doubt: Optional[str] = None
    #: The code of the doubt, for programs: it stays the same if the words change. Absent in records written by version
    #: 0.1.
    doubt_code: Optional[str] = None
    #: The number of placement checks made before each sample; a single number if it is the same for all samples; empty
    #: if unknown.
    looks: Tuple[int, ...] = ()
    #: Samples affected by a known event.
    marks: Tuple[SampleMark, ...] = ()
    #: The method of another tool, if it restricts comparisons: `lmbench lat_mem_rd -t`, `Intel MLC`, `STREAM`,
    #: `cyclictest`. Absent for linespeed's own methods. Results of two methods are comparable only if the metric's
    #: definition is the same for both.
    method: Optional[str] = None
    #: The line of another tool's output from which the result was read; absent for linespeed's own results.
    origin: Optional[Origin] = None
    #: All samples in order; empty if a distribution is saved instead.
    samples: Tuple[float, ...] = ()


@dataclass(frozen=True)
class MemoryDevice:
    """One memory slot from SMBIOS type 17."""

    #: Bank, for instance `P0 CHANNEL A`.
    bank: Optional[str] = None
    #: Size in bytes; absent for an empty slot.
    bytes: Optional[int] = None
    #: Channel, if the locators show it; all devices on a channel have the same text.
    channel: Optional[str] = None
    #: Configured speed, MT/s.
    configured_mt_s: Optional[int] = None
    #: Data width in bits, usually 64.
    data_bits: Optional[int] = None
    #: Form factor: `DIMM`, `SODIMM`…
    form: Optional[str] = None
    #: `DDR4`, `DDR5`, `HBM2`…
    kind: Optional[str] = None
    #: Slot name, for instance `CPU0_DIMMA0`.
    locator: Optional[str] = None
    #: NUMA node or package, if the locators show it.
    node: Optional[int] = None
    #: Part number.
    part: Optional[str] = None
    #: Ranks.
    ranks: Optional[int] = None
    #: Maximum supported speed, MT/s.
    rated_mt_s: Optional[int] = None
    #: Manufacturer.
    vendor: Optional[str] = None


#: Where the data that loads wait for is located.
MemoryLevel = Literal["l2", "l3", "dram", "remote", "caches-or-memory"]


@dataclass(frozen=True)
class Moment:
    """One interval of a recording, or several consecutive ones."""

    #: Start of the moment, s since the record's start.
    at: float = 0.0
    #: The machine's activity. For several intervals, times are added, and rates and readings averaged.
    interval: Interval = field(default_factory=lambda: Interval())
    #: Number of intervals.
    intervals: int = 0
    #: The sentence for one of the intervals with the first verdict.
    said: Optional[Said] = None
    #: The total time of each verdict, longest first; empty if the kernel reported too little.
    verdicts: Tuple[Held, ...] = ()


#: Whether the CPUs stay in place from check to check.
Motion = Literal["unknown", "pinned", "floating"]


@dataclass(frozen=True)
class Node:
    """One NUMA node."""

    #: Latency and bandwidth of the node's memory from the nearest CPUs, according to the firmware (HMAT).
    access: Optional[Access] = None
    #: Whether this process may allocate memory on the node.
    allowed: bool = False
    #: Memory in bytes; 0 for a node without memory, absent if the kernel does not report it.
    bytes: Optional[int] = None
    #: Online CPUs of the node; empty for a memory-only node.
    cpus: CpuList = ()
    #: Total size of the DAX devices (CXL or persistent memory) that the kernel uses as memory of this node, bytes.
    dax_bytes: Optional[int] = None
    #: The firmware's distances (SLIT) to every node in this list, in the same order; 10 is local.
    distances: Tuple[int, ...] = ()
    #: Free memory in bytes at the time of reading.
    free_bytes: Optional[int] = None
    #: The kernel's node number; numbers may have gaps.
    id: int = 0
    #: Size of the memory-side cache in front of the node's memory, bytes.
    memory_side_cache_bytes: Optional[int] = None
    #: The kernel's tier for the node's memory. A lower number means faster memory; DRAM is usually in tier 4. Absent
    #: before Linux 6.1.
    memory_tier: Optional[int] = None


@dataclass(frozen=True)
class NotLookedFor:
    """A rule that could not be applied because data is missing."""

    #: The missing data.
    missing: str
    #: The rule's name.
    rule: str


@dataclass(frozen=True)
class NotUnderstood:
    """Lines that belong to no known output."""

    #: The first few of these lines; their `tool` field is empty.
    examples: Tuple[Origin, ...] = ()
    #: Number of such lines, without blank ones.
    lines: int = 0


@dataclass(frozen=True)
class Numa:
    """What remote accesses cost a NUMA-unaware program, and whether the firmware's distances are correct."""

    #: One or two sentences on these results and their consequences.
    meaning: str
    #: Number of measured nodes with memory.
    nodes: int
    #: Share of remote accesses among all memory accesses of a NUMA-unaware program: (nodes - 1) / nodes.
    remote_share: float
    #: Average bandwidth of such a program's accesses, relative to local accesses (0.6 is 40 % less).
    bandwidth_factor: Optional[float] = None
    #: Rank correlation of the firmware's distances with the measured latencies, -1 to 1.
    distance_agreement: Optional[float] = None
    #: What the worst mismatch costs a program that relies on the firmware's distances and therefore uses the slower
    #: node.
    distance_loss: Optional[Verdict] = None
    #: Pairs whose distance disagrees with the measurement, one phrase per pair.
    distance_mismatches: Tuple[str, ...] = ()
    #: Average latency of such a program's accesses, relative to local accesses (1.5 is 50 % more).
    ignoring_factor: Optional[float] = None
    #: Median latency to a node's own memory, ns.
    local_ns: Optional[float] = None
    #: Median latency to other nodes' memory, ns.
    remote_ns: Optional[float] = None
    #: The slowest pair and its latency: from, to, ns.
    slowest: Optional[Tuple[int, int, float]] = None


@dataclass(frozen=True)
class Origin:
    """The line of a tool's output from which a result was read."""

    #: The line number in that text, counted from 1.
    line: int
    #: The line's original text, without colors and quoting, truncated to 200 characters.
    says: str
    #: The name of the text: a file name, `standard input`, `reference:kunpeng-920-4826`.
    text: str
    #: The tool: `lscpu`, `perf stat`, `cyclictest`, `openssl speed`; `published figures` for a table in an article.
    tool: str


@dataclass(frozen=True)
class Output:
    """One tool's output within a text."""

    #: The first and last line of the output in that text, counted from 1.
    lines: Tuple[int, int]
    #: Number of results and inventory facts read from the output.
    taken: int
    #: The text that contains the output.
    text: str
    #: The tool.
    tool: str
    #: The command line above the output, if there is one.
    command: Optional[str] = None
    #: The tool's version, if the output contains it.
    version: Optional[str] = None


@dataclass(frozen=True)
class Overhead:
    """The cost of the machine's layers, timed alternately with the same machine code. Each step compares two layers that
    differ in a single condition."""

    #: The conclusions of a published comparison of layers, each with a verdict on whether this machine's results
    #: support it.
    claims: Tuple[Claim, ...]
    #: The noise in words.
    floor_says: str
    #: The fastest layer, with which the others are compared.
    line_speed: str
    #: The steps, each with the cost of the difference between two layers.
    steps: Tuple[LayerStep, ...]
    #: The difference between two runs of the same layer, which is noise.
    floor: Optional[Verdict] = None


@dataclass(frozen=True)
class Piece:
    """Lines that belong together."""

    #: The lines.
    lines: Tuple[str, ...] = ()
    #: The process to which the lines apply; absent if they are for all processes.
    process: Optional[int] = None


@dataclass(frozen=True)
class Plan:
    """The layout of a program on one machine."""

    #: Other settings: memory, huge pages, interrupts.
    advice: Tuple[Advice, ...] = ()
    #: The last-level caches within each node, if nodes have several.
    caches: Optional[CacheDomains] = None
    #: Omissions and weaknesses of the plan, one sentence each.
    cautions: Tuple[str, ...] = ()
    #: The expected gain, one entry per kind of program, modelled from the measurements.
    gains: Tuple[Gain, ...] = ()
    #: Usable NUMA nodes with CPUs.
    nodes: int = 0
    #: Lines to paste, one entry per tool; empty if nothing needs to be bound.
    pastes: Tuple[Snippet, ...] = ()
    #: The processes in order.
    processes: Tuple[Process2, ...] = ()
    #: The record given to `linespeed plan`; absent if the plan is for this machine.
    record: Optional[str] = None
    #: Whether to use SMT siblings; absent if no core has any.
    siblings: Optional[Siblings] = None
    #: The sources of the results, one sentence each.
    sources: Tuple[str, ...] = ()
    #: The complete plan in one or two sentences.
    summary: str = ''
    #: Unknown facts; one sentence each, which also states how to determine the fact.
    unknown: Tuple[str, ...] = ()
    #: The measured gain, from running a command with and without the plan.
    verification: Optional[Verification] = None


#: The memory policy.
Policy = Literal["default", "bind", "interleave"]


#: Comparison of a result with published results of similar machines.
Position = Literal["low", "normal", "high", "unknown-machine", "not-representative"]


@dataclass(frozen=True)
class PowerLimit:
    """A power limit of a package (powercap, RAPL)."""

    #: The interface that sets the limit: `intel-rapl` (MSR), `intel-rapl-mmio` (firmware, thermald). If several
    #: interfaces set a limit, the lowest limit applies.
    interface: str = ''
    #: The file that sets the limit.
    limit_file: str = ''
    #: The package's rated power, W.
    rated_watts: Optional[float] = None
    #: The limit, W.
    watts: float = 0.0
    #: The limit's time window: `long_term` (PL1), `short_term` (PL2), `peak_power` (PL4).
    window: str = ''
    #: Length of the averaging window, seconds.
    window_seconds: Optional[float] = None
    #: The package: `package-0`.
    zone: str = ''


@dataclass(frozen=True)
class Probe:
    """The memory probe's readings in one interval."""

    #: The core's clock, measured with dependent adds, Hz.
    clock_hz: Optional[float] = None
    #: The median delay of the probe's timer, µs.
    late_us: Optional[float] = None
    #: The 95 % CI of that median; absent if there are fewer than 6 readings.
    latency_interval_ns: Mapping[str, Tuple[float, float]] = field(default_factory=dict)
    #: Latency of loads from memory by node, ns: the median of the readings.
    latency_ns: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class ProbePoint:
    """A reading of the memory probe at one load."""

    #: The memory bandwidth, B/s.
    bandwidth: float
    #: The probe's latency, ns per load.
    ns: float


@dataclass(frozen=True)
class Process:
    """A process and its CPU time in an interval."""

    #: The process's scheduling class, if not the default: `SCHED_FIFO`.
    class_: Optional[str] = None
    #: CPU time, s.
    cpu: float = 0.0
    #: Whether the process has exited; its times are then the last values read.
    ended: Optional[bool] = None
    #: The process's name in the kernel, without control characters.
    name: str = ''
    #: The process's nice value, if not 0.
    nice: Optional[int] = None
    #: The process ID.
    pid: int = 0
    #: The process's priority, if its class has one.
    priority: Optional[int] = None
    #: Whether the process has a real-time policy.
    real_time: bool = False
    #: What the process waits for, if it was sampled.
    sampled: Optional[Sampled] = None
    #: The part of `cpu` spent in the kernel, s.
    system: float = 0.0
    #: Threads.
    threads: int = 0
    #: The process's unit or container.
    within: Optional[str] = None


@dataclass(frozen=True)
class Process2:
    """One process of a plan."""

    #: The process's CPUs; empty if they are unknown, which means all CPUs of its nodes.
    cpus: CpuList = ()
    #: The nodes for the process's memory; empty if the machine has only one node.
    memory: CpuList = ()
    #: The nodes whose CPUs the process uses.
    nodes: CpuList = ()
    #: The process's number, from 0.
    number: int = 0
    #: The memory policy.
    policy: Policy = 'default'
    #: The number of threads; absent if the machine's CPUs are not known.
    threads: Optional[int] = None
    #: Whether `cpus` contains all usable CPUs of these nodes.
    whole_nodes: bool = False


@dataclass(frozen=True)
class Processor:
    """The processor's model and features. On hybrid machines, these are the model and features of the boot CPU; `Cpu.kind`
    distinguishes the kinds of core."""

    #: Physical and virtual address bits.
    address_bits: Optional[Tuple[int, int]] = None
    #: Nominal (base, sustained) clock in Hz.
    base_hz: Optional[int] = None
    #: The cycle counter's rate in Hz (TSC on x86-64, CNTFRQ on aarch64), if the kernel or CPUID reports it.
    counter_hz: Optional[int] = None
    #: Whether the cycle counter runs at the same rate in every clock and idle state.
    counter_invariant: Optional[bool] = None
    #: x86 family.
    family: Optional[int] = None
    #: Instruction-set features relevant to speed, in a fixed order: `avx2`, `avx512f`, `sve`, `atomics`…
    features: Tuple[str, ...] = ()
    #: Model name from the firmware (SMBIOS type 4): on Arm it is the exact model (`Kunpeng 920-4826`), while MIDR
    #: identifies only the core design.
    firmware_name: Optional[str] = None
    #: Arm implementer code.
    implementer: Optional[int] = None
    #: Highest clock advertised by any core, Hz.
    max_hz: Optional[int] = None
    #: Name of the core design, if known: `Skylake-X/Cascade Lake`, `Zen 2`, `Neoverse N1`…
    microarchitecture: Optional[str] = None
    #: Microcode revision, hexadecimal.
    microcode: Optional[str] = None
    #: Lowest clock in Hz.
    min_hz: Optional[int] = None
    #: x86 model, or Arm part number.
    model: Optional[int] = None
    #: Model name from CPUID, or derived from MIDR with the same tables as in lscpu.
    model_name: Optional[str] = None
    #: Arm variant and revision: `r1p0`.
    revision: Optional[str] = None
    #: x86 stepping; for Arm, see `revision`.
    stepping: Optional[int] = None
    #: Width of the widest usable vectors, in bits.
    vector_bits: Optional[int] = None
    #: Vendor, by its common name: `GenuineIntel`, `AuthenticAMD`, `HygonGenuine`, `HiSilicon`, `Phytium`, `ARM`…
    vendor: Optional[str] = None


#: How many programs a loss affects.
Relevance = Literal["all", "some", "few", "none"]


@dataclass(frozen=True)
class Remote:
    """The use of memory on other nodes, as shares."""

    #: Of the watched processes' pages, the share on nodes where none of their threads ran.
    held: Optional[float] = None
    #: Of the pages allocated in the interval, the share on a node other than that of the allocating CPU.
    taken: Optional[float] = None
    #: Of the accesses sampled by NUMA balancing (hinting faults), the share that went to another node's memory.
    touched: Optional[float] = None


@dataclass(frozen=True)
class Resource:
    """One resource and its distance from line speed."""

    #: The delivered value.
    delivered: float
    #: Meaning of these values, one sentence.
    meaning: str
    #: `core`, `memory bandwidth`, `memory latency`, `wake-up`.
    name: str
    #: Unit of both values.
    unit: str
    #: A related fact that is not a loss, for example the default timer slack of wake-ups or the share of CPU time used
    #: by other processes.
    beside: Optional[str] = None
    #: The hardware maximum.
    ceiling: Optional[float] = None
    #: Why the result is unreliable: "too noisy: …", "placed 97 % …". Absent if nothing is wrong.
    doubt: Optional[str] = None
    #: The code of the doubt, for programs: it stays the same if the words change. Absent in records written by version
    #: 0.1.
    doubt_code: Optional[str] = None
    #: The lowest and the highest ceiling among the models in the processor's family, if the ceiling is that of the
    #: family. The ceiling of this model is between these two, so they also limit the possible share.
    family_ceilings: Optional[Tuple[float, float]] = None
    #: Comparison with the published results; absent if none are known for this resource although the processor is
    #: known, or if the delivered value is unreliable.
    position: Optional[Position] = None
    #: The difference between the results of two halves of the samples, each consisting of every other sample, as a
    #: share of their mean; absent if fewer than four samples were saved.
    repeatability: Optional[float] = None
    #: The delivered value as a share of line speed (1 is 100 %), if the ceiling is that of this hardware or of its
    #: processor family.
    share: Optional[float] = None
    #: Where the ceiling comes from.
    source: Optional[CeilingSource] = None
    #: Published results of similar machines; absent if there are none.
    typical: Optional[Typical] = None


#: How thorough a run should be, as requested.
RunMode = Literal["quick", "normal", "full"]


@dataclass(frozen=True)
class Rung:
    """One cause and its loss."""

    #: The cause in a few words.
    cause: str
    #: The value that remains after this step.
    leaves: float
    #: Whether the loss was measured here; otherwise it is modelled.
    measured: bool
    #: The loss, in the breakdown's unit.
    takes: float
    #: 95 % CI of the loss, if known.
    interval: Optional[Tuple[float, float]] = None
    #: The rule of the finding for this cause, if there is one.
    rule: Optional[str] = None


@dataclass(frozen=True)
class Said:
    """The verdict on one interval, in words."""

    #: Start of the interval, s since the record's start.
    at: float
    #: The sentence.
    says: str
    #: The length of the interval, s.
    seconds: float


@dataclass(frozen=True)
class SampleMark:
    """One marked sample. Marked samples are saved and counted, never hidden."""

    #: The event.
    mark: Mark
    #: Index into the samples.
    sample: int


@dataclass(frozen=True)
class Sampled:
    """What user-mode code waits for, according to samples."""

    #: Share of samples after atomic instructions and fences.
    atomic: Share = field(default_factory=lambda: Share())
    #: Share of samples at accesses to a memory area larger than the caches.
    far: Share = field(default_factory=lambda: Share())
    #: Share of samples after floating-point additions and multiplications.
    float: Share = field(default_factory=lambda: Share())
    #: Share of samples at loads with an unknown address; these loads may belong to any of the groups above.
    hidden: Share = field(default_factory=lambda: Share())
    #: Samples in kernel mode; 0 if this user may not sample the kernel.
    in_kernel: int = 0
    #: Share of samples at jump targets where nothing else explains the wait: mispredicted branches and instruction
    #: fetch.
    jumps: Share = field(default_factory=lambda: Share())
    #: The kernel's work in these samples, largest share first.
    kernel: Tuple[KernelTime, ...] = ()
    #: Share of samples at loads from a memory area that fits in the last-level cache but not in the core's private
    #: caches.
    last_cache: Share = field(default_factory=lambda: Share())
    #: Where most of that memory area is located.
    level: Optional[MemoryLevel] = None
    #: Latency of a load from that memory area according to this machine's measured latency curve, ns.
    load_ns: Optional[float] = None
    #: Share of samples at loads, from caches or memory.
    loads: Share = field(default_factory=lambda: Share())
    #: Share of samples after divisions and square roots.
    long: Share = field(default_factory=lambda: Share())
    #: Samples dropped by the kernel for lack of buffer space.
    lost: int = 0
    #: Share of samples at loads from a memory area that fits in the second-level cache but not in the first-level
    #: cache.
    own_cache: Share = field(default_factory=lambda: Share())
    #: The part of `far` that accesses memory on a node other than the CPU's.
    remote: Share = field(default_factory=lambda: Share())
    #: Number of samples in the interval, or in the last 10 s if that is longer.
    samples: int = 0
    #: The part of `far` with sequential accesses.
    sequential: Share = field(default_factory=lambda: Share())
    #: Share of samples at cache lines that several threads on different CPUs access, with at least one thread writing.
    shared: Share = field(default_factory=lambda: Share())
    #: Share of samples in loops that wait for another thread.
    spinning: Share = field(default_factory=lambda: Share())
    #: Samples whose instruction could not be read or decoded. All shares exclude them.
    undecoded: int = 0
    #: Size of the memory area that `far` accesses, bytes; if `far` is empty, size of the area accessed by the loads
    #: that wait for a cache.
    working_set: Optional[float] = None


@dataclass(frozen=True)
class Scaling:
    """A fit of the Universal Scalability Law, X(N) = rate N / (1 + contention (N - 1) + coherency N (N - 1)), to the
    throughput of one workload with one placement (Gunther, Guerrilla Capacity Planning, 2007)."""

    #: Cost of keeping threads coherent, per pair of threads (kappa).
    coherency: float
    #: The serialized share of the work (sigma).
    contention: float
    #: Interpretation, in sentences.
    meaning: str
    #: `cores-first`, `siblings-first`, `node-compact`, `node-spread`.
    placement: str
    #: Number of fitted steps.
    points: int
    #: Throughput of one thread according to the fit, work/s.
    rate: float
    #: Median relative deviation of the measured points from the fit.
    residual: float
    #: Speed-up of the last step over one thread.
    speedup: float
    #: Threads of the last step.
    threads: int
    #: The workload.
    workload: str
    #: Whether the speed-up exceeds the number of threads because of an unreliable step.
    disturbed: Optional[bool] = None
    #: The smallest and the largest number of threads among the fitted steps. If siblings share cores, not all steps are
    #: fitted. With `cores-first`, only steps without siblings are fitted. With other placements, only steps with more
    #: than one thread are fitted, since a single thread has a core to itself.
    fitted: Optional[Tuple[int, int]] = None
    #: Number of threads beyond which each further thread adds less than half of a single thread's throughput; absent if
    #: this number was not reached.
    knee: Optional[int] = None
    #: The interval of the speed-up, from the intervals of both steps.
    speedup_interval: Optional[Tuple[float, float]] = None
    #: The measured steps, by increasing number of threads.
    steps: Tuple[Step, ...] = ()


@dataclass(frozen=True)
class Sensors:
    """Values of sensors."""

    #: The highest temperature, °C.
    celsius: Optional[float] = None
    #: Speed of the fastest fan, revolutions per minute.
    fan_rpm: Optional[float] = None
    #: Share of time for which the most affected package or core was thermally throttled.
    heat_throttled: Optional[float] = None
    #: Power from hwmon, or from RAPL as the sum over packages, W.
    watts: Optional[float] = None


@dataclass(frozen=True)
class Service:
    """The CPU times of selected processes, and what their threads waited for."""

    #: Number of processes that the selected processes started; the values here include them.
    below: int = 0
    #: Number of processes selected by PID, if all of them have exited; `seconds` is then the time until the last exit.
    ended: Optional[int] = None
    #: How often their threads were sampled.
    looks: Looks2 = field(default_factory=lambda: Looks2())
    #: Conclusions from samples of the processes in user mode.
    sampled: Optional[Sampled] = None
    #: How long the processes were observed, s.
    seconds: float = 0.0
    #: Time of their threads by state, s: `user`, `system`, `runnable` (ready but without a CPU), `blocked` (neither
    #: running nor ready), each summed over threads. `off-cpu` is the time in which no thread was running or ready.
    states: Mapping[str, float] = field(default_factory=dict)
    #: Number of observed threads.
    threads: int = 0
    #: What the threads waited for.
    waits: Mapping[str, Waits] = field(default_factory=dict)


#: How severe a finding is.
Severity = Literal["note", "warning", "serious"]


@dataclass(frozen=True)
class Shape:
    """Conclusions from the placement checks of a run."""

    #: How often the state differed from that of the previous conclusive check.
    changes: int = 0
    #: Core-to-core latencies that depend on the placement of their CPUs, with the results and shares by placement.
    core_to_core: Tuple[str, ...] = ()
    #: The total time of the checks, as a share of the run.
    cost: Optional[float] = None
    #: Distances between CPUs on separate cores, nearest first.
    distances: Tuple[Distance, ...] = ()
    #: The time of these checks, RFC 3339 in UTC, if they were not part of this record's run.
    looked_at: Optional[str] = None
    #: Number of conclusive checks.
    looks: int = 0
    #: The two latencies of loads from the same page, like those of local and remote memory; absent if there is only one
    #: latency.
    memory: Optional[TwoDistances] = None
    #: Whether the CPUs stay in place from check to check.
    motion: Motion = 'unknown'
    #: The distance between CPUs that shared a core.
    one_core: Optional[Distance] = None
    #: Pairs that shared a core in at least one check, most frequent first.
    shared_cores: Tuple[SharedCore, ...] = ()
    #: The share of checks in which CPUs shared a core although Linux reports separate cores.
    sharing: Optional[Share] = None
    #: Like `sharing`, but only for checks made immediately after all CPUs were busy.
    sharing_busy: Optional[Share] = None
    #: Pairs of CPUs that Linux reports as siblings but that did not slow each other down.
    siblings_not_confirmed: Tuple[Tuple[int, int], ...] = ()
    #: The share of checks in which the CPUs were in several domains that Linux does not report.
    split: Optional[Share] = None
    #: The state in each check, in order; absent for an inconclusive check.
    states: Tuple[Optional[ShapeState], ...] = ()
    #: How Linux's topology compares with the placement checks.
    topology: Topology = 'unknown'


@dataclass(frozen=True)
class ShapeState:
    """Where the CPUs were located in one placement check."""

    #: CPUs that shared a core, one list per core.
    cores: Tuple[CpuList, ...] = ()
    #: For each boundary between two classes of distances, nearest first: the CPUs closer to each other than the
    #: boundary, one list per domain. A boundary is omitted if a CPU moved during the check, because the transfer times
    #: are then not consistent with any domains.
    domains: Tuple[Tuple[CpuList, ...], ...] = ()
    #: CPUs far from the node whose memory contains the page used by the checks.
    far_from_memory: Optional[CpuList] = None


@dataclass(frozen=True)
class Share:
    """The number of samples of one kind, their share, and the 95 % CI of the share of time (Wilson, 1927). The interval
    has a width above zero even if the count is zero."""

    #: Number of samples.
    count: int = 0
    #: The upper end.
    high: float = 1.0
    #: The lower end of the interval. The interval covers both cases: all undecided samples are of this kind, or none.
    low: float = 0.0
    #: The share of these samples among all decoded samples.
    share: float = 0.0


@dataclass(frozen=True)
class SharedCore:
    """Two CPUs that shared a core."""

    #: Number of checks in which the pair shared a core.
    looks: int
    #: The CPUs.
    pair: Tuple[int, int]
    #: Whether Linux reports the CPUs as siblings.
    shown: bool


@dataclass(frozen=True)
class Siblings:
    """Whether to use SMT siblings."""

    #: The results on which the choice is based.
    evidence: Tuple[Evidence, ...] = ()
    #: Whether the choice is based on results; otherwise, it is the default.
    measured: bool = False
    #: One CPU of each core, for users who do not want to use siblings; empty if the CPUs are not known.
    one_a_core: CpuList = ()
    #: Hardware threads of each core.
    per_core: int = 0
    #: Whether the plan uses them.
    used: bool = False
    #: The reason, in one or two sentences.
    why: str = ''


@dataclass(frozen=True)
class SiblingsAdd:
    """How much throughput a workload gains from SMT siblings."""

    #: Throughput of all CPUs divided by that of one thread per core, minus one (0.13 is 13 % more).
    adds: float
    #: Whether the step with one thread per core was measured or extrapolated.
    basis: Basis
    #: The results, in sentences.
    says: str
    #: The workload.
    workload: str
    #: The workload's block size, bytes.
    bytes: Optional[int] = None


@dataclass(frozen=True)
class Snapshot:
    """The state at one point in time."""

    #: Address-space randomization: 0, 1, 2.
    aslr: Optional[int] = None
    #: Whether clocks above nominal are allowed: Intel turbo, AMD and acpi-cpufreq boost, cppc.
    boost: Optional[bool] = None
    #: The file from which `boost` was read.
    boost_source: Optional[str] = None
    #: Possible reasons for limited clocks, other than the settings of cpufreq.
    clock_holders: Optional[ClockHolders] = None
    #: Clock settings, one entry per group of CPUs with the same settings.
    clocks: Tuple[ClockSetting, ...] = ()
    #: Current clock source of the kernel.
    clocksource: Optional[str] = None
    #: Clock sources available.
    clocksources: Tuple[str, ...] = ()
    #: CPU time since boot in seconds, over all CPUs: `user`, `nice`, `system`, `idle`, `iowait`, `irq`, `softirq`,
    #: `steal`.
    cpu_seconds: Mapping[str, float] = field(default_factory=dict)
    #: Reserved huge pages by page size.
    huge_pages: Tuple[HugePages, ...] = ()
    #: Kernel same-page merging: 0 off.
    ksm: Optional[int] = None
    #: Load averages over 1, 5 and 15 minutes.
    load: Optional[Tuple[float, ...]] = None
    #: Available memory in bytes, as estimated by the kernel.
    memory_available_bytes: Optional[int] = None
    #: Corrected and uncorrected memory errors since boot, by memory module or, if the module is unknown, by memory
    #: controller; without modules that had none.
    memory_errors: Mapping[str, Tuple[int, ...]] = field(default_factory=dict)
    #: Automatic NUMA balancing: 0 off.
    numa_balancing: Optional[int] = None
    #: CPU time used by this process, its exited children and its kernel threads since the process started, seconds.
    own_cpu_seconds: Optional[float] = None
    #: The lowest CPU weight of this process's cgroup and its ancestors, relative to the kernel's default (cpu.weight
    #: 100, cpu.shares 1024).
    own_cpu_weight: Optional[float] = None
    #: This process's nice value, -20 to 19.
    own_nice: Optional[int] = None
    #: This process's scheduling policy: `other`, `fifo`, `rr`, `batch`, `idle`, `deadline`, `ext`.
    own_policy: Optional[str] = None
    #: Time that this process's measuring threads spent waiting in run queues since the process started, seconds.
    own_ready_seconds: Optional[float] = None
    #: perf_event_paranoid.
    perf_event_paranoid: Optional[int] = None
    #: Power supply, `mains` or `battery`; absent if none is reported.
    power_supply: Optional[str] = None
    #: Pressure stall information for `cpu`, `memory` and `io`: the share of the last 10 s in which some task waited;
    #: `memory_full`: the share in which all tasks that had work waited for memory.
    pressure: Mapping[str, float] = field(default_factory=dict)
    #: Total number of quota periods of the cgroup, if the kernel reports it.
    quota_periods: Optional[int] = None
    #: Number of periods in which the cgroup was throttled by its quota since the cgroup was created.
    quota_throttled: Optional[int] = None
    #: Tasks that are runnable at this moment, including this one.
    running: Optional[int] = None
    #: SMT control: `on`, `off`, `forceoff`, `notsupported`, `notimplemented`.
    smt: Optional[str] = None
    #: Share of CPU time stolen by the hypervisor. The state before the run contains the share since boot; the state
    #: after the run contains the share during the run.
    steal_share: Optional[float] = None
    #: Total swap space, bytes.
    swap_bytes: Optional[int] = None
    #: Used swap space, bytes.
    swap_used_bytes: Optional[int] = None
    #: Pages swapped in and out since boot.
    swapped_pages: Optional[Tuple[int, int]] = None
    #: Temperatures in °C by sensor.
    temperatures: Mapping[str, float] = field(default_factory=dict)
    #: Transparent huge pages: `always`, `madvise`, `never`.
    thp: Optional[str] = None
    #: The setting for defragmentation when transparent huge pages are allocated: `always`, `defer`, `madvise`…
    thp_defrag: Optional[str] = None
    #: Number of thermal throttling events since boot, summed over cores and packages.
    throttled: Optional[int] = None
    #: Uptime in seconds.
    uptime_seconds: Optional[float] = None
    #: zone_reclaim_mode.
    zone_reclaim: Optional[int] = None


@dataclass(frozen=True)
class Snippet:
    """One tool's lines."""

    #: The lines: one group per process, or one group for all.
    pieces: Tuple[Piece, ...] = ()
    #: Notes on the lines, and where to put them.
    says: str = ''
    #: `numactl`, `taskset`, `systemd`, `docker`.
    tool: str = ''


#: The degree of coverage.
State = Literal["measured", "degraded", "skipped", "impossible"]


@dataclass(frozen=True)
class Step:
    """One step of a scaling measurement, compared with one thread of the same workload."""

    #: Speed-up divided by the number of threads: 1 is linear.
    efficiency: float
    #: Throughput divided by the throughput of one thread.
    speedup: float
    #: Number of threads, or of copies of a command.
    threads: int
    #: The total throughput of these threads, work/s.
    throughput: float


@dataclass(frozen=True)
class Summary:
    """The summary of the samples of one measurement."""

    #: 95 % CI of the median by order statistics; absent for fewer than 6 samples.
    interval: Optional[Tuple[float, float]] = None
    #: Median absolute deviation × 1.4826.
    mad: float = 0.0
    #: Maximum.
    max: float = 0.0
    #: Mean. It is the result of additive metrics, and is also contained in cyclictest's output and published tables.
    mean: Optional[float] = None
    #: Median.
    median: float = 0.0
    #: Minimum.
    min: float = 0.0
    #: Number of samples.
    n: int = 0
    #: 95th percentile; requires at least 20 samples.
    p95: Optional[float] = None
    #: 99th percentile; requires at least 100 samples.
    p99: Optional[float] = None
    #: 99.9th percentile; requires at least 1000 samples.
    p999: Optional[float] = None
    #: Standard deviation ÷ mean, included because published tables use it.
    variation: Optional[float] = None


@dataclass(frozen=True)
class System:
    """Names from the firmware (DMI) or the device tree."""

    #: Board vendor and name.
    board: Optional[str] = None
    #: Firmware vendor, version and date.
    firmware: Optional[str] = None
    #: Product name.
    product: Optional[str] = None
    #: Manufacturer of the machine.
    vendor: Optional[str] = None


@dataclass(frozen=True)
class Taker:
    """A cause that used time."""

    #: The kind of cause.
    kind: TakerKind
    #: The name of the cause: `45 eth0-TxRx-3`, `NET_RX`, `kworker/3:1H`; absent if it has none.
    name: Optional[str] = None
    #: Time used, ns; absent if only counts are known.
    ns: Optional[float] = None
    #: A task's process.
    pid: Optional[int] = None
    #: A task's real-time priority, 1 to 99.
    priority: Optional[int] = None
    #: Number of occurrences; absent if only the time is known.
    times: Optional[int] = None


#: The kind of a cause.
TakerKind = Literal["irq", "softirq", "task", "run-queue", "idle", "below", "smi", "late-timer"]


@dataclass(frozen=True)
class Text:
    """An imported text."""

    #: The length of the text in bytes.
    bytes: int
    #: The number of lines in the text.
    lines: int
    #: The name of the text, as in `Origin.text`.
    name: str


@dataclass(frozen=True)
class Thread:
    """A thread of a watched process, and its times in an interval."""

    #: Time blocked, neither on a CPU nor ready for one, s.
    blocked: float = 0.0
    #: CPU time, s.
    cpu: float = 0.0
    #: The thread's name in the kernel, without control characters.
    name: str = ''
    #: The thread's process ID.
    pid: int = 0
    #: Time waiting in a run queue, s.
    runnable: float = 0.0
    #: The thread's state when last read: R running or ready, S waiting, D waiting for a disk.
    state: str = ''
    #: The thread ID.
    tid: int = 0


@dataclass(frozen=True)
class Throttled:
    """A cgroup throttled by its quota."""

    #: The cgroup's path in the kernel.
    group: str = ''
    #: Share of the quota's periods in which it was throttled.
    periods: float = 0.0
    #: Time for which its threads were throttled, s, summed over CPUs.
    seconds: float = 0.0
    #: CPU time used by the cgroup, s.
    used: float = 0.0


@dataclass(frozen=True)
class Tool:
    """The program that wrote a record."""

    #: `linespeed`.
    name: str
    #: The program's version.
    version: str


#: How Linux's topology compares with the placement checks.
Topology = Literal["unknown", "as-shown", "finer", "coarser", "crossing"]


@dataclass(frozen=True)
class Traffic:
    """Memory traffic, as counted by memory controllers or caches."""

    #: Share of time for which the memory buses carried data, if this was counted.
    bus: Optional[float] = None
    #: Bytes read and written, B/s.
    bytes_per_second: float = 0.0
    #: Whether the counts from this source are known to be inaccurate.
    doubtful: Optional[bool] = None
    #: Bytes read, if counted separately.
    read: Optional[float] = None
    #: Source of the counts: `uncore_imc`, `amd_umc`…
    source: str = ''
    #: Bytes written.
    written: Optional[float] = None


@dataclass(frozen=True)
class Turns:
    """Commands run alternately, each once per round, with every other round in reverse order."""

    #: The commands, in the user's order; the others are compared with the first.
    commands: Tuple[CommandInTurn, ...]
    #: The difference that noise alone causes, as a share of the run time. It is determined by comparing consecutive
    #: runs of the same command. Absent if there are too few runs.
    floor: Optional[float] = None
    #: The noise in words.
    floor_says: Optional[str] = None


@dataclass(frozen=True)
class TwoDistances:
    """Latencies of loads from one page by CPUs close to its memory and by distant CPUs."""

    #: The share of the loads that far CPUs made.
    far: Share
    #: Median latency of a load by a far CPU, ns.
    far_ns: float
    #: Median latency of a load by a near CPU, ns.
    near_ns: float


@dataclass(frozen=True)
class Typical:
    """The range of published results of similar machines."""

    #: The maximum, in the resource's unit.
    high: float
    #: The minimum, in the resource's unit.
    low: float
    #: The machines for which these results were published: `AMD Zen 4 (Genoa)`.
    of: str
    #: The sources of the results.
    sources: Tuple[str, ...]
    #: This machine's result under the same conditions as the published results, if it differs from the delivered
    #: result: for example, the latency on huge pages, or the wake-up latency with idle states disabled.
    compared: Optional[float] = None
    #: Whether the published results are from bare metal while this machine is a guest.
    of_bare_metal: Optional[bool] = None


@dataclass(frozen=True)
class UncoreClock:
    """The uncore clock of a die (`intel_uncore_frequency`)."""

    #: The name of the die's directory: `package_00_die_00`.
    domain: str = ''
    #: The highest clock that the firmware allowed at boot, Hz.
    initial_max_hz: int = 0
    #: The highest allowed clock, Hz.
    max_hz: int = 0


@dataclass(frozen=True)
class Verdict:
    """The verdict on a difference."""

    #: The form of this object: costs, not-resolved, too-noisy, not-measurable.
    verdict: Literal["costs", "not-resolved", "too-noisy", "not-measurable"]
    #: 95 % CI of the share.
    interval: Optional[Tuple[float, float]] = None
    #: Share lost (0.1 is 10 %).
    share: Optional[float] = None
    #: The largest difference that is consistent with the results, as a share.
    smaller_than: Optional[float] = None
    #: The number of additional rounds needed, if it can be estimated.
    rounds_needed: Optional[int] = None
    #: Why.
    reason: Optional[str] = None


@dataclass(frozen=True)
class Verification:
    """A command run alternately with and without the planned binding."""

    #: The command as typed.
    command: Tuple[str, ...] = ()
    #: The number of copies and their binding.
    how: str = ''
    #: Events during the runs, each with the number of runs in which it occurred.
    marks: Tuple[Tuple[Mark, int], ...] = ()
    #: The median difference of two consecutive runs of the same kind, as a share.
    noise: Optional[float] = None
    #: Seconds until the last copy exited, with the copies bound as planned; one value per round.
    planned: Tuple[float, ...] = ()
    #: Throughput with the plan relative to unbound runs, one value per round.
    ratio: Summary = field(default_factory=lambda: Summary())
    #: The result in one or two sentences, compared with the expectation.
    says: str = ''
    #: Whether the layout made the command slower.
    slower: bool = False
    #: The same times for runs without binding.
    unbound: Tuple[float, ...] = ()
    #: The share of run time that unbound runs lose compared with the layout; if `slower` is set, the share that the
    #: layout loses.
    verdict: Optional[Verdict] = None


@dataclass(frozen=True)
class Virtualization:
    """The environment in which the run took place."""

    #: `docker`, `podman`, `kubernetes`, `lxc`, `systemd-nspawn`, `wsl`…, `none`.
    container: Optional[str] = None
    #: Whether another program emulates this machine's instructions (QEMU's TCG); measured times then do not show the
    #: speed of the hardware. Absent if there is no evidence of emulation.
    emulated: Optional[bool] = None
    #: `kvm`, `xen`, `vmware`, `hyperv`…, `none`; absent if unknown.
    hypervisor: Optional[str] = None


@dataclass(frozen=True)
class Waits:
    """The threads that waited for the same reason, summed over the samples."""

    #: Number of these threads that had run on a CPU since the previous sample. Such threads wait repeatedly, not once
    #: for a long time.
    again: int = 0
    #: For locks: the waits of the process whose threads waited longest. Only one process is considered, because
    #: unrelated processes do not wait for the same lock.
    locks: Optional[LockWaits] = None
    #: Number of threads that waited for this reason.
    threads: int = 0


@dataclass(frozen=True)
class Watch:
    """A recording."""

    #: Latency that the memory probe measured at the start of the recording, ns; present only if no saved record
    #: contained the latency without load.
    calibrated_ns: Optional[float] = None
    #: The ceilings on which the verdicts are based.
    ceilings: Ceilings = field(default_factory=lambda: Ceilings())
    #: Number of intervals.
    intervals: int = 0
    #: Maximum number of intervals in a moment. It starts at 1 and is doubled each time there are too many moments.
    merged: int = 0
    #: The moments in chronological order.
    moments: Tuple[Moment, ...] = ()
    #: The observed processes: `pid 4711`, `unit nginx.service`; empty for the whole machine.
    of: Optional[str] = None
    #: The processes with the most CPU time over the entire recording. Their times are sums over the intervals in which
    #: they were among the busiest.
    processes: Tuple[Process, ...] = ()
    #: The threads of the selected processes with the most CPU time over the entire recording.
    threads: Tuple[Thread, ...] = ()
    #: The total time of each verdict over all intervals, longest first.
    verdicts: Tuple[Held, ...] = ()


#: Where and how a metric was measured: cpu, node, bytes, page, threads… Contains only the keys that apply. Two
#: measurements are comparable if their metrics and labels are equal.
Where = Mapping[str, Key]


@dataclass(frozen=True)
class Withheld:
    """An impossible result: its text is saved, but not its value."""

    #: The location of the result in the texts.
    origin: Origin
    #: The subject of the result: a metric's name or an inventory path.
    what: str
    #: Why the result is impossible, in one sentence.
    why: str


#: How causes are determined.
Witness = Literal["trace", "counts"]


@dataclass(frozen=True)
class Record:
    """Inventory, conditions, measurements and coverage of one machine at one time."""

    #: `SCHEMA_VERSION` of the program that wrote the record.
    schema: int
    #: When the run began, RFC 3339 in UTC.
    started: str
    #: The program that wrote the record.
    tool: Tool
    #: The command line that created the record.
    command: Tuple[str, ...] = ()
    #: The machine's state.
    conditions: Conditions = field(default_factory=lambda: Conditions())
    #: The status of each measurement.
    coverage: Tuple[Coverage, ...] = ()
    #: The conclusions from this data.
    diagnosis: Diagnosis = field(default_factory=lambda: Diagnosis())
    #: How the run ended.
    ended: Ended = field(default_factory=lambda: Ended(how='complete'))
    #: Source of the results, if other tools measured them; absent for linespeed's own results.
    import_: Optional[Import] = None
    #: The longest gaps of busy loops and the latest wake-ups, with their causes.
    long_gaps: Tuple[LongGap, ...] = ()
    #: CPU placement during the run; absent if it was not sampled or if there is only one CPU.
    looks: Optional[Looks] = None
    #: The machine's inventory.
    machine: Machine = field(default_factory=lambda: Machine())
    #: The results.
    measurements: Tuple[Measurement, ...] = ()
    #: The requested thoroughness; absent if the command offers no choice.
    mode: Optional[RunMode] = None
    #: Duration, seconds.
    seconds: Optional[float] = None
    #: A recording of a running machine, interval by interval; absent if nothing was recorded.
    watch: Optional[Watch] = None
    #: The record as in its file, including fields that this version does not know.
    json: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
