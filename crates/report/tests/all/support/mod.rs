//! Made-up records of machines of several shapes, for tests and for looking at reports. No figure in them was
//! measured.

#![allow(dead_code, unused_imports)] // Each test uses some of these.

mod hostile;
mod many;

pub use hostile::{EVIL, hostile};
pub use many::{emulated, four_nodes, many_threads, sixteen_nodes};

use record::Label;
use record::detail;
use record::diagnosis::{CeilingSource, Evidence, Finding, Level, Resource, Severity};
use record::loss_breakdown::{LossBreakdown, LossStep};
use record::machine::{Cache, CacheKind, Cpu, IdleState, MemoryDevice, Node};
use record::{
    Better, Bucket, Conditions, Coverage, CpuList, Labels, Machine, Mark, Measurement, Record, RunMode,
    SampleMark, Snapshot, Summary, Verdict,
};

/// The shapes that there are.
pub const NAMES: &[&str] =
    &["empty", "one", "small", "large", "huge", "nodes-4", "nodes-16", "threads-104", "emulated", "hostile"];

/// Whether all cases are tested, not only a sample.
pub fn everything() -> bool {
    std::env::var_os("LINESPEED_TEST_EVERYTHING").is_some_and(|value| !value.is_empty())
}

/// One in `parts` of `all`, selected by LINESPEED_TEST_SHARE; all of them with LINESPEED_TEST_EVERYTHING.
pub fn share_of<T>(parts: usize, all: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
    let share = std::env::var("LINESPEED_TEST_SHARE").ok().and_then(|text| text.parse::<usize>().ok());
    let (everything, share) = (everything(), share.unwrap_or(0));
    all.into_iter()
        .enumerate()
        .filter(move |(at, _)| everything || at % parts == share % parts)
        .map(|(_, one)| one)
}

/// The made-up record of a shape.
pub fn named(name: &str) -> Option<Record> {
    Some(match name {
        "empty" => empty(),
        "one" => full(Shape { packages: 1, nodes: 1, cores: 1, siblings: 1, l3_cores: 1 }),
        "small" => full(Shape { packages: 1, nodes: 1, cores: 8, siblings: 2, l3_cores: 8 }),
        "large" => full(Shape { packages: 2, nodes: 8, cores: 128, siblings: 1, l3_cores: 16 }),
        "huge" => full(Shape { packages: 8, nodes: 16, cores: 512, siblings: 2, l3_cores: 8 }),
        "nodes-4" => four_nodes(),
        "nodes-16" => sixteen_nodes(),
        "threads-104" => many_threads(),
        "emulated" => emulated(),
        "hostile" => hostile(),
        _ => return None,
    })
}

/// A record that knows nothing.
pub fn empty() -> Record {
    let started = "2026-01-02T03:04:05Z".to_owned();
    Record { mode: Some(RunMode::Normal), ..Record::new("0.1.0", started, vec!["linespeed".to_owned()]) }
}

/// How many of everything a made-up machine has, over all packages.
#[derive(Clone, Copy)]
pub struct Shape {
    pub packages: u32,
    pub nodes: u32,
    pub cores: u32,
    pub siblings: u32,
    /// Cores that share an L3.
    pub l3_cores: u32,
}

/// A complete record of a machine of this shape.
pub fn full(shape: Shape) -> Record {
    let mut record = empty();
    record.seconds = Some(57.3);
    record.machine = machine(shape);
    record.conditions = conditions(shape);
    measure(&mut record, shape);
    record.coverage = vec![
        Coverage::measured("clock"),
        Coverage::measured("latency"),
        Coverage::measured("bandwidth"),
        Coverage::degraded(
            "latency 2MiB",
            "no huge pages are reserved; transparent ones covered 97 % of the array",
        )
        .with_remedy("echo 600 > /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"),
        Coverage::impossible("counters", "this machine shows no PMU"),
        Coverage::skipped("numa", "not requested"),
        Coverage::skipped("core-to-core", "not requested"),
    ];
    diagnose(&mut record);
    record
}

