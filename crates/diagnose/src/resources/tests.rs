use proptest::prelude::*;

use super::*;
use crate::figures::has_labels;
use crate::samples::{add_cache, add_curve, add_wakeups, machine, measured, sizes, steps};
use record::machine::MemoryDevice;
use record::text::Value;
use record::{Label, Labels, Record, detail};

/// The descriptions of a resource's delivered result and ceiling.
fn parts(resource: &Resource) -> (&Text, &Text) {
    match (resource.meaning.value("delivered"), resource.meaning.value("ceiling")) {
        (Some(Value::Sentence(delivered)), Some(Value::Sentence(ceiling))) => (delivered, ceiling),
        other => panic!("{other:?}"),
    }
}

fn resources_of(record: &Record) -> Vec<Resource> {
    resources(&RecordIndex::new(record)).into_iter().map(|headline| headline.resource).collect()
}

fn clock(record: &mut Record, cpu: u32, active: &str, hz: f64) {
    let place = Labels::new()
        .with_label(Label::Cpu, cpu)
        .with_label(Label::Active, active)
        .with_label(Label::Vector, "scalar");
    record.measurements.push(measured("core.clock", place, hz));
}

#[test]
fn an_empty_record_has_no_resource() {
    assert_eq!(resources_of(&machine(4)), []);
}

#[test]
fn the_core_is_held_against_what_it_advertises() {
    let mut record = machine(2);
    record.machine.processor.max_hz = Some(4_000_000_000);
    clock(&mut record, 0, "one", 3.9e9);
    clock(&mut record, 0, "all", 3.0e9);
    clock(&mut record, 1, "all", 3.0e9);
    let core = &resources_of(&record)[0];
    assert_eq!((core.ceiling, core.source), (Some(4e9), Some(CeilingSource::Parts)));
    assert!((core.share.unwrap_or(0.0) - 0.75).abs() < 0.01);
    let (delivered, ceiling) = parts(core);
    assert_eq!(
        (delivered.code(), ceiling.code()),
        (Some("core-clock-of-all"), Some("core-clock-advertised"))
    );
    assert_eq!(delivered.value("cpus"), Some(&Value::from(Text::from("CPUs 0-1"))));
}

#[test]
fn a_headline_is_repeated_as_well_as_its_interleaved_halves_agree() {
    let mut record = machine(1);
    clock(&mut record, 0, "all", 3e9);
    let repeatability = |record: &Record| crate::diagnose(record).resources[0].repeatability;
    let mut sampled = |samples: Vec<f64>| {
        let place = record.measurements[0].labels.clone();
        record.measurements[0] = Measurement::new("core.clock", place, samples);
        repeatability(&record)
    };
    let share = sampled([2.9e9, 3.1e9].repeat(4)).expect("eight samples have halves");
    assert!((share - 0.2 / 3.0).abs() < 1e-9, "{share}");
    assert_eq!(sampled(vec![3e9; 8]), Some(0.0));
    // Drift affects both halves equally.
    let drift = sampled((0..100).map(|n| 3e9 - 1e6 * f64::from(n)).collect()).expect("halves");
    assert!(drift < 1e-3, "{drift}");
    assert_eq!(sampled(vec![2.9e9, 3.1e9, 2.9e9]), None);
    // A distribution saved instead of many samples.
    record.measurements[0].samples.clear();
    record.measurements[0].detail.set_parts(detail::HALVES, &[3e9, 3.3e9]);
    assert!(repeatability(&record).is_some_and(|share| (share - 0.3 / 3.15).abs() < 1e-9));
}

#[test]
fn a_clock_above_the_advertised_one_is_the_ceiling() {
    let mut record = machine(1);
    record.machine.processor.max_hz = Some(2_000_000_000);
    clock(&mut record, 0, "one", 3.5e9);
    let core = &resources_of(&record)[0];
    assert_eq!(core.source, Some(CeilingSource::Measured));
    assert_eq!(core.share, None, "relative to its own best, the share would always be 100 %");
}

#[test]
fn the_ceiling_of_the_core_says_which_row_it_is() {
    let mut record = machine(2);
    for (cpu, active, hz) in [(1, "one", 3.25e9), (0, "all", 3.24e9), (1, "all", 3.22e9)] {
        clock(&mut record, cpu, active, hz);
    }
    let ceiling = |record: &Record| {
        let core = &resources_of(record)[0];
        (core.ceiling, parts(core).1.code().map(str::to_owned))
    };
    assert_eq!(ceiling(&record), (Some(3.25e9), Some("core-clock-measured".to_owned())));
    clock(&mut record, 0, "all", 3.26e9);
    assert_eq!(ceiling(&record), (Some(3.26e9), Some("core-clock-measured-beside".to_owned())));
}

