//! What `linespeed stat` says of a command: what it was bound by, where its time went, what was counted, what could not be
//! seen.

use record::Label;
use record::command_run::RunEnd;
use record::detail;
use record::diagnosis::BoundBy;
use record::{Coverage, Ended, Measurement, Record, State, units};

use super::screen::Screen;
use crate::contents::figures::remarks;
use crate::paint::{Span, Tone};
use crate::table::Table;
use crate::text::range;
use record::phrase::{agree, count_noun, quote_word};

/// Threads that the report tells one by one; the record has more.
const MOST_THREADS: usize = 8;

/// Writes the report of a record of a command; nothing when there is none in it.
pub(crate) fn write(screen: &mut Screen, record: &Record) {
    let Some(time) = time_of(record) else { return };
    screen.paragraph(&[Span::strong("  ")], Tone::Strong, command_text(time));
    if let Some(early) = early(record, time) {
        screen.paragraph(&[Span::plain("  ")], Tone::Strong, &early);
    }
    screen.paragraph(&[Span::plain("  ")], Tone::Plain, ends(time));
    super::report::quiet_machine(screen, record, "  ");
    if let Some(bound) = &record.diagnosis.bound {
        screen.blank();
        let first = [Span::strong("Bound by "), Span::strong(by(&bound.by)), Span::plain(": ")];
        screen.paragraph(&first, Tone::Plain, &bound.says);
        for advice in &bound.advice {
            screen.paragraph(&[Span::quiet("  Try: ")], Tone::Plain, advice);
        }
    }
    let tables = [("Time", times(record, time)), ("Threads", threads(record)), ("Counts", counts(record))];
    for (title, table) in tables {
        if !table.is_empty() {
            screen.heading(title);
            screen.table(&table.finished(), 2);
        }
    }
    let lines = beside(record, time);
    if !lines.is_empty() {
        screen.heading("Beside it");
        for (key, value) in lines {
            screen.pair(&format!("  {key}"), &value, 22);
        }
    }
    // One line for each thing that was lost; single events stand in the record.
    let lost =
        record.coverage.iter().filter(|c| c.state != State::Measured && c.topic() != Coverage::COUNTER);
    let stat = [Coverage::COUNTERS, "kernel events", "threads", Coverage::RUNNABLE, "ceilings"];
    for (at, coverage) in lost.filter(|c| stat.contains(&c.what.as_str())).enumerate() {
        if at == 0 {
            screen.blank();
        }
        let reason = coverage.reason.as_ref().map_or(coverage.state.word().to_owned(), ToString::to_string);
        let remedy =
            coverage.remedy.as_ref().map(|remedy| format!("; to have them: {remedy}")).unwrap_or_default();
        screen.paragraph(
            &[Span::quiet(if coverage.what == Coverage::RUNNABLE {
                "Time ready: ".to_owned()
            } else {
                format!("No {}: ", coverage.what)
            })],
            Tone::Quiet,
            format!("{reason}{remedy}"),
        );
    }
}

/// The time of the command that a record is of.
pub(crate) fn time_of(record: &Record) -> Option<&Measurement> {
    // With threads it is a step of scaling.
    let command = |m: &&Measurement| {
        m.labels.word(Label::Workload) == Some("command") && m.labels.get(Label::Threads).is_none()
    };
    record.measurements_of("workload.time").find(command)
}

/// The command as it was typed, more or less.
pub(crate) fn command_text(time: &Measurement) -> String {
    let words = time.detail.get(detail::COMMAND).unwrap_or_default();
    words.iter().map(|word| quote_word(word)).collect::<Vec<_>>().join(" ")
}

/// Seconds with their prefix; none are none of any prefix.
fn seconds(value: f64) -> String {
    if value == 0.0 { "0 s".to_owned() } else { units::figure(value, "s") }
}

/// That not all runs were made that were asked for, and why.
pub(crate) fn early(record: &Record, time: &Measurement) -> Option<String> {
    let by = match &record.ended {
        Ended::Complete => return None,
        Ended::Interrupted { signal } => format!("by signal {signal}"),
        Ended::Failed { reason } => format!("because {reason}"),
    };
    let asked = time.detail.get(detail::RUNS_ASKED).unwrap_or(1);
    let ends = time.detail.get(detail::ENDS).unwrap_or_default();
    let whole = ends.iter().filter(|end| !matches!(end, RunEnd::Stopped(_))).count();
    let reported = match whole {
        0 => "what follows is of a run that was cut short".to_owned(),
        _ => format!("{whole} of {} counted", count_noun(asked as usize, "run")),
    };
    Some(format!("ended early {by}: {reported}"))
}

