//! The answers of `scale`, `overhead`, `compare` and `plan` on one screen; their reports go before them where they are asked for.

use record::plan::Plan;
use record::{Comparison, Record};

use super::room::{LEAST_ANSWER, LINES, ROWS};
use super::screen::Screen;
use super::{answer, compare, plan, report, scale};
use crate::contents::compare::{is_of_watches, record_names};
use crate::contents::layers::{over_fastest, said};
use crate::contents::plan::{processes, reasons, verification};
use crate::contents::{places, scaling};
use crate::paint::{Span, Tone};
use crate::table::Table;
use crate::text::cut_words;

/// Columns of a sentence in a table.
const CELL: usize = 48;

/// What a command or recipe gives on one CPU to all of them. `shown_by`: what `linespeed show` takes for this record, where it was kept.
pub fn scale_answer(screen: &mut Screen, record: &Record, all: bool, shown_by: Option<&str>) {
    report::above_answer(screen, record, all, shown_by);
    if let Some(early) = scale::early(record) {
        screen.paragraph(&[], Tone::Warning, &early);
    }
    answer::head(screen, record);
    screen.clipped(12, |screen| {
        screen.paragraph(&[], Tone::Strong, scale::command(record));
        let steps = scaling::in_short(record, ROWS + 2);
        if steps.is_empty() {
            screen.say("Nothing was measured.");
        } else {
            screen.table(&steps, 2);
        }
        if let Some(scaling) = record.diagnosis.scaling.first() {
            screen.say(&scaling.meaning);
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
    answer::foot(screen, record, shown_by, false);
}

/// What each layer takes of a CPU's speed.
pub fn overhead_answer(screen: &mut Screen, record: &Record, all: bool, shown_by: Option<&str>) {
    report::above_answer(screen, record, all, shown_by);
    answer::head(screen, record);
    let mut layers = Table::new("", None, ["layer", "bound", "IRQs", "#over fastest"]);
    for layer in record.diagnosis.layers.iter().take(ROWS) {
        let mark = if layer.doubt.is_some() { "?" } else { "" };
        let [bound, interrupts] =
            [&layer.bound, &layer.interrupts].map(|word| word.clone().unwrap_or_default());
        let over = format!("{}{mark}", over_fastest(layer));
        layers.row(vec![layer.layer.clone(), bound, interrupts, over]);
    }
    let mut steps = Table::new("", None, ["step", "costs"]);
    for step in record.diagnosis.overhead.iter().flat_map(|overhead| &overhead.steps).take(ROWS) {
        let fitted = |words: String| if screen.is_terminal() { cut_words(&words, CELL) } else { words };
        steps.row([step.what.to_string(), said(step)].map(fitted).to_vec());
    }
    screen.table(&layers, 2);
    screen.clipped(1 + ROWS, |screen| screen.table(&steps, 2));
    screen.blank();
    answer::foot(screen, record, shown_by, false);
}

/// Who is how much faster, and why.
pub fn comparison_answer(screen: &mut Screen, c: &Comparison, all: bool) {
    // Of watches the tables are short, and are the answer.
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
    screen.more_with("--all (what explains it, what differs, all figures)");
}

/// How to lay a program out.
pub fn plan_answer(screen: &mut Screen, made: &Plan, all: bool) {
    plan::plan(screen, made);
    if screen.lines() <= LINES {
        return;
    }
    if !all {
        screen.keep(0);
    }
    screen.begin_answer(all);
    screen.clipped(5, |screen| screen.paragraph(&[], Tone::Strong, &made.summary));
    screen.clipped(ROWS, |screen| screen.table(&processes(&made.processes), 2));
    screen.clipped(7, |screen| {
        made.verification.iter().flat_map(verification).for_each(|line| screen.say(line));
        for (key, text) in &reasons(made) {
            screen.paragraph(&[Span::strong(format!("{key}: "))], Tone::Plain, text);
        }
    });
    let tools: Vec<&str> = made.snippets.iter().map(|snippet| snippet.tool.as_str()).collect();
    if !tools.is_empty() {
        // Of a record that was named: without it the command would plan this machine.
        let of = made.record.as_ref().map(|record| format!("{} ", record::phrase::quote_word(record)));
        let command = format!("linespeed plan {}--as {}", of.unwrap_or_default(), tools.join("|"));
        screen.paragraph(&[Span::plain("To paste: ")], Tone::Plain, command);
    }
    screen.more_with("--all (lines to paste, what else to set, cautions)");
}
