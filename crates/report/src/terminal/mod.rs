//! A record as text for a terminal. No line is wider than requested, color is never the only carrier of information, and strings from the
//! machine cannot affect the terminal.

mod answer;
mod brief;
mod check;
mod columns;
mod compare;
mod findings;
mod fleet;
mod history;
mod import;
mod inventory;
mod like;
mod listing;
mod live;
mod markdown;
mod plan;
mod reference_machine;
mod report;
mod room;
mod scale;
mod screen;
mod sections;
mod stat;
mod tree;
mod turns;
mod watch;

use std::collections::BTreeSet;

use record::glossary::Term;
use record::{Ended, Record};

pub use crate::ascii::to_ascii;
pub use crate::contents::conditions::quiet as quiet_machine;
use crate::contents::summary;
use crate::contents::turns::find_turns;
use crate::contents::verdict::Kind;
pub use crate::contents::verdict::is_scale;
use crate::paint::{Span, Tone};
pub use brief::{comparison_answer, overhead_answer, scale_answer};
pub use check::{check, check_line};
pub use compare::gate;
pub use fleet::fleet;
pub use history::history;
pub use import::{Kept, import};
pub use inventory::{inventory, inventory_answer};
pub use like::{like, passport_line};
pub use listing::{Listed, glossary, measurements, records, references};
pub use live::{LastLook, Live, live, live_head};
pub use plan::{pasted, plan};
pub use reference_machine::reference;
pub use report::write as report;
pub use screen::Screen;
pub use sections::{Measured, section, section_names};
pub use tree::tree;
pub use watch::live_summary;

/// How text is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Width of a line; at least 20.
    pub width: usize,
    /// Whether to use color (SGR sequences, only the 16 basic colors).
    pub color: bool,
    /// Whether the terminal supports only ASCII.
    pub ascii: bool,
    /// Whether the text is Markdown rather than terminal output.
    pub markdown: bool,
    /// Whether the user is root. Root does not need sudo, which may not even be installed.
    pub root: bool,
}

impl Default for Style {
    /// 80 columns without color.
    fn default() -> Self {
        Self { width: 80, color: false, ascii: false, markdown: false, root: false }
    }
}

/// Text from untrusted sources on this machine or in a file, made safe for a terminal. Line ends are preserved.
pub fn safe(text: &str) -> String {
    crate::text::clean_page(text)
}

/// If a run ended early, its tables are shown only if its results are of at most this many kinds (clock, latency, bandwidth…). More kinds
/// would fill several screens.
const MOST_KINDS: usize = 3;

/// The answer of a run on one screen of at most 21 lines. If `all` is set, every table is shown above the answer. Otherwise, if the
/// run made only some of the default measurements, their tables are shown above the answer, unless the run ended early with results of
/// many kinds. `shown_by`: the name that `linespeed show` accepts for this record, if it was
/// saved.
pub fn answer(screen: &mut Screen, record: &Record, all: bool, shown_by: Option<&str>) {
    let kinds: BTreeSet<_> = record.measurements.iter().map(|m| m.metric.family()).collect();
    if all {
        report(screen, record, shown_by);
    } else if !summary::is_whole(record) && (record.ended == Ended::Complete || kinds.len() <= MOST_KINDS) {
        report::figures(screen, record);
    }
    screen.begin_answer(all);
    answer::write(screen, record, shown_by);
}

/// Shows a saved record in the same form as the `scale`, `overhead` or `stat` run that made the record. If the record has no
/// results, the inventory replaces the answer.
pub fn record(screen: &mut Screen, record: &Record, all: bool, shown_by: &str) {
    let measured = record.import.is_none();
    match (Kind::of(record), &record.watch) {
        (Kind::Watch, Some(watched)) => watch::watch_answer(screen, record, watched, all),
        (Kind::Scale, _) => scale_answer(screen, record, all, Some(shown_by)),
        (Kind::Overhead, _) => overhead_answer(screen, record, all, Some(shown_by)),
        (Kind::Command, _) => stat_answer(screen, record, all, Some(shown_by)),
        // For other tools' output, the tables are always shown.
        (Kind::Run, _) => answer(screen, record, all || !measured, Some(shown_by)),
        (Kind::Inventory | Kind::Watch, _) => {
            let more = format!("linespeed show {} --all", record::phrase::quote_word(shown_by));
            let more = if all || !measured { None } else { Some(more.as_str()) };
            inventory_answer(screen, record, all || !measured, more);
        }
    }
}

/// The bottleneck of a command, or the faster of several alternating commands, on one screen: `linespeed stat`. With `all`, the full report
/// is shown above it. `shown_by`: the name that `linespeed show` accepts for this record, if it was saved.
pub fn stat_answer(screen: &mut Screen, record: &Record, all: bool, shown_by: Option<&str>) {
    match find_turns(record) {
        Some(turns) => turns::turns_answer(screen, record, turns, all, shown_by),
        None => stat::command_answer(screen, record, all, shown_by),
    }
}

/// Explains a glossary entry: `linespeed explain`.
pub fn word(screen: &mut Screen, word: &Term) {
    let group =
        if word.group.is_empty() { String::new() } else { format!("  {}", word.group.to_lowercase()) };
    screen.line(&[Span::strong(word.name), Span::quiet(group)]);
    screen.paragraph(&[Span::plain("  ")], Tone::Plain, without_marks(screen, &word.what));
    for (label, text) in [("How", &word.how), ("Usual", &word.usual), ("Influences", &word.moves)] {
        if let Some(text) = text {
            screen.blank();
            let first = [Span::plain("  "), Span::strong(format!("{label:<11}"))];
            screen.paragraph(&first, Tone::Plain, without_marks(screen, text));
        }
    }
}

/// Prose for the terminal: backticks around names, meant for documents and pages, are removed.
fn without_marks(screen: &Screen, text: &str) -> String {
    if screen.is_terminal() { text.replace('`', "") } else { text.to_owned() }
}
