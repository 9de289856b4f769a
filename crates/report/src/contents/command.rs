//! A command run by `linespeed stat`: its results, its exit state and its bottleneck, in words.

use record::command_run::RunEnd;
use record::diagnosis::Bound;
use record::phrase::{agree, count_noun, quote_word};
use record::{DoubtKind, Ended, Label, Measurement, Metric, Record, detail, metrics, units};

use super::figures::NO_THREAD_READY;
use super::side_by_side::group_by;
use super::{Block, Part};
use crate::chart::bars::{Bar, Bars, Fill, Piece};
use crate::text::{clean, range};

/// Maximum number of listed processes that outlived the command.
const MOST_LEFT: usize = 5;

/// The command's results of a metric.
pub(crate) fn figures(record: &Record, metric: Metric) -> impl Iterator<Item = &Measurement> {
    record.measurements_of(metric).filter(|m| m.labels.word(Label::Workload) == Some("command"))
}

/// The run time of a record's command.
pub(crate) fn find_time(record: &Record) -> Option<&Measurement> {
    // A result with a number of threads is a scaling step.
    figures(record, metrics::WORKLOAD_TIME).find(|m| m.labels.get(Label::Threads).is_none())
}

/// The time that the command spent in a state, summed over threads.
pub(crate) fn find_state<'a>(record: &'a Record, name: &str) -> Option<&'a Measurement> {
    find_state_of(record, "command", name)
}

/// The time that one of several alternating commands, identified by its name, spent in a state.
pub(crate) fn find_state_of<'a>(record: &'a Record, command: &str, state: &str) -> Option<&'a Measurement> {
    record.measurements_of(metrics::WORKLOAD_CPU_TIME).find(|m| {
        m.labels.word(Label::Workload) == Some(command)
            && m.labels.word(Label::State) == Some(state)
            && m.labels.get(Label::Thread).is_none()
    })
}

/// The states of threads, their names, and how they are drawn.
pub(crate) const STATES: [(&str, &str, Fill); 5] = [
    ("user", "user", Fill::Plain),
    ("system", "sys", Fill::Series(3)),
    ("runnable", "runnable, waiting for a CPU", Fill::Warning),
    ("blocked", "blocked, summed over threads", Fill::Nobody),
    ("off-cpu", NO_THREAD_READY, Fill::Nobody),
];

/// The states that have a separate line for their seconds. Blocked time of a single thread equals off-CPU time and is
/// not listed; blocked time of several threads is listed, because other threads may have been active at the same time.
pub(crate) fn listed_states(
    seconds: impl Fn(&str) -> Option<f64>,
) -> impl Iterator<Item = (&'static str, &'static str, Fill)> {
    let both = seconds("blocked").zip(seconds("off-cpu"));
    // The two times are measured with different clocks, so they may differ slightly.
    let alike = both.is_some_and(|(summed, idle)| summed <= idle * 1.02 + 0.005);
    STATES.into_iter().filter(move |(state, ..)| !alike || *state != "blocked")
}

/// Whether this is the blocked time of the only thread, which off-CPU time already shows.
pub(crate) fn is_repeated(record: &Record, m: &Measurement) -> bool {
    // The label is checked first: this excludes nearly all results, of which there may be tens of thousands.
    let is_blocked = m.labels.word(Label::State) == Some("blocked")
        && find_state(record, "blocked").is_some_and(|blocked| std::ptr::eq(blocked, m));
    is_blocked
        && listed_states(|state| find_state(record, state).map(Measurement::value))
            .all(|(state, ..)| state != "blocked")
}

/// The states that add up to all thread time: if `blocked` is known, off-CPU time is left out, because `blocked`
/// includes it.
pub(crate) fn whole_states(has_blocked: bool) -> impl Iterator<Item = (&'static str, &'static str, Fill)> {
    STATES.into_iter().filter(move |(state, ..)| *state != if has_blocked { "off-cpu" } else { "blocked" })
}