/// The results of an operation in all modes: in STREAM bytes, and with write-allocate traffic included.
fn moves(record: &mut Record, op: &str, stores: &str, threads: u32, rate: f64) {
    let stored = match op {
        "read" => 0.0,
        "write" => 1.0,
        "copy" => 1.0 / 2.0,
        _ => 1.0 / 3.0,
    };
    let read_first = if stores == "regular" { stored } else { 0.0 };
    for (counted, factor) in [("stream", 1.0), ("bus", 1.0 + read_first)] {
        let place = Labels::new()
            .with_label(Label::Op, op)
            .with_label(Label::Stores, stores)
            .with_label(Label::BytesCounted, counted)
            .with_label(Label::Threads, threads);
        let m = measured("memory.bandwidth", place, rate * factor);
        record.measurements.push(m.with_detail(detail::ARRAY_BYTES, 64 << 20).with_detail(detail::ARRAYS, 3));
    }
}

fn triad(record: &mut Record, stores: &str, threads: u32, rate: f64) {
    moves(record, "triad", stores, threads, rate);
}

/// The results of a quick run, and additional results of other modes.
const QUICK: [(&str, &str); 5] = [
    ("read", "regular"),
    ("copy", "regular"),
    ("copy", "streaming"),
    ("triad", "regular"),
    ("triad", "streaming"),
];
const MORE: [(&str, &str); 2] = [("write", "regular"), ("write", "streaming")];

fn bandwidth_of(record: &Record) -> Resource {
    let all = crate::diagnose(record).resources;
    all.into_iter().find(|resource| resource.name == MEMORY_BANDWIDTH).unwrap()
}

proptest! {
    #[test]
    fn memory_bandwidth_is_one_thing_in_every_mode(
        rates in prop::collection::vec(1e9f64..100e9, 10),
        avoided in prop::option::of(0.0f64..1.0),
        devices in 0u32..3,
    ) {
        let mut quick = machine(2);
        for channel in 0..devices {
            quick.machine.memory_devices.push(crate::samples::device(&format!("{channel}"), &format!("{channel}"), 16));
        }
        let channels = f64::from(devices) * 2933e6 * 8.0;
        for ((op, stores), rate) in QUICK.into_iter().zip(&rates) {
            moves(&mut quick, op, stores, 2, *rate);
            moves(&mut quick, op, stores, 1, rate * 2.0);
        }
        // A normal run also measures writes; a full run also measures write-allocate traffic and the loss to other processes.
        let mut normal = quick.clone();
        for ((op, stores), rate) in MORE.into_iter().zip(&rates[5..]) {
            moves(&mut normal, op, stores, 2, rate.min(rates[3]));
        }
        let mut full = normal.clone();
        if let Some(avoided) = avoided {
            let place = Labels::new().with_label(Label::Threads, 2u32);
            full.measurements.push(measured("memory.write_allocate_avoided", place, avoided));
        }
        for m in &mut full.measurements {
            if has_labels(m, &[(Label::Op, "triad"), (Label::Stores, "regular")]) {
                m.detail.set(detail::TAKEN_BY_OTHERS, 0.4);
                m.detail.set(detail::TAKEN_BY_OTHERS_LOW, 0.35);
                m.detail.set(detail::TAKEN_BY_OTHERS_HIGH, 0.45);
                m.detail.set(detail::ALONE_BYTES_PER_SECOND, m.value() / 0.6);
            }
        }
        for record in [&quick, &normal, &full] {
            let bandwidth = bandwidth_of(record);
            let best = rates[3].max(rates[4]);
            prop_assert!((bandwidth.delivered / best - 1.0).abs() < 0.01, "{bandwidth:?}");
            let (delivered, _) = parts(&bandwidth);
            prop_assert_eq!(delivered.code(), Some("bandwidth-best-triad"));
            // Devices whose peak was exceeded count as unknown, and without them there is no share.
            let most = rates[..5].iter().copied().fold(0.0, f64::max) * 2.0;
            let known = (most < channels * 1.005).then_some(channels);
            prop_assume!(channels == 0.0 || (most / channels - 1.01).abs() > 0.02);
            prop_assert_eq!(bandwidth.ceiling.is_some(), known.is_some());
            let share = bandwidth.ceiling.map(|ceiling| bandwidth.delivered / ceiling);
            prop_assert_eq!(bandwidth.share, share);
            prop_assert!(share.is_none_or(|share| share <= 1.01));
            let beside = bandwidth.beside.as_ref().map(|beside| crate::samples::figure_in(beside, "read"));
            prop_assert!(beside.is_some_and(|read| (read / rates[0] - 1.0).abs() < 0.01));
            let mut shown = record.clone();
            shown.diagnosis = crate::diagnose(record);
            prop_assert_eq!(crate::ceilings::collect_ceilings(&shown).bandwidth_all, beside, "the maximum in stat");
        }
    }
}

