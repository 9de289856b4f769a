//! A comparison on the terminal.

use record::Comparison;
use record::gate::Gate;

use super::report;
use super::screen::Screen;
use crate::contents::{self, compare};
use crate::paint::Tone;
use crate::text::{clean, width};

/// Writes everything.
pub(super) fn write(screen: &mut Screen, c: &Comparison) {
    answer(screen, c);
    blocks(screen, c);
}

/// Figures that failed a gate that stand before the answer.
const FAILED: usize = 6;

/// Whether a gate was passed, and what failed it.
pub(super) fn gate(screen: &mut Screen, gate: &Gate, names: Option<&dyn Fn(usize) -> String>) {
    let tone = if gate.passed { Tone::Better } else { Tone::Serious };
    screen.paragraph(&[], tone, &gate.says);
    if let Some(failed) = contents::gate::failed(gate, FAILED, names) {
        screen.table(&failed, 2);
    }
    screen.blank();
}

/// Who is how much faster and why, and what is compared.
pub(super) fn answer(screen: &mut Screen, c: &Comparison) {
    screen.paragraph(&[], Tone::Strong, compare::title(c));
    for says in &c.answer {
        screen.hanging("  ", "  ", compare::paragraph(says));
    }
    if !c.answer.is_empty() {
        screen.blank();
    }
    let subjects = compare::subjects(c);
    pairs(screen, &subjects.facts);
    screen.blank();
    for note in &c.notes {
        match c.notes.len() {
            1 => screen.paragraph(&[], Tone::Plain, note),
            _ => screen.hanging("- ", "  ", note),
        }
    }
}

/// The tables.
pub(super) fn blocks(screen: &mut Screen, c: &Comparison) {
    compare::blocks(c).iter().for_each(|block| report::block(screen, block, true));
}

/// The widest key that leaves room for what stands behind it.
const WIDEST_KEY: usize = 32;

pub(super) fn pairs(screen: &mut Screen, facts: &[crate::contents::Fact]) {
    let at = facts.iter().map(|fact| width(&clean(&fact.key)) + 4).max().unwrap_or(0);
    for fact in facts {
        if at > WIDEST_KEY.min(screen.width() * 2 / 5) {
            screen.hanging("  ", "      ", format!("{}: {}", fact.key, fact.value));
        } else {
            screen.pair(&format!("  {}", fact.key), &fact.value, at.max(8));
        }
    }
}
