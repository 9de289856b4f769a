//! A fleet on the terminal: one screen for any number of machines.

use record::fleet::Fleet;

use super::report::block;
use super::room::ITEMS;
use super::screen::Screen;
use crate::contents::fleet;
use crate::paint::Tone;

/// The slow machines and their causes, then the classes, then machines that could not be compared.
pub fn fleet(screen: &mut Screen, of: &Fleet, all: bool) {
    screen.begin_answer(all);
    screen.paragraph(&[], Tone::Strong, fleet::title(of));
    let classes = screen.most(ITEMS, of.classes.len());
    fleet::blocks(of, classes).iter().for_each(|one| block(screen, one, false));
}
