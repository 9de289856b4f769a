//! A machine's history on the terminal.

use record::history::History;

use super::Style;
use super::screen::Screen;
use crate::contents::history;
use crate::paint::{Span, Tone};

/// Changes and remarks that are shown without `--all`.
const MOST: usize = 8;
/// Columns beside a sparkline.
const BESIDE: usize = 72;
/// Columns of a sparkline.
const SPARK: (usize, usize) = (8, 60);

/// The figures over time, what changed, and what was left out.
pub fn history(of: &History, all: bool, style: &Style) -> String {
    Screen::draw(style, |screen| {
        let most = if all { usize::MAX } else { MOST };
        screen.paragraph(&[], Tone::Strong, history::title(of));
        if !of.lines.is_empty() {
            let columns = screen.width().saturating_sub(BESIDE).clamp(SPARK.0, SPARK.1);
            screen.blank();
            screen.table(&history::table(of, columns), 2);
        }
        let changes = history::changes(of);
        if !changes.is_empty() {
            screen.heading("Changes, the newest first");
        }
        for (what, why) in changes.iter().take(most) {
            what.iter().for_each(|what| screen.hanging("  ", "      ", what));
            screen.hanging("      ", "      ", why);
        }
        let remarks = history::remarks(of);
        let more = |screen: &mut Screen, all: usize| {
            if all > most {
                screen.line(&[Span::quiet(format!("  … and {} more: --all", all - most))]);
            }
        };
        more(screen, changes.len());
        if !remarks.is_empty() {
            screen.heading("Notes");
        }
        remarks.iter().take(most).for_each(|remark| screen.hanging("  ", "    ", remark));
        more(screen, remarks.len());
    })
}
