//! The output of `linespeed stat` for a command: its bottleneck, the breakdown of its time, counts, and missing measurements.

use record::{Coverage, Record, State};

use super::room::{COUNTS, ENDING, FACTS, NOISE};
use super::screen::Screen;
use super::{answer, report};
use crate::contents::command::{command_text, describe_runs, early_end, find_time};
use crate::contents::command_tables::{around, counts, probes, times};
use crate::paint::Span;
use crate::table::Table;

/// The subjects that a command's coverage may contain, other than single events.
const COVERED: [&str; 9] = [
    Coverage::COUNTERS,
    "kernel events",
    "threads",
    Coverage::RUNNABLE,
    "waits",
    "probes",
    "probe huge pages",
    "probe beside others",
    "ceilings",
];

/// The bottleneck of a command, on one screen: `linespeed stat`. If `all` is set, the full report is shown above. `shown_by`:
/// the name that `linespeed show` accepts for this record.
pub(super) fn command_answer(screen: &mut Screen, record: &Record, all: bool, shown_by: Option<&str>) {
    report::above_answer(screen, record, all, shown_by);
    let Some(time) = find_time(record) else { return };
    if let Some(bound) = &record.diagnosis.bound {
        screen.hanging("", "  ", format!("Bound by {}: {}", bound.by.name(), bound.says));
        for advice in bound.advice.iter().take(if all { usize::MAX } else { 1 }) {
            screen.hanging("  Try: ", "    ", screen.typed(&advice.to_string()));
        }
    }
    screen.line(&[Span::strong(command_text(time))]);
    if let Some(early) = early_end(record, time) {
        screen.line(&[Span::strong(early)]);
    }
    screen.short(2, "", "", describe_runs(time));
    screen.clipped(screen.left(ENDING + NOISE), |screen| {
        for table in [times(record, time), probes(time)].map(Table::without_notes) {
            if !table.is_empty() {
                screen.table(&table, 2);
            }
        }
        let around = around(record, time).facts;
        let around: Vec<String> = around.iter().map(|fact| format!("{} {}", fact.key, fact.value)).collect();
        let counts = counts(record).rows;
        let counts: Vec<String> = counts.iter().map(|row| format!("{} {}", row[1], row[0])).collect();
        for (most, all) in [(FACTS, around.join("; ")), (COUNTS, counts.join(", "))] {
            screen.short(if all.is_empty() { 0 } else { most }, "", "  ", all);
        }
    });
    let mut lost: Vec<&Coverage> = lost(record).collect();
    // Items with a short remedy come first.
    let remedy =
        |of: &Coverage| of.remedy.as_ref().filter(|_| of.what != Coverage::COUNTERS).map(ToString::to_string);
    lost.sort_by_key(|of| remedy(of).is_none());
    let why =
        |of: &Coverage| [Some(of.why()), remedy(of)].into_iter().flatten().collect::<Vec<_>>().join(": ");
    let lost: Vec<(String, String)> = lost.into_iter().map(|of| (of.what.clone(), why(of))).collect();
    answer::unseen_why(screen, &lost, None, 2);
    answer::noise(screen, record);
    answer::more(screen, record, shown_by, 0);
}

