//! Records of any content: nothing panics, no line is too wide, every page is whole.

use crate::html;
use crate::support;
use record::Label;
use record::detail;

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use record::diagnosis::{CeilingSource, Evidence, Finding, Level, Numa, Resource, Scaling, Severity, Step};
use record::machine::{Cache, CacheKind, Cpu, MemoryDevice, Node};
use record::{
    Bucket, Coverage, CpuList, Key, Labels, Machine, Mark, Measurement, Record, SampleMark, State, Summary,
    Verdict,
};
use report::terminal::{self, Style};
use unicode_width::UnicodeWidthStr;

/// Metrics that a report knows, one that it does not, and anything.
const METRICS: &[&str] = &[
    "core.clock",
    "load.latency",
    "load.latency_cycles",
    "load.parallelism",
    "memory.bandwidth",
    "memory.loaded_latency",
    "stream.ns_per_element",
    "wakeup.latency",
    "stolen.share",
    "stolen.gap",
    "cost.syscall",
    "numa.latency",
    "numa.bandwidth",
    "core_to_core.latency",
    "workload.throughput",
    "workload.time",
    "workload.cpu_time",
    "core.ipc",
    "smt.yield",
    "counter.count",
    "counter.share",
    "flux.density",
];
const KEYS: &[&str] = &[
    "cpu",
    "node",
    "bytes",
    "page",
    "chains",
    "op",
    "stores",
    "bytes_counted",
    "threads",
    "cpus",
    "bandwidth",
    "share_of_peak",
    "policy",
    "priority",
    "setting",
    "corrected",
    "cause",
    "active",
    "vector",
    "to_cpu",
    "from",
    "to",
    "home",
    "workload",
    "placement",
    "source",
    "core",
    "event",
    "category",
    "x",
];
const WORDS: &[&str] = &[
    "4KiB",
    "2MiB",
    "stream",
    "bus",
    "triad",
    "regular",
    "other",
    "fifo",
    "as-is",
    "tuned",
    "os",
    "read",
    "cores-first",
    "node-spread",
    "pmu",
    "declared",
    "instructions",
    "cache-misses",
    "retiring",
];

fn text() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), "[ -~]{0,60}", Just(support::EVIL.to_owned()), "\\PC{0,200}"]
}

fn figure() -> impl Strategy<Value = f64> {
    prop_oneof![proptest::num::f64::ANY, 0.1f64..1e12, 0.5f64..500.0]
}

fn key() -> impl Strategy<Value = Key> {
    prop_oneof![
        any::<bool>().prop_map(Key::Switch),
        any::<u64>().prop_map(Key::Count),
        (0u64..20).prop_map(|n| Key::Count(4096 << n)),
        (0u64..6).prop_map(Key::Count),
        figure().prop_map(Key::Number),
        proptest::sample::select(WORDS).prop_map(|word: &str| Key::from(word)),
        text().prop_map(Key::from),
    ]
}

fn place() -> impl Strategy<Value = Labels> {
    let name = prop_oneof![proptest::sample::select(KEYS).prop_map(str::to_owned), text()];
    btree_map(name, key(), 0..7).prop_map(|keys| Labels(keys.into_iter().collect()))
}

/// Figures of the new kinds with the keys that they need, so that maps and charts are drawn of them.
fn placed() -> impl Strategy<Value = Measurement> {
    let word = || prop_oneof![proptest::sample::select(WORDS).prop_map(str::to_owned), text()];
    let id = || prop_oneof![9 => 0u64..24, 1 => any::<u64>()];
    let metric = proptest::sample::select(&METRICS[11..METRICS.len() - 1]);
    (metric, word(), word(), word(), id(), id(), id(), vec(figure(), 0..4), option::of(text())).prop_map(
        |(metric, workload, placement, source, from, to, threads, samples, doubt)| {
            let place = Labels::new()
                .with_label(Label::From, from)
                .with_label(Label::To, to)
                .with_label(Label::Home, to)
                .with_label(Label::Workload, workload.clone())
                .with_label(Label::Placement, placement)
                .with_label(Label::Source, source.clone())
                .with_label(Label::Event, source.clone())
                .with_label(Label::Category, source)
                .with_label(Label::Threads, threads);
            let mut m = Measurement::new(metric, place, samples);
            m.doubt = doubt.map(Into::into);
            m.with_detail(detail::CLASS, workload.clone())
                .with_detail(detail::WORK, workload)
                .with_detail(detail::COVERAGE, 0.5)
        },
    )
}

