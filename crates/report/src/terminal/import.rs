//! What was made of other tools' output: `linespeed import`.

use record::Record;
use record::import::{Origin, Output};

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
    let outputs = import.outputs.iter().map(|output| describe_output(output, import.texts.len() > 1));
    list(screen, "Recognised", outputs, import.outputs.len(), extent.most(MOST * 4));
    // How to mend it stands in the report.
    let findings = record.diagnosis.findings.iter();
    let findings = findings.map(|finding| {
        format!("{}: {}, {}", finding.what, summary::severity(finding.severity), summary::loss(finding))
    });
    list(screen, "What costs speed", findings, record.diagnosis.findings.len(), extent.most(MOST));
    let withheld = import.withheld.iter();
    let withheld = withheld.map(|one| format!("{}: {} ({})", one.what, one.why, place(&one.origin)));
    let title = "Kept as text only: implausible";
    list(screen, title, withheld, import.withheld.len(), extent.most(MOST));
    let contradictions = import.contradictions.iter().map(|one| {
        format!("{} ({})", one.says, one.origins.iter().map(place).collect::<Vec<_>>().join("; "))
    });
    list(screen, "Contradictions", contradictions, import.contradictions.len(), extent.most(MOST));
    let lines = &import.not_understood;
    if !extent.reported_elsewhere {
        let examples = lines.examples.iter().map(|example| format!("{}: {}", place(example), example.says));
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

fn place(origin: &Origin) -> String {
    format!("line {}", origin.line)
}
