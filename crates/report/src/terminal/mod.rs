//! A record as text for a terminal. No line is wider than asked, no colour carries a meaning alone, and nothing
//! that the machine says can act on the terminal.

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
mod lines;
mod listing;
mod live;
mod loss_breakdown;
mod markdown;
mod plan;
mod reference_machine;
mod report;
mod scale;
mod screen;
mod sections;
mod stat;
mod tree;
mod turns;
mod watch;

use std::collections::BTreeSet;

use record::glossary::Term;
use record::{Comparison, Ended, Machine, Record};

pub use crate::ascii::to_ascii;
pub use crate::contents::conditions::quiet as quiet_machine;
use crate::contents::summary;
use crate::contents::turns::find_turns;
use crate::paint::{Span, Tone};
pub use brief::{comparison_answer, gate, overhead_answer, plan_answer, scale_answer};
pub use check::{check, check_line};
pub use fleet::fleet;
pub use history::history;
pub use import::{Kept, import};
pub use inventory::{inventory, inventory_answer};
pub use listing::{Listed, glossary, measurements, records, references};
pub use live::{LastLook, Live, live, live_head};
pub use plan::{pasted, plan};
pub use reference_machine::reference;
pub use scale::is_scale;
pub use screen::Screen;
pub use sections::Measured;
pub use watch::live_summary;

/// How text is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns that a line may take; below 20 is taken as 20.
    pub width: usize,
    /// Whether to colour (SGR sequences, the 16 colours only).
    pub color: bool,
    /// Whether the terminal knows ASCII alone.
    pub ascii: bool,
    /// For whom it is laid out.
    pub layout: Layout,
    /// Whether root reads it, who needs no sudo, and may have none.
    pub root: bool,
}

/// For whom text is laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// For a terminal.
    #[default]
    Terminal,
    /// As Markdown.
    Markdown,
}

impl Style {
    /// The same as Markdown.
    pub fn markdown(self) -> Self {
        Self { color: false, layout: Layout::Markdown, ..self }
    }
}

impl Default for Style {
    /// 80 columns without colour.
    fn default() -> Self {
        Self { width: 80, color: false, ascii: false, layout: Layout::Terminal, root: false }
    }
}

/// Text that anything on this machine, or in a file, may have had a part in, so that a terminal shows it and does
/// nothing else. Line ends stay.
pub fn safe(text: &str) -> String {
    crate::text::clean_page(text)
}

/// Of more kinds of figures (clock, latency, bandwidth…) the tables take screens: a run of everything that was ended early.
const MOST_KINDS: usize = 3;

/// The answer of a run on one screen, of at most 21 lines. Above it every table, where `all` is asked for; where only a few things
/// were measured, theirs. `shown_by`: what `linespeed show` takes for this record, where it was kept.
pub fn answer(record: &Record, all: bool, shown_by: Option<&str>, style: &Style) -> String {
    let kinds: BTreeSet<_> = record.measurements.iter().map(|m| m.metric.family()).collect();
    Screen::draw(style, |screen| {
        if all {
            report::write(screen, record, shown_by);
        } else if !summary::is_whole(record) && (record.ended == Ended::Complete || kinds.len() <= MOST_KINDS)
        {
            report::figures(screen, record);
        }
        screen.begin_answer(all);
        answer::write(screen, record, shown_by);
    })
}

/// One part of a report by its name: `findings`, `losses`, `noise`, `coverage`, a measurement, a metric; `None` where the record
/// has nothing of that name. `shown_by`: what `linespeed show` takes for this record; `measured`: each measurement with its metrics.
pub fn section(
    record: &Record,
    name: &str,
    shown_by: &str,
    measured: &[Measured],
    style: &Style,
) -> Option<String> {
    let mut screen = Screen::new(style);
    sections::write(&mut screen, record, name, shown_by, measured).then(|| screen.finish())
}

/// The names that [`section`] knows of this record.
pub fn section_names(record: &Record, measured: &[Measured]) -> Vec<&'static str> {
    sections::names(record, measured)
}

/// The report: the first screen (what the machine is, how far from line speed, what costs speed, what could not
/// be seen, how noisy it was) and below it the figures in detail.
pub fn report(record: &Record, style: &Style) -> String {
    Screen::draw(style, |screen| report::write(screen, record, None))
}

/// A record again: what a run of `scale`, `overhead` or `stat` tells of its commands; without figures the inventory stands in place
/// of the answer.
pub fn record(record: &Record, all: bool, shown_by: &str, style: &Style) -> String {
    let measured = record.import.is_none();
    if let Some(watched) = &record.watch {
        watch::watch_answer(record, watched, all, style)
    } else if is_scale(record) {
        scale_answer(record, all, Some(shown_by), style)
    } else if measured && !record.diagnosis.layers.is_empty() && !summary::is_whole(record) {
        overhead_answer(record, all, Some(shown_by), style)
    } else if stat::is_of_a_command(record) || find_turns(record).is_some() {
        stat_answer(record, all, Some(shown_by), style)
    } else if !record.measurements.is_empty() {
        // Of other tools' output the tables are asked for by naming it.
        answer(record, all || !measured, Some(shown_by), style)
    } else {
        let more = format!("linespeed show {} --all", record::phrase::quote_word(shown_by));
        let more = if all || !measured { None } else { Some(more.as_str()) };
        inventory_answer(record, all || !measured, more, style)
    }
}

/// What a command was bound by, or which is faster of several that were run in turn, on one screen: `linespeed stat`. Above it, where
/// `all` is asked for, the whole report. `shown_by`: what `linespeed show` takes for this record, where it was kept.
pub fn stat_answer(record: &Record, all: bool, shown_by: Option<&str>, style: &Style) -> String {
    match find_turns(record) {
        Some(turns) => turns::turns_answer(record, turns, all, shown_by, style),
        None => stat::command_answer(record, all, shown_by, style),
    }
}

/// Records side by side: `linespeed compare`.
pub fn comparison(comparison: &Comparison, style: &Style) -> String {
    Screen::draw(style, |screen| compare::write(screen, comparison))
}

/// The machine's shape as a picture, and how CPU numbers lie on packages, cores, siblings and nodes.
pub fn tree(machine: &Machine, style: &Style) -> String {
    Screen::draw(style, |screen| tree::write(screen, machine))
}

/// What a word means: `linespeed explain`.
pub fn word(word: &Term, style: &Style) -> String {
    let mut screen = Screen::new(style);
    let group =
        if word.group.is_empty() { String::new() } else { format!("  {}", word.group.to_lowercase()) };
    screen.line(&[Span::strong(word.name), Span::quiet(group)]);
    let plain = |text: &str| without_marks(text, style);
    screen.paragraph(&[Span::plain("  ")], Tone::Plain, plain(&word.what));
    for (label, text) in [("How", &word.how), ("Usual", &word.usual), ("Moves", &word.moves)] {
        if let Some(text) = text {
            screen.blank();
            let label = Span::strong(format!("{label:<7}"));
            screen.paragraph(&[Span::plain("  "), label], Tone::Plain, plain(text));
        }
    }
    screen.finish()
}

/// Prose as it is drawn: names stand in backticks for documents and pages, which a terminal does not draw.
fn without_marks(text: &str, style: &Style) -> String {
    match style.layout {
        Layout::Terminal => text.replace('`', ""),
        _ => text.to_owned(),
    }
}