/// How long it took, how often it ran, how it ended.
pub(crate) fn ends(time: &Measurement) -> String {
    let took = seconds(time.value());
    let mut text = match (time.summary.n, time.summary.interval) {
        (0 | 1, _) => format!("took {took}"),
        (n, Some((low, high))) => {
            let range = range(&seconds(low), &seconds(high));
            format!("took {took}, the median of {n} runs; it lies in {range} with 95 % confidence")
        }
        (n, None) => {
            let range = range(&seconds(time.summary.min), &seconds(time.summary.max));
            format!("took {took}, the median of {n} runs, of {range}; an interval needs 6 runs (-r 6)")
        }
    };
    let mut kinds: Vec<(String, usize)> = Vec::new();
    for end in time.detail.get(detail::ENDS).unwrap_or_default() {
        let words = end_words(end);
        match kinds.iter_mut().find(|(known, _)| *known == words) {
            Some((_, count)) => *count += 1,
            None => kinds.push((words, 1)),
        }
    }
    match kinds.as_slice() {
        [] => {}
        [(only, _)] => text.push_str(&format!("; {only}")),
        several => {
            let all: usize = several.iter().map(|(_, count)| count).sum();
            let list: Vec<String> = several
                .iter()
                .map(|(words, count)| format!("{words} in {count} of {}", count_noun(all, "run")))
                .collect();
            text.push_str(&format!("; {}", list.join(", ")));
        }
    }
    let left = time.detail.get(detail::LEFT_BEHIND).unwrap_or_default();
    if !left.is_empty() {
        let named = left.iter().take(5).cloned().collect::<Vec<_>>().join(", ");
        let count = left.len();
        text.push_str(&format!(
            "; it forked away: {count} {} ({named}) outlived it and {} waited for",
            agree(count, "process", "processes"),
            agree(count, "was", "were")
        ));
    }
    text
}

fn end_words(end: RunEnd) -> String {
    match end {
        RunEnd::Code(code) => format!("exit code {code}"),
        RunEnd::Signal(signal) => format!("killed by {}", signal_name(signal)),
        RunEnd::Stopped(signal) => format!("stopped because linespeed got {}", signal_name(signal)),
        RunEnd::TimedOut(_) => "ended because it took too long".to_owned(),
    }
}

/// `SIGKILL (9)`, for those that commands die of.
fn signal_name(signal: i64) -> String {
    let name = match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        31 => "SIGSYS",
        _ => return format!("signal {signal}"),
    };
    format!("{name} ({signal})")
}

pub(crate) fn by(bound: &BoundBy) -> &str {
    match bound {
        BoundBy::Cpu => "the CPU",
        BoundBy::MemoryLatency => "memory latency",
        BoundBy::MemoryBandwidth => "memory bandwidth",
        BoundBy::Frontend => "the core's front end",
        BoundBy::Branches => "branches",
        BoundBy::Waiting => "waiting",
        BoundBy::CpuContention => "other work on the CPUs",
        BoundBy::TooFewCpus => "too few CPUs for its threads",
        BoundBy::Kernel => "the kernel",
        BoundBy::Quota => "its quota",
        BoundBy::Stolen => "the hypervisor",
        BoundBy::OneThread => "one thread",
        BoundBy::Imbalance => "its slowest thread",
        BoundBy::Unknown => "nothing that shows",
        BoundBy::Other(word) => word,
    }
}

fn state<'a>(record: &'a Record, name: &str) -> Option<&'a Measurement> {
    record.measurements_of("workload.cpu_time").find(|m| {
        m.labels.word(Label::Workload) == Some("command")
            && m.labels.word(Label::State) == Some(name)
            && m.labels.get(Label::Thread).is_none()
    })
}

/// Most kernels tell own code from the kernel's by what ran when the timer ticked, 100 to 1,000 times a second: in a shorter
/// time, seconds, each tick weighs too much.
const FEW_TICKS: f64 = 0.1;

fn times(record: &Record, time: &Measurement) -> Table {
    let mut table = Table::new("Time", Some("workload.cpu_time"), &["", "#time", "#of its run", "?#spread"]);
    let rows = [
        ("user", "on a CPU, its own code"),
        ("system", "on a CPU, in the kernel"),
        ("runnable", "ready, but without a CPU"),
        ("off-cpu", "nothing ran or was ready"),
    ];
    let on_cpu: f64 = ["user", "system"].iter().filter_map(|name| Some(state(record, name)?.value())).sum();
    for (name, words) in rows {
        let Some(m) = state(record, name) else { continue };
        for remark in remarks(m) {
            table.note_row(&remark);
        }
        if matches!(name, "user" | "system") && on_cpu < FEW_TICKS {
            table.note_row(
                "told apart by the timer's ticks, of which so short a time has few: their sum is right, the split may not be",
            );
        }
        let spread = match m.summary.interval {
            Some((low, high)) => range(&seconds(low), &seconds(high)),
            None => String::new(),
        };
        let share = if time.value() > 0.0 { units::percent(m.value() / time.value()) } else { String::new() };
        if m.value() > time.value() {
            table.note(
                "each time is summed over its threads, so several of them can have more than the run took",
            );
        }
        table.row(vec![words.to_owned(), seconds(m.value()), share, spread]);
    }
    table
}

