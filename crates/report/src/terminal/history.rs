//! A machine's history on the terminal.

use record::history::History;

use super::report::block;
use super::screen::Screen;
use crate::contents::history;
use crate::paint::Tone;

/// Total width of the columns next to a sparkline.
const BESIDE: usize = 72;
/// Columns of a sparkline.
const SPARK: (usize, usize) = (8, 60);

/// The results over time, the changes, and notes.
pub fn history(screen: &mut Screen, of: &History, all: bool) {
    screen.begin_answer(all);
    screen.paragraph(&[], Tone::Strong, history::title(of));
    let columns = screen.width().saturating_sub(BESIDE).clamp(SPARK.0, SPARK.1);
    history::blocks(of, columns).iter().for_each(|one| block(screen, one, false));
}
