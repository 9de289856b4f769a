//! What `linespeed stat` says of a command: what it was bound by, where its time went, what was counted, what could not be
//! seen.

use record::command_run::{Ceilings, ProbeKind};
use record::{Coverage, Label, Measurement, Record, State, detail, metrics, units};

use super::lines;
use super::screen::Screen;
use super::{Style, answer, report};
use crate::contents::Section;
use crate::contents::command::{
    command_text, cpu_seconds, describe_runs, early_end, figures, find_state, find_time, listed_states,
    seconds,
};
use crate::contents::figures::{MARK, remarks};
use crate::contents::{conditions, summary};
use crate::paint::{Span, Tone};
use crate::table::Table;
use crate::text::range;

/// Threads that the report tells one by one; the record has more.
const MOST_THREADS: usize = 8;

/// What the coverage of a command tells of, beside single events, and what a line about it begins with.
const COVERED: [(&str, &str); 9] = [
    (Coverage::COUNTERS, "Counters"),
    ("kernel events", "No kernel events"),
    ("threads", "No threads"),
    (Coverage::RUNNABLE, "Runnable"),
    ("waits", "No waits"),
    ("probes", "Probes"),
    ("probe huge pages", "Huge pages"),
    ("probe beside others", "Fewer CPUs"),
    ("ceilings", "No ceilings"),
];

/// Lines of CPUs, clock and memory, of what was counted, of what could not be seen and where the rest is.
const FACTS: usize = 3;
/// Lines of the heads of a table.
const HEADS: usize = 1;
const COUNTS: usize = 2;
const ENDING: usize = 3;

/// Whether the record is of a command that ran, or was watched.
pub(super) fn is_of_a_command(record: &Record) -> bool {
    record.import.is_none() && find_time(record).is_some()
}

/// What a command was bound by, on one screen: `linespeed stat`. Above it, where `all` is asked for, the whole report. `shown_by`:
/// what `linespeed show` takes for this record.
pub(super) fn command_answer(record: &Record, all: bool, shown_by: Option<&str>, style: &Style) -> String {
    let whole = |screen: &mut Screen| {
        write(screen, record);
        screen.blank();
        report::write(screen, record, shown_by);
    };
    Screen::answer(style, all, whole, |screen| write_answer(screen, record, shown_by))
}

fn write_answer(screen: &mut Screen, record: &Record, shown_by: Option<&str>) {
    let Some(time) = find_time(record) else { return };
    lines::cut(screen, &[Span::strong(command_text(time))]);
    if let Some(early) = early_end(record, time) {
        lines::cut(screen, &[Span::strong(early)]);
    }
    screen.short(2, "", "", describe_runs(time));
    screen.short(2, "", "  ", summary::noise_in_a_line(record));
    if let Some(quiet) = conditions::quiet(&record.conditions) {
        lines::cut(screen, &[Span::plain(quiet)]);
    }
    screen.blank();
    if let Some(bound) = &record.diagnosis.bound {
        screen.hanging("", "  ", format!("Bound by {}: {}", bound.by.name(), bound.says));
        if let Some(advice) = bound.advice.first() {
            screen.hanging("  Try: ", "    ", screen.typed(&advice.to_string()));
        }
    }
    let room = screen.left(ENDING);
    screen.clipped(room, |screen| {
        // What is cut ends in its own line.
        let left = |screen: &Screen, most: usize| most.min(screen.left(ENDING));
        let times = times(record, time).without_notes();
        // Where the time went stays on the screen; what changes of the surroundings did stands in the verdict, too.
        let probes = Some(probes(time).without_notes()).filter(|probes| {
            let both = probes.rows.len() + times.rows.len() + 2 * HEADS;
            both <= room
        });
        for table in probes.into_iter().chain([times]).filter(|table| !table.is_empty()) {
            screen.table(&table, 2);
        }
        let around = around(record, time).facts;
        let around: Vec<String> = around.iter().map(|fact| format!("{} {}", fact.key, fact.value)).collect();
        screen.items(left(screen, FACTS), "  ", &around, "; ");
        let counts = counts(record).rows;
        let counts: Vec<String> = counts.iter().map(|row| format!("{} {}", row[1], row[0])).collect();
        screen.items(left(screen, COUNTS), "  ", &counts, ", ");
    });
    let mut lost: Vec<&Coverage> = lost(record).map(|(of, _)| of).collect();
    // What can be helped in a few words comes first.
    let remedy =
        |of: &Coverage| of.remedy.as_ref().filter(|_| of.what != Coverage::COUNTERS).map(ToString::to_string);
    lost.sort_by_key(|of| remedy(of).is_none());
    let why =
        |of: &Coverage| [Some(of.why()), remedy(of)].into_iter().flatten().collect::<Vec<_>>().join(": ");
    let lost: Vec<(String, String)> = lost.into_iter().map(|of| (of.what.clone(), why(of))).collect();
    answer::unseen_why(screen, &lost, None);
    answer::more(screen, record, shown_by, 0);
}

