//! Made-up records of machines with many CPUs and nodes: matrices, scaling, counters. Shapes, distances and local
//! latencies are as published of such machines; nothing was measured here.

use record::Label;
use record::detail;
use record::machine::{Cpu, Node};
use record::{Handover, Labels, Machine, Mark, Measurement, Record, SampleMark};

use super::{Shape, around, empty, full};

/// Distances of a Hygon C86 5280 with two packages.
const HYGON: [[u32; 4]; 4] = [[10, 16, 28, 22], [16, 10, 22, 28], [28, 22, 10, 16], [22, 28, 16, 10]];
/// Distances within one package of a Phytium FT-2500; across packages they are 100.
const PHYTIUM: [[u32; 8]; 8] = [
    [10, 20, 40, 30, 20, 30, 50, 40],
    [20, 10, 30, 40, 50, 20, 40, 50],
    [40, 30, 10, 20, 40, 50, 20, 30],
    [30, 40, 20, 10, 30, 20, 40, 50],
    [20, 50, 40, 30, 10, 50, 30, 20],
    [30, 20, 50, 20, 50, 10, 50, 40],
    [50, 40, 20, 40, 30, 50, 10, 30],
    [40, 50, 30, 50, 20, 40, 30, 10],
];

/// Four nodes in two packages, 64 CPUs: as a Hygon C86 5280. One distance is told wrong.
pub fn four_nodes() -> Record {
    let mut record = full(Shape { packages: 2, nodes: 4, cores: 32, siblings: 2, l3_cores: 4 });
    record.machine.processor.model_name = Some("Hygon C86 5280 16-core Processor".to_owned());
    let ns = |distance| match distance {
        10 => 102.6,
        16 => 161.0,
        22 => 231.2,
        _ => 286.9,
    };
    let rate = |distance| match distance {
        10 => 3.84e10,
        16 => 2.51e10,
        22 => 1.42e10,
        _ => 1.11e10,
    };
    distances(&mut record.machine, |from, to| HYGON[from][to]);
    matrices(&mut record, ns, rate);
    // A firmware that has two columns of one row the wrong way round.
    record.machine.nodes[1].distances.swap(2, 3);
    pairs(
        &mut record,
        |from, to| if from.package == to.package { 95.0 } else { 260.0 },
        &["0", "1", "2", "3"],
    );
    record.diagnosis = diagnosed(&record);
    record
}

/// Sixteen nodes in two packages, 128 CPUs: as a Phytium FT-2500.
pub fn sixteen_nodes() -> Record {
    let mut record = full(Shape { packages: 2, nodes: 16, cores: 128, siblings: 1, l3_cores: 8 });
    record.machine.processor.model_name = Some("Phytium FT-2500/128".to_owned());
    for cpu in &mut record.machine.cpus {
        cpu.cluster = Some(cpu.id / 4);
    }
    distances(
        &mut record.machine,
        |from, to| if from / 8 == to / 8 { PHYTIUM[from % 8][to % 8] } else { 100 },
    );
    let ns = |distance| match distance {
        10 => 150.0,
        20 => 169.8,
        30 => 182.0,
        40 => 197.0,
        50 => 212.3,
        _ => 455.0,
    };
    matrices(&mut record, ns, |distance| 1.6e11 / f64::from(distance).sqrt() / 4.0);
    // One cell could not be placed, and one was disturbed.
    record
        .measurements
        .retain(|m| m.metric != "numa.latency" || at(m, Label::From) != 3 || at(m, Label::To) != 9);
    if let Some(m) =
        record.measurements.iter_mut().find(|m| m.metric == "numa.latency" && at(m, Label::To) == 4)
    {
        m.doubt = Some("too noisy".into());
    }
    pairs(
        &mut record,
        |from, to| match (from.cluster == to.cluster, from.node == to.node, from.package == to.package) {
            (true, ..) => 24.0,
            (_, true, _) => 47.0,
            (_, _, true) => 60.0 + f64::from(from.node.unwrap_or(0).abs_diff(to.node.unwrap_or(0))) * 8.0,
            _ => 420.0,
        },
        &[],
    );
    record.diagnosis = diagnosed(&record);
    record
}

