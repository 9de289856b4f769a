//! A comparison as a page.

use maud::{Markup, html};
use record::{Comparison, Record};

use super::figures::{block_section, facts};
use super::{Section, prose};
use crate::contents::curves::overlaid;
use crate::contents::{Block, Part, compare, watch};

/// The answer and the compared records.
pub(super) fn header(c: &Comparison) -> Markup {
    html! {
        @if let Some(gate) = &c.gate { p class="lead" { strong { (prose(&gate.says)) } } }
        @for says in &c.answer { p class="lead" { (prose(compare::paragraph(says))) } }
        (facts(&compare::subjects(c)))
        @if c.notes.len() == 1 { @for note in &c.notes { p { (prose(note)) } } }
        @if c.notes.len() > 1 { ul { @for note in &c.notes { li { (prose(note)) } } } }
    }
}

/// The charts, then the text and tables.
pub(super) fn sections(c: &Comparison, records: &[&Record]) -> Vec<Section> {
    let blocks = compare::blocks(c);
    if blocks.is_empty() {
        return Vec::new();
    }
    let few = if records.len() <= compare::COLUMNS { records } else { &[] };
    let named = few.iter().enumerate().map(|(index, record)| (compare::label(c, index), *record));
    let named: Vec<_> = named.collect();
    let curves = overlaid(&named).into_iter().chain(watch::overlaid(&named)).map(Part::Chart);
    let speed = Block::new("Relative speed", None, vec![Part::Bars(compare::forest(c))]);
    let curves = Block::new("Curves", None, curves.collect());
    let mut sections = vec![block_section("speed", &speed, ""), block_section("curves", &curves, "")];
    let parts = blocks.iter().enumerate();
    sections.extend(parts.map(|(number, block)| block_section(&format!("part-{number}"), block, "differs")));
    sections
}