fn threads(record: &Record) -> Table {
    let mut table =
        Table::new("Threads", Some("workload.cpu_time"), &["thread", "#on a CPU", "#ready, no CPU"]);
    let of = |state: &'static str| {
        record.measurements_of("workload.cpu_time").filter(move |m| {
            m.labels.word(Label::State) == Some(state) && m.labels.word(Label::Workload) == Some("command")
        })
    };
    let mut all: Vec<(&str, f64)> =
        of("on-cpu").filter_map(|m| Some((m.labels.word(Label::Thread)?, m.value()))).collect();
    if all.len() < 2 {
        return table;
    }
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    for (name, on) in all.iter().take(MOST_THREADS) {
        let ready = of("runnable").find(|m| m.labels.word(Label::Thread) == Some(name));
        let ready = ready.map_or(String::new(), |m| seconds(m.value()));
        table.row(vec![(*name).to_owned(), seconds(*on), ready]);
    }
    if all.len() > MOST_THREADS {
        table.note(&format!("the busiest {MOST_THREADS}; the record has more"));
    }
    table
}

/// A count as a whole number, or with its half: the median of an even number of runs may lie between two.
fn count(value: f64) -> String {
    let whole = units::thousands(value.trunc());
    if value.fract() == 0.5 { format!("{whole}.5") } else { units::thousands(value) }
}

/// The events that the report tells; faults and switches are told in sum.
fn counts(record: &Record) -> Table {
    let mut table =
        Table::new("Counts", Some("counter.count"), &["", "#count", "#a second on a CPU", "?#counted for"]);
    let hidden = ["task-clock", "minor-faults", "voluntary-switches"];
    let cpu: f64 =
        ["user", "system"].iter().filter_map(|name| state(record, name)).map(Measurement::value).sum();
    for m in
        record.measurements_of("counter.count").filter(|m| m.labels.word(Label::Workload) == Some("command"))
    {
        let event = m.labels.word(Label::Event).unwrap_or_default();
        if hidden.contains(&event) || m.summary.n == 0 || (event == "major-faults" && m.value() == 0.0) {
            continue;
        }
        let rate = if cpu > 0.0 { units::significant(m.value() / cpu) } else { String::new() };
        let rate =
            if cpu > 0.0 && m.value() / cpu >= 1000.0 { units::thousands(m.value() / cpu) } else { rate };
        let coverage = m.detail.get(detail::COVERAGE);
        let coverage = match coverage {
            Some(share) if share < 0.9999 => format!("{} of the time", units::percent(share)),
            _ => String::new(),
        };
        let mut name = event.to_owned();
        if m.detail.get(detail::MODE) == Some("user") {
            name.push_str(":u");
            table.note("events with :u are of user mode alone, all that the kernel allows this user");
        }
        table.row(vec![name, count(m.value()), rate, coverage]);
    }
    table
}

