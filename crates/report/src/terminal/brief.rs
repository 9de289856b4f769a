//! The answers of `scale`, `overhead` and `compare` on one screen; their reports go before them where they are asked for.

use record::{Comparison, Record};

use super::room::{LEAST_ANSWER, ROWS};
use super::screen::Screen;
use super::{answer, compare, report, scale};
use crate::contents::compare::{is_of_watches, record_names};
use crate::contents::layers::{over_fastest, said};
use crate::contents::{places, scaling};
use crate::paint::Tone;
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