fn scaling() -> impl Strategy<Value = Scaling> {
    let step = (any::<u32>(), figure(), figure(), figure()).prop_map(
        |(threads, throughput, speedup, efficiency)| Step { threads, throughput, speedup, efficiency },
    );
    (text(), text(), any::<u32>(), figure(), figure(), option::of(any::<(u32, u32)>()), vec(step, 0..6))
        .prop_map(|(workload, placement, threads, rate, contention, fitted, steps)| Scaling {
            workload,
            meaning: placement.clone().into(),
            placement,
            points: threads % 9,
            fitted,
            rate,
            contention,
            coherency: contention,
            residual: rate,
            speedup: rate,
            speedup_interval: fitted.map(|_| (contention, rate)),
            threads,
            knee: Some(threads),
            disturbed: threads % 2 == 1,
            steps,
        })
}

fn numa() -> impl Strategy<Value = Numa> {
    (any::<u32>(), option::of(figure()), figure(), vec(text(), 0..3), text()).prop_map(
        |(nodes, ns, share, distance_mismatches, meaning)| Numa {
            nodes,
            local_ns: ns,
            remote_ns: ns,
            slowest: ns.map(|ns| (nodes, nodes, ns)),
            remote_share: share,
            ignoring_factor: ns,
            bandwidth_factor: ns,
            distance_agreement: ns,
            distance_mismatches: distance_mismatches.into_iter().map(Into::into).collect(),
            distance_loss: None,
            meaning: meaning.into(),
        },
    )
}

fn measurement() -> impl Strategy<Value = Measurement> {
    let bucket = (figure(), figure(), any::<u64>()).prop_map(|(from, to, count)| Bucket { from, to, count });
    let mark = (any::<u32>(), proptest::sample::select(vec![Mark::ClockMoved, Mark::Stolen, Mark::Quota]))
        .prop_map(|(sample, mark)| SampleMark { sample, mark });
    (
        prop_oneof![9 => proptest::sample::select(METRICS).prop_map(str::to_owned), 1 => text()],
        prop_oneof![9 => proptest::sample::select(vec!["ns", "Hz", "B/s", "ratio"]).prop_map(str::to_owned), 1 => text()],
        place(),
        vec(figure(), 0..12),
        any::<bool>(),
        vec(bucket, 0..6),
        vec(mark, 0..3),
        option::of(text()),
    )
        .prop_map(|(metric, unit, place, samples, raw, distribution, marks, doubt)| {
            let mut m = Measurement::new("core.clock", place, samples.clone());
            if raw {
                // As a damaged or foreign file may have it: a summary that follows from no samples.
                let at = |i: usize| samples.get(i).copied().unwrap_or(f64::NAN);
                m.summary = Summary { n: 9, min: at(0), median: at(1), mad: at(2), max: at(3), ..Summary::default() };
                m.summary.interval = Some((at(4), at(5)));
            }
            Measurement { metric: metric.as_str().into(), unit, distribution, marks, doubt: doubt.map(Into::into), ..m }
        })
}

fn machine() -> impl Strategy<Value = Machine> {
    let list = vec(0u32..40, 0..8).prop_map(|cpus| cpus.into_iter().collect::<CpuList>());
    let small = || option::of(0u32..5);
    let cpu = (0u32..40, any::<bool>(), small(), small(), small(), small(), small(), option::of(text()))
        .prop_map(|(id, online, core, cluster, die, package, node, kind)| Cpu {
            id,
            online,
            allowed: online,
            core,
            cluster,
            die,
            package,
            node,
            kind,
            ..Cpu::default()
        });
    let kind = proptest::sample::select(vec![CacheKind::Data, CacheKind::Instruction, CacheKind::Unified]);
    let cache = (any::<u32>(), 1u32..5, kind, option::of(any::<u64>()), list.clone()).prop_map(
        |(wild, level, kind, bytes, cpus)| Cache {
            level: if wild % 8 == 0 { wild } else { level },
            kind,
            bytes,
            line: Some(wild),
            ways: Some(wild),
            cpus,
        },
    );
    let node = (any::<u32>(), list, option::of(any::<u64>()), vec(any::<u32>(), 0..12))
        .prop_map(|(id, cpus, bytes, distances)| Node { id, cpus, bytes, distances, ..Node::default() });
    let slot = (option::of(any::<u64>()), option::of(text()), option::of(any::<u32>())).prop_map(
        |(bytes, part, rated_mt_s)| MemoryDevice {
            bytes,
            channel: part.clone(),
            part,
            rated_mt_s,
            ..Default::default()
        },
    );
    (
        vec(cpu, 0..30),
        vec(cache, 0..12),
        vec(node, 0..12),
        vec(slot, 0..4),
        option::of(text()),
        vec(text(), 0..4),
    )
        .prop_map(|(cpus, caches, nodes, memory_devices, hostname, notes)| Machine {
            cpus,
            caches,
            nodes,
            memory_devices,
            hostname,
            notes: notes.into_iter().map(record::Text::from).collect(),
            ..Machine::default()
        })
}

