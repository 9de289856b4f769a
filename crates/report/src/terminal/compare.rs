//! A comparison on the terminal.

use record::gate::Gate;
use record::{Comparison, Text};

use super::report;
use super::room::ROWS;
use super::screen::Screen;
use crate::contents::{self, compare};
use crate::paint::Tone;

/// Whether a gate was passed, and the failures.
pub fn gate(screen: &mut Screen, gate: &Gate, names: Option<&dyn Fn(usize) -> String>) {
    let tone = if gate.passed { Tone::Better } else { Tone::Serious };
    screen.paragraph(&[], tone, &gate.says);
    if let Some(failed) = contents::gate::failed(gate, ROWS, names) {
        screen.table(&failed, 2);
    }
    screen.blank();
}

/// The faster record, the size of the difference, its causes, and the compared records.
pub(super) fn answer(screen: &mut Screen, c: &Comparison) {
    screen.paragraph(&[], Tone::Strong, compare::title(c));
    for says in &c.answer {
        // The gate above the answer already counts the results that are too noisy.
        let counts = |one: &Text| c.gate.is_some() && one.is(&diagnose::TOO_NOISY);
        let says = Text::sequence(says.sentences().iter().filter(|one| !counts(one)).cloned());
        screen.hanging("  ", "  ", compare::paragraph(&says));
    }
    if !c.answer.is_empty() {
        screen.blank();
    }
    let subjects = compare::subjects(c);
    screen.facts(&subjects.facts, "  ", 0, usize::MAX);
    screen.blank();
    for note in &c.notes {
        match c.notes.len() {
            1 => screen.say(note),
            _ => screen.hanging("- ", "  ", note),
        }
    }
}

/// The tables.
pub(super) fn blocks(screen: &mut Screen, c: &Comparison) {
    compare::blocks(c).iter().for_each(|block| report::block(screen, block, true));
}
