//! The contents of a plan: its processes, its reasons, and the result of running a command with and without the plan.

use record::phrase::quote_word;
use record::plan::{Gain, Plan, Policy, Process, Verification};
use record::text::Value;
use record::{Summary, Text, text};

use super::figures::mark_words;
use super::{Block, Part, Section};
use crate::table::Table;

/// Maximum number of processes in the table; the plan contains all.
const MOST_PROCESSES: usize = 32;

/// The details below the answer: the processes, the result of running a command with and without the plan, the reasons,
/// the lines to paste, omissions and unknowns.
pub(crate) fn blocks(plan: &Plan) -> Vec<Block> {
    let is_bound = plan.processes.len() > 1 || !plan.snippets.is_empty();
    let table = is_bound.then(|| Part::Table(processes(&plan.processes)));
    let verified = plan.verification.iter().flat_map(verification).map(|line| Part::Says(line.to_string()));
    let mut why = Section::new("Why");
    reasons(plan).iter().for_each(|(key, says)| why.add(key, says));
    plan.advice.iter().for_each(|advice| why.add(&advice.about, &advice.says));
    let undo = |command: &String| format!("{command}  # undo");
    let commands =
        plan.advice.iter().flat_map(|one| one.commands.iter().cloned().chain(one.undo.iter().map(undo)));
    // The command to paste names the specified record; without it, the plan would be for this machine.
    let of = plan.record.as_ref().map_or(String::new(), |record| format!("{} ", quote_word(record)));
    let paste = plan.snippets.iter().flat_map(|snippet| {
        let is_file = snippet.pieces.iter().any(|piece| piece.lines.len() > 1);
        let lines = snippet.pieces.iter().flat_map(|piece| piece.lines.iter().cloned());
        let lines: Vec<String> = match is_file {
            true => vec![format!("linespeed plan {of}--as {}", snippet.tool)],
            false => lines.collect(),
        };
        [Part::Says(format!("{}: {}", snippet.tool, snippet.says)), Part::Commands(lines)]
    });
    let sentences = |title, all: &[Text]| Block::items(title, all.iter().map(ToString::to_string));
    vec![
        Block::new("", None, table.into_iter().collect()),
        Block::new("Verified", None, verified.collect()),
        Block::new("Why", None, vec![Part::Facts(why), Part::Commands(commands.collect())]),
        Block::new("To paste", None, paste.collect()),
        sentences("Cautions", &plan.cautions),
        sentences("Unknown", &plan.unknown),
        sentences("Sources", &plan.sources),
    ]
}

/// The processes, one per row.
fn processes(processes: &[Process]) -> Table {
    let mut table = Table::new("", None, ["#process", "nodes", "#threads", "CPUs", "memory"]);
    for process in table.first(processes.iter().collect(), MOST_PROCESSES) {
        table.row(vec![
            process.number.to_string(),
            process.nodes.to_string(),
            process.threads.map_or("-".to_owned(), |threads| threads.to_string()),
            if process.cpus.is_empty() { "its nodes' CPUs".to_owned() } else { process.cpus.to_string() },
            match process.policy {
                Policy::Default => "-".to_owned(),
                Policy::Bind => format!("node {}", process.memory),
                Policy::Interleave => format!("interleaved over {}", process.memory),
            },
        ]);
    }
    table.finished()
}

/// The expected gains and the reasons, each as a word and its explanation.
fn reasons(plan: &Plan) -> Vec<(&'static str, Text)> {
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

/// The gain of one kind of program, and why.
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

/// The result of running a command with and without the plan, one sentence per line.
fn verification(verified: &Verification) -> Vec<Text> {
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
        "Medians of {rounds} rounds: planned {planned} ({planned_least} to {planned_most}), unpinned \
         {unbound} ({least} to \
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
        medians.push(text!("Consecutive runs of the same kind differ by a median of {noise}.", noise));
    }
    lines.push(medians);
    let runs = verified.planned.len() + verified.unbound.len();
    lines.extend(verified.marks.iter().map(|(mark, count)| {
        text!("In {count} of {runs} runs, {happened}.", count = *count, runs, happened = mark_words(*mark))
    }));
    lines
}
