//! The result of importing other tools' output: `linespeed import`.

use record::Record;
use record::import::{Contradiction, Origin, Output, Withheld};
use record::phrase::{count_noun, quote_word};

use super::room::{ENDING, FIGURES, ITEMS, LEAST_TABLE, OUTPUTS, ROWS};
use super::screen::Screen;
use super::{findings, inventory, report};
use crate::contents::blocks::blocks;
use crate::contents::{Block, listed, summary};
use crate::paint::{Span, Tone};
use crate::text::clean;

/// A saved record: its location and its name.
pub struct Kept {
    /// The record's file.
    pub place: String,
    /// The name that `linespeed show` accepts for the record.
    pub shown_by: String,
    /// Whether the same text was imported before.
    pub before: bool,
}

impl Kept {
    fn line(&self) -> String {
        format!("Record: {}{}", self.place, if self.before { " (imported before)" } else { "" })
    }
}

/// The imported data on one screen: the machines, the recognized output, the first results, and the locations of the records. With `all`,
/// every result and every line, including unrecognized lines, is shown above this screen. Otherwise, the caller shows the number of
/// unrecognized lines.
pub fn import(screen: &mut Screen, records: &[Record], kept: &[Kept], all: bool) {
    if all {
        write_all(screen, records);
    }
    screen.begin_answer(all);
    match records {
        [one] => write_one(screen, one, all),
        several => write_several(screen, several, kept),
    }
    screen.blank();
    let rest = if all { "" } else { "--all (everything read), " };
    let names: Vec<String> = kept.iter().map(|kept| quote_word(&kept.shown_by)).collect();
    match (kept, names.as_slice()) {
        ([one], [name]) => {
            screen.uncut(&one.line());
            screen.uncut(&format!("More:   {rest}linespeed show {name} --all"));
        }
        (_, [first, second, ..]) => {
            screen.uncut(&format!("More:   {rest}linespeed compare {first} {second}"));
        }
        _ => {}
    }
}

/// The name of a machine, and its description.
fn name(record: &Record) -> Vec<String> {
    let name = record.import.as_ref().and_then(|import| import.name.as_deref());
    let name = name.filter(|name| Some(*name) != record.machine.hostname.as_deref()).map(clean);
    name.into_iter().chain(summary::machine(record)).collect()
}

/// One machine on one screen. With `all`, its results are already shown above.
fn write_one(screen: &mut Screen, record: &Record, all: bool) {
    let Some(import) = &record.import else { return };
    for (number, line) in name(record).into_iter().enumerate() {
        screen.paragraph(&[], if number == 0 { Tone::Strong } else { Tone::Plain }, line);
    }
    screen.blank();
    let several = import.texts.len() > 1;
    for output in import.outputs.iter().take(OUTPUTS) {
        screen.hanging("", "  ", describe_output(output, several));
    }
    if import.outputs.len() > OUTPUTS {
        let more = count_noun(import.outputs.len() - OUTPUTS, "more output");
        screen.line(&[Span::quiet(format!("and {more}"))]);
    }
    let amiss = [import.withheld.is_empty(), import.contradictions.is_empty()];
    let findings = |screen: &mut Screen| {
        screen.blank();
        findings::write_and_count(screen, record);
    };
    // Findings are never truncated; the parts above them use the remaining lines.
    let before = screen.lines();
    findings(screen);
    let below = 2 * amiss.iter().filter(|none| !**none).count() + ENDING + screen.lines() - before;
    screen.keep(before);
    if !all {
        let room = if import.inventory.is_empty() { screen.left(below) } else { FIGURES };
        let end = screen.lines().saturating_add(room);
        for (number, block) in blocks(record, report::ROOM).into_iter().enumerate() {
            let left = end.saturating_sub(screen.lines());
            // A table is omitted if there is only room for its title, its headings and a truncated row.
            if number == 0 || left >= LEAST_TABLE || !screen.is_terminal() {
                screen.clipped(left, |screen| report::block(screen, &block, false));
            }
        }
    }
    if !import.inventory.is_empty() {
        screen.blank();
        inventory::write_essentials(screen, record, screen.left(below).max(ITEMS));
    }
    findings(screen);
    screen.blank();
    let withheld = import.withheld.first().map(kept_as_text);
    let two_ways = import.contradictions.first().map(contradiction);
    for (title, count, first) in [
        ("Implausible values, kept only as text", import.withheld.len(), withheld),
        ("Contradictions", import.contradictions.len(), two_ways),
    ] {
        if let Some(says) = first {
            screen.hanging("", "  ", format!("{title} ({count}). The first: {says}"));
        }
    }
}

/// Several machines: for each, its description, the recognized output, and the location of its record.
fn write_several(screen: &mut Screen, records: &[Record], kept: &[Kept]) {
    for (record, kept) in records.iter().zip(kept).take(ROWS) {
        let Some(import) = &record.import else { continue };
        screen.paragraph(&[], Tone::Strong, name(record).join("; "));
        let amiss = listed([
            (!import.withheld.is_empty()).then(|| format!("{} kept as text", import.withheld.len())),
            (!import.contradictions.is_empty())
                .then(|| count_noun(import.contradictions.len(), "contradiction")),
        ]);
        let outputs: Vec<String> = import.outputs.iter().map(|one| describe_output(one, false)).collect();
        screen.hanging("  ", "    ", listed([Some(amiss), Some(outputs.join("; "))]));
        screen.uncut(&format!("  {}", kept.line()));
    }
    if records.len() > ROWS {
        screen.line(&[Span::quiet(format!("and {}", count_noun(records.len() - ROWS, "more machine")))]);
    }
}

/// The reports of the records, with everything that was read.
fn write_all(screen: &mut Screen, records: &[Record]) {
    for record in records {
        let Some(import) = &record.import else { continue };
        screen.blank();
        report::write(screen, record, None);
        if !import.inventory.is_empty() {
            inventory::inventory(screen, record);
        }
        let withheld = import.withheld.iter().map(kept_as_text);
        report::block(screen, &Block::items("Kept only as text", withheld), false);
    }
    // Every record made from a text contains the unrecognized lines of the entire text.
    if let Some(import) = records.last().and_then(|record| record.import.as_ref()) {
        let lines = &import.not_understood;
        let title = format!("Not recognized: {}", count_noun(lines.lines, "line"));
        let examples = lines.examples.iter().map(|line| format!("{}: {}", line_of(line), line.says));
        report::block(screen, &Block::items(&title, examples), false);
        let more = lines.lines.saturating_sub(lines.examples.len() as u64);
        if more > 0 {
            screen.line(&[Span::quiet(format!("  and {more} more"))]);
        }
    }
}

fn kept_as_text(one: &Withheld) -> String {
    format!("{}: {} ({})", one.what, one.why, line_of(&one.origin))
}

fn contradiction(one: &Contradiction) -> String {
    format!("{} ({})", one.says, one.origins.iter().map(line_of).collect::<Vec<_>>().join("; "))
}

fn describe_output(output: &Output, several_texts: bool) -> String {
    let version = output.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
    let (first, last) = output.lines;
    let lines = if first == last { format!("line {first}") } else { format!("lines {first}–{last}") };
    let file = output.text.rsplit('/').next().filter(|_| several_texts);
    let of = file.map(|file| format!(" of {file}")).unwrap_or_default();
    format!("{}{version}: {lines}{of}, {}", output.tool, count_noun(output.taken, "result"))
}

fn line_of(origin: &Origin) -> String {
    format!("line {}", origin.line)
}
