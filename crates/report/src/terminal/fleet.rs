//! A fleet on the terminal: one screen, however many machines.

use record::fleet::Fleet;

use super::report::block;
use super::room::ITEMS;
use super::screen::Screen;
use crate::contents::fleet;
use crate::paint::Tone;

/// The slow machines and why, first; the classes; what could not be compared.
pub fn fleet(screen: &mut Screen, of: &Fleet, all: bool) {
    screen.begin_answer(all);
    screen.paragraph(&[], Tone::Strong, fleet::title(of));
    let classes = screen.most(ITEMS, of.classes.len());
    fleet::blocks(of, classes).iter().for_each(|one| block(screen, one, false));
}