fn machine(shape: Shape) -> Machine {
    let mut machine = Machine { architecture: "x86_64".to_owned(), ..Machine::default() };
    machine.hostname = Some("node-17".to_owned());
    machine.system.vendor = Some("Example Corp.".to_owned());
    machine.system.product = Some("Server 9000".to_owned());
    machine.processor.vendor = Some("GenuineIntel".to_owned());
    machine.processor.model_name = Some("Example(R) Processor 8269CY @ 2.50GHz".to_owned());
    machine.processor.microarchitecture = Some("Cascade Lake".to_owned());
    machine.processor.family = Some(6);
    machine.processor.model = Some(85);
    machine.processor.stepping = Some(7);
    machine.processor.features =
        ["sse4_2", "avx2", "fma", "avx512f", "avx512bw", "avx512vl"].map(str::to_owned).to_vec();
    machine.processor.vector_bits = Some(512);
    machine.processor.base_hz = Some(2_500_000_000);
    machine.processor.max_hz = Some(3_800_000_000);
    machine.processor.counter_hz = Some(2_500_000_000);
    machine.processor.counter_invariant = Some(true);
    let cpus = shape.cores * shape.siblings;
    machine.counts.packages = Some(shape.packages);
    machine.counts.nodes = Some(shape.nodes);
    machine.counts.cores = Some(shape.cores);
    machine.counts.cpus_online = Some(cpus);
    machine.counts.cpus_present = Some(cpus);
    machine.counts.cpus_allowed = Some(cpus);
    let of = |core: u32, parts: u32| core / (shape.cores / parts);
    let siblings =
        |core: u32| -> CpuList { (0..shape.siblings).map(|rank| core + rank * shape.cores).collect() };
    for id in 0..cpus {
        let core = id % shape.cores;
        machine.cpus.push(Cpu {
            id,
            online: true,
            allowed: true,
            core: Some(core),
            package: Some(of(core, shape.packages)),
            node: Some(of(core, shape.nodes)),
            siblings: siblings(core),
            ..Cpu::default()
        });
    }
    let cache = |level, kind, bytes, ways, cpus| Cache {
        level,
        kind,
        bytes: Some(bytes),
        line: Some(64),
        ways: Some(ways),
        cpus,
    };
    for core in 0..shape.cores {
        machine.caches.push(cache(1, CacheKind::Data, 32 << 10, 8, siblings(core)));
        machine.caches.push(cache(1, CacheKind::Instruction, 32 << 10, 8, siblings(core)));
        machine.caches.push(cache(2, CacheKind::Unified, 1 << 20, 16, siblings(core)));
    }
    for from in (0..shape.cores).step_by(shape.l3_cores as usize) {
        let cpus = (from..from + shape.l3_cores)
            .flat_map(|core| siblings(core).iter().collect::<Vec<_>>())
            .collect();
        machine.caches.push(cache(3, CacheKind::Unified, 36 << 20, 12, cpus));
    }
    for id in 0..shape.nodes {
        let package = |node: u32| node * shape.packages / shape.nodes;
        let distance = |to: u32| match (id == to, package(id) == package(to)) {
            (true, _) => 10,
            (_, true) => 12,
            _ => 32,
        };
        machine.nodes.push(Node {
            id,
            cpus: machine.cpus.iter().filter(|cpu| cpu.node == Some(id)).map(|cpu| cpu.id).collect(),
            bytes: Some((96u64 << 30) - (u64::from(id) << 26)),
            free_bytes: Some(81 << 30),
            distances: (0..shape.nodes).map(distance).collect(),
            allowed: true,
            ..Node::default()
        });
    }
    machine.memory_bytes = Some(u64::from(shape.nodes) * (96 << 30));
    for slot in 0..shape.packages * 12 {
        let populated = slot % 2 == 0;
        machine.memory_devices.push(MemoryDevice {
            locator: Some(format!("DIMM{slot}")),
            bytes: populated.then_some(32 << 30),
            kind: Some("DDR4".to_owned()),
            form: Some("DIMM".to_owned()),
            rated_mt_s: populated.then_some(2933),
            configured_mt_s: populated.then_some(2133),
            ranks: populated.then_some(2),
            vendor: Some("Example".to_owned()),
            part: Some("M393A4K40CB2".to_owned()),
            channel: Some(format!("{}", slot % 12 / 2)),
            node: Some(slot / 12),
            ..MemoryDevice::default()
        });
    }
    for (name, exit_ns) in [("POLL", 0), ("C1", 2_000), ("C6", 133_000)] {
        machine.idle_states.push(IdleState {
            name: name.to_owned(),
            exit_ns: Some(exit_ns),
            residency_ns: Some(exit_ns * 3),
            disabled: Some(false),
        });
    }
    machine.idle.driver = Some("intel_idle".to_owned());
    machine.idle.governor = Some("menu".to_owned());
    machine.kernel.release = Some("6.1.0-18-amd64".to_owned());
    machine.kernel.distribution = Some("Debian GNU/Linux 12 (bookworm)".to_owned());
    machine.kernel.options = vec!["mitigations=auto".to_owned()];
    machine.kernel.preemption = Some("voluntary".to_owned());
    machine.kernel.hz = Some(250);
    machine.kernel.page_bytes = Some(4096);
    machine.kernel.mitigations.insert("meltdown".to_owned(), "Not affected".to_owned());
    machine.kernel.mitigations.insert("retbleed".to_owned(), "Mitigation: Enhanced IBRS".to_owned());
    machine.virtualization.hypervisor = Some("none".to_owned());
    machine.limits.affinity = machine.cpus.iter().map(|cpu| cpu.id).collect();
    machine.limits.rt_priority = Some(0);
    machine.limits.locked_bytes = Some(8 << 20);
    machine.limits.root = Some(false);
    machine
}

