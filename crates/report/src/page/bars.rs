//! Bars drawn as boxes on the page, so that their text wraps on phones.

use maud::{Markup, html};

use super::prose;
use crate::chart::bars::{Bar, Bars, Form, Piece};
use crate::text::keep_units;

/// Bars with their title.
pub(super) fn draw(bars: &Bars) -> Markup {
    html! {
        @if !bars.rows.is_empty() {
            figure class="bars" {
                @if !bars.title.is_empty() { figcaption { (bars.title) } }
                @let unreliable = bars.rows.iter().flat_map(|row| &row.pieces).any(|piece| piece.unreliable);
                @if unreliable || !bars.legend.is_empty() {
                    ul class="legend" {
                        @for (fill, words) in &bars.legend {
                            li { span class=(format!("key {}", fill.class())) {} " " (words) }
                        }
                        @if unreliable { li { span class="unsure" { "?" } " hatched: unreliable" } }
                    }
                }
                ul class="rows" {
                    @for bar in &bars.rows { (row(bar, &bars.ticks)) }
                    (scale(&bars.ticks))
                }
            }
        }
    }
}

/// The labels below a scale.
pub(super) fn scale(ticks: &[(f64, String)]) -> Markup {
    html! {
        @if !ticks.is_empty() {
            li class="bar ticks" aria-hidden="true" {
                span class="track" {
                    @for (at, text) in ticks { span class=(tick(*at)) style=(below(*at)) { (text) } }
                }
            }
        }
    }
}

/// A row: its name, its pieces on their scale, and its result.
pub(super) fn row(bar: &Bar, ticks: &[(f64, String)]) -> Markup {
    html! {
        li class="bar" {
            span class="name" {
                @if bar.strong { b { (prose(&bar.name)) } } @else { (prose(&bar.name)) }
                @if !bar.how.is_empty() { span class="quiet" { ", " (keep_units(&bar.how)) } }
            }
            (track(&bar.pieces, ticks))
            span class="figure" {
                (keep_units(&bar.figure))
                // If the text contains several results, each already has its own mark.
                @if !bar.figure.contains('?') && bar.pieces.iter().any(|piece| piece.unreliable) { span class="unsure" title="unreliable" { "?" } }
                @if !bar.beside.is_empty() { " " span class="quiet" { (keep_units(&bar.beside)) } }
            }
        }
    }
}

/// The pieces on their scale.
fn track(pieces: &[Piece], ticks: &[(f64, String)]) -> Markup {
    html! {
        span class="track" aria-hidden="true" {
            @for (at, _) in ticks { span class="rule" style=(left(*at)) {} }
            @for piece in pieces { span class=(class(piece)) style=(place(piece)) title=(piece.says) {} }
        }
    }
}

fn class(piece: &Piece) -> String {
    let form = match piece.form {
        Form::Whole => "piece",
        Form::Line => "piece thin",
        Form::Dot => "piece dot",
        Form::Ring => "piece dot ring",
        Form::Tick => "piece tick",
    };
    format!("{form} {}{}", piece.fill.class(), if piece.unreliable { " unreliable" } else { "" })
}

/// A share as a percentage.
fn percent(share: f64) -> f64 {
    if share.is_finite() { share.clamp(0.0, 1.0) * 100.0 } else { 0.0 }
}

/// The class of a label. Labels between the ends are omitted if the scale is too short for all labels.
fn tick(at: f64) -> &'static str {
    if BETWEEN.contains(&at) { "at between" } else { "at" }
}

/// Positions at which a label has room on both sides of its line.
const BETWEEN: std::ops::Range<f64> = 0.06..0.94;

/// The style of a label that is centered below its line, but stays within the scale.
fn below(at: f64) -> String {
    let before = match at {
        _ if BETWEEN.contains(&at) => 50,
        ..0.5 => 0,
        _ => 100,
    };
    format!("{};transform:translateX(-{before}%)", left(at))
}

fn left(at: f64) -> String {
    format!("left:{:.1}%", percent(at))
}

fn place(piece: &Piece) -> String {
    let (from, to) = (percent(piece.from), percent(piece.to));
    match piece.form {
        Form::Dot | Form::Ring | Form::Tick => left(piece.from),
        Form::Whole | Form::Line => format!("left:{from:.1}%;width:{:.1}%", (to - from).max(0.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_a_scale_are_always_written_and_lie_within_it() {
        assert_eq!([0.0, 0.5, 1.0].map(tick), ["at", "at between", "at"]);
        let moved = [0.0, 0.5, 1.0].map(below).map(|style| style.ends_with("(-50%)"));
        assert_eq!(moved, [false, true, false]);
    }
}
