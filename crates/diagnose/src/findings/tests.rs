//! Tests of all rules together: a well-configured machine yields no findings, findings are ordered by loss, and no record causes a panic.

use proptest::prelude::*;
use record::clock_holders::{ClockHolders, PowerLimit};
use record::machine::{MemoryDevice, Node};
use record::{Label, Labels, Measurement, Record, Snapshot, detail, metrics};
use serde_json::Value;

use super::*;
use crate::samples::{add_cache, add_curve, machine, measured, sizes, steps};
use crate::shape::samples::looks_at;
use crate::tables::rows;
use record::diagnosis::Relevance;

/// A well-configured machine with eight cores and two channels, and with all inputs of the rules.
fn good() -> Record {
    let mut record = machine(8);
    record.machine.virtualization.hypervisor = Some("none".to_owned());
    record.machine.processor.max_hz = Some(4_000_000_000);
    record.machine.processor.base_hz = Some(3_000_000_000);
    record.machine.processor.counter_invariant = Some(true);
    record.machine.kernel.preemption = Some("full".to_owned());
    record.machine.kernel.hz = Some(1000);
    record.machine.kernel.mitigations.insert("meltdown".to_owned(), "Not affected".to_owned());
    record.machine.counts.packages = Some(1);
    record.machine.counts.nodes = Some(1);
    for (level, bytes, cpus) in [(1, 32 << 10, 1), (2, 1 << 20, 1), (3, 32 << 20, 8)] {
        add_cache(&mut record, level, bytes, cpus);
    }
    record.machine.memory_devices = ["A", "B"]
        .iter()
        .map(|channel| MemoryDevice {
            bytes: Some(32 << 30),
            channel: Some((*channel).to_owned()),
            rated_mt_s: Some(3200),
            configured_mt_s: Some(3200),
            node: Some(0),
            ..MemoryDevice::default()
        })
        .collect();
    let state = Snapshot {
        boost: Some(true),
        smt: Some("on".to_owned()),
        clocksource: Some("tsc".to_owned()),
        thp: Some("always".to_owned()),
        load: Some([0.05, 0.1, 0.1]),
        pressure: [("cpu".to_owned(), 0.0), ("memory".to_owned(), 0.0)].into_iter().collect(),
        steal_share: Some(0.0),
        cpu_seconds: ["user", "nice", "system", "irq", "softirq"]
            .iter()
            .map(|kind| ((*kind).to_owned(), 9.0))
            .collect(),
        own_cpu_seconds: Some(0.0),
        uptime_seconds: Some(100.0),
        swapped_pages: Some((0, 0)),
        swap_used_bytes: Some(0),
        memory_available_bytes: Some(60 << 30),
        throttled: Some(0),
        quota_throttled: Some(0),
        clock_holders: ClockHolders {
            power_limits: vec![PowerLimit {
                zone: "package-0".to_owned(),
                window: "long_term".to_owned(),
                watts: 65.0,
                rated_watts: Some(65.0),
                ..PowerLimit::default()
            }],
            ..ClockHolders::default()
        },
        ..Snapshot::default()
    };
    record.conditions.before = state.clone();
    // 60 s without other processes.
    let mut after = Snapshot { own_cpu_seconds: Some(100.0), uptime_seconds: Some(160.0), ..state };
    after.cpu_seconds.insert("user".to_owned(), 109.0);
    record.conditions.after = Some(after);
    let curve = [(32 << 10, 1.0), (1 << 20, 3.5), (32 << 20, 12.0), (u64::MAX, 80.0)];
    add_curve(&mut record, "2MiB", &steps(&sizes(4 << 10, 1 << 30), &curve));
    add_curve(&mut record, "4KiB", &[(1 << 30, 100.0)]);
    for cpu in 0..8u32 {
        for (active, hz) in [("one", 4.0e9), ("all", 3.6e9)] {
            for vector in ["scalar", "256", "512"] {
                let place = Labels::new()
                    .with_label(Label::Cpu, cpu)
                    .with_label(Label::Active, active)
                    .with_label(Label::Vector, vector);
                record.measurements.push(measured("core.clock", place, hz));
            }
        }
        for policy in ["other", "fifo"] {
            for setting in ["as-is", "tuned"] {
                let place = Labels::new()
                    .with_label(Label::Cpu, cpu)
                    .with_label(Label::Policy, policy)
                    .with_label(Label::Setting, setting);
                let mut m = measured("wakeup.latency", place.with_label(Label::Corrected, false), 3e3);
                m.summary.p99 = Some(6e3);
                record.measurements.push(m);
            }
        }
        for (cause, share) in [("os", 5e-4), ("below", 0.0)] {
            let place = Labels::new().with_label(Label::Cpu, cpu).with_label(Label::Cause, cause);
            record.measurements.push(measured("stolen.share", place, share));
        }
    }
    for (op, counted) in [("read", "stream"), ("read", "bus"), ("triad", "stream")] {
        let place = Labels::new()
            .with_label(Label::Op, op)
            .with_label(Label::BytesCounted, counted)
            .with_label(Label::Threads, 8u32);
        let m = measured("memory.bandwidth", place, 44e9);
        record
            .measurements
            .push(m.with_detail(detail::ARRAY_BYTES, 128 << 20).with_detail(detail::ARRAYS, 3));
    }
    record.measurements.push(measured("cost.clock_read", Labels::new().with_label(Label::Cpu, 0u32), 20.0));
    record.measurements.push(measured("cost.syscall", Labels::new().with_label(Label::Cpu, 0u32), 90.0));
    record.looks = Some(looks_at(8, 12, |_, cpu| (0, 0, cpu)));
    record
}