#[test]
fn a_read_below_triad_is_not_called_the_best() {
    let mut record = machine(2);
    triad(&mut record, "regular", 2, 20e9);
    moves(&mut record, "read", "none", 2, 30e9);
    let code =
        |record: &Record| bandwidth_of(record).beside.and_then(|beside| beside.code().map(str::to_owned));
    assert_eq!(code(&record).as_deref(), Some("bandwidth-triad-and-read"));
    triad(&mut record, "streaming", 2, 49e9);
    assert_eq!(code(&record).as_deref(), Some("bandwidth-triad-above-read"));
    // The table marks the read because of its own doubt, and the headline uses the same criterion.
    for m in record.measurements.iter_mut().filter(|m| m.labels.word(Label::Op) == Some("read")) {
        m.doubt = Some("too noisy".into());
    }
    assert_eq!(code(&record).as_deref(), Some("bandwidth-reads-disturbed"));
}

#[test]
fn bandwidth_is_held_against_channels_where_they_are_known() {
    let mut record = machine(2);
    triad(&mut record, "regular", 1, 10e9);
    triad(&mut record, "regular", 2, 16e9);
    triad(&mut record, "streaming", 2, 18e9);
    let measured = &resources_of(&record)[0];
    assert_eq!((measured.source, measured.ceiling, measured.share), (None, None, None));
    assert!((measured.delivered / 18e9 - 1.0).abs() < 0.01);
    assert_eq!(parts(measured).0.value("stores"), Some(&Value::from("streaming")));
    record.machine.memory_devices = vec![MemoryDevice {
        bytes: Some(1 << 34),
        channel: Some("A".to_owned()),
        configured_mt_s: Some(3200),
        ..MemoryDevice::default()
    }];
    let held = &resources_of(&record)[0];
    assert_eq!((held.source, held.ceiling), (Some(CeilingSource::Parts), Some(25.6e9)));
    let (_, channels) = parts(held);
    assert_eq!(channels.value("channels"), Some(&Value::from("1 populated channel")));
    assert_eq!(channels.value("speed"), Some(&Value::Count(3200)));
}

#[test]
fn latency_and_wake_up_name_their_figures() {
    let mut record = machine(1);
    for (page, ns) in [("4KiB", 120.0), ("2MiB", 90.0)] {
        let place = Labels::new()
            .with_label(Label::Cpu, 0u32)
            .with_label(Label::Node, 0u32)
            .with_label(Label::Bytes, 1u64 << 29)
            .with_label(Label::Page, page);
        record.measurements.push(measured("load.latency", place, ns));
    }
    for (policy, setting, ns) in [("other", "as-is", 60e3), ("fifo", "as-is", 12e3), ("fifo", "tuned", 6e3)] {
        let place = Labels::new()
            .with_label(Label::Cpu, 0u32)
            .with_label(Label::Policy, policy)
            .with_label(Label::Setting, setting);
        record.measurements.push(measured("wakeup.latency", place.with_label(Label::Corrected, false), ns));
    }
    let [latency, wake_up] = &resources_of(&record)[..] else { panic!("two resources") };
    assert_eq!((latency.ceiling, latency.share), (Some(90.0), None), "{latency:?}");
    assert_eq!(parts(latency).0.value("size"), Some(&Value::Bytes(512 << 20)));
    assert_eq!((wake_up.ceiling, wake_up.share), (Some(6e3), None), "{wake_up:?}");
    let (of, best) = parts(wake_up);
    assert_eq!(of.value("policy"), Some(&Value::from("SCHED_FIFO")));
    assert_eq!(best.code(), Some("wake-up-best"));
}

#[test]
fn a_wake_up_that_held_idle_states_made_no_faster_is_its_own_ceiling_and_says_so() {
    let mut record = machine(1);
    for (setting, ns) in [("as-is", 30.6e3), ("tuned", 32.5e3)] {
        let place = Labels::new()
            .with_label(Label::Cpu, 0u32)
            .with_label(Label::Policy, "fifo")
            .with_label(Label::Setting, setting);
        record.measurements.push(measured("wakeup.latency", place.with_label(Label::Corrected, false), ns));
    }
    let [wake_up] = &resources_of(&record)[..] else { panic!("one resource") };
    assert_eq!((wake_up.ceiling, wake_up.share), (Some(30.6e3), None));
    let (_, best) = parts(wake_up);
    assert_eq!(
        (best.code(), best.value("held")),
        (Some("wake-up-no-faster"), Some(&Value::Figure(32.5e3, "ns")))
    );
}

