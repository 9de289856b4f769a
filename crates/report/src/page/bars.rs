//! Bandwidths as bars. They are boxes of the page rather than a drawing, so that their words wrap on a phone; the
//! table below them is their text alternative.

use record::Label;
use std::collections::BTreeSet;

use maud::{Markup, html};
use record::{Measurement, Record};

use crate::contents::figures::{labelled, value, withheld};
use crate::text::keep_units;
use record::phrase::count_noun;

/// Most bars of one number of threads; a record of many placements has the rest in its table.
const MOST: usize = 24;
/// Most numbers of threads.
const MOST_GROUPS: usize = 4;

/// A bar for each bandwidth as STREAM counts bytes, those of one number of threads together, on one scale.
pub(super) fn bandwidth(record: &Record) -> Markup {
    let shown: Vec<&Measurement> = record
        .measurements_of("memory.bandwidth")
        .filter(|m| m.labels.word(Label::BytesCounted) != Some("bus"))
        .filter(|m| !withheld(m) && m.summary.n > 0 && m.value().is_finite() && m.value() > 0.0)
        .collect();
    let longest = shown.iter().map(|m| m.value()).fold(0.0, f64::max);
    let threads: BTreeSet<Option<u64>> = shown.iter().map(|m| m.labels.count(Label::Threads)).collect();
    let groups = threads.into_iter().map(|threads| {
        let group = shown.iter().filter(|m| m.labels.count(Label::Threads) == threads).take(MOST);
        (threads, group.collect::<Vec<_>>())
    });
    html! {
        @if longest > 0.0 {
            div class="bars" aria-hidden="true" {
                @for (threads, group) in groups.take(MOST_GROUPS) {
                    h3 {
                        @match threads {
                            Some(threads) => (count_noun(usize::try_from(threads).unwrap_or(usize::MAX), "thread")),
                            None => "bandwidth",
                        }
                        span class="quiet" { ", STREAM bytes" }
                    }
                    @for m in group { (bar(m, m.value() / longest)) }
                }
            }
        }
    }
}

fn bar(m: &Measurement, share: f64) -> Markup {
    let streaming = m.labels.word(Label::Stores) == Some("streaming");
    let stores = match m.labels.word(Label::Stores) {
        Some(stores) if stores != "regular" => format!(", {stores}"),
        _ => String::new(),
    };
    html! {
        div class="bar" {
            span class="name" { (labelled(m, Label::Op)) (stores) }
            span class="track" {
                span class=(if streaming { "full other" } else { "full" })
                    style=(format!("width:{:.1}%", share.clamp(0.0, 1.0) * 100.0)) {}
            }
            span class="figure" { (keep_units(&value(m))) @if m.doubt.is_some() { span class="quiet" { " in doubt" } } }
        }
    }
}
