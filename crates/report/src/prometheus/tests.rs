//! Tests the text against the grammar, because a single error makes node_exporter reject a whole file.

use std::collections::BTreeMap;

use proptest::prelude::*;
use record::live::Interval;
use record::{Bucket, Doubt, Label, Labels, Measurement, Record, metrics};

/// Every series with its value, by name and labels, in the order of the text.
fn parse(text: &str) -> Vec<(String, BTreeMap<String, String>, f64)> {
    let mut series = Vec::new();
    let (mut helped, mut typed) = (Vec::new(), Vec::new());
    for line in text.split_terminator('\n') {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').expect("a help");
            assert!(!help.is_empty() && !helped.contains(&name), "{line}");
            helped.push(name);
            continue;
        }
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').expect("a type");
            assert_eq!((helped.last(), kind), (Some(&name), "gauge"), "{line}");
            typed.push(name);
            continue;
        }
        let end = line.find(['{', ' ']).expect("a value");
        let (name, mut rest) = line.split_at(end);
        assert!(name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'), "{line}");
        assert_eq!(typed.last(), Some(&name), "{line}");
        let mut labels = BTreeMap::new();
        while let Some(label) = rest.strip_prefix(['{', ',']) {
            let (name, value) = label.split_once("=\"").expect("a label");
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
            assert!(name.chars().all(plain) && name.starts_with(|c: char| c.is_ascii_alphabetic()), "{line}");
            let mut unescaped = String::new();
            let mut signs = value.char_indices();
            let end = loop {
                match signs.next().expect("a quote at the end") {
                    (at, '"') => break at,
                    (_, '\\') => match signs.next().expect("what is escaped").1 {
                        'n' => unescaped.push('\n'),
                        c @ ('\\' | '"') => unescaped.push(c),
                        c => panic!("\\{c}: {line}"),
                    },
                    (_, c) => unescaped.push(c),
                }
            };
            assert_eq!(labels.insert(name.to_owned(), unescaped), None, "{line}");
            rest = &value[end + 1..];
        }
        rest = rest.strip_prefix('}').unwrap_or(rest);
        let value: f64 = rest.strip_prefix(' ').expect("a value").parse().expect("a number");
        assert!(value.is_finite(), "{line}");
        assert!(series.iter().all(|(n, l, _)| (n, l) != (&name.to_owned(), &labels)), "twice: {line}");
        series.push((name.to_owned(), labels, value));
    }
    assert!(helped == typed && helped.is_sorted(), "{text}");
    series
}

fn key() -> impl Strategy<Value = record::Key> {
    prop_oneof![
        any::<u64>().prop_map(Into::into),
        any::<f64>().prop_map(Into::into),
        any::<String>().prop_map(Into::into)
    ]
}

fn measurement() -> impl Strategy<Value = Measurement> {
    let all: Vec<&'static str> = metrics::all().map(|metric| metric.name).collect();
    let labels = proptest::collection::btree_map("[a-z_:é 0-9]{0,8}|cpu|op|from|to", key(), 0..4);
    let samples = proptest::collection::vec(any::<f64>(), 0..3);
    (proptest::sample::select(all), labels, samples, any::<bool>()).prop_map(
        |(metric, labels, samples, many)| {
            let mut m = Measurement::new(metric, Labels(labels), samples);
            if many {
                m.distribution.push(Bucket { from: 0.0, to: 1.0, count: 1 });
            }
            m
        },
    )
}

fn a_record(measurements: Vec<Measurement>) -> Record {
    let mut record = Record::new("0", "2026-01-02T03:04:05Z".to_owned(), Vec::new());
    record.measurements = measurements;
    record
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn whatever_a_record_holds_is_text_that_is_read(all in proptest::collection::vec(measurement(), 0..8)) {
        let text = super::record(&a_record(all));
        let series = parse(&text);
        prop_assert!(series.iter().any(|(name, _, value)| name == "linespeed_run_timestamp_seconds" && *value == 1767323045.0));
    }

    #[test]
    fn whatever_the_kernel_calls_its_events_is_read(events in proptest::collection::btree_map(any::<String>(), any::<f64>(), 0..4)) {
        let shown = Interval { seconds: 1.0, rates: events, ..Interval::default() };
        parse(&super::interval(&shown, None));
    }
}

#[test]
fn figures_are_in_base_units_and_those_in_doubt_or_of_a_matrix_are_not_there() {
    let figure = |metric, labels: Labels, value| Measurement::new(metric, labels, vec![value]);
    let mut doubted = figure("core.clock", Labels::new().with_label(Label::Cpu, 7u32), 3e9);
    doubted.doubt = Some(Doubt::too_few_samples(1));
    let both = Labels::new().with_label(Label::From, 0u32).with_label(Label::To, 1u32);
    let all = vec![
        figure("load.latency", Labels::new().with_label(Label::Page, "4KiB"), 98.5),
        figure("memory.bandwidth", Labels::new().with_label(Label::Op, "triad"), 2e10),
        figure("numa.latency", both, 130.0),
        figure("memory.loaded_latency", Labels::new().with_label(Label::Bandwidth, 17u32), 130.0),
        doubted,
    ];
    let text = super::record(&a_record(all));
    let series = parse(&text);
    let of = |name: &str| {
        series.iter().filter(|series| series.0 == name).map(|series| series.2).collect::<Vec<_>>()
    };
    assert!(
        text.contains("linespeed_memory_bandwidth_bytes_per_second{op=\"triad\"} 20000000000\n"),
        "{text}"
    );
    assert_eq!(of("linespeed_load_latency_seconds"), [9.85e-8]);
    assert_eq!((of("linespeed_run_figures"), of("linespeed_run_figures_in_doubt")), (vec![5.0], vec![1.0]));
    assert!(!text.contains("numa") && !text.contains("loaded") && !text.contains("hertz"), "{text}");
}

/// As `promtool check metrics` requires, each metric has a distinct name, without suffixes or units that have another meaning.
#[test]
fn every_metric_has_a_name_of_its_own_in_the_fields_manner() {
    let all: Vec<Measurement> =
        metrics::all().map(|metric| Measurement::new(metric.name, Labels::new(), vec![1.0])).collect();
    let count = all.len();
    let series = parse(&super::record(&a_record(all)));
    let about = parse(&super::record(&a_record(Vec::new()))).len();
    assert_eq!(series.len(), count + about);
    for (name, ..) in series {
        let words: Vec<&str> = name.split('_').collect();
        assert!(!["count", "total", "sum", "bucket", "info"].contains(words.last().unwrap()), "{name}");
        for unit in ["ns", "us", "ms", "s", "hz", "mb", "gb", "percent", "gauge"] {
            assert!(!words.contains(&unit), "{name}");
        }
    }
}
