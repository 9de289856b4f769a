//! A watch that was kept: what `linespeed show` says of it, and the sentence that ends it.

use record::{Record, Watch};

use super::screen::Screen;
use super::{Style, answer, report};
use crate::contents::watch;
use crate::contents::watch::StretchWords;

/// Lines of the sentence that ends a watch.
const SAYS: usize = 3;

/// What a whole watch was bound by: each verdict's share of the time, the largest first.
pub fn live_summary(watched: &Watch, style: &Style) -> String {
    Screen::draw(style, |screen| screen.short(SAYS, "", "  ", watch::summary(watched)))
}

/// A watch: its summary, its stretches, its curves and who had the CPUs. Below it, where `all` is asked for, the machine and what
/// could not be seen.
pub(super) fn watch_answer(record: &Record, watched: &Watch, all: bool, style: &Style) -> String {
    Screen::draw(style, |screen| {
        screen.short(SAYS, "", "  ", watch::summary(watched));
        answer::identity(screen, record);
        answer::origin(screen, record);
        screen.heading("Stretches");
        for words in watch::describe_stretches(record, watched, &diagnose::stretches(watched)) {
            let StretchWords { when, length, bound, .. } = &words;
            screen.hanging("  ", "    ", format!("{when} ({length}): {bound}"));
            if let Some((at, says)) = words.said {
                screen.hanging("    ", "    ", format!("{at}: {says}"));
            }
        }
        for chart in watch::charts(watched) {
            report::draw(screen, &chart);
        }
        for table in watch::tables(watched) {
            screen.section(table);
        }
        if all {
            screen.blank();
            report::write(screen, record, None);
        } else {
            report::unseen(screen, record);
        }
    })
}
