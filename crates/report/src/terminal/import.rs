//! What was made of other tools' output: `linespeed import`.

use record::import::{Origin, Output};
use record::{Measurement, Record};

use super::Style;
use super::screen::Screen;
use crate::contents::figures::{place, value};
use crate::contents::summary;
use crate::paint::{Span, Tone};
use crate::text::clean;
use record::phrase::{count_noun, quote_word};

/// Entries of a list that are printed; the record has all.
const MOST: usize = 8;
/// Lines that nobody understood, of which a text has many: all of them with -v.
const FEW: usize = 5;
/// Outputs that are printed.
const OUTPUTS: usize = 32;
/// Figures of an output that are printed.
const FIGURES: usize = 6;

/// How much of the account is printed.
#[derive(Clone, Copy)]
struct Extent {
    /// Every line that nobody understood and every withheld figure, as far as the record has them.
    whole: bool,
    /// What nobody understood is told with another record of the same text.
    reported_elsewhere: bool,
}

impl Extent {
    fn most(self, usual: usize) -> usize {
        if self.whole { usize::MAX } else { usual }
    }
}

/// What was made of other tools' output: the records, where each is kept, and whether it was so before. `whole`: every line
/// that nobody understood and every withheld figure.
pub fn import(records: &[Record], kept: &[(String, bool)], whole: bool, style: &Style) -> String {
    let mut text = String::new();
    for (at, record) in records.iter().enumerate() {
        let extent = Extent { whole, reported_elsewhere: at + 1 < records.len() };
        text.push_str(&Screen::draw(style, |screen| write(screen, record, extent)));
        if let Some((place, before)) = kept.get(at) {
            let before = if *before { " (imported before)" } else { "" };
            text.push_str(&format!("\nRecord: {place}{before}\n"));
        }
    }
    let written: Vec<String> = kept.iter().map(|(place, _)| quote_word(place)).collect();
    match written.as_slice() {
        [] => {}
        [one] => text.push_str(&format!("More:   linespeed show {one}\n")),
        all => {
            text.push_str(&format!("More:   linespeed show RECORD, linespeed compare {}\n", all.join(" ")))
        }
    }
    text
}

/// The account of a record.
fn write(screen: &mut Screen, record: &Record, extent: Extent) {
    let Some(import) = &record.import else { return };
    let name = import.name.as_deref().filter(|name| Some(*name) != record.machine.hostname.as_deref());
    if let Some(name) = name {
        screen.paragraph(&[], Tone::Strong, clean(name));
    }
    for (number, line) in summary::machine(record).iter().enumerate() {
        let tone = if number == 0 && name.is_none() { Tone::Strong } else { Tone::Plain };
        screen.paragraph(&[], tone, line);
    }
    if !import.outputs.is_empty() {
        screen.heading("Recognised");
    }
    for output in import.outputs.iter().take(extent.most(OUTPUTS)) {
        screen.hanging("  ", "      ", clean(&describe_output(output, import.texts.len() > 1)));
        let figures = figures(record, output, extent.most(FIGURES));
        if !figures.is_empty() {
            screen.hanging("      ", "      ", figures);
        }
    }
    if import.outputs.len() > extent.most(OUTPUTS) {
        screen.line(&[Span::quiet(format!("  and {} more", import.outputs.len() - OUTPUTS))]);
    }
    // How to mend it stands in the report.
    let findings = record.diagnosis.findings.iter();
    let findings = findings.map(|finding| {
        format!("{}: {}, {}", finding.what, summary::severity(finding.severity), summary::loss(finding))
    });
    list(screen, "What costs speed", findings, record.diagnosis.findings.len(), extent.most(MOST));
    let withheld = import.withheld.iter();
    let withheld = withheld.map(|one| format!("{}: {} ({})", one.what, one.why, line_of(&one.origin)));
    let title = "Kept as text only: implausible";
    list(screen, title, withheld, import.withheld.len(), extent.most(MOST));
    let contradictions = import.contradictions.iter().map(|one| {
        format!("{} ({})", one.says, one.origins.iter().map(line_of).collect::<Vec<_>>().join("; "))
    });
    list(screen, "Contradictions", contradictions, import.contradictions.len(), extent.most(MOST));
    let lines = &import.not_understood;
    if !extent.reported_elsewhere {
        let examples = lines.examples.iter().map(|example| format!("{}: {}", line_of(example), example.says));
        let title = format!("Not recognised: {}", count_noun(lines.lines, "line"));
        list(screen, &title, examples, lines.lines as usize, extent.most(FEW));
    }
}

fn describe_output(output: &Output, several_texts: bool) -> String {
    let version = output.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
    let (first, last) = output.lines;
    let lines = if first == last { format!("line {first}") } else { format!("lines {first}–{last}") };
    let of = if several_texts { format!(" of {}", output.text) } else { String::new() };
    format!("{}{version}: {lines}{of}, {}", output.tool, count_noun(output.taken, "figure"))
}

/// The first figures that were read from an output, those of one place behind it: `CPU 0: minimum 9 µs, average 14 µs`.
fn figures(record: &Record, output: &Output, most: usize) -> String {
    let (first, last) = output.lines;
    let from_here = |origin: &&Origin| origin.text == output.text && (first..=last).contains(&origin.line);
    let all: Vec<&Measurement> =
        record.measurements.iter().filter(|m| m.origin.as_ref().filter(from_here).is_some()).collect();
    let places = all.iter().take(most).copied().collect::<Vec<_>>();
    let mut said: Vec<String> = places
        .chunk_by(|a, b| a.labels == b.labels)
        .map(|of| {
            let figure = |m: &&Measurement| {
                let name = m.metric.split('.').next_back().unwrap_or_default().replace('_', " ");
                format!("{name} {}", value(m))
            };
            let place = place(of[0]).trim_end().to_owned();
            let place = if place.is_empty() { place } else { format!("{place}: ") };
            format!("{place}{}", of.iter().map(figure).collect::<Vec<_>>().join(", "))
        })
        .collect();
    if all.len() > most {
        said.push(format!("and {} more", all.len() - most));
    }
    said.join("; ")
}

/// Entries below a heading, `most` of them, and how many more of `all` there are; nothing where there is none.
fn list(screen: &mut Screen, title: &str, entries: impl Iterator<Item = String>, all: usize, most: usize) {
    if all == 0 {
        return;
    }
    screen.heading(title);
    let mut shown = 0;
    for entry in entries.take(most) {
        screen.hanging("  ", "      ", clean(&entry));
        shown += 1;
    }
    if all > shown {
        screen.line(&[Span::quiet(format!("  and {} more", all - shown))]);
    }
}

fn line_of(origin: &Origin) -> String {
    format!("line {}", origin.line)
}