#[test]
fn on_a_well_set_up_machine_nothing_is_found() {
    let diagnosis = crate::diagnose(&good());
    assert_eq!(diagnosis.findings, []);
    // Every rule has its inputs, except those that need PMU results of a command, which a machine run does not produce.
    let missing: Vec<&str> = diagnosis.not_looked_for.iter().map(|rule| rule.rule.as_str()).collect();
    // A run does not read the kernel log either.
    assert_eq!(missing, ["busy-stalled"].into_iter().chain(LOG).collect::<Vec<_>>());
    assert_eq!(diagnosis.levels.len(), 4);
    assert_eq!(diagnosis.resources.len(), 4);
}

/// A well-configured machine with two packages of one node each, SMT siblings and counters, so that all rules have their inputs.
fn good_with_two_packages() -> Record {
    let mut record = good();
    let machine = &mut record.machine;
    let counts = &mut machine.counts;
    (counts.packages, counts.nodes, counts.cores) = (Some(2), Some(2), Some(4));
    for cpu in &mut machine.cpus {
        let (package, first) = (cpu.id / 4, cpu.id / 2 * 2);
        (cpu.package, cpu.node, cpu.core) = (Some(package), Some(package), Some(cpu.id / 2));
        cpu.siblings = (first..first + 2).collect();
    }
    machine.caches.retain(|cache| cache.level < 3);
    for package in 0..2 {
        add_cache(&mut record, 3, 32 << 20, 0);
        let cpus = (package * 4..package * 4 + 4).collect();
        record.machine.caches.last_mut().expect("just added").cpus = cpus;
    }
    let machine = &mut record.machine;
    for node in 0..2u32 {
        machine.nodes.push(Node {
            id: node,
            cpus: (node * 4..node * 4 + 4).collect(),
            bytes: Some(64 << 30),
            distances: (0..2).map(|to| if to == node { 10 } else { 21 }).collect(),
            allowed: true,
            ..Node::default()
        });
    }
    let mut others = machine.memory_devices.clone();
    others.iter_mut().for_each(|device| device.node = Some(1));
    machine.memory_devices.extend(others);
    record.looks = Some(looks_at(8, 12, |_, cpu| (cpu / 4, 0, cpu / 2)));
    record.conditions.before.numa_balancing = Some(0);
    for m in &mut record.measurements {
        if m.metric == "memory.bandwidth" {
            let detail = m.detail.clone();
            *m = measured("memory.bandwidth", m.labels.clone(), 88e9);
            m.detail = detail;
        }
    }
    for (from, to) in [(0u32, 0u32), (0, 1), (1, 0), (1, 1)] {
        let at = Labels::new().with_label(Label::From, from).with_label(Label::To, to);
        record.measurements.push(measured("numa.latency", at, if from == to { 80.0 } else { 130.0 }));
    }
    let place = Labels::new().with_label(Label::Workload, "primes").with_label(Label::Core, 0u32);
    record.measurements.push(measured("smt.yield", place, 1.4));
    for threads in [1u32, 4] {
        let place = Labels::new().with_label(Label::Workload, "primes").with_label(Label::Threads, threads);
        let place = place.with_label(Label::Placement, "cores-first").with_label(Label::Source, "pmu");
        record.measurements.push(measured("core.ipc", place, 2.0));
    }
    record
}

