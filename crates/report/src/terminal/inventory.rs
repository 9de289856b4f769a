//! What a machine is: every fact, or what fits one screen.

use record::Record;

use super::screen::Screen;
use super::{Layout, Style, answer, brief};
use crate::contents::{essentials, inventory, summary};
use crate::paint::{Span, Tone};
use crate::text::{clean, width};

/// What the machine is and how it is set up, one fact a line, always in the same order.
pub fn inventory(record: &Record, style: &Style) -> String {
    Screen::draw(style, |screen| {
        let sections = inventory::sections(record);
        let keys =
            sections.iter().flat_map(|section| &section.facts).map(|fact| width(&clean(&fact.key)) + 3);
        let at = keys.max().unwrap_or(0).clamp(16, 28);
        for section in &sections {
            screen.heading(&section.title);
            screen.facts(section, "", at);
        }
        if sections.is_empty() {
            screen.line(&[Span::plain("No facts of this machine in the record.")]);
        }
    })
}

/// What the machine is on one screen; every fact above it, where `all` is asked for. `more`: what tells the rest.
pub fn inventory_answer(record: &Record, all: bool, more: &str, style: &Style) -> String {
    if style.layout == Layout::Tables {
        return inventory(record, style);
    }
    brief::above(
        all,
        style,
        || inventory(record, style),
        |screen| {
            if let Some(banner) = summary::banner(record) {
                answer::cut(screen, &[Span::strong(banner)]);
            }
            for (number, line) in answer::identity(record, screen.width()).into_iter().enumerate() {
                let tone = if number == 0 { Tone::Strong } else { Tone::Plain };
                answer::cut(screen, &[Span::new(tone, line)]);
            }
            screen.blank();
            let facts = essentials::facts(record);
            let at = facts.facts.iter().map(|fact| width(&clean(&fact.key)) + 2).max().unwrap_or(0).min(24);
            screen.clipped(answer::LINES - 4, |screen| screen.short_facts(&facts, at));
            let lost: Vec<(String, String)> =
                summary::unseen(record).into_iter().map(|lost| (lost.what.join(", "), lost.reason)).collect();
            answer::unseen_why(screen, &lost);
            screen.uncut(&format!("More: {more}"));
        },
    )
}
