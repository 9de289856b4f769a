//! Lines that are made to fit.

use super::screen::Screen;
use crate::paint::Span;
use crate::text::{clean, cut_words, width};

/// A line, cut between words where it is too long for a terminal.
pub(super) fn cut(screen: &mut Screen, spans: &[Span]) {
    if !screen.is_terminal() {
        return screen.line(spans);
    }
    let mut room = screen.width();
    let fitted = spans.iter().map(|span| {
        let text = cut_words(&clean(span.text()), room);
        room = room.saturating_sub(width(&text));
        Span::new(span.tone(), text)
    });
    let spans: Vec<Span> = fitted.collect();
    screen.line(&spans);
}

/// The longest of these lines, from the longest to the shortest, that fits; the shortest where none does.
pub(super) fn longest(lines: impl Iterator<Item = String>, fits: impl Fn(&str) -> bool) -> String {
    let mut last = String::new();
    for line in lines {
        last = line;
        if fits(&last) {
            break;
        }
    }
    last
}
