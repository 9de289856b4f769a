//! Measures the time for the diagnosis of one
//! record: `cargo run --release -p linespeed-diagnose --example diagnosis_speed [RECORD]`. Without
//! a record, a synthetic machine with 512 CPUs and 16 nodes is used.

use record::Label;
use std::time::Instant;

use diagnose::RecordIndex;
use diagnose::{Case, RULES};
use record::machine::{Cache, CacheKind, Cpu, Node};
use record::{Labels, Measurement, Record};

const CPUS: u32 = 512;
const NODES: u32 = 16;

fn add(record: &mut Record, metric: impl Into<record::Metric>, place: Labels, value: f64) {
    let samples = (0..15).map(|i| value * (1.0 + 0.001 * f64::from(i % 5))).collect();
    record.measurements.push(Measurement::new(metric, place, samples));
}

fn large() -> Record {
    let mut record = Record::new("0.0.0", "2026-01-01T00:00:00Z".to_owned(), Vec::new());
    let machine = &mut record.machine;
    for id in 0..CPUS {
        let node = id % NODES;
        machine.cpus.push(Cpu {
            id,
            online: true,
            allowed: true,
            core: Some(id % (CPUS / 2)),
            package: Some(node / 8),
            node: Some(node),
            siblings: [id % (CPUS / 2), id % (CPUS / 2) + CPUS / 2].into_iter().collect(),
            max_hz: Some(4_000_000_000),
            base_hz: Some(2_500_000_000),
            ..Cpu::default()
        });
        for (level, bytes) in [(1, 48 << 10), (2, 2 << 20)] {
            let cpus = std::iter::once(id).collect();
            let kind = if level == 1 { CacheKind::Data } else { CacheKind::Unified };
            machine.caches.push(Cache { level, kind, bytes: Some(bytes), line: Some(64), ways: None, cpus });
        }
    }
    for node in 0..NODES {
        let cpus: record::CpuList = (0..CPUS).filter(|cpu| cpu % NODES == node).collect();
        machine.caches.push(Cache {
            level: 3,
            kind: CacheKind::Unified,
            bytes: Some(32 << 20),
            line: Some(64),
            ways: None,
            cpus: cpus.clone(),
        });
        let distances = (0..NODES).map(|to| if to == node { 10 } else { 20 + to / 8 }).collect();
        machine.nodes.push(Node { id: node, cpus, distances, allowed: true, ..Node::default() });
    }
    let counts = &mut machine.counts;
    (counts.cpus_online, counts.cpus_present, counts.cpus_allowed) = (Some(CPUS), Some(CPUS), Some(CPUS));
    (counts.packages, counts.nodes, counts.cores) = (Some(2), Some(NODES), Some(CPUS / 2));
    for cpu in 0..CPUS {
        let at = || Labels::new().with_label(Label::Cpu, cpu);
        for vector in ["scalar", "256", "512"] {
            for active in ["one", "all"] {
                add(
                    &mut record,
                    "core.clock",
                    at().with_label(Label::Active, active).with_label(Label::Vector, vector),
                    3e9,
                );
            }
        }
        for policy in ["other", "fifo"] {
            for (setting, ns) in [("as-is", 60e3), ("tuned", 5e3)] {
                for corrected in [false, true] {
                    let place = at().with_label(Label::Policy, policy).with_label(Label::Setting, setting);
                    add(&mut record, "wakeup.latency", place.with_label(Label::Corrected, corrected), ns);
                }
            }
        }
        for (cause, share) in [("os", 0.02), ("below", 0.001)] {
            add(&mut record, "stolen.share", at().with_label(Label::Cause, cause), share);
            add(&mut record, "stolen.gap", at().with_label(Label::Cause, cause), 1e5);
        }
        for to in (0..CPUS).step_by(64) {
            let place = Labels::new().with_label(Label::From, cpu).with_label(Label::To, to);
            add(&mut record, "core_to_core.latency", place, 100.0);
        }
    }
    for page in ["4KiB", "2MiB"] {
        for i in 0..150 {
            let bytes = (4096.0 * 2f64.powf(f64::from(i) / 8.0)) as u64 / 64 * 64;
            let place = Labels::new()
                .with_label(Label::Cpu, 0u32)
                .with_label(Label::Node, 0u32)
                .with_label(Label::Bytes, bytes)
                .with_label(Label::Page, page);
            add(&mut record, "load.latency", place, 1.0 + f64::from(i));
        }
    }
    for from in 0..NODES {
        for to in 0..NODES {
            let place = Labels::new().with_label(Label::From, from).with_label(Label::To, to);
            let ns = if from == to { 100.0 } else { 150.0 + f64::from(from.abs_diff(to)) };
            add(&mut record, "numa.latency", place.clone(), ns);
            add(
                &mut record,
                "numa.bandwidth",
                place.with_label(Label::Op, "read").with_label(Label::Threads, 32u32),
                4e10,
            );
        }
    }
    record
}

fn main() {
    let record = match std::env::args().nth(1) {
        None => large(),
        Some(path) => match Record::read(path.as_ref()) {
            Ok(record) => record,
            Err(error) => {
                eprintln!("{path} {error}");
                std::process::exit(3);
            }
        },
    };
    let mut times: Vec<f64> = (0..21)
        .map(|_| {
            let from = Instant::now();
            let diagnosis = diagnose::diagnose(&record);
            let took = from.elapsed().as_secs_f64() * 1e3;
            assert!(diagnosis.findings.len() < 1000);
            took
        })
        .collect();
    times.sort_by(f64::total_cmp);
    let findings = diagnose::diagnose(&record).findings.len();
    println!(
        "{} measurements, {findings} findings: {:.2} ms in the median of {}, {:.2} ms at best",
        record.measurements.len(),
        times[times.len() / 2],
        times.len(),
        times[0]
    );
    slowest_rules(&record);
}

/// The slowest rules, each with its minimum time over several runs.
fn slowest_rules(record: &Record) {
    let index = RecordIndex::new(record);
    let numa = diagnose::numa(&index);
    let case = Case { index: &index, numa: numa.as_ref() };
    let best = |run: &dyn Fn()| {
        let took = (0..11).map(|_| {
            let from = Instant::now();
            run();
            from.elapsed().as_secs_f64() * 1e3
        });
        took.fold(f64::INFINITY, f64::min)
    };
    let mut parts: Vec<(&str, f64)> = RULES
        .iter()
        .map(|rule| {
            let took = best(&|| {
                if rule.missing(&case).is_none() {
                    std::hint::black_box((rule.find)(&case));
                }
            });
            (rule.name, took)
        })
        .collect();
    parts.push(("(levels)", best(&|| drop(std::hint::black_box(diagnose::levels(&index))))));
    parts.push(("(numa)", best(&|| drop(std::hint::black_box(diagnose::numa(&index))))));
    parts.push(("(index)", best(&|| drop(std::hint::black_box(RecordIndex::new(record))))));
    parts.push(("(plan)", best(&|| drop(std::hint::black_box(diagnose::plan_nodes(&index))))));
    parts.push(("(scaling)", best(&|| drop(std::hint::black_box(diagnose::scaling(&index))))));
    let resources = || drop(std::hint::black_box(diagnose::resources(&index)));
    parts.push(("(resources)", best(&resources)));
    parts.sort_by(|a, b| b.1.total_cmp(&a.1));
    for (name, took) in parts.iter().take(8) {
        println!("  {took:.3} ms  {name}");
    }
}
