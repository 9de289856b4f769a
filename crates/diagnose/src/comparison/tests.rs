use super::documents::{number, word};
use super::explain::{CORES, MEMORY_LATENCY, ONE_THREAD};
use super::*;
use crate::samples::{has_code, machine, measured};
use record::comparison::Row;
use record::{Handover, Label, Labels, Measurement, detail};

fn tool() -> Tool {
    Tool { name: "linespeed".to_owned(), version: "0.0.0".to_owned() }
}

fn both(a: &Record, b: &Record) -> Comparison {
    let sides =
        [Side { name: "a", source: "a.json", record: a }, Side { name: "b", source: "b.json", record: b }];
    compare(&sides, 0, tool(), Extent::All)
}

#[test]
fn the_same_record_twice_is_said_to_be_one() {
    let mut a = machine(2);
    a.measurements.push(measured("cost.syscall", Labels::new().with_label(Label::Cpu, 0u32), 100.0));
    let said = both(&a, &a.clone());
    assert_eq!(said.relation, Relation::SameRecord);
    assert!(said.notes[0].is(&SAME_RECORD), "{:?}", said.notes);
    assert!(said.differences.is_empty());
}

#[test]
fn records_without_a_shared_metric_still_show_their_inventories() {
    let (mut a, mut b) = (machine(2), machine(4));
    a.measurements.push(measured("cost.syscall", Labels::new().with_label(Label::Cpu, 0u32), 100.0));
    b.measurements.push(measured("cost.clock_read", Labels::new().with_label(Label::Cpu, 0u32), 20.0));
    let said = both(&a, &b);
    assert!(
        said.rows.is_empty() && said.notes.iter().any(|note| has_code(note, "comparison-no-shared-metric")),
        "{:?}",
        said.notes
    );
    assert!(
        said.differences.iter().any(|d| d.code == "comparison-fact-cpus-online"),
        "{:?}",
        said.differences
    );
}

fn record_with(mut record: Record, metric: &'static str, place: Labels, value: f64) -> Record {
    record.measurements.push(measured(metric, place, value));
    record
}

#[test]
fn figures_of_other_methods_units_and_sizes_are_refused_with_the_reason() {
    let bandwidth = |array: u64, llc: u64| {
        let mut record = machine(2);
        crate::samples::add_cache(&mut record, 3, llc, 2);
        let place = Labels::new()
            .with_label(Label::Op, "triad")
            .with_label(Label::BytesCounted, "stream")
            .with_label(Label::Threads, 2u32);
        let m = measured("memory.bandwidth", place, 1e10)
            .with_detail(detail::ARRAY_BYTES, array)
            .with_detail(detail::ARRAYS, 1);
        record.measurements.push(m);
        record
    };
    let said = both(&bandwidth(256 << 20, 32 << 20), &bandwidth(256 << 20, 512 << 20));
    let why = &said.refused[0].why;
    let size = |name: &str| match why.value(name) {
        Some(record::text::Value::Sentence(size)) => size.code().unwrap().to_owned(),
        other => panic!("{other:?}"),
    };
    assert_eq!(why.code(), Some("comparison-other-size"));
    assert_eq!([size("base"), size("this")], ["comparison-size-memory", "comparison-size-cached"]);
    assert!(
        said.rows.is_empty() && said.notes.iter().any(|note| has_code(note, "comparison-nothing-comparable")),
        "{:?}",
        said.notes
    );

    let base =
        record_with(machine(2), "wakeup.average", Labels::new().with_label(Label::Policy, "other"), 11e3);
    let mut other = base.clone();
    other.measurements[0].method = Some("Intel MLC".to_owned());
    let said = both(&base, &other);
    assert_eq!(said.refused[0].code, "comparison-other-method");
    assert_eq!(word(&said.refused[0].why, "this"), "Intel MLC");
    other.measurements[0].method = Some("cyclictest".to_owned());
    assert!(both(&base, &other).refused.is_empty());
    other.measurements[0].unit = "s".into();
    let refused = &both(&base, &other).refused[0];
    assert_eq!(refused.code, "comparison-other-unit");
    assert_eq!((word(&refused.why, "base"), word(&refused.why, "this")), ("ns".to_owned(), "s".to_owned()));

    let mut emulated = base.clone();
    emulated.machine.virtualization.emulated = Some(true);
    let said = both(&base, &emulated);
    assert!(
        said.rows.is_empty() && said.refused[0].why.is(&record::Coverage::EMULATED),
        "{:?}",
        said.refused
    );
}