/// Rules that require the kernel's log.
const LOG: [&str; 4] = ["machine-check", "memory-corrected", "memory-uncorrected", "tsc-unstable"];

/// Distance is not a fault of the machine; it affects only programs that ignore nodes.
#[test]
fn on_a_well_set_up_machine_of_two_packages_nothing_but_their_distance_is_found() {
    let mut record = good_with_two_packages();
    let diagnosis = crate::diagnose(&record);
    let missing: Vec<&str> = diagnosis.not_looked_for.iter().map(|rule| rule.rule.as_str()).collect();
    assert_eq!(missing, LOG, "all other rules had their inputs");
    let names: Vec<&str> = diagnosis.findings.iter().map(|finding| finding.rule.as_str()).collect();
    assert_eq!(names, ["numa-latency"]);
    record.measurements.retain(|m| m.metric != "numa.latency");
    assert_eq!(crate::diagnose(&record).findings, []);
}

#[test]
fn an_empty_record_says_nothing() {
    let record = Record::new("0.0.0", String::new(), Vec::new());
    let not_looked_for = crate::diagnose(&record).not_looked_for;
    assert!(not_looked_for.iter().all(|rule| !rule.missing.is_empty()) && !not_looked_for.is_empty());
    assert_eq!(crate::diagnose(&record), record::Diagnosis { not_looked_for, ..Default::default() });
}

#[test]
fn the_largest_loss_stands_first() {
    let mut record = good();
    for device in &mut record.machine.memory_devices {
        device.configured_mt_s = Some(2400);
    }
    record.machine.limits.cpu_quota = Some(2.0);
    if let Some(after) = &mut record.conditions.after {
        after.steal_share = Some(0.05);
        after.throttled = Some(3);
        after.quota_throttled = Some(40);
    }
    let names: Vec<String> =
        crate::diagnose(&record).findings.into_iter().map(|finding| finding.rule).collect();
    assert_eq!(names, ["cpu-quota", "steal", "throttled", "memory-speed"]);
}

#[test]
fn the_kernels_default_for_several_nodes_stands_below_other_notes() {
    let mut record = good_with_two_packages();
    record.conditions.before.numa_balancing = Some(1);
    record.conditions.before.smt = Some("off".to_owned());
    record.machine.counts.cpus_present = record.machine.counts.cpus_online.map(|online| online + 1);
    let names: Vec<String> =
        crate::diagnose(&record).findings.into_iter().map(|finding| finding.rule).collect();
    assert!(names.ends_with(&["offline-cpus", "numa-balancing"].map(str::to_owned)), "{names:?}");
}

