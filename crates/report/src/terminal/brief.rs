//! The answers of `scale`, `overhead` and `compare` on one screen, preceded by their full reports on request.

use record::phrase::count_noun;
use record::{Comparison, Record};

use super::room::{LEAST_ANSWER, MACHINE, NOISE, ROWS};
use super::screen::Screen;
use super::{answer, compare, findings, report, scale};
use crate::contents::compare::{is_of_watches, record_names};
use crate::contents::layers::{answered, over_fastest, said};
use crate::contents::{listed, places, scaling};
use crate::paint::Tone;
use crate::table::Table;

/// Number of lines below the tables of the overhead answer: omitted rows, noise, machine, run, missing measurements, and a pointer to the
/// rest.
const OVERHEAD_FOOT: usize = 5 + NOISE + MACHINE;
/// Minimum number of lines for the layers: the heading and two rows.
const LEAST_LAYERS: usize = 3;

/// The throughput of a command or recipe from one CPU to all CPUs. `shown_by`: the
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
        // Missing counters are not mentioned here, because they do not affect the scaling results.
        for lost in scale::lost(record).filter(|of| of.topic() != "counters") {
            screen.hanging("- ", "  ", format!("{}: {}", lost.what, lost.why()));
        }
    });
    screen.blank();
    answer::foot(screen, record, shown_by);
}

/// The answer of `overhead`: the layers, the cost of each step from one layer to another, and the verdicts on published conclusions.
pub fn overhead_answer(screen: &mut Screen, record: &Record, all: bool, shown_by: Option<&str>) {
    report::above_answer(screen, record, all, shown_by);
    answer::begin(screen, record);
    let overhead = || record.diagnosis.overhead.iter();
    let mut layers = Table::new("", None, ["layer", "bound", "IRQs", "#over fastest"]);
    // The first finding is never truncated, so its lines are counted before the tables are written.
    let before = screen.lines();
    findings::write(screen, record, 0, shown_by);
    let foot = OVERHEAD_FOOT + screen.lines() - before;
    screen.keep(before);
    for layer in &record.diagnosis.layers {
        let mark = if layer.doubt.is_some() { "?" } else { "" };
        let [bound, interrupts] =
            [&layer.bound, &layer.interrupts].map(|word| word.clone().unwrap_or_default());
        let over = format!("{}{mark}", over_fastest(layer));
        layers.row(vec![layer.layer.clone(), bound, interrupts, over]);
    }
    let mut steps = Table::new("", None, ["step", "costs"]);
    for step in overhead().flat_map(|overhead| &overhead.steps) {
        steps.row(vec![step.what.to_string(), said(step)]);
    }
    let mut claims = Table::new("", None, ["published conclusion", "verdict"]);
    for claim in overhead().flat_map(|overhead| &overhead.claims) {
        claims.row(vec![claim.claim.to_string(), answered(claim)]);
    }
    // The layers come first and leave room for the heading and rows of the steps. The other tables use the remaining lines of the screen.
    let later = 1 + steps.rows.len().min(ROWS);
    let mut hidden = Vec::new();
    for (table, noun, below, least) in [
        (layers, "more layer", foot + later, LEAST_LAYERS),
        (steps, "more step", foot, 0),
        (claims, "more published conclusion", foot, 0),
    ] {
        let room = screen.left(below).max(least);
        let left = screen.rows(table, 2, room);
        hidden.push((left > 0).then(|| count_noun(left, noun)));
    }
    let hidden = listed(hidden);
    if !hidden.is_empty() {
        screen.hanging("  ", "    ", format!("… {hidden}: --all"));
    }
    screen.blank();
    answer::foot(screen, record, shown_by);
}

/// The faster record, the size of the difference, and the reasons.
pub fn comparison_answer(screen: &mut Screen, c: &Comparison, all: bool) {
    // For recordings, the tables are short enough to be part of the answer; without results, they are the answer.
    if is_of_watches(c) || c.rows.is_empty() {
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
