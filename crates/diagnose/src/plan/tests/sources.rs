//! Which record's figures a plan takes.

use record::{Label, Labels, Measurement, Record, RunMode, detail};

use crate::merge_records;

/// A record with one figure of what siblings add, which tells the records apart.
fn with_yield(value: f64, mode: Option<RunMode>) -> Record {
    let mut record = Record::new("0", String::new(), Vec::new());
    record.mode = mode;
    record.conditions.before.thp = Some("madvise".to_owned());
    record.measurements.push(Measurement::new(
        "smt.yield",
        Labels::new().with_label(Label::Core, 0u32),
        vec![value; 6],
    ));
    record
}

/// The figure that a plan takes of some records, the newest first.
fn taken(records: &[Record]) -> Option<f64> {
    let mut now = Record::new("0", String::new(), Vec::new());
    now.conditions.before.thp = Some("madvise".to_owned());
    let named: Vec<(String, Record)> =
        records.iter().enumerate().map(|(at, record)| (at.to_string(), record.clone())).collect();
    let sources = merge_records(&mut now, &named);
    assert_eq!(sources.len(), now.measurements.len());
    now.measurements.first().map(Measurement::value)
}

#[test]
fn a_short_run_never_goes_over_a_better_one() {
    let (quick, normal) = (with_yield(1.1, Some(RunMode::Quick)), with_yield(1.2, Some(RunMode::Normal)));
    assert_eq!(taken(&[quick.clone(), normal.clone()]), Some(1.2));
    assert_eq!(taken(&[with_yield(1.3, None), normal.clone()]), Some(1.3), "of equals the newest");
    let mut doubtful = normal.clone();
    doubtful.measurements[0].doubt = Some("too noisy".into());
    assert_eq!(taken(&[doubtful, quick.clone()]), Some(1.1), "a doubtful one is worse than a short one");
    let (mut niced, mut cut) = (with_yield(1.4, Some(RunMode::Full)), with_yield(1.5, Some(RunMode::Full)));
    niced.conditions.before.own_nice = Some(15);
    cut.ended = record::Ended::Interrupted { signal: 2 };
    assert_eq!(taken(&[niced, cut, quick.clone()]), Some(1.1), "neither had what a short one had");
    let mut changed = normal;
    changed.conditions.before.thp = Some("never".to_owned());
    assert_eq!(taken(&[quick, changed.clone()]), Some(1.1), "it was another machine then");
    assert_eq!(taken(&[changed]), Some(1.2));
    assert_eq!(taken(&[]), None);
}

#[test]
fn why_a_newer_record_is_passed_over_is_reported() {
    let reasons = |records: &[Record]| {
        let mut now = Record::new("0", String::new(), Vec::new());
        now.conditions.before.thp = Some("madvise".to_owned());
        let named: Vec<(String, Record)> = records.iter().map(|one| (String::new(), one.clone())).collect();
        let sources = merge_records(&mut now, &named);
        let codes = sources[0].sentences().iter().skip(1).filter_map(|text| text.code().map(str::to_owned));
        codes.collect::<Vec<_>>()
    };
    let (quick, normal) = (with_yield(1.1, Some(RunMode::Quick)), with_yield(1.2, Some(RunMode::Normal)));
    assert_eq!(reasons(&[quick.clone(), normal.clone()]), ["plan-newer-quick"]);
    assert!(reasons(&[normal.clone(), quick.clone()]).is_empty());
    let mut doubtful = normal.clone();
    doubtful.measurements[0].doubt = Some("too noisy".into());
    assert_eq!(reasons(&[doubtful, quick.clone()]), ["plan-newer-doubtful"]);
    let mut changed = normal;
    changed.conditions.before.thp = Some("never".to_owned());
    assert_eq!(reasons(&[changed, quick]), ["plan-newer-changed"]);
}

#[test]
fn what_a_command_did_is_not_what_the_machine_is_like() {
    let mut of_command = with_yield(1.1, None);
    of_command.measurements[0].detail.set(detail::COMMAND, vec!["bc".to_owned()]);
    assert_eq!(taken(&[of_command, with_yield(1.2, None)]), Some(1.2));
}