#[test]
fn what_is_serious_stands_before_any_warning() {
    let mut record = good();
    // A load of other processes whose effect was not measured, and a quota.
    record.measurements.retain(|m| m.metric != "stolen.share");
    crate::samples::ran(&mut record, 200.0, 0.0);
    record.machine.limits.cpu_quota = Some(5.0);
    let names = |record: &Record| -> Vec<String> {
        let found = crate::diagnose(record).findings;
        assert!(found.windows(2).all(|pair| pair[0].severity >= pair[1].severity), "{found:?}");
        found.into_iter().map(|finding| finding.rule).collect()
    };
    // A quota that throttled nothing is no loss.
    assert_eq!(names(&record), ["other-load"]);
    record.conditions.after.as_mut().unwrap().quota_throttled = Some(40);
    assert_eq!(names(&record), ["cpu-quota", "other-load"]);
}

#[test]
fn how_bad_and_in_which_order_follow_from_one_weight() {
    let rank = |share, relevance| {
        let weight = crate::figures::weight(share, relevance);
        (weight, crate::figures::severity(weight))
    };
    let all = rank(0.055, Relevance::All);
    let few = rank(0.77, Relevance::Few);
    assert!(few.0 > all.0, "5.5 % of all programs weighs less than 77 % of a few");
    assert_eq!((all.1, few.1), (Severity::Warning, Severity::Warning));
    assert_eq!(rank(0.3, Relevance::Few).1, Severity::Note);
    assert_eq!(rank(0.3, Relevance::Some).1, Severity::Warning);
    assert_eq!(rank(0.3, Relevance::All).1, Severity::Serious);
    assert_eq!(rank(1.0, Relevance::None).1, Severity::Note);
}

#[test]
fn a_finding_that_leans_on_a_doubtful_figure_is_a_note() {
    let mut record = good();
    for m in &mut record.measurements {
        if m.metric == "stolen.share" && m.labels.word(Label::Cause) == Some("os") {
            *m = measured("stolen.share", m.labels.clone(), 0.4);
        }
    }
    assert_eq!(crate::diagnose(&record).findings[0].severity, Severity::Serious);
    for m in &mut record.measurements {
        m.doubt = Some("taken on another CPU".into());
    }
    let finding = &crate::diagnose(&record).findings[0];
    assert_eq!((finding.rule.as_str(), finding.severity), ("stolen-os", Severity::Note));
    assert_eq!(finding.confidence, Confidence::Low);
    assert!(
        finding.evidence.iter().any(|seen| seen.says == "unreliable: taken on another CPU".into()),
        "{finding:?}"
    );
}

#[test]
fn a_loss_beyond_the_noise_of_its_figures_is_a_warning() {
    let noisy = |share: f64, spread: f64| {
        let mut record = good();
        for m in &mut record.measurements {
            if m.metric == "stolen.share" && m.labels.word(Label::Cause) == Some("os") {
                let samples = (0..12).map(|i| share + spread * f64::from(i % 3 - 1)).collect();
                *m = Measurement::new("stolen.share", m.labels.clone(), samples);
                m.doubt = Some("too noisy: the median is known to ±9 % only".into());
            }
        }
        let diagnosis = crate::diagnose(&record);
        diagnosis.findings.into_iter().find(|finding| finding.rule == "stolen-os").expect("it is found")
    };
    let loss = noisy(0.4, 0.05);
    assert_eq!((loss.severity, loss.confidence), (Severity::Warning, Confidence::Low));
    assert_eq!(noisy(0.06, 0.05).severity, Severity::Note);
}

#[test]
fn others_cost_no_more_over_the_run_than_they_used_of_it() {
    // Bursts hit the busy loops; within ten seconds, other processes used 3.5 s of CPU time on two CPUs.
    let mut record = crate::samples::stolen("os", [0.36, 0.34]);
    record.measurements.push(measured("cost.syscall", Labels::new(), 100.0));
    crate::samples::ran(&mut record, 13.5, 10.0);
    record.conditions.after.as_mut().unwrap().own_ready_seconds = Some(0.6);
    let diagnosis = crate::diagnose(&record);
    let others = diagnosis.findings.iter().find(|finding| finding.rule == "other-load").unwrap();
    assert!((share_of(&others.loss) - 0.175).abs() < 1e-9, "{others:?}");
    assert_eq!(others.severity, Severity::Warning);
    // If other processes used more, the loss is that of the loops.
    crate::samples::ran(&mut record, 19.0, 10.0);
    record.conditions.after.as_mut().unwrap().own_ready_seconds = Some(0.6);
    let others = &crate::diagnose(&record).findings[0];
    assert!((share_of(&others.loss) - 0.35).abs() < 1e-3, "{others:?}");
}

