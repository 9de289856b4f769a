//! Tests how recordings are displayed.

use super::*;
use crate::terminal::{Screen, Style, live_summary, record as draw_record};
use record::command_run::{Looks, Waits};
use record::diagnosis::Bound;
use record::live::{CpuTimes, Probe, Process, Service, Thread};
use record::text;

fn show(record: &Record, style: &Style) -> String {
    Screen::draw(style, |screen| draw_record(screen, record, false, "watch.json"))
}

/// A recording of a machine with four CPUs: it computes, then saturates the memory bandwidth, then idles.
fn watched(minutes: u32, of: &str) -> Record {
    let mut watch = Watch { of: of.to_owned(), calibrated_ns: Some(100.0), ..Watch::default() };
    for second in 0..minutes * 60 {
        let (by, user, ns) = match second / (minutes * 20) {
            0 => (BoundBy::Cpu, 3.5, 105.0),
            1 => (BoundBy::MemoryBandwidth, 3.8, 290.0),
            _ => (BoundBy::Idle, 0.1, 100.0),
        };
        let says = text!("live-working", "CPUs {busy} busy.", busy = text::Value::Share(user / 4.0));
        let bound = Bound { by, kind: None, says, evidence: Vec::new(), advice: Vec::new() };
        let name = "\u{1b}[2J<b>".to_owned() + &"x".repeat(4096);
        let service = (!of.is_empty()).then(|| Service {
            seconds: 1.0,
            states: [
                ("user".to_owned(), user),
                ("blocked".to_owned(), 8.0 - user),
                ("off-cpu".to_owned(), 0.25),
            ]
            .into(),
            waits: [("lock".to_owned(), Waits { threads: 20, again: 10, locks: None })].into(),
            looks: Looks { all: 10, ..Looks::default() },
            below: 2,
            ..Service::default()
        });
        let thread = Thread { pid: 7, tid: 8, name: name.clone(), cpu: user, ..Thread::default() };
        let interval = Interval {
            seconds: 1.0,
            cpus: 4,
            times: CpuTimes { user, idle: 4.0 - user, ..CpuTimes::default() },
            run_queue_delay: Some(0.5),
            pressure: [("cpu".to_owned(), 0.2)].into(),
            rates: [("context-switches".to_owned(), 1e4)].into(),
            probe: Some(Probe {
                latency_ns: [(0, ns)].into(),
                clock_hz: Some(3e9),
                late_us: Some(60.0),
                ..Probe::default()
            }),
            processes: vec![Process { pid: 7, name, cpu: user, threads: 4, ..Process::default() }],
            processes_seconds: Some(1.0),
            threads: if of.is_empty() { Vec::new() } else { vec![thread] },
            service,
            ..Interval::default()
        };
        watch.push(f64::from(second), &interval, Some(&bound));
    }
    let mut record = Record::new("1.0.0", "2026-01-01T23:59:00Z".to_owned(), vec!["linespeed".to_owned()]);
    record.machine.hostname = Some("db1".to_owned());
    record.watch = Some(watch);
    record
}

#[test]
fn a_watch_fits_any_width_and_nothing_in_it_acts_on_a_terminal() {
    for of in ["", "unit nginx.service"] {
        for width in [40, 80, 160] {
            let record = watched(60, of);
            let text = show(&record, &Style { width, ..Style::default() });
            assert!(text.lines().all(|line| crate::text::width(line) <= width), "{text}");
            assert!(!text.contains('\u{1b}'));
            let page = crate::page::html(&record);
            assert!(!page.contains('\u{1b}') && !page.contains("<b>x"));
        }
    }
}

#[test]
fn show_begins_with_the_sentence_that_ended_the_watch() {
    let record = watched(3, "");
    let style = Style { width: 160, ..Style::default() };
    let ended = Screen::draw(&style, |screen| live_summary(screen, record.watch.as_ref().unwrap()));
    assert_eq!(ended.lines().count(), 1, "{ended}");
    assert!(show(&record, &style).starts_with(&ended));
}

/// The comparison contains each verdict's share of the time, as in the summary of the recording.
#[test]
fn compare_has_the_shares_of_the_summary() {
    let (a, b) = (watched(50, ""), watched(20, ""));
    let side = |name, record| diagnose::Side { name, source: name, record };
    let tool = record::Tool { name: String::new(), version: String::new() };
    let c = diagnose::compare(&[side("a", &a), side("b", &b)], 0, tool, diagnose::Extent::Summary);
    for (index, record) in [&a, &b].into_iter().enumerate() {
        let watch = record.watch.as_ref().unwrap();
        for held in &watch.verdicts {
            let code = held.by.code();
            let of_it =
                |row: &&record::comparison::Row| row.labels.word(record::Label::Bound) == Some(code.as_str());
            let row = c.rows.iter().find(of_it).unwrap();
            let share = held.seconds / watch.judged_seconds();
            assert!((row.cells[index].value.unwrap() - share).abs() < 1e-9, "{row:?}");
        }
    }
    let style = Style::default();
    let text =
        crate::terminal::Screen::draw(&style, |screen| crate::terminal::comparison_answer(screen, &c, false));
    assert!(text.lines().all(|line| crate::text::width(line) <= style.width), "{text}");
    // Each change is either reported as changed or as not resolved.
    let mut changes = text.lines().filter(|line| line.contains(" points "));
    assert!(changes.clone().count() >= 4, "{text}");
    assert!(changes.all(|line| line.ends_with("changed") || line.ends_with("not resolved")), "{text}");
    let csv = crate::csv::comparison(&c);
    assert!(
        csv.lines().all(|line| line.matches(',').count() == csv.lines().next().unwrap().matches(',').count())
    );
}

#[test]
fn a_watch_reads_from_its_sentence_down() {
    let record = watched(12, "unit nginx.service");
    let text = show(&record, &Style::default());
    // Curves show the same results and are checked by eye.
    let words: String = text
        .lines()
        .filter(|line| !line.contains(['┤', '│']))
        .fold(String::new(), |all, line| all + line.trim_end() + "\n");
    insta::assert_snapshot!(words);
}

/// Both tables of a report agree on the number of waiting threads.
#[test]
fn no_more_threads_are_said_to_wait_than_to_be_blocked() {
    let mut record = watched(1, "pid 7");
    let moments = &mut record.watch.as_mut().unwrap().moments;
    for service in moments.iter_mut().filter_map(|moment| moment.interval.service.as_mut()) {
        service.states.insert("blocked".to_owned(), 0.8);
    }
    let watch = record.watch.as_ref().unwrap();
    assert_eq!(waits(watch).rows[0][1], "0.80");
    let text = show(&record, &Style::default());
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        flat.contains("samples, scaled to the number of threads that the kernel counts as blocked"),
        "{text}"
    );
}

#[test]
fn a_record_of_no_moment_is_shown() {
    let mut record = watched(1, "");
    record.watch = Some(Watch::default());
    let text = Screen::draw(&Style::default(), |screen| draw_record(screen, &record, true, "watch.json"));
    assert!(text.starts_with("Observed 0 s."), "{text}");
    assert!(crate::page::html(&record).contains("Observed"));
    assert_eq!(crate::csv::record(&record).lines().count(), 1);
}
