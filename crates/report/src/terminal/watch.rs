//! A saved recording: the output of `linespeed show`, and the last sentence of `live`.

use record::{Record, Watch};

use super::room::WATCHED;
use super::screen::Screen;
use super::{answer, report};
use crate::contents::watch;

/// The bottlenecks in an entire recording: each verdict with its share of the time, largest share first.
pub fn live_summary(screen: &mut Screen, watched: &Watch) {
    screen.short(WATCHED, "", "  ", watch::summary(watched));
}

/// A recording: its summary, stretches and curves, and the processes that used the CPUs. If `all` is set, the machine and missing
/// measurements follow.
pub(super) fn watch_answer(screen: &mut Screen, record: &Record, watched: &Watch, all: bool) {
    live_summary(screen, watched);
    answer::identity(screen, record);
    answer::origin(screen, record);
    watch::blocks(record, watched).iter().for_each(|one| report::block(screen, one, false));
    if all {
        screen.blank();
        report::write(screen, record, None);
    } else {
        report::unseen(screen, record);
    }
}