/// What could not be seen of a command, one entry for each thing; single events stand in the record.
pub(super) fn lost(record: &Record) -> impl Iterator<Item = (&Coverage, &'static str)> {
    let heading = |c: &Coverage| COVERED.iter().find(|(topic, _)| *topic == c.what).map(|(_, what)| *what);
    record.coverage.iter().filter(|c| c.state != State::Measured).filter_map(move |c| Some((c, heading(c)?)))
}

/// Writes the report of a record of a command; nothing when there is none in it.
pub(super) fn write(screen: &mut Screen, record: &Record) {
    let Some(time) = find_time(record) else { return };
    screen.paragraph(&[Span::strong("  ")], Tone::Strong, command_text(time));
    if let Some(early) = early_end(record, time) {
        screen.paragraph(&[Span::plain("  ")], Tone::Strong, &early);
    }
    screen.paragraph(&[Span::plain("  ")], Tone::Plain, describe_runs(time));
    report::quiet_machine(screen, record, "  ");
    if let Some(bound) = &record.diagnosis.bound {
        screen.blank();
        let first = [Span::strong("Bound by "), Span::strong(bound.by.name().to_string()), Span::plain(": ")];
        screen.paragraph(&first, Tone::Plain, &bound.says);
        for advice in &bound.advice {
            screen.paragraph(&[Span::quiet("  Try: ")], Tone::Plain, screen.typed(&advice.to_string()));
        }
    }
    for table in [probes(time), times(record, time), threads(record), counts(record)] {
        if !table.is_empty() {
            screen.heading(&table.title);
            screen.table(&table.finished(), 2);
        }
    }
    let around = around(record, time);
    if !around.facts.is_empty() {
        screen.heading(&around.title);
        screen.facts(&around, "  ", 22);
    }
    screen.blank();
    for (coverage, what) in lost(record) {
        // Why there are no counters is told by show --unseen, and at length.
        let remedy = coverage.remedy.as_ref().filter(|_| coverage.what != Coverage::COUNTERS);
        let remedy = remedy.map(|remedy| format!(" → {remedy}")).unwrap_or_default();
        screen.paragraph(
            &[Span::quiet(format!("{what}: "))],
            Tone::Quiet,
            format!("{}{remedy}", coverage.why()),
        );
    }
}

/// What changes of its surroundings did to it.
fn probes(time: &Measurement) -> Table {
    let heads = ["", "#took", "#interval"];
    let mut table = Table::new("Probes", None, heads);
    for probe in time.detail.get(detail::PROBES).unwrap_or_default() {
        let name = match probe.kind {
            ProbeKind::HugePages => "with huge pages, CPU time",
            ProbeKind::Bandwidth => "beside a taker of bandwidth, CPU time",
            ProbeKind::Cache => "beside a taker of the last cache, CPU time",
            ProbeKind::FewerCpus => "on fewer CPUs, time",
            ProbeKind::FewerCpusTime => "on fewer CPUs, CPU time",
        };
        let interval = probe.interval.map(|(low, high)| range(&ratio(low), &ratio(high)));
        table.row(vec![
            name.to_owned(),
            ratio(probe.ratio),
            interval.unwrap_or_else(|| "too few rounds".to_owned()),
        ]);
    }
    table
}

/// Twice as long: `2.00×`.
fn ratio(value: f64) -> String {
    format!("{value:.2}×")
}

fn times(record: &Record, time: &Measurement) -> Table {
    let heads = ["", "#time", "#of its run", "?#95 % interval"];
    let mut table = Table::new("Time", Some(metrics::WORKLOAD_CPU_TIME), heads);
    for (name, words, _) in listed_states(|state| find_state(record, state).map(Measurement::value)) {
        let Some(m) = find_state(record, name) else { continue };
        match &m.doubt {
            Some(doubt) => table.explain_mark(doubt),
            None => table.note_row(remarks(m)),
        }
        if m.value() > time.value() {
            table.note("summed over threads: several together can take longer than the run");
        }
        table.row(vec![
            words.to_owned(),
            format!("{}{}", seconds(m.value()), if m.doubt.is_some() { MARK } else { "" }),
            if time.value() > 0.0 { units::percent(m.value() / time.value()) } else { String::new() },
            m.summary.interval.map_or(String::new(), |(low, high)| range(&seconds(low), &seconds(high))),
        ]);
    }
    table
}

