//! The sources of an imported record's results, and contradictions in its texts.

use record::{Record, detail};
use std::collections::{BTreeMap, BTreeSet};

use record::import::{Import, Origin, Output};

use super::block::Block;
use crate::table::Table;
use record::phrase::agree;

/// Maximum number of lines listed per contradiction.
const MOST_PLACES: usize = 4;

/// The notes of an imported record, and its contradictions, each with the numbers of the lines that contradict each other.
pub(crate) fn contradictions(record: &Record) -> Block {
    let all = record.import.iter().flat_map(|import| &import.contradictions);
    let said = all.map(|one| {
        let places: BTreeSet<(&str, u64)> =
            one.origins.iter().map(|origin| (origin.text.as_str(), origin.line)).collect();
        let lines: Vec<String> = places.iter().take(MOST_PLACES).map(|(_, line)| line.to_string()).collect();
        let word = agree(lines.len(), "line", "lines");
        if lines.is_empty() {
            one.says.clone()
        } else {
            format!("{} ({word} {})", one.says, lines.join(", "))
        }
    });
    let notes = record.import.iter().flat_map(|_| record.machine.notes.iter().map(ToString::to_string));
    Block::items("Notes and contradictions", notes.chain(said))
}

/// The source line of a result: `openssl speed, line 41`.
pub(crate) fn place(origin: &Origin) -> String {
    format!("{}, line {}", origin.tool, origin.line)
}

/// Each tool's output: its lines, and the number of results and facts read from it.
pub(crate) fn outputs(record: &Record) -> Block {
    let title = "Sources of the results";
    let mut table = Table::new(title, None, ["output", "text", "lines", "#read", "?source"]);
    let Some(import) = &record.import else { return Block::default() };
    let published = published(record);
    for output in &import.outputs {
        let version = output.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
        let (first, last) = output.lines;
        let lines = if first == last { first.to_string() } else { format!("{first}–{last}") };
        table.row(vec![
            format!("{}{version}", output.tool),
            output.text.to_string(),
            lines,
            output.taken.to_string(),
            source(&published, output),
        ]);
    }
    if import.not_understood.lines > 0 {
        table.note(&format!("lines from no supported tool: {}", import.not_understood.lines));
    }
    table.note(&hint(import));
    table.finished().into()
}

/// How to display the source line of each result.
fn hint(import: &Import) -> String {
    match import.texts.first().and_then(|text| text.name.strip_prefix("reference:")) {
        Some(name) => {
            format!(
                "linespeed reference {name} --text prints the source lines; JSON and HTML list the line of each result"
            )
        }
        None => "the JSON output lists the source line of each result".to_owned(),
    }
}

/// The documents in which results were published, by text and line.
type Published<'a> = BTreeMap<(&'a str, u64), &'a str>;

fn published(record: &Record) -> Published<'_> {
    let mut all = Published::new();
    for m in &record.measurements {
        if let (Some(origin), Some(document)) = (&m.origin, m.detail.get(detail::PUBLISHED_IN)) {
            all.entry((origin.text.as_str(), origin.line)).or_insert(document);
        }
    }
    all
}

/// The document in which an output was published, otherwise the command above the output.
fn source(published: &Published, output: &Output) -> String {
    let (text, (first, last)) = (output.text.as_str(), output.lines);
    let mut within = published.range((text, first)..=(text, last.max(first)));
    let document = within.next().map(|(_, document)| (*document).to_owned());
    document.or_else(|| output.command.clone()).unwrap_or_default()
}