fn conditions(shape: Shape) -> Conditions {
    let mut before = Snapshot { boost: Some(true), ..Snapshot::default() };
    before.clocks.push(record::conditions::ClockSetting {
        cpus: (0..shape.cores * shape.siblings).collect(),
        driver: Some("intel_pstate".to_owned()),
        governor: Some("powersave".to_owned()),
        epp: Some("balance_performance".to_owned()),
        min_hz: Some(1_000_000_000),
        max_hz: Some(3_800_000_000),
        current_hz: Some((1_000_000_000, 3_100_000_000)),
        ..Default::default()
    });
    before.clocksource = Some("tsc".to_owned());
    before.clocksources = ["tsc", "hpet", "acpi_pm"].map(str::to_owned).to_vec();
    before.thp = Some("madvise".to_owned());
    before.numa_balancing = Some(1);
    before.aslr = Some(2);
    before.load = Some([0.12, 0.2, 0.31]);
    before.pressure = [("cpu".to_owned(), 0.001), ("memory".to_owned(), 0.0)].into_iter().collect();
    before.memory_available_bytes = Some(90 << 30);
    before.swap_bytes = Some(0);
    before.temperatures.insert("coretemp Package id 0".to_owned(), 41.0);
    before.uptime_seconds = Some(1_234_567.0);
    let mut after = before.clone();
    after.load = Some([3.4, 1.2, 0.6]);
    after.temperatures.insert("coretemp Package id 0".to_owned(), 63.0);
    after.steal_share = Some(0.0002);
    Conditions { before, after: Some(after), ..Conditions::default() }
}

/// Samples around a value, alike on every run.
fn around(value: f64) -> Vec<f64> {
    [0.997, 1.002, 1.0, 0.999, 1.003, 1.001, 0.998].map(|factor| value * factor).to_vec()
}

/// A made-up latency curve: steps at the caches, and for small pages the page walk on top.
fn latency(bytes: f64, small_pages: bool) -> f64 {
    let step = |from: f64, to: f64, at: f64| from + (to - from) / (1.0 + (at / bytes).powi(3));
    let mut ns = 1.35;
    for (next, at) in [(4.0, 40e3), (20.0, 1.2e6), (92.0, 48e6)] {
        ns = step(ns, next, at);
    }
    let walk =
        if small_pages { 2.0 / (1.0 + 100e3 / bytes) + 34.0 / (1.0 + (60e6 / bytes).powi(2)) } else { 0.0 };
    ns + walk
}