/// Two packages of 26 cores with two siblings each: as a Xeon Platinum 8269CY, with workloads, scaling and counters.
pub fn many_threads() -> Record {
    let mut record = full(Shape { packages: 2, nodes: 2, cores: 52, siblings: 2, l3_cores: 26 });
    let workloads = [
        ("primes", 2.4, 1.47, 0.41, 0.0005),
        ("aes-256-ige", 9.8e7, 1.2, 2.6, 0.002),
        ("triad", 1.1e9, 1.0, 0.6, 0.09),
    ];
    for (name, one, sibling, ipc, sigma) in workloads {
        for placement in ["cores-first", "siblings-first", "node-compact", "node-spread"] {
            for threads in [1u32, 2, 4, 8, 16, 26, 32, 52, 64, 78, 104] {
                let n = f64::from(threads);
                let cores = if placement == "cores-first" { n.min(52.0) } else { (n / 2.0).ceil() };
                let both = n - cores;
                let speedup = (cores + both * (sibling - 1.0)) / (1.0 + sigma * (cores - 1.0));
                let place = Labels::new()
                    .with_label(Label::Workload, name)
                    .with_label(Label::Threads, threads)
                    .with_label(Label::Placement, placement);
                let mut m = Measurement::new("workload.throughput", place.clone(), around(one * speedup))
                    .with_detail(detail::WORK, "units of made-up work");
                if threads == 78 {
                    m.marks.push(SampleMark { sample: 0, mark: Mark::Throttled });
                }
                record.measurements.push(m);
                for (source, factor) in [("declared", 1.0), ("pmu", 0.996)] {
                    let place = place.clone().with_label(Label::Source, source);
                    let each = ipc * factor * speedup / n;
                    record.measurements.push(Measurement::new("core.ipc", place, around(each)));
                }
            }
        }
        let place = Labels::new().with_label(Label::Workload, name).with_label(Label::Core, 0u32);
        record.measurements.push(Measurement::new("smt.yield", place, around(sibling)));
        let place = Labels::new().with_label(Label::Workload, name).with_label(Label::Cpu, 0u32);
        record.measurements.push(Measurement::new("workload.time", place, around(1.0 / one)));
        for (event, count) in [
            ("cycles", 2.5e9),
            ("instructions", 2.5e9 * ipc),
            ("branches", 3.1e8),
            ("branch-misses", 2.2e6),
            ("cache-misses", 4.1e6),
            ("context-switches", 3.0),
        ] {
            let place = Labels::new()
                .with_label(Label::Workload, name)
                .with_label(Label::Threads, 1u32)
                .with_label(Label::Event, event);
            let m =
                Measurement::new("counter.count", place, around(count)).with_detail(detail::COVERAGE, 0.833);
            record.measurements.push(m);
        }
        for (category, share) in
            [("retiring", 0.31), ("bad-speculation", 0.04), ("frontend-bound", 0.12), ("backend-bound", 0.53)]
        {
            let place = Labels::new().with_label(Label::Workload, name).with_label(Label::Category, category);
            record.measurements.push(Measurement::new("counter.share", place, around(share)));
        }
    }
    distances(&mut record.machine, |from, to| if from == to { 10 } else { 21 });
    matrices(
        &mut record,
        |d| if d == 10 { 78.2 } else { 143.8 },
        |d| if d == 10 { 1.13e11 } else { 5.09e10 },
    );
    record.diagnosis = diagnosed(&record);
    record
}