/// Missing measurements of a command, with one entry each; missing events are listed only in the record.
pub(super) fn lost(record: &Record) -> impl Iterator<Item = &Coverage> {
    record.coverage.iter().filter(|c| c.state != State::Measured && COVERED.contains(&c.what.as_str()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use record::diagnosis::BoundBy;
    use record::diagnosis::{Bound, Evidence};
    use record::{Ended, Label, Labels, Measurement, detail};
    use serde_json::{Value, json};

    use super::*;
    use crate::terminal::Style;

    /// A record of a command with these details, thread and event.
    fn example(details: Value, thread: &str, event: &str, value: f64) -> Record {
        let mut record = Record::new("0.1.0", String::new(), Vec::new());
        let place = || Labels::new().with_label(Label::Workload, "command");
        let mut time = Measurement::new("workload.time", place(), vec![1.5]);
        time.detail = details.as_object().cloned().unwrap_or_default().into_iter().collect();
        record.measurements.push(time);
        for state in ["user", "system", "runnable", "off-cpu"] {
            let place = place().with_label(Label::State, state);
            record.measurements.push(Measurement::new("workload.cpu_time", place, vec![value]));
        }
        for number in 0..2 {
            let place = place()
                .with_label(Label::State, "on-cpu")
                .with_label(Label::Thread, format!("{thread} {number}"));
            record.measurements.push(Measurement::new("workload.cpu_time", place, vec![value]));
        }
        let place = place().with_label(Label::Event, event);
        let count =
            Measurement::new("counter.count", place, vec![value]).with_detail(detail::COVERAGE, 0.8333);
        record.measurements.push(count);
        record.coverage.push(Coverage::impossible("counters", "no PMU").with_remedy("buy one"));
        record.diagnosis.bound = Some(Bound {
            by: BoundBy::OneThread,
            kind: None,
            says: "One thread did it.".into(),
            evidence: vec![Evidence { says: "x".into(), from: "y".to_owned() }],
            advice: vec!["more threads".into()],
        });
        record
    }

    fn shown(record: &Record, width: usize) -> String {
        let style = Style { width, color: false, ..Style::default() };
        Screen::draw(&style, |screen| command_answer(screen, record, true, None))
    }

    #[test]
    fn the_answer_the_ends_and_the_coverage_are_reported() {
        let details = json!({"command": ["sh", "-c", "it's"], "ends": [{"code": 0}, {"signal": 9}],
            "left_behind": ["daemon"], "cpus": 8, "ceilings": {"ipc": {"nop": 6.0, "primes": 1.5, "flops": 1.2}, "latency_ns": 95.0,
            "records": {"ipc.primes": "vm-1.json", "ipc.flops": "vm-0.json", "latency_ns": "vm-2.json"}},
            "around": {"stolen_seconds": 0.5, "throttled_seconds": null}});
        let text = shown(&example(details, "worker", "branch-misses", 0.75), 200);
        for words in [
            "sh -c 'it'\\''s'",
            "exit code 0 in 1 of 2 runs, killed by SIGKILL (9) in 1 of 2 runs",
            "1 process (daemon) outlived the command and was waited for",
            "Bound by one thread: One thread did it.",
            "Try: more threads",
            "worker 0",
            "83.3 % of the time",
            "500 ms of the whole machine's CPU time",
            "IPC 1.50 (primes), memory latency 95.0 ns (of vm-1.json and vm-2.json)",
            "counters (no PMU)",
        ] {
            assert!(text.contains(words), "no {words:?} in:\n{text}");
        }
        assert!(!text.contains("throttled"), "{text}");
    }

    #[test]
    fn runs_that_a_signal_ended_early_are_reported_first() {
        let ends = json!([{"code": 0}, {"code": 0}]);
        let mut record = example(json!({"ends": ends, "runs_asked": 9}), "t", "e", 1.0);
        assert!(!shown(&record, 100).contains("early"));
        record.ended = Ended::Interrupted { signal: 2 };
        let text = shown(&record, 100);
        let at = |words: &str| text.find(words).unwrap_or_else(|| panic!("no {words:?} in:\n{text}"));
        assert!(at("ended early by signal 2: 2 of 9 runs counted") < at("took "));
        record.measurements[0].detail.set(detail::ENDS, json!([{"stopped": 2}]));
        assert!(
            shown(&record, 100).contains("ended early by signal 2: the results are from an incomplete run")
        );
    }

    #[test]
    fn what_was_exceeded_is_not_called_a_ceiling() {
        let text = |most: f64| {
            let details = json!({"clock_hz": 3.69e9, "clock_source": "counted", "cpus": 2,
                "ceilings": {"clock_hz": most, "ipc": {"primes": 0.8}}});
            shown(&example(details, "t", "e", 1.0), 100)
        };
        assert!(text(3.7e9).contains("3.69 GHz of 3.70 GHz") && !text(3.67e9).contains(" of 3.67 GHz"));
        assert!(!text(3.7e9).contains("IPC 0.800 (primes)"), "{}", text(3.7e9));
    }

    #[test]
    fn details_that_are_not_what_they_should_be_are_left_out() {
        for wrong in [json!(null), json!(-1), json!("x"), json!([[1]]), json!({"a": {"b": 1}})] {
            let keys =
                ["command", "ends", "left_behind", "cpus", "ceilings", "around", "clock_hz", "max_rss_bytes"];
            let details = keys.iter().map(|key| ((*key).to_owned(), wrong.clone())).collect();
            assert!(shown(&example(Value::Object(details), "t", "e", f64::NAN), 60).contains("Bound by"));
        }
    }

    proptest! {
        #[test]
        fn no_name_acts_on_the_terminal(name in any::<String>(), value in proptest::num::f64::ANY, width in 20usize..120) {
            let details = json!({"command": [name], "left_behind": [name], "clock_source": name, "clock_hz": 1e9,
                "ceilings": {"ipc": {name.clone(): 1.0}}, "bound_to": name, "cpus": 2});
            let text = shown(&example(details, &name, &name, value), width);
            prop_assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
            prop_assert!(text.lines().all(|line| crate::text::width(line) <= width), "{text}");
        }
    }
}
