//! One part of a report: `linespeed show RECORD bandwidth`.

use record::{Metric, Record};

use super::report::{ROOM, block, evidence, findings, noise, unseen};
use super::screen::Screen;
use crate::contents::block::Block;
use crate::contents::blocks::blocks;
use crate::contents::loss_breakdown;

/// Writes the specified part of a record.
type Write = fn(&mut Screen, &Record, &str);

/// A measurement's name and its metrics.
pub type Measured = (&'static str, &'static [Metric]);

/// The parts of a report that are not results.
const PARTS: &[(&str, Write)] = &[
    ("findings", |screen, record, shown_by| {
        findings(screen, record, Some(shown_by));
        evidence(screen, record);
    }),
    ("losses", |screen, record, _| match record.diagnosis.loss_breakdowns.is_empty() {
        true => screen.say("No hardware ceiling is known for this machine, so losses are not broken down."),
        false => block(screen, &loss_breakdown::block(record), false),
    }),
    ("noise", |screen, record, _| block(screen, &noise(record), false)),
    ("coverage", |screen, record, _| unseen(screen, record)),
];

/// One part of a report by its name: `findings`, `losses`, `noise`, `coverage`, a measurement, a metric. False if the record has no part
/// with that name. `shown_by` is the name that `linespeed show` accepts for this record; `measured` contains each measurement with its
/// metrics.
pub fn section(
    screen: &mut Screen,
    record: &Record,
    name: &str,
    shown_by: &str,
    measured: &[Measured],
) -> bool {
    let before = screen.lines();
    match PARTS.iter().find(|(part, _)| *part == name) {
        Some((_, write)) => write(screen, record, shown_by),
        None => {
            let blocks = blocks(record, ROOM).into_iter();
            blocks.filter(|one| is_of(one, name, measured)).for_each(|one| block(screen, &one, false));
        }
    }
    screen.lines() > before
}

/// The names that [`section`] supports for this record: parts, then measurements.
pub fn section_names(record: &Record, measured: &[Measured]) -> Vec<&'static str> {
    let blocks = blocks(record, ROOM);
    let has = |one: &&Measured| blocks.iter().any(|block| is_of(block, one.0, measured));
    PARTS.iter().map(|(part, _)| *part).chain(measured.iter().filter(has).map(|(name, _)| *name)).collect()
}

/// Whether a block belongs to this metric or measurement.
fn is_of(block: &Block, name: &str, measured: &[Measured]) -> bool {
    let Some(word) = block.word.as_deref() else { return false };
    // `wake-up` and `wakeup` are the same name.
    let is_named = |own: &str| own.replace('-', "") == name.replace('-', "");
    is_named(word)
        || measured.iter().any(|(own, metrics)| is_named(own) && metrics.iter().any(|metric| *metric == word))
}

#[cfg(test)]
mod tests {
    use record::metrics;

    use super::*;
    use crate::terminal::Style;

    /// A full run; `disturbed`: all its results are unreliable, and every other bandwidth is too imprecise to be shown.
    fn whole_run(disturbed: bool) -> Record {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../linespeed/tests/records/0.1/main.json");
        let mut record = Record::read(std::path::Path::new(path)).unwrap();
        for (number, m) in record.measurements.iter_mut().enumerate().filter(|_| disturbed) {
            m.doubt = Some("too noisy: the median is known to ±40 % only".into());
            if m.metric == "memory.bandwidth" && number % 2 == 0 {
                m.summary.interval = Some((m.summary.median * 1e-3, m.summary.median * 3.0));
            }
        }
        record.diagnosis = diagnose::diagnose(&record);
        record
    }

    #[test]
    fn each_table_of_a_run_is_a_table_on_a_terminal_that_nobody_has_resized() {
        for record in [false, true].map(whole_run) {
            let measured = [
                ("bandwidth", &[metrics::MEMORY_BANDWIDTH][..]),
                ("parallelism", &[metrics::LOAD_PARALLELISM][..]),
                ("costs", &[metrics::COST_SYSCALL][..]),
            ];
            let asked = section_names(&record, &measured);
            for name in ["bandwidth", "parallelism", "costs"] {
                assert!(asked.contains(&name), "{name} is not among {asked:?}");
            }
            for name in asked {
                let text = Screen::draw(&Style::default(), |screen| {
                    assert!(section(screen, &record, name, ".", &measured));
                });
                let is_row_by_row = text.lines().any(|line| line.starts_with("  - "));
                assert!(!is_row_by_row, "{name}:\n{text}");
            }
        }
    }
}