#[test]
fn of_two_cpus_the_one_that_idle_states_cost_more_is_the_headline() {
    let mut record = machine(2);
    add_wakeups(&mut record, "other", "as-is", [105e3, 91.6e3]);
    assert_eq!(resources_of(&record)[0].delivered, 105e3, "the longer of the two latencies");
    add_wakeups(&mut record, "fifo", "as-is", [38.6e3, 50e3]);
    add_wakeups(&mut record, "fifo", "tuned", [38.8e3, 16.7e3]);
    let wake_up = &resources_of(&record)[0];
    assert_eq!((wake_up.delivered, wake_up.ceiling), (50e3, Some(16.7e3)));
    assert_eq!(parts(wake_up).0.value("cpu"), Some(&Value::Count(1)));
}

#[test]
fn the_level_of_memory_is_the_figure_that_the_headline_has() {
    let mut record = machine(2);
    for (level, bytes) in [(1, 32 << 10), (2, 1 << 20), (3, 32 << 20)] {
        add_cache(&mut record, level, bytes, 1);
    }
    let caches = [(32 << 10, 1.2), (1 << 20, 4.0), (32 << 20, 30.0), (u64::MAX, 0.0)];
    // Memory becomes busier over time: each working set is slower than the one before.
    let slower = |least: f64| {
        let mut points = steps(&sizes(4 << 10, 512 << 20), &caches);
        let beyond = points.iter_mut().filter(|(_, ns)| *ns == 0.0);
        beyond.enumerate().for_each(|(at, (_, ns))| *ns = least + at as f64);
        points
    };
    add_curve(&mut record, "2MiB", &slower(100.0));
    // The curve on ordinary pages may end at a smaller working set than the curve on huge pages.
    let mut ordinary = slower(140.0);
    for most in [512u64 << 20, 128 << 20] {
        ordinary.retain(|(bytes, _)| *bytes <= most);
        record.measurements.retain(|m| m.labels.word(Label::Page) != Some("4KiB"));
        add_curve(&mut record, "4KiB", &ordinary);
        let index = RecordIndex::new(&record);
        let latency = resources_of(&record).into_iter().find(|held| held.name == MEMORY_LATENCY).unwrap();
        let memory = index.levels().last().unwrap();
        assert_eq!(Some(memory.latency_ns), latency.ceiling);
        assert_eq!(memory.judgement.value("size"), Some(&Value::Bytes(most)));
        assert_eq!(parts(&latency).0.value("size"), Some(&Value::Bytes(most)));
        assert_eq!(memory.judgement.value("page"), Some(&Value::Bytes(2 << 20)));
    }
}

#[test]
fn memory_that_only_large_pages_reached_is_said_to_be_so() {
    let mut record = machine(1);
    for (level, bytes) in [(1, 32 << 10), (2, 1 << 20), (3, 32 << 20)] {
        add_cache(&mut record, level, bytes, 1);
    }
    let curve = [(32 << 10, 1.2), (1 << 20, 4.0), (32 << 20, 30.0), (u64::MAX, 165.0)];
    add_curve(&mut record, "2MiB", &steps(&sizes(4 << 10, 128 << 20), &curve));
    add_curve(&mut record, "4KiB", &steps(&sizes(4 << 10, 8 << 20), &curve));
    let all = not_reached(&RecordIndex::new(&record));
    let said = all.iter().find(|text| text.code() == Some("memory-latency-not-reached-on-small-pages"));
    let said = said.unwrap_or_else(|| panic!("{all:?}"));
    assert_eq!(said.value("size"), Some(&Value::Bytes(8 << 20)));
    assert_eq!(said.value("page"), Some(&Value::Bytes(2 << 20)));
    assert_eq!(said.value("latency"), Some(&Value::Figure(165.0, "ns")));
}

/// A virtual machine that shows the host's L3, with a curve up to `largest` bytes on both page sizes.
fn shown_a_huge_cache(largest: u64, own: u64) -> Record {
    let mut record = machine(2);
    for (level, bytes, cpus) in [(1, 48 << 10, 1), (2, 2 << 20, 1), (3, 480 << 20, 2)] {
        add_cache(&mut record, level, bytes, cpus);
    }
    let curve = [(48 << 10, 1.2), (2 << 20, 4.5), (own, 35.0), (u64::MAX, 150.0)];
    for page in ["2MiB", "4KiB"] {
        add_curve(&mut record, page, &steps(&sizes(4 << 10, largest), &curve));
    }
    record
}

