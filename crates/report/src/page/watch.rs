//! A watch that was kept, at the top of the page: its summary, its stretches, its curves, who had the CPUs.

use maud::html;
use record::Record;

use super::figures::drawings;
use super::table::table;
use super::{Section, bars, prose, section, slug};
use crate::contents::watch;

/// What is told of a watch; nothing for a record of none.
pub(super) fn sections(record: &Record) -> Vec<Section> {
    let Some(watched) = &record.watch else { return Vec::new() };
    let stretches = diagnose::stretches(watched);
    let inside = html! {
        p class="lead" { (prose(watch::summary(watched))) }
        (bars::draw(&watch::timeline(record, watched, &stretches)))
        @for words in watch::describe_stretches(record, watched, &stretches) {
            h3 { (words.when) " " span class="quiet" { "(" (words.length) ")" } ": " (prose(&words.bound)) }
            @if let Some((at, says)) = &words.said { p { span class="quiet" { (at) ": " } (prose(says)) } }
            @if !words.busiest.is_empty() { p class="quiet" { "Most CPU time: " (prose(&words.busiest)) } }
        }
    };
    let curves = drawings(&watch::charts(watched), "watch");
    let mut sections =
        vec![section("stretches", "What it was bound by", inside), section("curves", "Over time", curves)];
    for of in watch::tables(watched) {
        let title = of.title.clone();
        let inside = html! { @if !of.is_empty() { (table(&of.finished(), "")) } };
        sections.push(Section { small: true, ..section(&slug(&title), &title, inside) });
    }
    sections
}
