//! The inventory of a machine: every fact, or the facts that fit on one screen.

use record::Record;

use super::screen::Screen;
use super::{answer, findings};
use crate::contents::{self, essentials, summary};
use crate::paint::Span;
use crate::text::{clean, width};

/// The machine and its settings, section by section, one fact per line, always in the same order.
pub fn inventory(screen: &mut Screen, record: &Record) {
    let sections = contents::inventory::sections(record);
    let keys = sections.iter().flat_map(|section| &section.facts).map(|fact| width(&clean(&fact.key)) + 3);
    let at = keys.max().unwrap_or(0).clamp(16, 28);
    for section in &sections {
        screen.heading(&section.title);
        screen.facts(&section.facts, "", at, usize::MAX);
    }
    if sections.is_empty() {
        screen.line(&[Span::plain("The record contains no facts about this machine.")]);
    }
}

/// The most important facts, in at most `room` lines.
pub(super) fn write_essentials(screen: &mut Screen, record: &Record, room: usize) {
    let facts = essentials::facts(record);
    screen.clipped(room, |screen| screen.facts(&facts.facts, "", 0, room));
}

/// The machine on one screen, findings first. If `all` is set, every fact is shown above this screen. `more` is the command that shows the
/// rest.
pub fn inventory_answer(screen: &mut Screen, record: &Record, all: bool, more: Option<&str>) {
    if all {
        inventory(screen, record);
    }
    screen.begin_answer(all);
    answer::identity(screen, record);
    screen.blank();
    if !record.diagnosis.findings.is_empty() {
        findings::write_and_count(screen, record);
        screen.blank();
    }
    write_essentials(screen, record, screen.left(1));
    let lost: Vec<(String, String)> =
        summary::unseen(record).into_iter().map(|lost| (lost.what.join(", "), lost.reason)).collect();
    answer::unseen_why(screen, &lost, None, 2);
    if let Some(more) = more {
        screen.uncut(&format!("More: {more}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::Style;

    #[test]
    fn what_costs_speed_stands_beside_the_facts_and_both_fit_one_screen() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../linespeed/tests/records/0.1/main.json");
        let record = Record::read(std::path::Path::new(path)).unwrap();
        let facts = essentials::facts(&record).facts;
        for width in [40, 80, 160] {
            let style = Style { width, color: false, ..Style::default() };
            let text = Screen::draw(&style, |screen| inventory_answer(screen, &record, false, None));
            assert!(text.lines().count() <= 24, "{text}");
            let begins = |start: &str| text.lines().any(|line| line.starts_with(start));
            assert!(begins("1. ") && begins(&clean(&facts[0].key)), "{text}");
        }
    }
}
