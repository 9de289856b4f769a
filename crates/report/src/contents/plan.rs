//! What a plan says: its processes, its reasons, what running a command both ways gave.

use record::plan::{Gain, Plan, Policy, Process, Verification};
use record::text::Value;
use record::{Summary, Text, text};

use super::figures::mark_words;
use crate::table::Table;

/// Processes that the table shows; the plan has all.
pub(crate) const MOST_PROCESSES: usize = 32;

/// The processes, one a row.
pub(crate) fn processes(processes: &[Process]) -> Table {
    let mut table = Table::new("", None, ["#process", "nodes", "#threads", "CPUs", "memory"]);
    for process in processes.iter().take(MOST_PROCESSES) {
        table.row(vec![
            process.number.to_string(),
            process.nodes.to_string(),
            process.threads.map_or("-".to_owned(), |threads| threads.to_string()),
            if process.cpus.is_empty() { "all of its nodes".to_owned() } else { process.cpus.to_string() },
            match process.policy {
                Policy::Default => "-".to_owned(),
                Policy::Bind => format!("of node {}", process.memory),
                Policy::Interleave => format!("interleaved over {}", process.memory),
            },
        ]);
    }
    table.finished()
}

/// All that a plan says, a row each: its processes have their columns, and the lines of a tool its name.
pub(crate) fn lines(plan: &Plan) -> Table {
    let heads = ["kind", "of", "process", "nodes", "threads", "cpus", "memory", "says"];
    let mut table = Table::new("", None, heads);
    let mut says = |kind: &str, of: &str, process: Option<u32>, says: String| {
        let process = process.map_or(String::new(), |process| process.to_string());
        let [kind, of] = [kind, of].map(str::to_owned);
        table.row(vec![kind, of, process, String::new(), String::new(), String::new(), String::new(), says]);
    };
    says("plan", "", None, plan.summary.to_string());
    for line in plan.verification.iter().flat_map(verification) {
        says("verified", "", None, line.to_string());
    }
    for (key, text) in reasons(plan) {
        says("why", key, None, text.to_string());
    }
    for advice in &plan.advice {
        says("advice", &advice.about.to_string(), None, advice.says.to_string());
        advice
            .commands
            .iter()
            .for_each(|command| says("command", &advice.about.to_string(), None, command.clone()));
        advice.undo.iter().for_each(|command| says("undo", &advice.about.to_string(), None, command.clone()));
    }
    for snippet in &plan.snippets {
        for piece in &snippet.pieces {
            piece.lines.iter().for_each(|line| says("paste", &snippet.tool, piece.process, line.clone()));
        }
    }
    for (kind, all) in [("caution", &plan.cautions), ("unknown", &plan.unknown), ("figures", &plan.sources)] {
        all.iter().for_each(|text| says(kind, "", None, text.to_string()));
    }
    let processes = plan.processes.iter().map(|process| {
        let threads = process.threads.map_or(String::new(), |threads| threads.to_string());
        let policy = match process.policy {
            Policy::Default => "default",
            Policy::Bind => "bind",
            Policy::Interleave => "interleave",
        };
        vec![
            "process".to_owned(),
            policy.to_owned(),
            process.number.to_string(),
            process.nodes.to_string(),
            threads,
            process.cpus.to_string(),
            process.memory.to_string(),
            String::new(),
        ]
    });
    // Behind the plan in a sentence.
    table.rows.splice(1..1, processes);
    table
}

/// Why it is so, what is gained: a word and what it says.
pub(crate) fn reasons(plan: &Plan) -> Vec<(&'static str, Text)> {
    let mut said: Vec<(&'static str, Text)> = Vec::new();
    said.extend(plan.gains.iter().map(|one| ("gain", gain(one))));
    said.extend(plan.siblings.as_ref().map(|siblings| {
        let mut why = siblings.why.clone();
        if !siblings.measured && !siblings.one_a_core.is_empty() {
            why.push(text!("One CPU per core: {cpus}.", cpus = &siblings.one_a_core));
        }
        ("siblings", why)
    }));
    said.extend(plan.caches.as_ref().map(|caches| ("caches", caches.says.clone())));
    said
}

/// What one kind of program gains and why.
fn gain(gain: &Gain) -> Text {
    let (program, factor) = (&gain.program, Value::Factor(gain.factor));
    let modelled = match gain.interval {
        Some((low, high)) => text!(
            "Modelled: a {program} program does {factor} ({low} to {high}) the work.",
            program,
            factor,
            low = Value::Factor(low),
            high = Value::Factor(high)
        ),
        None => text!("Modelled: a {program} program does {factor} the work.", program, factor),
    };
    Text::sequence([modelled, gain.why.clone()])
}

/// What running a command both ways gave, a sentence a line.
pub(crate) fn verification(verified: &Verification) -> Vec<Text> {
    let mut lines = vec![verified.says.clone(), verified.how.clone()];
    if verified.planned.is_empty() {
        return lines;
    }
    let times = |values: &[f64]| {
        let all = Summary::from_samples(values);
        [all.median, all.min, all.max].map(|seconds| Value::Figure(seconds, "s"))
    };
    let ([planned, planned_least, planned_most], [unbound, least, most]) =
        (times(&verified.planned), times(&verified.unbound));
    let mut medians = text!(
        "Medians of {rounds} rounds: planned {planned} ({planned_least} to {planned_most}), unbound {unbound} ({least} to \
         {most}).",
        rounds = verified.planned.len(),
        planned,
        planned_least,
        planned_most,
        unbound,
        least,
        most
    );
    if let Some(noise) = verified.noise {
        let noise = Value::Share(noise);
        medians.push(text!("Consecutive runs of one kind differ by {noise} in the median.", noise));
    }
    lines.push(medians);
    let runs = verified.planned.len() + verified.unbound.len();
    lines.extend(verified.marks.iter().map(|(mark, count)| {
        text!("In {count} of {runs} runs {happened}.", count = *count, runs, happened = mark_words(*mark))
    }));
    lines
}
