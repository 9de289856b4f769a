//! Tests recordings that differ in one respect.

use super::*;
use record::Record;
use record::diagnosis::Bound;
use record::document::Tool;
use record::live::{CpuTimes, Probe};

/// A recording of this many seconds, of which this many in ten have the second verdict.
fn record(seconds: u32, second: &BoundBy, of_ten: u32, ns: f64) -> Record {
    let mut watch = Watch::default();
    for at in 0..seconds {
        let by = if at * 7 % 10 < of_ten { second.clone() } else { BoundBy::Cpu };
        let bound = Bound { by, kind: None, says: text!("x", "x"), evidence: Vec::new(), advice: Vec::new() };
        let ns = ns * (1.0 + f64::from(at * 13 % 7) / 100.0);
        let probe = Probe { latency_ns: [(0, ns)].into(), clock_hz: Some(3e9), ..Probe::default() };
        let times = CpuTimes { user: 1.0, idle: 1.0, ..CpuTimes::default() };
        let interval = Interval { seconds: 1.0, cpus: 2, times, probe: Some(probe), ..Interval::default() };
        watch.push(f64::from(at), &interval, Some(&bound));
    }
    let mut record = Record::new("1", "2026-01-01T00:00:00Z".to_owned(), Vec::new());
    record.watch = Some(watch);
    record
}

fn compare(a: &Record, b: &Record) -> Comparison {
    let side = |name, record| Side { name, source: name, record };
    let tool = Tool { name: String::new(), version: String::new() };
    crate::compare(&[side("a", a), side("b", b)], 0, tool, crate::Extent::Summary)
}

fn change(c: &Comparison, metric: &str, label: &str) -> Change {
    let row = c.rows.iter().find(|row| {
        row.metric == metric
            && [Label::Bound, Label::State].iter().any(|of| row.labels.word(*of) == Some(label))
    });
    row.unwrap().cells[1].change.clone().unwrap()
}

#[test]
fn what_bound_it_more_often_is_the_answer() {
    let (a, b) =
        (record(300, &BoundBy::MemoryBandwidth, 1, 100.0), record(400, &BoundBy::MemoryBandwidth, 8, 200.0));
    let c = compare(&a, &b);
    let bound = change(&c, "watch.bound", "memory-bandwidth");
    assert!((bound.by - 0.7).abs() < 1e-9 && bound.resolved == Some(true), "{bound:?}");
    let load = c.rows.iter().find(|row| row.metric == "watch.load").unwrap();
    assert!((load.cells[1].ratio.unwrap() - 2.0).abs() < 0.01);
    let (low, high) = load.cells[1].interval.unwrap();
    assert!(low < 2.0 && 2.0 < high && high - low < 0.2);
    assert_eq!(change(&c, "watch.cpu_time", "busy").resolved, Some(false));
    assert_eq!(c.answer[0].code(), Some("watch-changes"));
    let Some(Value::List(words)) = c.answer[0].value("words") else { panic!("{:?}", c.answer) };
    assert!(
        words[0].value("what").unwrap().to_string().contains("bandwidth")
            || words[0].value("what").unwrap().to_string().contains("the CPU")
    );
}

#[test]
fn no_share_changes_by_more_than_all_of_the_time() {
    // Each recording changes its verdict once: with so few blocks, the interval is wider than any possible change.
    let turned = |first: u32| {
        let mut record = record(0, &BoundBy::Cpu, 0, 100.0);
        let mut watch = Watch::default();
        for at in 0..24 {
            let by = if at < first { BoundBy::Cpu } else { BoundBy::Waiting };
            let bound =
                Bound { by, kind: None, says: text!("x", "x"), evidence: Vec::new(), advice: Vec::new() };
            watch.push(f64::from(at), &Interval { seconds: 1.0, ..Interval::default() }, Some(&bound));
        }
        record.watch = Some(watch);
        record
    };
    let c = compare(&turned(16), &turned(7));
    for verdict in ["cpu", "waiting"] {
        let change = change(&c, "watch.bound", verdict);
        let (low, high) = change.interval.unwrap();
        assert!((-1.0..=1.0).contains(&low) && (-1.0..=1.0).contains(&high), "{change:?}");
        assert!(low <= change.by && change.by <= high && (low == -1.0 || high == 1.0), "{change:?}");
    }
}

#[test]
fn watches_alike_show_no_difference_and_short_ones_have_no_interval() {
    let a = record(300, &BoundBy::Waiting, 3, 100.0);
    let mut b = record(310, &BoundBy::Waiting, 3, 100.0);
    b.started = "2026-01-02T00:00:00Z".to_owned();
    let c = compare(&a, &b);
    assert!(
        c.rows.iter().all(|row| row.cells[1].change.as_ref().unwrap().resolved == Some(false)),
        "{:?}",
        c.rows
    );
    assert_eq!(c.answer[0].code(), Some("watch-same"));
    let short = compare(&a, &record(5, &BoundBy::Waiting, 9, 300.0));
    assert!(short.rows.iter().all(|row| row.cells[1].change.as_ref().unwrap().resolved.is_none()));
    assert!(short.notes.iter().any(|note| note.code() == Some("watch-too-short")), "{:?}", short.notes);
    assert_eq!(compare(&a, &a).relation, Relation::SameRecord);
}
