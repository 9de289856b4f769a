//! What `linespeed overhead` prints: the layers, their steps, what was not timed.

use record::{Coverage, Ended, Record, State};

use super::findings;
use super::screen::Screen;
use super::{Style, report};
use crate::contents::{layers, summary};
use crate::paint::Tone;

/// The report of a record of `linespeed overhead`; `detailed` with what was counted beside the layers, and with the published
/// conclusions that these figures bear out.
pub fn overhead(record: &Record, detailed: bool, style: &Style) -> String {
    let mut screen = Screen::new(style);
    if let Some(banner) = summary::banner(record) {
        screen.paragraph(&[], Tone::Serious, &banner);
        screen.blank();
    }
    if let Ended::Interrupted { signal } = record.ended {
        let says = format!("Interrupted by signal {signal}: the passes that were whole stand here.");
        screen.paragraph(&[], Tone::Warning, &says);
        screen.blank();
    }
    for (number, line) in summary::machine(record).iter().enumerate() {
        screen.paragraph(&[], if number == 0 { Tone::Strong } else { Tone::Plain }, line);
    }
    match layers::layers(record, detailed) {
        Some(block) => {
            report::block(&mut screen, &block);
            if let (Some(overhead), true) = (&record.diagnosis.overhead, detailed) {
                report::block(&mut screen, &layers::claims(overhead));
            }
        }
        None => {
            screen.blank();
            screen.paragraph(&[], Tone::Plain, "Nothing was measured.");
        }
    }
    let missing: Vec<&Coverage> = record
        .coverage
        .iter()
        .filter(|c| c.topic() == Coverage::OVERHEAD && c.state != State::Measured)
        .collect();
    if !missing.is_empty() {
        screen.heading("Layers that were not timed");
    }
    // Rows that have the same thing in their way are told in one line.
    for alike in missing.chunk_by(|a, b| (&a.reason, &a.remedy) == (&b.reason, &b.remedy)) {
        let name = alike.iter().map(|coverage| name(coverage)).collect::<Vec<_>>().join("; ");
        let Some(coverage) = alike.first() else { continue };
        let reason = coverage.why();
        let remedy = coverage.remedy.as_ref().map_or(String::new(), |remedy| format!(" → {remedy}"));
        screen.hanging("  - ", "    ", format!("{name}: {reason}{remedy}"));
    }
    screen.heading("What costs speed");
    findings::write(&mut screen, record, usize::MAX, None);
    screen.finish()
}

/// The layer that a coverage is about.
fn name(coverage: &Coverage) -> &str {
    let name = coverage.part();
    name.trim_start_matches('(').trim_end_matches(')')
}