/// The threads' time by state, as one bar; without a row if nothing was measured.
fn states(record: &Record) -> Bars {
    let all: Vec<(&str, Fill, f64, bool)> = whole_states(find_state(record, "blocked").is_some())
        .filter_map(|(state, words, fill)| {
            let m = find_state(record, state).filter(|m| m.value().is_finite() && m.value() > 0.0)?;
            Some((words, fill, m.value(), m.doubt.is_some()))
        })
        .collect();
    let whole: f64 = all.iter().map(|(_, _, value, _)| value).sum();
    let mut bars = Bars { title: "Thread time by state".to_owned(), ..Bars::default() };
    let mut bar = Bar { name: "all threads".to_owned(), figure: seconds(whole), ..Bar::default() };
    let mut from = 0.0;
    for (words, fill, value, unreliable) in all {
        // This is a share of all thread time. Tables show shares of the run time instead, which can exceed 100 % for
        // several threads.
        let share = units::percent(value / whole);
        let says = format!("{words}: {}, {share} of all thread time", seconds(value));
        let to = from + value / whole;
        bar.pieces.push(Piece { unreliable, ..Piece::new(from, to, fill, says.clone()) });
        bars.legend.push((fill, says));
        from = to;
    }
    bars.rows.extend((whole > 0.0).then_some(bar));
    bars
}

/// Seconds of CPU time, user and system.
pub(crate) fn cpu_seconds(record: &Record) -> f64 {
    ["user", "system"].iter().filter_map(|name| find_state(record, name)).map(Measurement::value).sum()
}

/// The command approximately as typed.
pub(crate) fn command_text(time: &Measurement) -> String {
    let words = time.detail.get(detail::COMMAND).unwrap_or_default();
    words.iter().map(|word| quote_word(word)).collect::<Vec<_>>().join(" ")
}

/// Seconds with a prefix.
pub(crate) fn seconds(value: f64) -> String {
    units::figure(value, "s")
}

/// The bottleneck of a command, and the advice.
pub(crate) fn bound_parts(bound: &Bound) -> impl Iterator<Item = Part> {
    let says = format!("Bound by {}: {}", bound.by.name(), bound.says);
    let advice = bound.advice.iter().map(|advice| format!("Try: {advice}"));
    [says].into_iter().chain(advice).map(Part::Says)
}

/// The command and the verdict, for the top of a page; empty without a command.
pub(crate) fn verdict(record: &Record) -> Block {
    let mut parts = Vec::new();
    if let Some(time) = find_time(record) {
        let ran = format!("`{}` {}", clean(&command_text(time)), describe_runs(time));
        parts.extend([Some(ran), early_end(record, time)].into_iter().flatten().map(Part::Says));
        parts.push(Part::Bars(states(record)));
        parts.extend(record.diagnosis.bound.iter().flat_map(bound_parts));
    }
    Block::new("Bottleneck of the command", None, parts)
}

/// Why a run ended early.
pub(crate) fn ended_by(ended: &Ended) -> Option<String> {
    match ended {
        Ended::Complete => None,
        Ended::Interrupted { signal } => Some(format!("by signal {signal}")),
        Ended::Failed { reason } => Some(format!("because {reason}")),
    }
}

/// The note that not all requested runs were made, with the reason.
pub(crate) fn early_end(record: &Record, time: &Measurement) -> Option<String> {
    let by = ended_by(&record.ended)?;
    let asked = time.detail.get(detail::RUNS_ASKED).unwrap_or(1);
    let ends = time.detail.get(detail::ENDS).unwrap_or_default();
    let whole = ends.iter().filter(|end| !matches!(end, RunEnd::Stopped(_))).count();
    let reported = match whole {
        0 => "the results are from an incomplete run".to_owned(),
        // During an experiment, the command runs more often than requested.
        _ if whole as u64 > asked => format!("{} counted", count_noun(whole, "run")),
        _ => format!("{whole} of {} counted", count_noun(asked as usize, "run")),
    };
    Some(format!("ended early {by}: {reported}"))
}

/// The note that results cover more processes than were specified.
pub(crate) fn describe_below(processes: u64) -> String {
    match processes {
        0 => String::new(),
        1 => " (including 1 child process)".to_owned(),
        several => format!(" (including {several} child processes)"),
    }
}

