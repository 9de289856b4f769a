//! LossBreakdowns as the page's first picture: one falling row of bars a resource. They are boxes of the page, so that their
//! words wrap on a phone; the rows' own words and figures are their text alternative.

use maud::{Markup, html};
use record::Record;
use record::loss_breakdown::LossBreakdown;

use super::prose;
use crate::contents::loss_breakdown::{self, Kind, Row};
use crate::text::keep_units;

/// All breakdowns of a record.
pub(super) fn breakdowns(record: &Record) -> Markup {
    let breakdowns = &record.diagnosis.loss_breakdowns;
    html! {
        @if !breakdowns.is_empty() {
            figure class="breakdowns" {
                figcaption { "From line speed down to what is delivered" }
                @for found in breakdowns { (render_breakdown(record, found)) }
            }
        }
    }
}

fn render_breakdown(record: &Record, found: &LossBreakdown) -> Markup {
    html! {
        h3 {
            (found.resource)
            @if let Some(doubt) = loss_breakdown::doubt(record, found) { span class="quiet" { " in doubt: " (doubt) } }
        }
        ul class="breakdown" { @for row in loss_breakdown::rows(found) { (step(&row)) } }
    }
}

fn step(row: &Row) -> Markup {
    let class = match row.kind {
        Kind::Ceiling | Kind::Delivered => "full",
        Kind::Loss => "full lost",
        Kind::Unexplained => "full nobody",
    };
    let place = format!("margin-left:{:.1}%;width:{:.1}%", row.from * 100.0, (row.to - row.from) * 100.0);
    html! {
        li {
            span class="words" {
                @if row.kind == Kind::Delivered { b { (prose(&row.label)) } } @else { (prose(&row.label)) }
                @if !row.how.is_empty() { span class="quiet" { ", " (keep_units(&row.how)) } }
            }
            span class="track" aria-hidden="true" { span class=(class) style=(place) {} }
            span class="figure" { (keep_units(&row.figure)) " " span class="quiet" { (keep_units(&row.share)) } }
        }
    }
}