fn threads(record: &Record) -> Table {
    let heads = ["thread", "#on-CPU", "#runnable", "#blocked"];
    let mut table = Table::new("Threads", Some(metrics::WORKLOAD_CPU_TIME), heads);
    let in_state = |state: &'static str| {
        let all = figures(record, metrics::WORKLOAD_CPU_TIME);
        all.filter(move |m| m.labels.word(Label::State) == Some(state))
    };
    let mut all: Vec<(&str, f64)> =
        in_state("on-cpu").filter_map(|m| Some((m.labels.word(Label::Thread)?, m.value()))).collect();
    if all.len() < 2 {
        return table;
    }
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    for (name, on) in all.iter().take(MOST_THREADS) {
        let spent = |state| {
            let found = in_state(state).find(|m| m.labels.word(Label::Thread) == Some(name));
            found.map_or(String::new(), |m| seconds(m.value()))
        };
        table.row(vec![(*name).to_owned(), seconds(*on), spent("runnable"), spent("blocked")]);
    }
    if all.len() > MOST_THREADS {
        table.note(&format!("the busiest {MOST_THREADS} of {}; the others are in the record", all.len()));
    }
    table
}

/// A count as a whole number, or with its half: the median of an even number of runs may lie between two.
fn count(value: f64) -> String {
    let whole = units::thousands(value.trunc());
    if value.fract() == 0.5 { format!("{whole}.5") } else { units::thousands(value) }
}

/// CPUs in use on average; ticks and the end of a run know no less than a hundredth of one.
fn used_cpus(used: f64) -> String {
    if (0.0..LEAST_USED).contains(&used) {
        return format!("< {LEAST_USED}");
    }
    let digits = if used < 10.0 * LEAST_USED { 2 } else { 3 };
    units::figure_to(used, "ratio", digits)
}

const LEAST_USED: f64 = 0.01;

/// Events that stand elsewhere, or in sum.
const HIDDEN: [&str; 3] = ["task-clock", "minor-faults", "voluntary-switches"];

/// The events that the report tells; faults and switches are told in sum.
fn counts(record: &Record) -> Table {
    let heads = ["", "#count", "#per second of CPU time", "?#counted for"];
    let mut table = Table::new("Counts", Some(metrics::COUNTER_COUNT), heads);
    let cpu = cpu_seconds(record);
    for m in figures(record, metrics::COUNTER_COUNT) {
        let event = m.labels.word(Label::Event).unwrap_or_default();
        if HIDDEN.contains(&event) || m.summary.n == 0 || (event == "major-faults" && m.value() == 0.0) {
            continue;
        }
        let rate = match m.value() / cpu {
            _ if cpu <= 0.0 => String::new(),
            rate if rate >= 1000.0 => units::thousands(rate),
            rate => units::significant(rate),
        };
        let coverage = m.detail.get(detail::COVERAGE).filter(|share| *share < 0.9999);
        let coverage =
            coverage.map_or(String::new(), |share| format!("{} of the time", units::percent(share)));
        let mut name = event.to_owned();
        if m.detail.get(detail::MODE) == Some("user") {
            name.push_str(":u");
            table.note(":u: user mode alone, all that the kernel allows this user to count");
        }
        table.row(vec![name, count(m.value()), rate, coverage]);
    }
    table
}