/// A virtual machine of two CPUs that another program interprets: one pair, two steps.
pub fn emulated() -> Record {
    let mut record = empty();
    record.machine.hostname = Some("lab".to_owned());
    record.machine.virtualization.hypervisor = Some("qemu".to_owned());
    record.machine.virtualization.emulated = Some(true);
    for id in 0..2u32 {
        record.machine.cpus.push(Cpu {
            id,
            online: true,
            allowed: true,
            core: Some(id),
            package: Some(0),
            node: Some(0),
            siblings: [id].into_iter().collect(),
            ..Cpu::default()
        });
    }
    record.machine.nodes.push(Node { cpus: (0..2).collect(), distances: vec![10], ..Node::default() });
    pairs(&mut record, |_, _| 53.0, &[]);
    for (threads, rate) in [(1u32, 100.0), (2, 196.0)] {
        let place = Labels::new()
            .with_label(Label::Workload, "primes")
            .with_label(Label::Threads, threads)
            .with_label(Label::Placement, "cores-first");
        record.measurements.push(Measurement::new("workload.throughput", place, around(rate)));
    }
    record.diagnosis = diagnosed(&record);
    record
}

fn at(m: &Measurement, key: Label) -> u64 {
    m.labels.count(key).unwrap_or(u64::MAX)
}

fn distances(machine: &mut Machine, distance: impl Fn(usize, usize) -> u32) {
    let count = machine.nodes.len();
    for (from, node) in machine.nodes.iter_mut().enumerate() {
        node.distances = (0..count).map(|to| distance(from, to)).collect();
    }
}

/// Latency and bandwidth of every pair of nodes, by their distance; later nodes are a trifle slower.
fn matrices(record: &mut Record, ns: impl Fn(u32) -> f64, rate: impl Fn(u32) -> f64) {
    let nodes = record.machine.nodes.clone();
    for from in &nodes {
        for (to, distance) in nodes.iter().zip(&from.distances) {
            let drift = 1.0 + f64::from(from.id + to.id) * 0.0005;
            let place = Labels::new().with_label(Label::From, from.id).with_label(Label::To, to.id);
            let m = Measurement::new("numa.latency", place.clone(), around(ns(*distance) * drift));
            record.measurements.push(m.with_detail(detail::ON_NODE, 1.0));
            let place = place.with_label(Label::Op, "read").with_label(Label::Threads, from.cpus.len());
            record.measurements.push(Measurement::new(
                "numa.bandwidth",
                place,
                around(rate(*distance) / drift),
            ));
        }
    }
}

/// Every pair of CPUs (of those named, or all), the line on either node.
fn pairs(record: &mut Record, ns: impl Fn(&Cpu, &Cpu) -> f64, only: &[&str]) {
    let of = |cpu: &&Cpu| only.is_empty() || only.contains(&cpu.id.to_string().as_str());
    let cpus: Vec<Cpu> = record.machine.cpus.iter().filter(of).cloned().collect();
    for (number, from) in cpus.iter().enumerate() {
        for to in &cpus[number + 1..] {
            let mut homes = vec![from.node, to.node];
            homes.dedup();
            for (side, home) in homes.into_iter().flatten().enumerate() {
                let at = Labels::new()
                    .with_label(Label::From, from.id)
                    .with_label(Label::To, to.id)
                    .with_label(Label::Home, home);
                let value = ns(from, to) * (1.0 + side as f64 * 0.06) * (1.0 + f64::from(to.id % 5) * 0.004);
                // As on Zen 4, where a line that is only read first takes half as long again.
                for (how, factor) in [(Handover::Cas, 1.0), (Handover::Store, 1.5)] {
                    let place = at.clone().with_label(Label::Handover, how.word());
                    let samples = [0.99, 1.0, 1.02].map(|part| value * factor * part).to_vec();
                    record.measurements.push(Measurement::new("core_to_core.latency", place, samples));
                }
            }
        }
    }
}

/// What follows from the new figures; the findings stay those of the made-up machine.
fn diagnosed(record: &Record) -> record::Diagnosis {
    let mut diagnosis = record.diagnosis.clone();
    let new = diagnose::diagnose(record);
    diagnosis.numa = new.numa;
    diagnosis.scaling = new.scaling;
    diagnosis
}
