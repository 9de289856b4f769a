//! What was made of other tools' output: `linespeed import`.

use record::import::{Contradiction, Origin, Output, Withheld};
use record::phrase::{count_noun, quote_word};
use record::{Key, Measurement, Record, detail};

use super::screen::Screen;
use super::{findings, inventory, report};
use crate::contents::figures::value;
use crate::contents::{Block, listed, summary};
use crate::paint::{Span, Tone};
use crate::text::clean;

/// Outputs of one machine, and figures of each.
const OUTPUTS: usize = 4;
const FIGURES: usize = 12;
/// Lines of what was read from an output: from the only one, from each of two, and so on.
const LINES_EACH: [usize; OUTPUTS] = [5, 3, 2, 1];
/// Lines below everything: where the record is, with empty lines between.
const BELOW: usize = 3;
/// Lines of its findings.
const FINDINGS: usize = 3;
/// Machines of one text.
const MACHINES: usize = 6;

/// Where a record is kept.
pub struct Kept {
    /// Its file.
    pub place: String,
    /// What `linespeed show` takes for it.
    pub shown_by: String,
    /// Whether the same text was imported before.
    pub before: bool,
}

impl Kept {
    fn line(&self) -> String {
        format!("Record: {}{}", self.place, if self.before { " (imported before)" } else { "" })
    }
}

