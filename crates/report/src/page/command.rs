//! A command that `linespeed stat` ran, at the top of the page: how it went, where its time went, what it was bound by.

use maud::html;
use record::Record;

use super::{Section, bars, prose, section};
use crate::contents::command::{command_text, describe_runs, early_end, find_time, states};

/// The command and the verdict; nothing for a record of no command.
pub(super) fn verdict(record: &Record) -> Section {
    let inside = html! {
        @if let Some(time) = find_time(record) {
            p { code { (crate::text::clean(&command_text(time))) } " " (prose(describe_runs(time))) }
            @if let Some(early) = early_end(record, time) { p { strong { (prose(&early)) } } }
            (bars::draw(&states(record)))
            @if let Some(bound) = &record.diagnosis.bound {
                h3 { "Bound by " (prose(bound.by.name())) }
                p { (prose(bound.says.to_string())) }
                @for advice in &bound.advice { p { "Try: " (prose(advice)) } }
            }
        }
    };
    section("command", "What the command was bound by", inside)
}
