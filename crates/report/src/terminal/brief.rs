//! The answers of `scale`, `overhead` and `compare` on one screen, preceded by their full reports on request.

use record::{Comparison, Record};

use super::room::{LEAST_ANSWER, MACHINE, NOISE, ROWS};
use super::screen::Screen;
use super::{answer, compare, findings, report, scale};
use crate::contents::compare::{is_of_watches, record_names};
use crate::contents::layers::{answered, over_fastest, said};
use crate::contents::{places, scaling};
use crate::paint::Tone;
use crate::table::Table;
use crate::text::cut_words;

/// Lines below the tables of layers: noise, machine, run, what could not be measured, where the rest is.
const OVERHEAD_FOOT: usize = 4 + NOISE + MACHINE;
/// Width of a sentence in a table.
const CELL: usize = 48;

/// The throughput of a command or recipe on one CPU to all of them. `shown_by`: the
/// name that `linespeed show` accepts for this record, if it was saved.
pub fn scale_answer(screen: &mut Screen, record: &Record, all: bool, shown_by: Option<&str>) {
    report::above_answer(screen, record, all, shown_by);
    if let Some(early) = scale::early(record) {
        screen.paragraph(&[], Tone::Warning, &early);
    }
    answer::begin(screen, record);
    screen.clipped(12, |screen| {
        screen.paragraph(&[], Tone::Strong, scale::command(record));
        let steps = scaling::in_short(record, ROWS + 2);
        if !steps.is_empty() {
            screen.table(&steps, 2);
        }
        if let Some(had) = places::cores_had(record) {
            screen.say(format!("Cores: {had}."));
        }
        // Without counters a command is measured all the same.
        for lost in scale::lost(record).filter(|of| of.topic() != "counters") {
            screen.hanging("- ", "  ", format!("{}: {}", lost.what, lost.why()));
        }
    });
    screen.blank();
    answer::foot(screen, record, shown_by);
}

/// The overhead of each layer: the layers, the cost of each step between them, and the verdicts on published conclusions.
pub fn overhead_answer(screen: &mut Screen, record: &Record, all: bool, shown_by: Option<&str>) {
    report::above_answer(screen, record, all, shown_by);
    answer::begin(screen, record);
    let overhead = || record.diagnosis.overhead.iter();
    let mut layers = Table::new("", None, ["layer", "bound", "IRQs", "#over fastest"]);
    // The first finding is never cut, so its lines are counted before the tables are written.
    let before = screen.lines();
    findings::write(screen, record, 0, shown_by);
    let foot = OVERHEAD_FOOT + screen.lines() - before;
    screen.keep(before);
    let steps = overhead().map(|overhead| overhead.steps.len()).sum::<usize>().min(ROWS);
    // Below the heads of both tables.
    let rows = screen.left(foot + steps + 2).clamp(2, ROWS);
    for layer in record.diagnosis.layers.iter().take(rows) {
        let mark = if layer.doubt.is_some() { "?" } else { "" };
        let [bound, interrupts] =
            [&layer.bound, &layer.interrupts].map(|word| word.clone().unwrap_or_default());
        let over = format!("{}{mark}", over_fastest(layer));
        layers.row(vec![layer.layer.clone(), bound, interrupts, over]);
    }
    let fitted = |words: String| if screen.is_terminal() { cut_words(&words, CELL) } else { words };
    let mut steps = Table::new("", None, ["step", "costs"]);
    for step in overhead().flat_map(|overhead| &overhead.steps).take(ROWS) {
        steps.row([step.what.to_string(), said(step)].map(fitted).to_vec());
    }
    let mut claims = Table::new("", None, ["published conclusion", "verdict"]);
    for claim in overhead().flat_map(|overhead| &overhead.claims).take(ROWS) {
        claims.row([claim.claim.to_string(), answered(claim)].map(fitted).to_vec());
    }
    // The layers first, then as much of the others as one screen has room for.
    screen.table(&layers, 2);
    for table in [steps, claims] {
        let room = screen.left(foot);
        // Its head alone, or with a single row, shows little.
        if room > 2 {
            screen.clipped(room.min(1 + ROWS), |screen| screen.table(&table, 2));
        }
    }
    screen.blank();
    answer::foot(screen, record, shown_by);
}

/// The faster record, the size of the difference, and the reasons.
pub fn comparison_answer(screen: &mut Screen, c: &Comparison, all: bool) {
    // Of recordings the tables are short, and are the answer.
    if is_of_watches(c) {
        compare::answer(screen, c);
        return compare::blocks(screen, c);
    }
    if all {
        compare::blocks(screen, c);
    }
    screen.begin_answer(all);
    if let Some(gate) = &c.gate {
        compare::gate(screen, gate, record_names(c).as_deref());
    }
    let left = screen.left(0).max(LEAST_ANSWER);
    screen.clipped(left, |screen| compare::answer(screen, c));
    screen.more("--all (explanations, differences, all results)");
}