/// What was made of other tools' output, on one screen: the machines, what was recognised, the first figures, and where the records
/// are. Above it, where `all` is asked for, every figure and line, those that nobody understood among them: without that the
/// caller says how many they are.
pub fn import(screen: &mut Screen, records: &[Record], kept: &[Kept], all: bool) {
    if all {
        write_all(screen, records);
    }
    screen.begin_answer(all);
    match records {
        [one] => write_one(screen, one),
        several => write_several(screen, several, kept),
    }
    screen.blank();
    let rest = if all { "" } else { "--all (all that was read), " };
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

/// What a machine is called, and what it is.
fn name(record: &Record) -> Vec<String> {
    let name = record.import.as_ref().and_then(|import| import.name.as_deref());
    let name = name.filter(|name| Some(*name) != record.machine.hostname.as_deref()).map(clean);
    name.into_iter().chain(summary::machine(record)).collect()
}

/// One machine in a screen.
fn write_one(screen: &mut Screen, record: &Record) {
    let Some(import) = &record.import else { return };
    for (number, line) in name(record).into_iter().enumerate() {
        screen.line(&[Span::new(if number == 0 { Tone::Strong } else { Tone::Plain }, line)]);
    }
    screen.blank();
    let several = import.texts.len() > 1;
    let each = LINES_EACH[import.outputs.len().clamp(1, OUTPUTS) - 1];
    for output in import.outputs.iter().take(OUTPUTS) {
        screen.short(1, "", "", describe_output(output, several));
        let figures = figures(record, output, FIGURES);
        if !figures.is_empty() {
            screen.short(each, "    ", "    ", figures);
        }
    }
    if import.outputs.len() > OUTPUTS {
        let more = count_noun(import.outputs.len() - OUTPUTS, "more output");
        screen.line(&[Span::quiet(format!("and {more}"))]);
    }
    if !import.inventory.is_empty() {
        screen.blank();
        let findings = if record.diagnosis.findings.is_empty() { 0 } else { FINDINGS + 1 };
        let amiss = [import.withheld.is_empty(), import.contradictions.is_empty()];
        let amiss = 2 * amiss.iter().filter(|none| !**none).count();
        inventory::write_essentials(screen, record, screen.left(findings + amiss + BELOW));
    }
    if !record.diagnosis.findings.is_empty() {
        screen.blank();
        findings::write(screen, record, FINDINGS, None, false);
    }
    screen.blank();
    let withheld = import.withheld.first().map(kept_as_text);
    let two_ways = import.contradictions.first().map(contradiction);
    for (title, count, first) in [
        ("Implausible, kept as text only", import.withheld.len(), withheld),
        ("Contradictions", import.contradictions.len(), two_ways),
    ] {
        if let Some(says) = first {
            screen.short(2, "", "  ", format!("{title}: {count}; the first: {says}"));
        }
    }
}

/// Of several machines what each is, what was recognised, and where its record is.
fn write_several(screen: &mut Screen, records: &[Record], kept: &[Kept]) {
    for (record, kept) in records.iter().zip(kept).take(MACHINES) {
        let Some(import) = &record.import else { continue };
        screen.line(&[Span::strong(name(record).join("; "))]);
        let amiss = listed([
            (!import.withheld.is_empty()).then(|| format!("{} implausible", import.withheld.len())),
            (!import.contradictions.is_empty())
                .then(|| count_noun(import.contradictions.len(), "contradiction")),
        ]);
        let outputs: Vec<String> =
            import.outputs.iter().map(|output| describe_output(output, false)).collect();
        screen.short(1, "  ", "  ", listed([Some(amiss), Some(outputs.join("; "))]));
        screen.uncut(&format!("  {}", kept.line()));
    }
    if records.len() > MACHINES {
        screen.line(&[Span::quiet(format!("and {}", count_noun(records.len() - MACHINES, "more machine")))]);
    }
}

/// The reports of the records, with all that was read.
fn write_all(screen: &mut Screen, records: &[Record]) {
    for record in records {
        let Some(import) = &record.import else { continue };
        screen.blank();
        report::write(screen, record, None);
        if !import.inventory.is_empty() {
            inventory::inventory(screen, record);
        }
        let withheld = import.withheld.iter().map(kept_as_text);
        report::block(screen, &Block::items("Kept as text only: implausible", withheld), false);
    }
    // Each record of a text has what nobody understood of it.
    if let Some(import) = records.last().and_then(|record| record.import.as_ref()) {
        let lines = &import.not_understood;
        let title = format!("Not recognised: {}", count_noun(lines.lines, "line"));
        report::block(screen, &Block::items(&title, lines.examples.iter().map(example)), false);
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

fn example(line: &Origin) -> String {
    format!("{}: {}", line_of(line), line.says)
}

fn describe_output(output: &Output, several_texts: bool) -> String {
    let version = output.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
    let (first, last) = output.lines;
    let lines = if first == last { format!("line {first}") } else { format!("lines {first}–{last}") };
    let of = if several_texts { format!(" of {}", output.text) } else { String::new() };
    format!("{}{version}: {lines}{of}, {}", output.tool, count_noun(output.taken, "figure"))
}

/// The first figures that were read from an output, those of one place behind it, and before them the place that all have in
/// common: `policy=fifo: cpu=0: minimum 9 µs, average 14 µs`.
fn figures(record: &Record, output: &Output, most: usize) -> String {
    let (first, last) = output.lines;
    let from_here = |origin: &&Origin| origin.text == output.text && (first..=last).contains(&origin.line);
    let all: Vec<&Measurement> =
        record.measurements.iter().filter(|m| m.origin.as_ref().filter(from_here).is_some()).collect();
    let common = |(name, value): &(&String, &Key)| all.iter().all(|m| m.labels.named(name) == Some(value));
    let place = |of: &Measurement, is_common: bool| {
        let labels = of.labels.0.iter().filter(|label| common(label) == is_common);
        // A thread that was bound to no CPU has its number alone.
        let thread = of.detail.get(detail::THREAD).filter(|_| !is_common);
        let thread = thread.map(|number| format!("thread={number}"));
        let place: Vec<String> =
            labels.map(|(name, value)| format!("{name}={value}")).chain(thread).collect();
        if place.is_empty() { String::new() } else { format!("{}: ", place.join(" ")) }
    };
    let places = all.iter().take(most).copied().collect::<Vec<_>>();
    let mut said: Vec<String> = places
        .chunk_by(|a, b| a.labels == b.labels && a.detail.get(detail::THREAD) == b.detail.get(detail::THREAD))
        .map(|of| {
            let figure = |m: &&Measurement| {
                let name = m.metric.split('.').next_back().unwrap_or_default().replace('_', " ");
                // Of a distribution one figure is shown; a single figure is what its name says.
                let statistic = match m.summary.n {
                    0 | 1 => "",
                    _ if m.is_mean() => "mean ",
                    _ => "median ",
                };
                format!("{statistic}{name} {}", value(m))
            };
            format!("{}{}", place(of[0], false), of.iter().map(figure).collect::<Vec<_>>().join(", "))
        })
        .collect();
    if all.len() > most {
        said.push(format!("and {} more", all.len() - most));
    }
    format!("{}{}", all.first().map(|m| place(m, true)).unwrap_or_default(), said.join("; "))
}

fn line_of(origin: &Origin) -> String {
    format!("line {}", origin.line)
}
