//! Commands that `linespeed stat` ran in turn, at the top of the page: which is faster, and what bounds each.

use maud::html;
use record::Record;

use super::{Section, prose, section};
use crate::contents::turns::{describe_rounds, find_turns, table};

/// The answer; nothing for a record of something else.
pub(super) fn turns(record: &Record) -> Section {
    let inside = html! {
        @if let Some(turns) = find_turns(record) {
            @for one in turns.commands.iter().filter_map(|one| one.against_first.as_ref()) {
                p { strong { (prose(&one.says)) } }
                @for explained in &one.explained { p { (prose(explained)) } }
            }
            p { (prose(describe_rounds(record))) @if let Some(floor) = &turns.floor_says { "; " (prose(floor)) } }
            (super::table::table(&table(record, turns).finished(), ""))
            @for one in &turns.commands {
                @if let Some(bound) = &one.bound {
                    h3 { code { (crate::text::clean(&one.workload)) } ": bound by " (prose(bound.by.name())) }
                    p { (prose(&bound.says)) }
                    @for advice in &bound.advice { p { "Try: " (prose(advice)) } }
                }
            }
        }
    };
    section("turns", "Commands in turn", inside)
}
