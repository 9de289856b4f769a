//! Nothing that a record holds is left out silently: each figure stands in the terminal's text, or in a table that says
//! how many it leaves out and where they are.

use crate::support;
use record::Label;

use record::{Measurement, Record, units};
use report::terminal::{self, Style};

/// The text with one space between words, so that columns do not matter.
fn reported(record: &Record) -> String {
    let text = terminal::Screen::draw(&Style { width: 220, color: false, ..Style::default() }, |screen| {
        terminal::report(screen, record, None)
    });
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The figure as some table may have it: with its unit, or alone in a matrix or a column of plain numbers.
fn forms(m: &Measurement) -> Vec<String> {
    let value = m.value();
    let mut forms = vec![units::figure(value, &m.unit), units::thousands(value)];
    match m.unit.as_str() {
        "instructions/cycle" => forms.push(units::significant(value)),
        "ratio" => forms.push(units::percent(value)),
        // Bytes are no units of work.
        "work/s" => forms.push(units::figure(value, "B/s")),
        // A matrix has one unit for all its cells.
        _ if m.metric.family() == "numa" => {
            forms.push(units::significant(value));
            forms.push(units::significant(value / 1e9));
        }
        _ => {}
    }
    forms
}

#[test]
fn every_figure_of_the_reference_machines_stands_on_the_terminal() {
    for machine in reference::MACHINES {
        let mut record = machine.record("0.1.0").unwrap();
        record.diagnosis = diagnose::diagnose(&record);
        let text = reported(&record);
        for m in record.measurements.iter().filter(|m| m.summary.n > 0) {
            let forms = forms(m);
            assert!(
                forms.iter().any(|form| text.contains(form.as_str())),
                "{}: {} {:?}: none of {forms:?} in\n{text}",
                machine.name,
                m.metric,
                m.labels
            );
            // Workloads carry what tells their rows apart.
            if let (Some(bytes), true) = (m.labels.count(Label::Bytes), m.metric.family() == "workload") {
                assert!(text.contains(&units::bytes(bytes)), "{}: blocks of {bytes}", machine.name);
            }
        }
    }
}

#[test]
fn figures_of_an_unknown_place_are_reported_further_down() {
    let mut record = support::named("small").unwrap();
    let mut place = record::Labels::new().with_label(Label::Workload, "loop");
    place.0.insert("warp".to_owned(), 7u32.into());
    record.measurements.push(Measurement::new("workload.throughput", place, vec![1234.5e6]));
    let text = reported(&record);
    assert!(text.contains("Workload throughput") && text.contains("1.23 G/s"), "{text}");
}

#[test]
fn a_figure_that_stands_twice_is_reported_twice() {
    let mut record = support::named("small").unwrap();
    for (metric, label) in [("load.parallelism", Label::Chains), ("stolen.share", Label::Core)] {
        let place = record::Labels::new().with_label(Label::Cpu, 0u32).with_label(label, 64u32);
        for value in [0.123, 0.456] {
            record.measurements.push(Measurement::new(metric, place.clone(), vec![value]));
        }
    }
    let text = reported(&record);
    for m in record.measurements.iter().rev().take(4) {
        assert!(
            forms(m).iter().any(|form| text.contains(form.as_str())),
            "{} {}\n{text}",
            m.metric,
            m.value()
        );
    }
}