/// A made-up distribution of wake-ups: a hump after `least` ns and a thin tail.
fn wakeups(least: f64, hump: f64, longest: f64) -> Vec<Bucket> {
    let mut buckets = Vec::new();
    let mut from = least;
    while from < longest {
        let to = from * 1.1;
        let near = (-((from - least - hump) / hump).powi(2)).exp() * 20_000.0;
        let tail = 400.0 * (least / from).powi(2);
        buckets.push(Bucket { from, to, count: (near + tail) as u64 });
        from = to;
    }
    buckets.retain(|bucket| bucket.count > 0);
    buckets
}

fn summary_of(buckets: &[Bucket]) -> Summary {
    let samples: Vec<f64> = buckets
        .iter()
        .flat_map(|b| std::iter::repeat_n((b.from + b.to) / 2.0, (b.count as usize / 20).max(1)))
        .collect();
    Summary::from_samples(&samples)
}

fn measure(record: &mut Record, shape: Shape) {
    let cpus = shape.cores * shape.siblings;
    let all = &mut record.measurements;
    let at = Labels::new;
    for (active, vector, hz) in
        [("one", "scalar", 3.79e9), ("all", "scalar", 3.1e9), ("all", "256", 2.8e9), ("all", "512", 2.3e9)]
    {
        let place = at()
            .with_label(Label::Cpu, 0u32)
            .with_label(Label::Active, active)
            .with_label(Label::Vector, vector);
        all.push(Measurement::new("core.clock", place, around(hz)));
    }
    if let Some(m) = all.last_mut() {
        m.marks = vec![
            SampleMark { sample: 1, mark: Mark::Throttled },
            SampleMark { sample: 2, mark: Mark::Throttled },
        ];
        m.doubt = Some("too noisy: the interval is ±4.1 % wide after the whole budget".into());
    }
    for page in ["4KiB", "2MiB"] {
        let mut bytes = 4096.0f64;
        while bytes < 2e9 {
            let place = at()
                .with_label(Label::Cpu, 0u32)
                .with_label(Label::Node, 0u32)
                .with_label(Label::Bytes, bytes as u64)
                .with_label(Label::Page, page);
            let ns = latency(bytes, page == "4KiB");
            all.push(Measurement::new("load.latency", place.clone(), around(ns)));
            all.push(Measurement::new("load.latency_cycles", place, around(ns * 3.1)));
            bytes *= 2f64.powf(1.0 / 8.0);
        }
    }
    for bytes in [32u64 << 10, 1 << 30] {
        for chains in [1u32, 2, 4, 8, 16] {
            let place = at()
                .with_label(Label::Cpu, 0u32)
                .with_label(Label::Bytes, bytes)
                .with_label(Label::Chains, chains);
            all.push(Measurement::new("load.parallelism", place, around(f64::from(chains).min(10.5))));
        }
    }
    for threads in if cpus > 1 { vec![1, cpus] } else { vec![1] } {
        let on: CpuList = (0..threads).collect();
        for (op, bus) in
            [("read", 1.0), ("write", 2.0), ("copy", 1.5), ("scale", 1.5), ("add", 1.333), ("triad", 1.333)]
        {
            for stores in ["regular", "streaming"] {
                if op == "read" && stores == "streaming" {
                    continue;
                }
                let streaming = stores == "streaming";
                let base = if threads == 1 { 1.15e10 } else { 2.1e11 } / if streaming { 1.0 } else { bus };
                for (counted, factor) in [("stream", 1.0), ("bus", if streaming { 1.0 } else { bus })] {
                    let place = at()
                        .with_label(Label::Op, op)
                        .with_label(Label::Stores, stores)
                        .with_label(Label::BytesCounted, counted)
                        .with_label(Label::Threads, threads)
                        .with_label(Label::Cpus, on.to_string());
                    all.push(Measurement::new("memory.bandwidth", place, around(base * factor)));
                }
            }
        }
    }
    for share in [0.02, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.96] {
        let place = at()
            .with_label(Label::Cpu, 0u32)
            .with_label(Label::Bandwidth, share * 2.1e11)
            .with_label(Label::ShareOfPeak, share);
        all.push(Measurement::new("memory.loaded_latency", place, around(91.0 / (1.04 - share).powf(0.4))));
    }
    for op in ["copy", "triad"] {
        let place = at().with_label(Label::Op, op).with_label(Label::Cpu, 0u32);
        all.push(Measurement::new("stream.ns_per_element", place, around(2.1)));
    }
    let gaps = wakeups(1.2e3, 2e3, 9e4);
    let gap_summary = summary_of(&gaps);
    for (policy, setting, least, hump, longest) in [
        ("other", "as-is", 52e3, 6e3, 2.1e6),
        ("other", "tuned", 2.1e3, 1.1e3, 4e5),
        ("fifo", "tuned", 1.5e3, 0.6e3, 6e4),
    ] {
        let distribution = wakeups(least, hump, longest);
        let summary = summary_of(&distribution);
        for cpu in 0..cpus {
            for corrected in [false, true] {
                let place = at()
                    .with_label(Label::Cpu, cpu)
                    .with_label(Label::Policy, policy)
                    .with_label(Label::Priority, if policy == "fifo" { 80u32 } else { 0 })
                    .with_label(Label::Setting, setting)
                    .with_label(Label::Corrected, corrected);
                let mut m = Measurement::new("wakeup.latency", place, Vec::new());
                m.distribution = distribution.clone();
                m.summary = summary.clone();
                m.summary.max *= 1.0 + f64::from(cpu % 7) / 5.0;
                all.push(
                    m.with_detail(detail::INTERVAL_US, 1000)
                        .with_detail(detail::CYCLES, 2000)
                        .with_detail(detail::MISSED, 3)
                        .with_detail(detail::ACT_NS, 53_210)
                        .with_detail(detail::THREAD, 4711 + cpu),
                );
            }
        }
    }
    for cpu in 0..cpus {
        for (cause, share) in [(None, 0.0011), (Some("os"), 0.0010), (Some("below"), 0.0001)] {
            let mut place = at().with_label(Label::Cpu, cpu);
            if let Some(cause) = cause {
                place = place.with_label(Label::Cause, cause);
            }
            all.push(Measurement::new("stolen.share", place.clone(), around(share)));
            let mut gap = Measurement::new("stolen.gap", place, Vec::new());
            gap.distribution = gaps.clone();
            gap.summary = gap_summary.clone();
            all.push(gap);
        }
    }
    all.push(Measurement::new("cost.syscall", at().with_label(Label::Cpu, 0u32), around(96.0)));
    all.push(Measurement::new(
        "cost.clock_read",
        at().with_label(Label::Cpu, 0u32).with_label(Label::Clocksource, "tsc"),
        around(21.0),
    ));
    all.push(Measurement::new(
        "cost.context_switch",
        at().with_label(Label::Cpu, 0u32).with_label(Label::ToCpu, 0u32),
        around(1130.0),
    ));
    all.push(Measurement::new(
        "cost.page_fault",
        at().with_label(Label::Cpu, 0u32).with_label(Label::Page, "2MiB"),
        around(131e3),
    ));
}