fn verdict() -> impl Strategy<Value = Verdict> {
    prop_oneof![
        (figure(), figure(), figure()).prop_map(|(share, a, b)| Verdict::Costs { share, interval: (a, b) }),
        figure().prop_map(|smaller_than| Verdict::NotResolved { smaller_than }),
        option::of(any::<u64>()).prop_map(|rounds_needed| Verdict::TooNoisy { rounds_needed }),
        text().prop_map(|reason| Verdict::NotMeasurable { reason: reason.into() }),
    ]
}

fn record() -> impl Strategy<Value = Record> {
    let state =
        proptest::sample::select(vec![State::Measured, State::Degraded, State::Skipped, State::Impossible]);
    let coverage =
        (text(), state, option::of(text()), option::of(text())).prop_map(|(what, state, reason, remedy)| {
            let (reason, remedy) = (reason.map(record::Text::from), remedy.map(record::Text::from));
            Coverage { what, state, reason, remedy }
        });
    let resource =
        (text(), text(), option::of(figure()), figure(), option::of(figure()), text(), option::of(text()))
            .prop_map(|(name, unit, ceiling, delivered, share, meaning, doubt)| Resource {
                name,
                unit,
                ceiling,
                source: Some(CeilingSource::Parts),
                delivered,
                share,
                meaning: meaning.into(),
                repeatability: None,
                family_ceilings: None,
                typical: None,
                position: None,
                beside: None,
                doubt: doubt.map(Into::into),
            });
    let level =
        (text(), figure(), option::of(any::<u64>()), text()).prop_map(|(name, ns, bytes, judgement)| Level {
            name,
            latency_ns: ns,
            latency_cycles: Some(ns),
            measured_bytes: bytes,
            advertised_bytes: bytes,
            judgement: judgement.into(),
        });
    let finding = (text(), text(), verdict(), vec(text(), 0..3), text()).prop_map(
        |(rule, what, loss, remedy, says)| Finding {
            rule,
            severity: Severity::Serious,
            what: what.into(),
            place: Some(says.clone().into()),
            evidence: vec![Evidence { says: says.clone().into(), from: says }],
            loss,
            relevance: record::diagnosis::Relevance::All,
            measured: true,
            confidence: record::diagnosis::Confidence::Medium,
            resource: None,
            undo: remedy.iter().map(record::Remedy::command).collect(),
            remedy: remedy.iter().map(|words| record::Remedy::of_words(words)).collect(),
        },
    );
    (
        machine(),
        (vec(measurement(), 0..40), vec(placed(), 0..24), vec(scaling(), 0..3), option::of(numa())),
        vec(coverage, 0..5),
        vec(resource, 0..4),
        vec(level, 0..4),
        vec(finding, 0..4),
    )
        .prop_map(
            |(machine, (measurements, placed, scaling, numa), coverage, resources, levels, findings)| {
                let mut record = support::empty();
                record.machine = machine;
                record.measurements = measurements;
                record.measurements.extend(placed);
                record.diagnosis.scaling = scaling;
                record.diagnosis.numa = numa;
                record.coverage = coverage;
                record.diagnosis.not_reached =
                    resources.iter().map(|r: &Resource| r.meaning.clone()).collect();
                record.diagnosis.resources = resources;
                record.diagnosis.levels = levels;
                record.diagnosis.findings = findings;
                record
            },
        )
}

/// Records of each property: a second's worth, and many more where LINESPEED_TEST_EVERYTHING is set.
fn cases() -> u32 {
    if support::everything() { 192 } else { 8 }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn any_record_is_printed_within_the_width(record in record(), width in 1usize..180, color: bool) {
        let style = Style { width, color: false, ..Style::default() };
        for text in [
            terminal::Screen::draw(&style, |screen| terminal::report(screen, &record, None)),
            terminal::Screen::draw(&style, |screen| terminal::inventory(screen, &record)),
            terminal::Screen::draw(&style, |screen| terminal::scale_answer(screen, &record, true, None)),
            terminal::Screen::draw(&style, |screen| terminal::tree(screen, &record.machine)),
        ] {
            for line in text.lines() {
                prop_assert!(line.width() <= width.max(20), "{} > {width}: {line:?}", line.width());
                prop_assert!(!line.contains(|c: char| c.is_control()), "{line:?}");
            }
        }
        let _ = terminal::Screen::draw(&Style { width, color, ..Style::default() }, |screen| terminal::report(screen, &record, None));
        let _ = (report::cyclictest::lines(&record), report::cyclictest::histogram(&record));
    }

    #[test]
    fn any_record_makes_a_whole_page(record in record()) {
        let page = report::page::html(&record);
        prop_assert_eq!(html::wrong(&page), None);
    }
}
