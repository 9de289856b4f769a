//! Tests which record's results a plan uses.

use record::{Label, Labels, Measurement, Record, RunMode, detail};

use crate::merge_records;
use crate::samples::add_curve;

/// A record with one SMT yield, which identifies the record.
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

/// The result that a plan uses from several records, newest first.
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
    assert_eq!(taken(&[with_yield(1.3, None), normal.clone()]), Some(1.3), "the newest of equal records");
    let mut doubtful = normal.clone();
    doubtful.measurements[0].doubt = Some("too noisy".into());
    assert_eq!(
        taken(&[doubtful.clone(), quick.clone()]),
        Some(1.2),
        "a quick run does not replace an unreliable normal one"
    );
    assert_eq!(taken(&[quick.clone(), doubtful.clone()]), Some(1.2), "the normal run, as for `.`");
    assert_eq!(taken(&[doubtful.clone(), with_yield(1.3, None)]), Some(1.3), "reliable before unreliable");
    let mut doubtful_quick = quick.clone();
    doubtful_quick.measurements[0].doubt = Some("too noisy".into());
    doubtful_quick.measurements[0].samples = vec![1.4; 6];
    doubtful_quick.measurements[0].summary.median = 1.4;
    assert_eq!(
        taken(&[doubtful_quick, quick.clone()]),
        Some(1.4),
        "the newest quick run, even if unreliable"
    );
    let (mut niced, mut cut) = (with_yield(1.4, Some(RunMode::Full)), with_yield(1.5, Some(RunMode::Full)));
    niced.conditions.before.own_nice = Some(15);
    cut.ended = record::Ended::Interrupted { signal: 2 };
    assert_eq!(taken(&[niced, cut, quick.clone()]), Some(1.1), "the quick run is the only complete one");
    let mut changed = normal;
    changed.conditions.before.thp = Some("never".to_owned());
    assert_eq!(taken(&[quick, changed.clone()]), Some(1.1), "the older settings were different");
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
    assert_eq!(reasons(&[doubtful, with_yield(1.3, None)]), ["plan-newer-doubtful"]);
    let mut changed = normal;
    changed.conditions.before.thp = Some("never".to_owned());
    assert_eq!(reasons(&[changed, quick]), ["plan-newer-changed"]);
}

#[test]
fn a_niced_quick_run_goes_over_no_undisturbed_one() {
    let curve = |huge: f64, mode: RunMode, nice: i32| {
        let mut record = Record::new("0", String::new(), Vec::new());
        add_curve(&mut record, "4KiB", &[(1 << 30, 100.0)]);
        add_curve(&mut record, "2MiB", &[(1 << 30, huge)]);
        record.mode = Some(mode);
        record.conditions.before.own_nice = Some(nice);
        record.measurements.iter_mut().for_each(|m| m.doubt = Some("too noisy".into()));
        record
    };
    let (niced, normal) = (curve(71.0, RunMode::Quick, 15), curve(87.0, RunMode::Normal, 0));
    let plan = planned(&[("niced", niced), ("normal", normal)]);
    let says = plan.advice.iter().find(|advice| advice.about == "huge pages").unwrap().says.to_string();
    assert!(says.contains("13 %") && source(&plan) == "normal", "{says}");
}

#[test]
fn what_a_command_did_is_not_what_the_machine_is_like() {
    let mut of_command = with_yield(1.1, None);
    of_command.measurements[0].detail.set(detail::COMMAND, vec!["bc".to_owned()]);
    assert_eq!(taken(&[of_command, with_yield(1.2, None)]), Some(1.2));
}

/// A plan for a machine with two siblings per core, with the results of these records, newest first.
fn planned(records: &[(&str, Record)]) -> record::plan::Plan {
    let mut now = super::many(1, 2, 2);
    let named: Vec<(String, Record)> = records
        .iter()
        .map(|(name, record)| {
            let mut record = record.clone();
            let own_nice = record.conditions.before.own_nice;
            record.conditions.before = record::Snapshot { own_nice, ..now.conditions.before.clone() };
            ((*name).to_owned(), record)
        })
        .collect();
    let sources = merge_records(&mut now, &named);
    record::plan::Plan { sources, ..super::plan(&now, &super::PlanRequest::default()).unwrap() }
}

/// The record that provides a plan's first results.
fn source(plan: &record::plan::Plan) -> String {
    plan.sources[0].value("name").unwrap().to_string()
}

#[test]
fn a_plan_says_of_which_record_its_figures_are() {
    let sound = with_yield(1.2, None);
    let mut doubtful = with_yield(1.4, None);
    doubtful.measurements[0].doubt = Some("too noisy".into());
    assert_eq!(source(&planned(&[("new", sound.clone()), ("old", with_yield(1.3, None))])), "new");
    assert_eq!(source(&planned(&[("new", doubtful.clone()), ("old", sound.clone())])), "old");
    let empty = Record::new("0", String::new(), Vec::new());
    assert_eq!(source(&planned(&[("new", empty), ("old", sound)])), "old");
    // The only record with the result is in doubt.
    let only = planned(&[("new", doubtful), ("old", with_yield(1.3, Some(RunMode::Quick)))]);
    let why = only.siblings.as_ref().unwrap().why.sentences();
    assert!(why.iter().any(|text| text.code() == Some("plan-gain-in-doubt")), "{why:?}");
    assert_eq!(source(&only), "new");
}

#[test]
fn doubt_about_small_working_sets_does_not_bring_back_an_older_figure_of_huge_pages() {
    let curve = |huge: f64| {
        let mut record = Record::new("0", String::new(), Vec::new());
        for (page, memory) in [("4KiB", 100.0), ("2MiB", huge)] {
            let sizes = [(4 << 10, 1.0), (8 << 10, 1.0), (16 << 10, 1.0), (1 << 30, memory)];
            add_curve(&mut record, page, &sizes);
        }
        record
    };
    let mut newest = curve(69.0);
    let small = newest.measurements.iter_mut().filter(|m| m.labels.count(Label::Bytes) < Some(1 << 20));
    small.for_each(|m| m.doubt = Some("too noisy".into()));
    let huge_pages = |newest: &Record| {
        let plan = planned(&[("new", newest.clone()), ("old", curve(65.0))]);
        let advice = plan.advice.iter().find(|advice| advice.about == "huge pages").unwrap();
        (advice.says.to_string(), source(&plan))
    };
    let (says, of) = huge_pages(&newest);
    assert!(says.contains("31 %") && of == "new", "{says}");
    newest.measurements.iter_mut().for_each(|m| m.doubt = Some("too noisy".into()));
    let (says, of) = huge_pages(&newest);
    assert!(says.contains("35 %") && of == "old", "{says}");
    // An older quick run is not better.
    let mut quick = curve(65.0);
    quick.mode = Some(RunMode::Quick);
    let plan = planned(&[("new", newest), ("old", quick)]);
    let says = &plan.advice.iter().find(|advice| advice.about == "huge pages").unwrap().says;
    assert!(
        says.to_string().contains("31 %")
            && says.sentences().iter().any(|text| text.code() == Some("plan-gain-in-doubt")),
        "{says}"
    );
}
