//! A comparison as a page.

use maud::{Markup, html};
use record::Comparison;

use super::figures::{facts, table};
use super::{prose, section};
use crate::contents::{Block, Part, compare};
use crate::text::keep_units;

/// Everything between the page's head and its foot.
pub(super) fn body(c: &Comparison) -> Markup {
    html! {
        header {
            p class="kind" { "linespeed comparison" }
            h1 { (keep_units(&compare::title(c))) }
            @for says in &c.answer { p class="lead" { (prose(compare::paragraph(says))) } }
            (facts(&compare::subjects(c)))
            @if c.notes.len() == 1 { @for note in &c.notes { p { (prose(note)) } } }
            @if c.notes.len() > 1 { ul { @for note in &c.notes { li { (prose(note)) } } } }
        }
        @for (number, block) in compare::blocks(c).iter().enumerate() {
            (block_section(&format!("part-{number}"), block))
        }
    }
}

fn block_section(id: &str, block: &Block) -> Markup {
    let inside = html! {
        @for part in &block.parts {
            @match part {
                Part::Says(text) => p { (prose(text)) },
                Part::Facts(section) => (facts(section)),
                Part::Table(of) => {
                    @if of.title != block.title { h3 { (of.title) } }
                    (table(of))
                }
                // A comparison has no charts.
                Part::Chart(_) | Part::Heat(_) | Part::Condensed { .. } | Part::Folded(_) => {}
            }
        }
    };
    section(id, &block.title, inside)
}
