//! LossBreakdowns on the terminal: each resource from its line speed down to what is delivered, with its part of a bar.

use record::Record;

use super::screen::Screen;
use crate::contents::loss_breakdown::{self, Kind, Row};
use crate::paint::{Span, Tone};
use crate::text::{clean, pad_left, pad_right, width};

/// Characters of a bar.
const BAR: usize = 24;
/// Narrowest screen with bars.
const WITH_BARS: usize = 110;

/// All breakdowns of a record.
pub(super) fn write(screen: &mut Screen, record: &Record) {
    if record.diagnosis.loss_breakdowns.is_empty() {
        return;
    }
    screen.heading("From line speed down to what is delivered");
    for found in &record.diagnosis.loss_breakdowns {
        let doubt = loss_breakdown::doubt(record, found)
            .map_or_else(String::new, |doubt| format!(" (in doubt: {doubt})"));
        screen.line(&[Span::strong(format!("  {}", clean(&found.resource))), Span::quiet(clean(&doubt))]);
        let rows = loss_breakdown::rows(found);
        let figures = rows.iter().map(|row| width(&row.figure)).max().unwrap_or(0);
        let shares = rows.iter().map(|row| width(&row.share)).max().unwrap_or(0);
        for row in &rows {
            let mut first = vec![Span::plain("    ")];
            if screen.width() >= WITH_BARS {
                first.push(Span::new(tone(row.kind), format!("{}  ", bar(row))));
            }
            first.push(Span::plain(format!(
                "{}  {}  ",
                pad_left(&clean(&row.figure), figures),
                pad_left(&row.share, shares)
            )));
            let how = if row.how.is_empty() { String::new() } else { format!(", {}", row.how) };
            screen.paragraph(&first, Tone::Plain, format!("{}{how}", row.label));
        }
    }
}

fn tone(kind: Kind) -> Tone {
    match kind {
        Kind::Ceiling | Kind::Delivered => Tone::Series(0),
        Kind::Loss => Tone::Series(1),
        Kind::Unexplained => Tone::Quiet,
    }
}

/// The row's part of the bar: full for what there is, half for what is taken, light for what nobody explains.
fn bar(row: &Row) -> String {
    let cell = |at: f64| (at * BAR as f64).round() as usize;
    let (from, to) = (cell(row.from).min(BAR - 1), cell(row.to).min(BAR));
    let full = match row.kind {
        Kind::Ceiling | Kind::Delivered => "█",
        Kind::Loss => "▓",
        Kind::Unexplained => "░",
    };
    pad_right(&format!("{}{}", " ".repeat(from), full.repeat(to.saturating_sub(from).max(1))), BAR)
}
