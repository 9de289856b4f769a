//! A machine's history as a page: its curves with their changes.

use maud::{Markup, html};
use record::history::History;

use super::figures::drawings;
use super::table::table;
use super::{Section, items, prose, section};
use crate::contents::history;
use crate::text::keep_units;

/// Columns of a sparkline in the table.
const SPARK: usize = 24;

/// The answer.
pub(super) fn header(of: &History) -> Markup {
    html! { header { p class="kind" { "linespeed history" } h1 { (keep_units(&history::title(of))) } } }
}

/// What changed, the curves, the table, what was left out.
pub(super) fn sections(of: &History) -> Vec<Section> {
    let changes = history::changes(of);
    let changed = html! {
        @if !changes.is_empty() {
            p class="quiet" { "In series without change one in twenty runs of this command would name one by chance." }
            ul { @for (what, why) in &changes { li { @for what in what { p { (prose(what)) } } p class="quiet" { (prose(why)) } } } }
        }
    };
    let figures = html! { @if !of.lines.is_empty() { (table(&history::table(of, SPARK), "")) } };
    vec![
        section("changes", "Changes, the newest first", changed),
        section("curves", "Over time", drawings(&history::charts(of), "history")),
        section("figures", "Figures", figures),
        section("known", "Notes", items(&history::remarks(of))),
    ]
}