/// The command's duration, number of runs and exit state.
pub(crate) fn describe_runs(time: &Measurement) -> String {
    let took = seconds(time.value());
    if let Some(pids) = time.detail.get(detail::ATTACHED_TO) {
        let below = time.detail.get(detail::THREADS_SEEN).map_or(0, |seen| seen.below);
        let end = match time.detail.get(detail::ATTACHED_ENDED) {
            Some(ended) if ended == pids => ", ended".to_owned(),
            Some(ended) => format!(", of which {ended} exited"),
            None => String::new(),
        };
        return format!("observed for {took}: pid {pids}{end}{}", describe_below(below));
    }
    let mut text = match (time.summary.n, time.summary.interval) {
        (0 | 1, _) => format!("took {took}"),
        (n, Some((low, high))) => {
            let range = range(&seconds(low), &seconds(high));
            format!("took {took}, the median of {n} runs (95 % CI {range})")
        }
        (n, None) => {
            let range = range(&seconds(time.summary.min), &seconds(time.summary.max));
            format!("took {took}, the median of {n} runs (range {range}); an interval requires 6 runs (-r 6)")
        }
    };
    if let Some(doubt) = time.doubt.as_ref().filter(|doubt| doubt.kind() == DoubtKind::Other) {
        text.push_str(&format!(" ({doubt})"));
    }
    let ends = time.detail.get(detail::ENDS).unwrap_or_default();
    let all = ends.len();
    match group_by(ends.into_iter().map(describe_end), String::clone).as_slice() {
        [] => {}
        [(only, _)] => text.push_str(&format!("; {only}")),
        several => {
            let said = |(end, runs): &(String, Vec<String>)| format!("{end} in {} of {all} runs", runs.len());
            text.push_str(&format!("; {}", several.iter().map(said).collect::<Vec<_>>().join(", ")));
        }
    }
    let left = time.detail.get(detail::LEFT_BEHIND).unwrap_or_default();
    if !left.is_empty() {
        let named = left.iter().take(MOST_LEFT).cloned().collect::<Vec<_>>().join(", ");
        let count = left.len();
        text.push_str(&format!(
            "; {count} {} ({named}) outlived the command and {} waited for",
            agree(count, "process", "processes"),
            agree(count, "was", "were")
        ));
    }
    text
}

fn describe_end(end: RunEnd) -> String {
    match end {
        RunEnd::Code(code) => format!("exit code {code}"),
        RunEnd::Signal(signal) => format!("killed by {}", signal_name(signal)),
        RunEnd::Stopped(signal) => format!("stopped because linespeed received {}", signal_name(signal)),
        RunEnd::TimedOut(_) => "stopped at its time limit".to_owned(),
    }
}

/// Names of Linux's signals, from 1, as `kill -l` lists them.
const SIGNALS: [&str; 31] = [
    "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE",
    "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ",
    "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
];

/// `SIGKILL (9)`.
fn signal_name(signal: i64) -> String {
    let name = usize::try_from(signal - 1).ok().and_then(|at| SIGNALS.get(at));
    name.map_or_else(|| format!("signal {signal}"), |name| format!("SIG{name} ({signal})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_only_thread_was_blocked_for_stands_once_in_tables_and_is_called_blocked() {
        let mut record = Record::new("0", String::new(), Vec::new());
        for (state, seconds) in [("off-cpu", 3.0), ("blocked", 3.003), ("user", 1.0)] {
            let place =
                record::Labels::new().with_label(Label::Workload, "command").with_label(Label::State, state);
            record.measurements.push(Measurement::new("workload.cpu_time", place, vec![seconds]));
        }
        let states = |record: &Record| {
            let all = record.measurements.iter().filter(|m| !is_repeated(record, m));
            all.map(|m| super::super::figures::labelled(m, Label::State)).collect::<Vec<_>>()
        };
        assert_eq!(states(&record), ["blocked, no thread ready", "user"]);
        record.measurements[0].summary.median = 1.0;
        assert_eq!(states(&record), ["blocked, no thread ready", "blocked", "user"]);
    }

    #[test]
    fn what_threads_were_blocked_for_stands_beside_one_that_works() {
        let listed = |blocked: Option<f64>, off: f64| {
            let seconds = |state: &str| match state {
                "blocked" => blocked,
                "off-cpu" => Some(off),
                _ => Some(1.0),
            };
            let states = listed_states(seconds).map(|(state, ..)| state);
            states.filter(|state| ["blocked", "off-cpu"].contains(state)).collect::<Vec<_>>()
        };
        assert_eq!(listed(Some(11.6), 0.0), ["blocked", "off-cpu"]);
        // For one thread, both states are the same; older records contain only `off-cpu`.
        assert_eq!(listed(Some(3.003), 3.0), ["off-cpu"]);
        assert!(listed(None, 3.0).contains(&"off-cpu"));
    }
}
