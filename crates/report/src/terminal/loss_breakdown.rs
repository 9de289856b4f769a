//! Losses on the terminal: each resource from its line speed down to what is delivered, with its part of a bar.

use record::Record;

use super::screen::Screen;
use crate::chart::bars::{Fill, Piece};
use crate::contents::loss_breakdown;
use crate::paint::{Span, Tone};
use crate::text::{clean, pad_left, pad_right, width};

/// Characters of a bar.
const BAR: usize = 24;
/// Narrowest screen with bars.
const WITH_BARS: usize = 110;

/// All breakdowns of a record.
pub(super) fn write(screen: &mut Screen, record: &Record) {
    let all = loss_breakdown::bars(record);
    if all.is_empty() {
        return;
    }
    screen.heading(loss_breakdown::TITLE);
    for bars in all {
        screen.line(&[Span::strong(format!("  {}", clean(&bars.title)))]);
        let figures = bars.rows.iter().map(|row| width(&row.figure)).max().unwrap_or(0);
        let shares = bars.rows.iter().map(|row| width(&row.beside)).max().unwrap_or(0);
        for row in &bars.rows {
            let mut first = vec![Span::plain("    ")];
            if screen.width() >= WITH_BARS {
                first.extend(row.pieces.iter().map(draw));
            }
            let (figure, share) = (pad_left(&clean(&row.figure), figures), pad_left(&row.beside, shares));
            first.push(Span::plain(format!("{figure}  {share}  ")));
            let how = if row.how.is_empty() { String::new() } else { format!(", {}", row.how) };
            screen.paragraph(&first, Tone::Plain, format!("{}{how}", row.name));
        }
    }
}

/// A piece of the bar: full for what there is, half for what is taken, light for what nobody explains.
fn draw(piece: &Piece) -> Span {
    let cell = |at: f64| (at * BAR as f64).round() as usize;
    let (from, to) = (cell(piece.from).min(BAR - 1), cell(piece.to).min(BAR));
    let (full, tone) = match piece.fill {
        Fill::Lost => ("▓", Tone::Series(1)),
        Fill::Nobody => ("░", Tone::Quiet),
        _ => ("█", Tone::Series(0)),
    };
    let drawn = format!("{}{}", " ".repeat(from), full.repeat(to.saturating_sub(from).max(1)));
    Span::new(tone, format!("{}  ", pad_right(&drawn, BAR)))
}