#[test]
fn every_rule_has_a_name_of_its_own_in_order() {
    for pair in RULES.windows(2) {
        assert!(pair[0].name < pair[1].name, "{} {}", pair[0].name, pair[1].name);
    }
}

/// Whether a record's schema has this path.
fn is_in_schema(path: &str) -> bool {
    let schema: Value = serde_json::from_str(include_str!("../../../record/src/schema/record.json")).unwrap();
    let resolve = |place: &Value| {
        let either = || place.get("anyOf")?.as_array()?.iter().find_map(|one| one.get("$ref"));
        let name = place.get("$ref").or_else(either).and_then(Value::as_str);
        name.map_or(place.clone(), |name| schema.pointer(name.trim_start_matches('#')).unwrap().clone())
    };
    let place = path.split('.').fold(schema.clone(), |place, step| {
        let name = step.trim_end_matches("[]");
        let of_table = &place["additionalProperties"];
        let inner = place["properties"].get(name).unwrap_or(of_table);
        if name == step { resolve(inner) } else { resolve(&resolve(inner)["items"]) }
    });
    place.is_object()
}

#[test]
fn what_each_rule_needs_can_be_there() {
    assert!(!is_in_schema("machine.processor.speed") && !is_in_schema("machine.cpus.id"));
    for rule in RULES {
        let all = rows(needs::RULES, rule.name);
        assert!(all.first().is_some_and(|head| head.len() == 1), "{}: no resource", rule.name);
        for need in &all[1..] {
            assert!(need.len() > 1, "{}: {need:?} can never be met", rule.name);
            for way in &need[1..] {
                let (metric, labels) = way.split_once(' ').unwrap_or((way, ""));
                let is_label = |word: &str| Label::from_name(word.split('=').next().unwrap()).is_some();
                let is_result = metrics::find(metric).is_some() && labels.split_whitespace().all(is_label);
                let is_condition = CONDITIONS.iter().any(|(name, _)| name == way);
                assert!(is_result || is_condition || is_in_schema(way), "{}: {way}", rule.name);
            }
        }
    }
    for (name, _) in CONDITIONS {
        assert!(needs::RULES.contains(&format!(" :: {name}")), "no rule uses {name}");
    }
}

#[test]
fn every_finding_says_how_sure_it_is_and_of_which_resource_it_takes() {
    let mut record = good();
    for device in &mut record.machine.memory_devices {
        device.configured_mt_s = Some(2400);
    }
    for m in &mut record.measurements {
        if m.metric == "stolen.share" && m.labels.word(Label::Cause) == Some("os") {
            *m = measured("stolen.share", m.labels.clone(), 0.4);
        }
    }
    let found = crate::diagnose(&record).findings;
    let reported: Vec<_> =
        found.iter().map(|f| (f.rule.as_str(), f.confidence, f.resource.as_deref())).collect();
    assert_eq!(
        reported,
        [("stolen-os", Confidence::High, None), ("memory-speed", Confidence::Low, Some("memory bandwidth")),]
    );
}

