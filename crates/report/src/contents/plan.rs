//! What a plan says: its processes, its reasons, what running a command both ways gave.

use record::Mark;
use record::plan::{Gain, Plan, Policy, Process, Verification};
use record::units::{figure, percent, significant};

use crate::table::Table;

/// Processes that the table shows; the plan has all.
pub(crate) const MOST_PROCESSES: usize = 32;

/// The processes, one a row.
pub(crate) fn processes(processes: &[Process]) -> Table {
    let mut table = Table::new("", None, &["#process", "nodes", "#threads", "CPUs", "memory"]);
    for process in processes.iter().take(MOST_PROCESSES) {
        table.row(vec![
            process.number.to_string(),
            process.nodes.to_string(),
            process.threads.map_or("-".to_owned(), |threads| threads.to_string()),
            if process.cpus.is_empty() { "those of its nodes".to_owned() } else { process.cpus.to_string() },
            match process.policy {
                Policy::Default => "-".to_owned(),
                Policy::Bind => format!("of node {}", process.memory),
                Policy::Interleave => format!("interleaved over {}", process.memory),
            },
        ]);
    }
    table.finished()
}

/// Why it is so, what is gained: a word and what it says.
pub(crate) fn reasons(plan: &Plan) -> Vec<(&'static str, String)> {
    let mut said: Vec<(&'static str, String)> = Vec::new();
    said.extend(plan.gains.iter().map(|one| ("gain", gain(one))));
    said.extend(plan.siblings.as_ref().map(|siblings| {
        let other = match (siblings.measured, siblings.one_a_core.is_empty()) {
            (false, false) => format!(" One CPU of each core: {}.", siblings.one_a_core),
            _ => String::new(),
        };
        ("siblings", format!("{}{other}", siblings.why))
    }));
    said.extend(plan.caches.as_ref().map(|caches| ("caches", caches.says.to_string())));
    said
}

/// What one kind of program gains and why.
fn gain(gain: &Gain) -> String {
    let between = match gain.interval {
        Some((low, high)) => format!(" ({} to {})", significant(low), significant(high)),
        None => String::new(),
    };
    format!(
        "A program that {} does {} times the work{between}, modelled. {}",
        gain.program,
        significant(gain.factor),
        gain.why
    )
}

/// What running a command both ways gave, a sentence a line.
pub(crate) fn verification(verified: &Verification) -> Vec<String> {
    let mut lines = vec![verified.says.to_string(), verified.how.to_string()];
    let times = |values: &[f64]| {
        let all = record::Summary::from_samples(values);
        let seconds = |value: f64| figure(value, "s");
        format!("{} ({} to {})", seconds(all.median), seconds(all.min), seconds(all.max))
    };
    if !verified.planned.is_empty() {
        let noise = verified.noise.map_or(String::new(), |noise| {
            format!(
                "; of two runs of one kind, one right after the other, half differ by less than {}",
                percent(noise)
            )
        });
        lines.push(format!(
            "As planned {}, unbound {}: the medians of {} rounds, with the least and the most{noise}.",
            times(&verified.planned),
            times(&verified.unbound),
            verified.planned.len()
        ));
        for (mark, count) in &verified.marks {
            let all = verified.planned.len() + verified.unbound.len();
            lines.push(format!("In {count} of {all} runs {}.", happened(*mark)));
        }
    }
    lines
}

/// What a mark says of a run.
fn happened(mark: Mark) -> &'static str {
    match mark {
        Mark::ClockMoved => "the core clock moved",
        Mark::Switched => "other programs ran on these CPUs",
        Mark::Migrated => "threads found themselves on other CPUs",
        Mark::Stolen => "the hypervisor took time",
        Mark::Throttled => "heat or power held the clock down",
        Mark::Quota => "a CPU quota stopped the command",
    }
}