#[test]
fn a_working_set_within_the_caches_is_not_called_memory() {
    for largest in [256 << 10, 3 << 20, 128 << 20] {
        let mut record = shown_a_huge_cache(largest, 480 << 20);
        triad(&mut record, "regular", 2, 73e9);
        for m in record.measurements.iter_mut().filter(|m| m.metric == "memory.bandwidth") {
            m.detail.set(detail::ARRAY_BYTES, 1 << 20);
        }
        let diagnosis = crate::diagnose(&record);
        assert_eq!(diagnosis.resources, [], "{largest}");
        let [bandwidth, latency] = &diagnosis.not_reached[..] else { panic!("{diagnosis:?}") };
        assert_eq!(bandwidth.code(), Some("memory-bandwidth-not-reached"));
        assert_eq!(bandwidth.value("size"), Some(&Value::Bytes(3 << 20)));
        let most = sizes(4 << 10, largest).into_iter().max().unwrap_or(0);
        assert_eq!(latency.code(), Some("memory-latency-not-reached"));
        assert_eq!(latency.value("size"), Some(&Value::Bytes(most)));
        // After Ctrl-C, a larger run is not the remedy.
        record.ended = record::Ended::Interrupted { signal: 2 };
        let cut = crate::diagnose(&record).not_reached;
        let codes: Vec<_> = cut.iter().map(Text::code).collect();
        assert_eq!(codes, [Some("memory-bandwidth-interrupted"), Some("memory-latency-interrupted")]);
        // A signal after the measurement makes no difference.
        record.coverage.push(record::Coverage::measured("bandwidth"));
        let codes: Vec<_> =
            crate::diagnose(&record).not_reached.iter().map(|text| text.code().map(str::to_owned)).collect();
        assert_eq!(codes[0].as_deref(), Some("memory-bandwidth-not-reached"));
    }
}

#[test]
fn arrays_that_the_shown_caches_might_hold_are_in_doubt() {
    let doubt_of = |array: u64| {
        let mut record = shown_a_huge_cache(256 << 20, 16 << 20);
        triad(&mut record, "regular", 2, 26e9);
        for m in record.measurements.iter_mut().filter(|m| m.metric == "memory.bandwidth") {
            m.detail.set(detail::ARRAY_BYTES, array);
        }
        let diagnosis = crate::diagnose(&record);
        let bandwidth = diagnosis.resources.iter().find(|resource| resource.name == MEMORY_BANDWIDTH);
        bandwidth.map(|bandwidth| bandwidth.doubt.as_ref().and_then(Doubt::code).map(str::to_owned))
    };
    assert_eq!(
        doubt_of(100 << 20),
        None,
        "300 MiB may fit in the 480 MiB that idle neighbors may leave free"
    );
    assert_eq!(doubt_of(200 << 20), Some(Some("bandwidth-arrays-may-fit".to_owned())));
    assert_eq!(
        doubt_of(320 << 20),
        Some(Some("bandwidth-arrays-may-fit".to_owned())),
        "a cache of 480 MiB may contain half of the data"
    );
    assert_eq!(doubt_of(600 << 20), Some(None), "three arrays of 600 MiB are nearly four times 480 MiB");
}

#[test]
fn beyond_the_part_of_a_cache_that_is_its_own_lies_memory() {
    for (largest, own) in [(256 << 20, 32 << 20), (395 << 20, 234 << 20)] {
        let diagnosis = crate::diagnose(&shown_a_huge_cache(largest, own));
        assert_eq!(diagnosis.resources.len(), 1, "{diagnosis:?}");
        assert_eq!(diagnosis.not_reached, []);
    }
}

#[test]
fn a_resource_carries_the_doubt_of_its_figures() {
    let mut record = machine(2);
    triad(&mut record, "regular", 2, 16e9);
    assert_eq!(resources_of(&record)[0].doubt, None);
    for m in &mut record.measurements {
        m.doubt = Some("too noisy: the median is known to ±30 % only; no cause seen".into());
    }
    let doubt = resources_of(&record)[0].doubt.clone().unwrap();
    assert_eq!((doubt.kind(), doubt.code()), (record::DoubtKind::TooNoisy, Some("doubt-too-noisy")));
    for m in &mut record.measurements {
        m.doubt = Some("the chain of adds says 3.34 GHz, the chain of multiplies 4.01 GHz".into());
    }
    let doubt = resources_of(&record)[0].doubt.clone();
    assert_eq!(doubt, record.measurements[0].doubt, "a doubt that is not noise is reported in full");
}