/// What else is known: CPUs, clock, memory, what the machine did meanwhile, the ceilings.
fn around(record: &Record, time: &Measurement) -> Section {
    let mut section = Section::new("CPUs, clock and memory");
    let around = time.detail.get(detail::AROUND).unwrap_or_default();
    let ceilings = time.detail.get(detail::CEILINGS).unwrap_or_default();
    let known = |value: Option<f64>| value.filter(|value| *value > 0.0);
    if let Some(cpus) = time.detail.get(detail::CPU_COUNT).filter(|_| time.value() > 0.0) {
        let bound = time.detail.get(detail::BOUND_TO);
        let bound = bound.map(|cpus| format!(", bound to {cpus}")).unwrap_or_default();
        let used = used_cpus(cpu_seconds(record) / time.value());
        section.add("CPUs used", format!("{used} of {cpus}{bound}"));
    }
    section.add_some(
        "IPC",
        figures(record, metrics::CORE_IPC).next().map(|ipc| units::significant(ipc.value())),
    );
    section.add_some(
        "core clock",
        time.detail.get(detail::CLOCK_HZ).map(|hz| {
            let source = time.detail.get(detail::CLOCK_SOURCE).unwrap_or_default();
            // What is exceeded was no ceiling.
            let most = known(ceilings.clock_hz).filter(|most| *most >= hz);
            let most = most.map(|hz| format!(" of {}", units::figure(hz, "Hz"))).unwrap_or_default();
            format!("{}{most} ({source})", units::figure(hz, "Hz"))
        }),
    );
    let exact = time.detail.get(detail::MAX_RSS_BYTES).map(units::bytes);
    let below = || time.detail.get(detail::MAX_RSS_BELOW_BYTES);
    let resident = exact.or_else(|| Some(format!("at most {}", units::bytes(below()?))));
    section.add_some("peak memory (RSS)", resident.map(|bytes| format!("{bytes}, of its largest process")));
    let stolen = known(around.stolen_seconds).map(seconds);
    section
        .add_some("steal time", stolen.map(|stolen| format!("{stolen} of CPU time, of the whole machine")));
    let throttled = known(around.throttled_seconds).map(seconds);
    section.add_some("throttled", throttled.map(|held| format!("{held}, by the cgroup's quota")));
    // What is shown, and its name among the records.
    let mut parts: Vec<(String, String)> = Vec::new();
    parts.extend(
        ceilings.best_ipc().map(|(name, ipc)| {
            (Ceilings::ipc_name(name), format!("IPC {} ({name})", units::significant(ipc)))
        }),
    );
    for (name, value, whose) in [
        ("bandwidth_one", ceilings.bandwidth_one, "one CPU"),
        ("bandwidth_all", ceilings.bandwidth_all, "all CPUs"),
    ] {
        let rate = known(value).map(|rate| format!("reads {} by {whose}", units::figure(rate, "B/s")));
        parts.extend(rate.map(|rate| (name.to_owned(), rate)));
    }
    let latency = known(ceilings.latency_ns).map(|ns| format!("memory in {}", units::figure(ns, "ns")));
    parts.extend(latency.map(|latency| ("latency_ns".to_owned(), latency)));
    let names = if ceilings.records.is_empty() { &ceilings.days } else { &ceilings.records };
    let source = |(name, _): &(String, String)| names.get(name).cloned();
    // The newest first: their names end with their time, which hosts' names do not tell.
    let time = |name: &String| name.rsplit('-').next().unwrap_or(name).to_owned();
    parts.sort_by_key(|part| std::cmp::Reverse(source(part).map(|source| time(&source))));
    let said = parts.chunk_by(|a, b| source(a) == source(b)).map(|of_one| {
        let said: Vec<&str> = of_one.iter().map(|(_, part)| part.as_str()).collect();
        let of = of_one.first().and_then(source).map(|source| format!(" (of {source})"));
        format!("{}{}", said.join(", "), of.unwrap_or_default())
    });
    section.add("ceilings", said.collect::<Vec<_>>().join(", "));
    section
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use record::diagnosis::BoundBy;
    use record::diagnosis::{Bound, Evidence};
    use record::{Coverage, Ended, Labels};
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
            kind: None,
            says: "One thread did it.".into(),
            evidence: vec![Evidence { says: "x".into(), from: "y".to_owned() }],
            advice: vec!["more threads".into()],
        });
        record
    }

    fn shown(record: &Record, width: usize) -> String {
        Screen::draw(&Style { width, color: false, ..Style::default() }, |screen| write(screen, record))
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
            "forked away: 1 process (daemon)",
            "Bound by one thread: One thread did it.",
            "Try: more threads",
            "worker 0",
            "83.3 % of the time",
            "500 ms of CPU time, of the whole machine",
            "memory in 95.0 ns (of vm-2.json), IPC 1.50 (primes) (of vm-1.json)",
            "Counters: no PMU",
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
    fn less_than_a_hundredth_of_a_cpu_is_printed_as_that() {
        let shown = [0.0, 0.00475, 0.0149, 0.998, 1.5].map(used_cpus);
        assert_eq!(shown, ["< 0.01", "< 0.01", "0.015", "0.998", "1.50"]);
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