fn diagnose(record: &mut Record) {
    let level = |name: &str, ns, cycles, seen: Option<u64>, said: Option<u64>, judgement: &str| Level {
        name: name.to_owned(),
        latency_ns: ns,
        latency_cycles: Some(cycles),
        measured_bytes: seen,
        advertised_bytes: said,
        judgement: judgement.into(),
    };
    record.diagnosis.levels = vec![
        level("L1", 1.35, 4.0, Some(32 << 10), Some(32 << 10), "as advertised"),
        level("L2", 4.1, 13.1, Some(980 << 10), Some(1 << 20), "as advertised"),
        level("L3", 20.4, 65.0, Some(30 << 20), Some(36 << 20), "seen at 30 MiB of 36 MiB advertised"),
        level("memory", 92.1, 285.0, None, None, "beyond the caches"),
    ];
    let resource = |name: &str, unit: &str, ceiling, source, delivered, share, meaning: &str| Resource {
        name: name.to_owned(),
        unit: unit.to_owned(),
        ceiling,
        source,
        delivered,
        share,
        meaning: meaning.into(),
        repeatability: None,
        family_ceilings: None,
        typical: None,
        position: None,
        beside: None,
        doubt: None,
    };
    record.diagnosis.resources = vec![
        resource(
            "core",
            "Hz",
            Some(3.8e9),
            Some(CeilingSource::Parts),
            3.1e9,
            Some(0.816),
            "All cores busy against the highest clock advertised.",
        ),
        resource(
            "memory bandwidth",
            "B/s",
            Some(2.05e11),
            Some(CeilingSource::Parts),
            1.57e11,
            Some(0.766),
            "Triad with streaming stores on all CPUs against 12 channels × 2133 MT/s × 8 B.",
        ),
        resource(
            "memory latency",
            "ns",
            Some(92.1),
            Some(CeilingSource::Measured),
            126.0,
            Some(0.731),
            "Loads on 4 KiB pages against 2 MiB pages at 1 GiB.",
        ),
        resource(
            "wake-up",
            "ns",
            Some(2100.0),
            Some(CeilingSource::Measured),
            57_000.0,
            Some(0.037),
            "SCHED_OTHER as the machine is against SCHED_FIFO with C-states held off, medians.",
        ),
    ];
    record.diagnosis.loss_breakdowns = vec![LossBreakdown {
        resource: "wake-up".to_owned(),
        unit: "ns".to_owned(),
        better: Better::Lower,
        ceiling: 2_100.0,
        source: CeilingSource::Measured,
        ceiling_is: "SCHED_FIFO with C-states held off".into(),
        steps: vec![LossStep {
            cause: "timer slack".into(),
            rule: Some("timer-slack".to_owned()),
            takes: 50_000.0,
            interval: Some((49_000.0, 51_000.0)),
            leaves: 52_100.0,
            measured: true,
        }],
        unexplained: 4_900.0,
        delivered: 57_000.0,
        delivered_is: "SCHED_OTHER as the machine is".into(),
    }];
    let finding = |rule: &str, severity, what: &str, loss, remedy: &[&str]| Finding {
        rule: rule.to_owned(),
        severity,
        what: what.into(),
        place: None,
        evidence: vec![Evidence {
            says: "median 57.0 µs as it is, 2.10 µs tuned".into(),
            from: "wakeup.latency cpu=0".to_owned(),
        }],
        loss,
        relevance: record::diagnosis::Relevance::All,
        measured: true,
        confidence: record::diagnosis::Confidence::Medium,
        resource: None,
        remedy: remedy.iter().map(|words| record::Remedy::of_words(words)).collect(),
        undo: Vec::new(),
    };
    record.diagnosis.findings = vec![
        finding(
            "timer-slack",
            Severity::Serious,
            "Timers of ordinary threads are 50 µs late by timer slack",
            Verdict::Costs { share: 0.963, interval: (0.958, 0.966) },
            &[
                "Set PR_SET_TIMERSLACK to 1 in threads that wait for short times.",
                "echo 1 > /proc/PID/timerslack_ns",
            ],
        ),
        finding(
            "memory-speed",
            Severity::Warning,
            "Memory runs at 2133 MT/s though every device is rated 2933 MT/s",
            Verdict::Costs { share: 0.27, interval: (0.27, 0.27) },
            &[
                "Set the memory speed in the firmware's setup to its rated value, and check that two devices a channel allow it.",
            ],
        ),
        finding(
            "page-walk",
            Severity::Warning,
            "Page walks of 4 KiB pages slow random access",
            Verdict::Costs { share: 0.269, interval: (0.25, 0.28) },
            &["echo always > /sys/kernel/mm/transparent_hugepage/enabled"],
        ),
        finding(
            "numa-balancing",
            Severity::Note,
            "NUMA balancing is on",
            Verdict::NotResolved { smaller_than: 0.01 },
            &["sysctl -w kernel.numa_balancing=0"],
        ),
    ];
    record.diagnosis.findings[0].place = Some("CPUs 0-127".into());
    record.diagnosis.findings[2].undo =
        vec![record::Remedy::command("echo madvise > /sys/kernel/mm/transparent_hugepage/enabled")];
}