proptest! {
    // Each case is a full record, so a quarter of the usual number of cases keeps the test short.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_record_makes_a_rule_fail_or_lose_more_than_all(
        values in proptest::collection::vec((0usize..64, 0u8..4, proptest::num::f64::ANY, 0u32..4), 0..60),
        numbers in proptest::collection::vec(proptest::num::f64::ANY, 8),
        counts in proptest::collection::vec(proptest::option::of(proptest::num::u32::ANY), 6),
        sizes in proptest::collection::vec(proptest::option::of(proptest::num::u64::ANY), 6),
        texts in proptest::collection::vec(proptest::option::of("\\PC{0,12}"), 6),
    ) {
        let mut record = good();
        for (at, vector, value, cpu) in values {
            let metric = metrics::all().nth(at % metrics::all().count()).unwrap();
            let word = ["scalar", "512", "all", "2MiB"][usize::from(vector)];
            let place = Labels::new().with_label(Label::Cpu, cpu).with_label(Label::Vector, word).with_label(Label::Active, "all").with_label(Label::Page, word)
                .with_label(Label::Policy, "other").with_label(Label::Setting, "as-is").with_label(Label::Cause, "os").with_label(Label::Bytes, value)
                .with_label(Label::BytesCounted, "stream").with_label(Label::Op, "triad").with_label(Label::Threads, 8u32);
            record.measurements.push(Measurement::new(metric.name, place, vec![value; usize::from(vector) * 3]));
        }
        record.machine.processor.max_hz = sizes[0];
        record.machine.processor.base_hz = sizes[1];
        record.machine.counts.cpus_online = counts[0];
        record.machine.counts.cpus_present = counts[1];
        record.machine.counts.cpus_allowed = counts[2];
        record.machine.limits.cpu_quota = Some(numbers[0]);
        record.machine.memory_devices[0].rated_mt_s = counts[3];
        record.machine.memory_devices[0].configured_mt_s = counts[4];
        record.machine.memory_devices[0].data_bits = counts[5];
        record.machine.memory_devices[1].bytes = sizes[2];
        record.conditions.before.load = Some([numbers[1], numbers[2], numbers[3]]);
        record.conditions.before.pressure.insert("memory".to_owned(), numbers[4]);
        record.conditions.before.swap_used_bytes = sizes[3];
        record.conditions.before.swapped_pages = sizes[4].zip(sizes[5]);
        record.conditions.before.thp = texts[0].clone();
        record.conditions.before.clocksource = texts[1].clone();
        record.conditions.before.boost_source = texts[2].clone();
        record.conditions.before.smt = texts[3].clone();
        record.machine.counts.nodes = counts[0];
        record.machine.counts.packages = counts[1];
        record.machine.kernel.preemption = texts[4].clone();
        record.conditions.before.own_cpu_seconds = Some(numbers[6]);
        if let Some(after) = &mut record.conditions.after {
            after.steal_share = Some(numbers[5]);
            after.uptime_seconds = Some(numbers[7]);
        }
        let diagnosis = crate::diagnose(&record);
        for finding in &diagnosis.findings {
            if let record::Verdict::Costs { share, interval } = &finding.loss {
                prop_assert!(0.0 < *share && *share <= 1.0 && interval.0 <= interval.1, "{finding:?}");
            }
            prop_assert!(!finding.what.is_empty() && !finding.evidence.is_empty(), "{finding:?}");
            prop_assert!(finding.place.is_some() && !finding.remedy.is_empty(), "{finding:?}");
        }
        let index = crate::RecordIndex::new(&record);
        let case = Case { index: &index, numa: diagnosis.numa.as_ref() };
        for rule in RULES {
            // A rule whose input is missing must not find anything, even if it is called anyway.
            if rule.missing(&case).is_some() {
                prop_assert_eq!((rule.find)(&case).unwrap_or_default(), vec![], "{}", rule.name);
            }
        }
        for resource in &diagnosis.resources {
            prop_assert!(resource.share.is_none_or(|share| share.is_finite() && share >= 0.0), "{resource:?}");
        }
        // A diagnosis must survive conversion to JSON, which does not support infinity.
        let mut alone = machine(1);
        alone.diagnosis = diagnosis;
        let back = Record::from_json(alone.to_json().unwrap().as_bytes());
        let back = back.map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(back.diagnosis, alone.diagnosis);
    }
}