/// What else is known: CPUs, clock, memory, what the machine did meanwhile, the ceilings.
fn beside(record: &Record, time: &Measurement) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    let around = time.detail.get(detail::AROUND).unwrap_or_default();
    let ceilings = time.detail.get(detail::CEILINGS).unwrap_or_default();
    let ceiling = |value: Option<f64>| value.filter(|value| *value > 0.0);
    let cpu: f64 =
        ["user", "system"].iter().filter_map(|name| state(record, name)).map(Measurement::value).sum();
    if let Some(cpus) = time.detail.get(detail::CPU_COUNT)
        && time.value() > 0.0
    {
        let bound = time.detail.get(detail::BOUND_TO);
        let bound = bound.map(|cpus| format!(", bound to {cpus}")).unwrap_or_default();
        lines.push(("CPUs used", format!("{} of {cpus}{bound}", units::significant(cpu / time.value()))));
    }
    let ipc = record.measurements_of("core.ipc").find(|m| m.labels.word(Label::Workload) == Some("command"));
    if let Some(ipc) = ipc {
        lines.push(("instructions a cycle", units::significant(ipc.value())));
    }
    if let Some(hz) = time.detail.get(detail::CLOCK_HZ) {
        let source = time.detail.get(detail::CLOCK_SOURCE).unwrap_or_default();
        // What is exceeded was no ceiling.
        let most = ceiling(ceilings.clock_hz).filter(|most| *most >= hz);
        let most = most.map(|hz| format!(" of {}", units::figure(hz, "Hz"))).unwrap_or_default();
        lines.push(("core clock", format!("{}{most} ({source})", units::figure(hz, "Hz"))));
    }
    if let Some(bytes) = time.detail.get(detail::MAX_RSS_BYTES) {
        lines.push(("memory at its most", format!("{}, of its largest process", units::bytes(bytes))));
    } else if let Some(bytes) = time.detail.get(detail::MAX_RSS_BELOW_BYTES) {
        let most = units::bytes(bytes);
        lines.push(("memory at its most", format!("no more than {most}, of its largest process")));
    }
    if let Some(stolen) = around.stolen_seconds.filter(|stolen| *stolen > 0.0) {
        lines.push((
            "stolen",
            format!("{} of CPU time of the whole machine, by the hypervisor", seconds(stolen)),
        ));
    }
    if let Some(held) = around.throttled_seconds.filter(|held| *held > 0.0) {
        lines.push(("throttled", format!("{}, by the cgroup's quota", seconds(held))));
    }
    let mut parts: Vec<String> = Vec::new();
    let ipc = ceilings.best_ipc();
    parts.extend(ipc.map(|(name, ipc)| format!("{} instructions a cycle ({name})", units::significant(ipc))));
    for (value, whose) in [(ceilings.bandwidth_one, "one CPU"), (ceilings.bandwidth_all, "all CPUs")] {
        parts.extend(ceiling(value).map(|b| format!("{} by {whose}", units::figure(b, "B/s"))));
    }
    parts.extend(ceiling(ceilings.latency_ns).map(|ns| format!("memory in {}", units::figure(ns, "ns"))));
    let of = match ceilings.days.values().min().zip(ceilings.days.values().max()) {
        Some((first, last)) if first == last => format!("ceilings of {first}: "),
        Some((first, last)) => format!("ceilings of {first} to {last}: "),
        None => String::new(),
    };
    if !parts.is_empty() {
        lines.push(("measured here", format!("{of}{}", parts.join(", "))));
    }
    lines
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use record::diagnosis::{Bound, Evidence};
    use record::{Coverage, Labels};
    use serde_json::{Value, json};

    use super::*;
    use crate::terminal::Style;

    /// A record of a command whose details, thread and event are these.
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
            says: "One thread did it.".into(),
            evidence: vec![Evidence { says: "x".into(), from: "y".to_owned() }],
            advice: vec!["more threads".into()],
        });
        record
    }

    fn shown(record: &Record, width: usize) -> String {
        crate::terminal::stat(record, &Style { width, color: false })
    }

    #[test]
    fn the_answer_the_ends_and_the_coverage_are_reported() {
        let details = json!({"command": ["sh", "-c", "it's"], "ends": [{"code": 0}, {"signal": 9}],
            "left_behind": ["daemon"], "cpus": 8, "ceilings": {"ipc": {"nop": 6.0}, "latency_ns": 95.0,
            "days": {"ipc": "2026-11-20", "latency_ns": "2026-11-21"}},
            "around": {"stolen_seconds": 0.5, "throttled_seconds": null}});
        let text = shown(&example(details, "worker", "branch-misses", 0.75), 200);
        for words in [
            "sh -c 'it'\\''s'",
            "exit code 0 in 1 of 2 runs, killed by SIGKILL (9) in 1 of 2 runs",
            "forked away: 1 process (daemon)",
            "Bound by one thread: One thread did it.",
            "Try: more threads",
            "worker 0",
            "83.3 % of the time",
            "500 ms of CPU time of the whole machine, by the hypervisor",
            "ceilings of 2026-11-20 to 2026-11-21: 6.00 instructions a cycle (nop), memory in 95.0 ns",
            "No counters: no PMU; to have them: buy one",
        ] {
            assert!(text.contains(words), "no {words:?} in:\n{text}");
        }
        assert!(!text.contains("throttled"), "{text}");
        assert_eq!(shown(&Record::new("0", String::new(), Vec::new()), 80), "");
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
            shown(&record, 100)
                .contains("ended early by signal 2: what follows is of a run that was cut short")
        );
    }

    #[test]
    fn a_median_between_two_counts_is_reported_with_its_half() {
        assert_eq!(
            (count(0.5).as_str(), count(1234.5).as_str(), count(7.0).as_str()),
            ("0.5", "1,234.5", "7")
        );
        assert_eq!(count(1_000_000.4), "1,000,000");
    }

    #[test]
    fn what_was_exceeded_is_not_called_a_ceiling() {
        let text = |most: f64| {
            let details = json!({"clock_hz": 3.69e9, "clock_source": "counted", "cpus": 2,
                "ceilings": {"clock_hz": most, "ipc": {"primes": 0.8}}});
            shown(&example(details, "t", "e", 1.0), 100)
        };
        assert!(text(3.7e9).contains("3.69 GHz of 3.70 GHz") && !text(3.67e9).contains(" of 3.67 GHz"));
        assert!(!text(3.7e9).contains("instructions a cycle (primes)"), "{}", text(3.7e9));
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