#[test]
fn a_latency_curve_is_a_row_a_level_and_its_points_are_in_the_figures() {
    let curve = |memory: f64| {
        let mut record = machine(1);
        for (level, bytes) in [(1, 32 << 10), (2, 1 << 20), (3, 16 << 20)] {
            crate::samples::add_cache(&mut record, level, bytes, 1);
        }
        let sizes = crate::samples::sizes(4096, 256 << 20);
        let steps = [(32 << 10, 1.2), (1 << 20, 4.0), (16 << 20, 16.0), (1 << 40, memory)];
        crate::samples::add_curve(&mut record, "2MiB", &crate::samples::steps(&sizes, &steps));
        record
    };
    let said = both(&curve(90.0), &curve(117.0));
    let level =
        |row: &record::comparison::Row| row.what.to_string().trim_start_matches("load from ").to_owned();
    let rows: Vec<String> = said.rows.iter().filter(|row| row.metric == "load.latency").map(level).collect();
    assert_eq!(rows, ["L1", "L2", "L3", "memory"]);
    let of = |name: &str| &said.rows.iter().find(|row| level(row) == name).unwrap().cells[1];
    let memory = of("memory");
    assert!((memory.ratio.unwrap() - 1.3).abs() < 0.01 && memory.slower == Some(true), "{memory:?}");
    assert_eq!(of("L2").slower, None);
    assert!(said.figures.len() > 100);
    assert!(said.explanations[0].causes[0].name.is(&MEMORY_LATENCY), "{:?}", said.explanations);
}

#[test]
fn a_line_handed_over_in_one_way_is_never_held_against_the_other() {
    let pair = |how: Handover, ns: f64| {
        let place = Labels::new()
            .with_label(Label::From, 0u32)
            .with_label(Label::To, 1u32)
            .with_label(Label::Home, 0u32)
            .with_label(Label::Handover, how.word());
        measured("core_to_core.latency", place, ns).with_detail(detail::CLASS, "cache")
    };
    let (mut old, mut new) = (machine(2), machine(2));
    old.measurements.push(pair(Handover::Store, 42.0));
    new.measurements.push(pair(Handover::Cas, 21.0));
    new.measurements.push(pair(Handover::Store, 42.0));
    for (a, b) in [(&old, &new), (&new, &old)] {
        let said = both(a, b);
        let rows: Vec<_> = said.rows.iter().map(|row| (row.what.to_string(), row.cells[1].ratio)).collect();
        assert_eq!(rows, [("line transfer, cache, by loads and stores".to_owned(), Some(1.0))]);
        let figures = said.figures.iter().filter(|row| row.metric == "core_to_core.latency");
        assert_eq!(figures.map(|row| row.cells[1].ratio).collect::<Vec<_>>(), [Some(1.0)]);
    }
    let said = both(&new, &new.clone());
    assert_eq!(said.relation, Relation::SameRecord);
    let mut newer = new.clone();
    newer.measurements[0] = pair(Handover::Cas, 42.0);
    let said = both(&new, &newer);
    let rows: Vec<_> = said.rows.iter().map(|row| (row.what.to_string(), row.cells[1].ratio)).collect();
    assert_eq!(
        rows,
        [
            ("line transfer, cache, by compare-and-swap", Some(2.0)),
            ("line transfer, cache, by loads and stores", Some(1.0))
        ]
        .map(|(what, ratio)| (what.to_owned(), ratio))
    );
}

#[test]
fn all_cpus_stand_per_core_cpu_and_package_too() {
    let workload = |cores: u32, cpus: u32, packages: u32, rate: f64| {
        let mut record = machine(cpus);
        record.machine.counts.cores = Some(cores);
        record.machine.counts.packages = Some(packages);
        let place =
            Labels::new().with_label(Label::Workload, "primes").with_label(Label::Placement, "cores-first");
        let record =
            record_with(record, "workload.throughput", place.clone().with_label(Label::Threads, 1u32), rate);
        record_with(
            record,
            "workload.throughput",
            place.with_label(Label::Threads, cpus),
            rate * f64::from(cores),
        )
    };
    let said = both(&workload(8, 8, 1, 5.0), &workload(16, 32, 2, 4.0));
    let cell = |per| {
        let row = said
            .rows
            .iter()
            .find(|row| row.what.to_string() == "primes, all CPUs" && row.per == per)
            .unwrap();
        row.cells[1].ratio.unwrap()
    };
    use record::comparison::Per;
    assert!((cell(None) - 1.6).abs() < 0.01);
    assert!((cell(Some(Per::Core)) - 0.8).abs() < 0.01);
    assert!((cell(Some(Per::Cpu)) - 0.4).abs() < 0.01);
    assert!((cell(Some(Per::Package)) - 0.8).abs() < 0.01);
    let why =
        said.explanations.iter().find(|why| why.result.code() == Some("comparison-result-all-cpus")).unwrap();
    assert!(why.causes[0].name.is(&CORES));
    assert!(why.causes.iter().any(|cause| cause.name.is(&ONE_THREAD) && cause.despite), "{why:?}");
}

