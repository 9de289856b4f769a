//! A comparison as a page.

use maud::{Markup, html};
use record::{Comparison, Record};

use super::figures::{block_section, drawings, facts};
use super::{Section, bars, prose, section};
use crate::contents::curves::overlaid;
use crate::contents::{compare, watch};
use crate::text::keep_units;

/// The answer, and what is compared.
pub(super) fn header(c: &Comparison) -> Markup {
    html! {
        header {
            p class="kind" { "linespeed comparison" }
            h1 { (keep_units(&compare::title(c))) }
            @if let Some(gate) = &c.gate { p class="lead" { strong { (prose(&gate.says)) } } }
            @for says in &c.answer { p class="lead" { (prose(compare::paragraph(says))) } }
            (facts(&compare::subjects(c)))
            @if c.notes.len() == 1 { @for note in &c.notes { p { (prose(note)) } } }
            @if c.notes.len() > 1 { ul { @for note in &c.notes { li { (prose(note)) } } } }
        }
    }
}

/// The pictures, then what stands in words and tables.
pub(super) fn sections(c: &Comparison, records: &[&Record]) -> Vec<Section> {
    let blocks = compare::blocks(c);
    if blocks.is_empty() {
        return Vec::new();
    }
    let few = if records.len() <= compare::COLUMNS { records } else { &[] };
    let named = few.iter().enumerate().map(|(index, record)| (compare::label(c, index), *record));
    let named: Vec<_> = named.collect();
    let curves = [overlaid(&named), watch::overlaid(&named)].concat();
    let curves = drawings(&curves, "curve");
    let mut sections = vec![
        section("speed", "Who is faster at what", bars::draw(&compare::forest(c))),
        section("curves", "Curves", curves),
    ];
    let parts = blocks.iter().enumerate();
    sections.extend(parts.map(|(number, block)| block_section(&format!("part-{number}"), block, "differs")));
    sections
}
