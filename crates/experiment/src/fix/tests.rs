use record::diagnosis::{Confidence, Relevance, Severity};
use record::difference::Scale;
use record::{KnobName, Remedy};

use super::*;
use crate::prove::{Figure, Unit};

fn finding(rule: &str, remedy: Vec<Remedy>) -> Finding {
    Finding {
        rule: rule.to_owned(),
        severity: Severity::Warning,
        what: "something is slow".into(),
        place: None,
        evidence: Vec::new(),
        loss: Verdict::NotMeasurable { reason: "unknown".into() },
        relevance: Relevance::All,
        measured: false,
        confidence: Confidence::Medium,
        resource: None,
        remedy,
        undo: Vec::new(),
    }
}

fn record() -> Record {
    let mut record = Record::new("0.1.0", String::new(), Vec::new());
    let set = Remedy::command("echo").sets(KnobValue::new(KnobName::Governor, "performance"));
    record.diagnosis.findings = vec![
        finding("memory-speed", vec![Remedy::advice("faster devices")]),
        finding("clock-limit", vec![set]),
    ];
    record
}

fn refused(asked: &str) -> String {
    let record = record();
    match choose(&record, &Machine::default(), asked, |_| None) {
        Err(FixError::NoFix(why)) => why,
        _ => panic!("{asked} is a fix"),
    }
}

#[test]
fn a_finding_is_named_by_its_number_or_its_rule() {
    let record = record();
    for asked in ["2", "clock-limit"] {
        let fix = choose(&record, &Machine::default(), asked, |_| None).unwrap_or_else(|why| panic!("{why}"));
        assert_eq!((fix.number, fix.value.knob), (2, KnobName::Governor));
    }
}

#[test]
fn what_cannot_be_fixed_is_refused_with_what_can() {
    for asked in ["0", "3", "99999999999"] {
        assert!(refused(asked).contains("findings 1 to 2"), "{asked}");
    }
    assert!(refused("-1").contains("no finding called -1"));
    assert!(refused("thp").ends_with("it has memory-speed, clock-limit"));
    assert!(refused("1").ends_with("no knob fixes finding 1 (something is slow). Remedy: faster devices"));
}

#[test]
fn the_knobs_of_another_machine_are_not_turned_here() {
    let record = record();
    let here = Machine { hostname: Some("here".to_owned()), ..Machine::default() };
    assert!(matches!(choose(&record, &here, "2", |_| None), Err(FixError::CannotBeSet(_))));
}

/// The gain from a proof with these rounds.
fn gain_of(rounds: &[(f64, f64)], less_is_better: bool) -> Gain {
    let figure = Figure { name: "figure", unit: Unit::Of("ns"), scale: Scale::Ratio, less_is_better };
    let same = figure.compare(vec![(1.0, 1.0); 8], 1, None).unwrap();
    let row = figure.compare(rounds.to_vec(), 1, Some(0.01)).unwrap();
    let compared = vec![("as it is, twice".into(), figure, same), ("thp".into(), figure, row)];
    Gain::of(&Proof { compared, ..Proof::default() })
}

#[test]
fn a_gain_is_told_as_a_speed_whichever_way_the_figure_counts() {
    let halved = gain_of(&[(2.0, 1.0); 8], true);
    assert_eq!((halved.factor, halved.interval), (2.0, Some((2.0, 2.0))));
    assert!(halved.verdict.is_resolved());
    // Halving a clock is not a gain.
    assert_eq!(gain_of(&[(2.0, 1.0); 8], false).factor, 0.5);
    let Gain { factor, interval: Some((low, high)), .. } = gain_of(&[(1.0, 1.25); 8], false) else {
        panic!("a gain of a quarter")
    };
    assert!((factor - 1.25).abs() < 1e-9 && low <= factor && factor <= high);
}

#[test]
fn nothing_above_the_floor_is_no_gain_and_no_rounds_are_no_figure() {
    assert!(matches!(gain_of(&[(1.0, 1.0); 8], true).verdict, Verdict::NotResolved { .. }));
    assert_eq!(gain_of(&[(1.0, 2.0); 4], true).verdict, Verdict::TooNoisy { rounds_needed: Some(2) });
    assert!(matches!(Gain::of(&Proof::default()).verdict, Verdict::NotMeasurable { .. }));
    let refused = Proof { missing: vec![("thp".into(), "requires root".into())], ..Proof::default() };
    assert_eq!(Gain::of(&refused).verdict, Verdict::NotMeasurable { reason: "requires root".into() });
}