#[test]
fn an_efficiency_that_cannot_be_is_refused_with_its_reason() {
    let workload = |all: f64| {
        let place =
            Labels::new().with_label(Label::Workload, "primes").with_label(Label::Placement, "cores-first");
        let one = record_with(
            machine(2),
            "workload.throughput",
            place.clone().with_label(Label::Threads, 1u32),
            5.0,
        );
        record_with(one, "workload.throughput", place.with_label(Label::Threads, 2u32), all)
    };
    let efficiency = |all: f64| {
        let said = both(&workload(9.8), &workload(all));
        let is = |row: &&Row| row.what.to_string() == "primes, efficiency on all CPUs";
        let ratio = said.rows.iter().find(is).and_then(|row| row.cells[1].ratio);
        (ratio, said.refused.first().map(|one| one.why.clone()))
    };
    assert!(efficiency(9.5).0.is_some());
    let (ratio, why) = efficiency(13.6);
    assert_eq!(ratio, None);
    let why = why.unwrap();
    assert!(has_code(&why, "comparison-superlinear") && (number(&why, "share") - 1.36).abs() < 1e-9, "{why}");
}

#[test]
fn what_changed_on_one_machine_is_settings_and_figures_beyond_noise() {
    let mut a = machine(2);
    a.machine.hostname = Some("db1".to_owned());
    a.machine.processor.model_name = Some("X".to_owned());
    a.conditions.before.thp = Some("always".to_owned());
    let mut b = a.clone();
    b.started = "2026-02-01T00:00:00Z".to_owned();
    b.conditions.before.thp = Some("never".to_owned());
    let said = both(&a, &b);
    assert_eq!(said.relation, Relation::SameMachine);
    let changed: Vec<&str> = said.differences.iter().map(|d| d.code.as_str()).collect();
    assert_eq!(changed, ["comparison-fact-thp"]);
    // A setting that only one record contains may have changed.
    a.conditions.before.ksm = Some(1);
    let one_sided = both(&a, &b);
    assert_eq!(one_sided.differences, said.differences);
    let settings = |said: &Comparison| said.answer.iter().any(|text| has_code(text, "comparison-one-sided"));
    assert!(settings(&one_sided) && !settings(&said), "{:?}", one_sided.answer);
    b.machine.hostname = Some("db2".to_owned());
    assert_eq!(both(&a, &b).relation, Relation::Machines);
    // (none) is not a host name.
    (a.machine.hostname, b.machine.hostname) = (Some("(none)".to_owned()), Some("(none)".to_owned()));
    assert_eq!(both(&a, &b).relation, Relation::Machines);
}

#[test]
fn single_samples_are_not_said_to_be_unchanged() {
    let record = |single: f64, repeated: Option<f64>| {
        let place = Labels::new().with_label(Label::Cpu, 0u32);
        let mut record = record_with(machine(2), "cost.clock_read", place.clone(), 20.0);
        record.machine.hostname = Some("db1".to_owned());
        record.started = format!("{single}");
        let m = record.measurements.pop().unwrap();
        record.measurements.extend(repeated.map(|_| m));
        record.measurements.push(Measurement::new("cost.syscall", place, vec![single]));
        record
    };
    for repeated in [None, Some(20.0)] {
        let said = both(&record(100.0, repeated), &record(200.0, repeated));
        let figures = said.answer[0].sentences();
        let unjudged = figures.iter().find(|text| has_code(text, "comparison-unjudged")).unwrap();
        assert_eq!(word(unjudged, "figures"), "1 result");
        assert!(figures.last().unwrap().value("most").is_some(), "{figures:?}");
        // The others are counted without the single samples.
        let judged: Vec<String> =
            figures.iter().filter_map(|text| text.value("figures")).map(ToString::to_string).collect();
        assert_eq!(judged.len(), 1 + usize::from(repeated.is_some()), "{figures:?}");
    }
}

