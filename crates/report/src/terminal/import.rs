//! What was made of other tools' output: `linespeed import`.

use record::Record;
use record::import::{Import, Origin};

use super::screen::Screen;
use crate::contents::summary;
use crate::paint::{Span, Tone};
use crate::text::clean;
use record::phrase::count_noun;

/// Entries of a list that are printed; the record has all.
const MOST: usize = 8;
/// Lines that nobody understood, of which a text has many: all of them with -v.
const FEW: usize = 5;

/// How much of the account is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// Every line that nobody understood and every withheld figure, as far as the record has them.
    pub whole: bool,
    /// What nobody understood is told with another record of the same text.
    pub reported_elsewhere: bool,
}

impl Extent {
    fn most(self, usual: usize) -> usize {
        if self.whole { usize::MAX } else { usual }
    }
}

/// The account.
pub(super) fn write(screen: &mut Screen, record: &Record, extent: Extent) {
    let Some(import) = &record.import else { return };
    let name = import.name.as_deref().filter(|name| Some(*name) != record.machine.hostname.as_deref());
    if let Some(name) = name {
        screen.paragraph(&[], Tone::Strong, clean(name));
    }
    for (number, line) in summary::machine(record).iter().enumerate() {
        let tone = if number == 0 && name.is_none() { Tone::Strong } else { Tone::Plain };
        screen.paragraph(&[], tone, line);
    }
    recognised(screen, import, extent);
    found(screen, record, extent);
    withheld(screen, import, extent);
    contradictions(screen, import, extent);
    if !extent.reported_elsewhere {
        not_understood(screen, import, extent);
    }
}

fn recognised(screen: &mut Screen, import: &Import, extent: Extent) {
    screen.heading("Recognised");
    for output in import.outputs.iter().take(extent.most(MOST * 4)) {
        let version = output.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
        let (first, last) = output.lines;
        let lines = if first == last { format!("line {first}") } else { format!("lines {first}–{last}") };
        let of = if import.texts.len() > 1 { format!(" of {}", output.text) } else { String::new() };
        let text =
            format!("{}{version}: {lines}{of}, {}", output.tool, count_noun(output.taken as usize, "figure"));
        screen.hanging("  ", "      ", clean(&text));
    }
    more(screen, import.outputs.len(), extent.most(MOST * 4));
}

/// What the figures say costs speed, a line each; how to mend it stands in the report.
fn found(screen: &mut Screen, record: &Record, extent: Extent) {
    let findings = &record.diagnosis.findings;
    if findings.is_empty() {
        return;
    }
    screen.heading("What costs speed");
    for finding in findings.iter().take(extent.most(MOST)) {
        let severity = summary::severity(finding.severity);
        let text = format!("{}: {severity}, {}", finding.what, summary::loss(finding));
        screen.hanging("  ", "      ", clean(&text));
    }
    more(screen, findings.len(), extent.most(MOST));
}

fn withheld(screen: &mut Screen, import: &Import, extent: Extent) {
    if import.withheld.is_empty() {
        return;
    }
    screen.heading("Kept as text only, because it cannot be true");
    for withheld in import.withheld.iter().take(extent.most(MOST)) {
        let text = format!("{}: {} ({})", withheld.what, withheld.why, place(&withheld.origin));
        screen.hanging("  ", "      ", clean(&text));
    }
    more(screen, import.withheld.len(), extent.most(MOST));
}

fn contradictions(screen: &mut Screen, import: &Import, extent: Extent) {
    if import.contradictions.is_empty() {
        return;
    }
    screen.heading("Contradictions");
    for contradiction in import.contradictions.iter().take(extent.most(MOST)) {
        let places: Vec<String> = contradiction.origins.iter().map(place).collect();
        let text = format!("{} ({})", contradiction.says, places.join("; "));
        screen.hanging("  ", "      ", clean(&text));
    }
    more(screen, import.contradictions.len(), extent.most(MOST));
}

fn not_understood(screen: &mut Screen, import: &Import, extent: Extent) {
    let lines = &import.not_understood;
    if lines.lines == 0 {
        return;
    }
    screen.heading(&format!("Not understood: {}", count_noun(lines.lines as usize, "line")));
    let shown = lines.examples.len().min(extent.most(FEW));
    for example in &lines.examples[..shown] {
        screen.hanging("  ", "      ", clean(&format!("line {}: {}", example.line, example.says)));
    }
    more(screen, lines.lines as usize, shown);
}

fn more(screen: &mut Screen, all: usize, shown: usize) {
    if all > shown {
        screen.line(&[Span::quiet(format!("  and {} more", all - shown))]);
    }
}

fn place(origin: &Origin) -> String {
    format!("line {}", origin.line)
}