#[test]
fn a_difference_in_doubt_is_no_headline_beside_a_sure_one() {
    let record = |name: &str, syscall: f64, read: f64| {
        let mut record = machine(2);
        record.machine.hostname = Some(name.to_owned());
        let place = Labels::new().with_label(Label::Cpu, 0u32);
        record.measurements.push(measured("cost.syscall", place.clone(), syscall));
        record.measurements.push(measured("cost.clock_read", place, read));
        record
    };
    let (base, mut other) = (record("a", 100.0, 20.0), record("b", 300.0, 30.0));
    let first = |said: Comparison| {
        let differences =
            said.answer.iter().find(|text| text.code() == Some("comparison-largest-differences"));
        let rows = differences.map(|text| word(text, "rows")).unwrap_or_default();
        (rows.contains("300"), rows.find("300") < rows.find("30.0"))
    };
    assert_eq!(first(both(&base, &other)), (true, true));
    other.measurements[0].doubt = Some("too noisy".into());
    assert_eq!(first(both(&base, &other)), (true, false));
}

#[test]
fn of_many_records_the_bad_one_is_named_and_names_stay_apart() {
    let fleet: Vec<Record> = (0..40)
        .map(|n| {
            let place = Labels::new().with_label(Label::Cpu, 0u32);
            let slow = if n == 17 { 1.5 } else { 1.0 + f64::from(n % 5) * 0.002 };
            let mut record = record_with(machine(2), "cost.syscall", place, 100.0 * slow);
            record.started = format!("t{n}");
            record
        })
        .collect();
    let sides: Vec<Side> = fleet.iter().map(|record| Side { name: "node", source: "x", record }).collect();
    let said = compare(&sides, 3, tool(), Extent::Summary);
    assert_eq!(said.baseline, 3);
    let far: Vec<usize> =
        said.orders[0].ranks.iter().filter(|rank| rank.outlier).map(|rank| rank.subject).collect();
    assert_eq!(far, [17]);
    let mut names: Vec<&str> = said.subjects.iter().map(|subject| subject.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 40);
}

#[test]
fn half_empty_and_hostile_records_are_compared_without_a_wrong_figure() {
    use proptest::prelude::*;
    let metrics = [
        "load.latency",
        "stream.ns_per_element",
        "workload.throughput",
        "workload.time",
        "core.ipc",
        "numa.latency",
        "memory.bandwidth",
        "wakeup.latency",
        "stolen.share",
        "core.clock",
        "smt.yield",
        "load.parallelism",
        "counter.count",
    ];
    let keys =
        ["cpu", "node", "bytes", "threads", "from", "to", "op", "workload", "scope", "setting", "cause"];
    let words = ["read", "all", "one", "system", "tuned", "below", "x, all CPUs", ""];
    let value = prop_oneof![Just(0.0), Just(f64::NAN), Just(-1.0), Just(f64::MAX), 1e-9f64..1e12];
    let place = proptest::collection::vec(
        (
            0..keys.len(),
            prop_oneof![
                (0u64..5).prop_map(record::Key::Count),
                any::<u64>().prop_map(record::Key::Count),
                (0..words.len()).prop_map(move |at| record::Key::from(words[at])),
            ],
        ),
        0..5,
    );
    let measurement = (0..metrics.len(), place, proptest::collection::vec(value, 0..8));
    let one = proptest::collection::vec(measurement, 0..12);
    let sides = (proptest::collection::vec(one, 2..5), 0u32..4, any::<bool>());
    proptest!(ProptestConfig::with_cases(300), |((records, cpus, counted) in sides)| {
        let records: Vec<Record> = records.into_iter().map(|all| {
            let mut record = machine(cpus);
            if counted {
                record.machine.counts.packages = Some(cpus);
                record.machine.counts.nodes = Some(cpus);
                record.machine.counts.cores = Some(cpus / 2);
            }
            for (metric, keys_of, samples) in all {
                let mut place = Labels::new();
                for (at, key) in keys_of {
                    place.0.insert(keys[at].to_owned(), key);
                }
                record.measurements.push(record::Measurement::new(metrics[metric], place, samples));
            }
            record
        }).collect();
        let sides: Vec<Side> = records.iter().map(|record| Side { name: "r", source: "s", record }).collect();
        let said = compare(&sides, 0, tool(), Extent::All);
        for cell in said.rows.iter().chain(&said.figures).flat_map(|row| &row.cells) {
            prop_assert!(cell.value.is_none_or(f64::is_finite) && cell.ratio.is_none_or(|r| r.is_finite() && r > 0.0), "{cell:?}");
            prop_assert!(cell.interval.is_none_or(|(low, high)| low <= high && low > 0.0), "{cell:?}");
        }
        for why in &said.explanations {
            prop_assert!(why.speed.is_finite() && why.causes.iter().all(|c| c.factor.is_finite() && c.factor > 0.0), "{why:?}");
        }
        prop_assert!(said.what_if.iter().all(|what| what.gain.is_finite()));
        prop_assert!(!record::json::write_text(&said).unwrap().contains("null,\n  \"speed\""));
    });
}

#[test]
fn a_figure_known_to_no_better_than_its_size_is_withheld_and_a_small_share_is_not() {
    let with = |bandwidth: &[f64], taken: &[f64]| {
        let mut record = machine(2);
        let place = || Labels::new().with_label(Label::Cpu, 0u32);
        record.measurements.push(Measurement::new("cost.syscall", place(), bandwidth.to_vec()));
        record.measurements.push(Measurement::new("stolen.share", place(), taken.to_vec()));
        record
    };
    let wild = [1.0, 2.0, 3e3, 4e7, 5e7, 6e7, 7e7, 2.0];
    let small = [0.0, 1e-6, 9e-5, 0.0, 2e-6, 8e-5];
    let said = both(&with(&[100.0; 8], &small), &with(&wild, &small));
    let withheld = |metric: &str| {
        let row = said.rows.iter().find(|row| row.metric == metric).unwrap();
        row.cells.iter().map(|cell| cell.withheld).collect::<Vec<_>>()
    };
    assert_eq!(withheld("cost.syscall"), [false, true]);
    assert_eq!(withheld("stolen.share"), [false, false]);
}

#[test]
fn wake_ups_are_said_to_be_over_cpus_and_shares_of_time_are_their_mean() {
    let record = |ns: [f64; 2], shares: [f64; 2]| {
        let mut record = crate::samples::stolen("below", shares);
        crate::samples::add_wakeups(&mut record, "fifo", "as-is", ns);
        crate::samples::add_wakeups(&mut record, "fifo", "tuned", [38e3, 16e3]);
        record
    };
    let (before, after) = (record([38.5e3, 50e3], [0.0076, 0.0096]), record([52e3, 53e3], [0.079, 0.0048]));
    let said = both(&before, &after);
    let values = |metric: &str, setting: Option<&str>| -> Vec<Option<f64>> {
        let is = |row: &&Row| row.metric == metric && row.labels.word(Label::Setting) == setting;
        said.rows.iter().find(is).unwrap().cells.iter().map(|cell| cell.value).collect()
    };
    assert_eq!(values("wakeup.latency", Some("as-is")), [Some(44.25e3), Some(52.5e3)]);
    let row = said.rows.iter().find(|row| row.metric == "wakeup.latency").unwrap();
    assert_eq!(
        row.what.to_string(),
        "wake-up, median over CPUs, fifo",
        "not the headline, which is for one CPU"
    );
    let near = |found: &[Option<f64>], expected: [f64; 2]| {
        found.iter().zip(expected).all(|(a, b)| a.is_some_and(|a| (a - b).abs() < 1e-4))
    };
    assert!(near(&values("stolen.share", None), [0.0086, 0.0419]));
    let row = said.rows.iter().find(|row| row.metric == "stolen.share").unwrap();
    assert_eq!(row.cells[1].slower, Some(true), "{row:?}");
    assert_eq!(row.cells[1].over.as_ref().and_then(Text::code), Some("comparison-mean-of-cpus"));
}

#[test]
fn memory_on_each_kind_of_page_is_the_headlines() {
    let record = |factor: f64| {
        let mut record = machine(1);
        crate::samples::add_cache(&mut record, 3, 32 << 20, 1);
        let sizes = crate::samples::sizes(1 << 14, 1 << 28);
        for (page, ns) in [("2MiB", 130.0), ("4KiB", 190.0)] {
            let points = crate::samples::steps(
                &sizes,
                &[(32 << 10, 1.3), (1 << 20, 4.0), (32 << 20, 16.0), (1 << 40, ns * factor)],
            );
            crate::samples::add_curve(&mut record, page, &points);
        }
        for m in &mut record.measurements {
            // The largest working set, used for the headline, has slightly higher latency.
            if m.labels.count(Label::Bytes) == Some(1 << 28) {
                *m = measured("load.latency", m.labels.clone(), m.value() * 1.05);
            }
        }
        record
    };
    let (a, b) = (record(1.0), record(1.2));
    let said = both(&a, &b);
    for (page, ns) in [("2MiB", 136.5), ("4KiB", 199.5)] {
        let is = |row: &&Row| row.metric == "load.latency" && row.labels.word(Label::Page) == Some(page);
        let row = said.rows.iter().find(is).unwrap_or_else(|| panic!("{page}: {:?}", said.rows));
        assert!(row.cells[0].value.is_some_and(|value| (value - ns).abs() < 1.0), "{row:?}");
        let level = row.what.to_string().starts_with("load from memory");
        assert!(level, "{row:?}");
    }
}
