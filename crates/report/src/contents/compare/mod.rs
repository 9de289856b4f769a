//! The contents of a comparison, independent of the output format.

mod figures;
mod forest;
mod why;

use record::comparison::{FactKind, Relation};
use record::gate::Gate;
use record::{Comparison, Text};

use super::side_by_side::group_by;
use super::{Block, Part, Section, gate};
use crate::table::Table;
use crate::text::{capitalized, width};
pub(crate) use figures::is_of_watches;
pub(crate) use forest::forest;
use record::phrase::{count_noun, join_most};

/// Maximum number of subjects with their own column.
pub(crate) const COLUMNS: usize = 4;
/// Maximum width of a name in a column heading.
const SHORT_NAME: usize = 14;
/// Maximum number of subjects listed at the top.
const MOST_SUBJECTS: usize = 12;
/// Maximum number of values shown per fact if there are more subjects than columns.
const MOST_VALUES: usize = 4;
/// Maximum number of reasons for refused results that are shown.
const MOST_REFUSALS: usize = 12;
/// Maximum number of names shown from a longer list.
const MOST_NAMES: usize = 3;

/// The title of the page, which is also the first line of text.
pub(crate) fn title(c: &Comparison) -> String {
    let base = name(c, c.baseline);
    let others: Vec<usize> = (0..c.subjects.len()).filter(|index| *index != c.baseline).collect();
    match c.relation {
        Relation::SameRecord if others.len() == 1 => format!("{base}, twice"),
        Relation::SameRecord => format!("{base}, {} times", others.len() + 1),
        _ if others.len() <= MOST_NAMES => format!("{} compared with {base}", names(c, &others)),
        _ => format!("{} compared with {base}", count_noun(others.len(), "record")),
    }
}

/// A subject's name.
pub(crate) fn name(c: &Comparison, index: usize) -> &str {
    c.subjects.get(index).map_or("", |subject| subject.name.as_str())
}

/// The column heading of a subject: its name, or a letter if names are too long.
pub(crate) fn label(c: &Comparison, index: usize) -> String {
    letter(c, index).map_or_else(|| name(c, index).to_owned(), |letter| letter.to_string())
}

/// The letter of a subject; `None` if all names are short enough, or if there are too many subjects.
fn letter(c: &Comparison, index: usize) -> Option<char> {
    let long = c.subjects.iter().any(|subject| width(&subject.name) > SHORT_NAME);
    (long && c.subjects.len() <= COLUMNS).then(|| char::from(b'A' + (index % 26) as u8))
}

/// A paragraph: the first letter is capitalized, unless it belongs to the name of a record.
pub(crate) fn paragraph(says: &Text) -> String {
    let first = says.sentences().first();
    let opens_with_result =
        first.is_some_and(|text| ["result", "work"].iter().any(|name| text.value(name).is_some()));
    if opens_with_result { capitalized(&says.to_string()) } else { says.to_string() }
}

/// Comma-separated names of subjects; if there are many, only the first few.
pub(crate) fn names(c: &Comparison, all: &[usize]) -> String {
    let all: Vec<String> = all.iter().map(|index| name(c, *index).to_owned()).collect();
    join_most(&all, MOST_NAMES)
}

/// The subjects, each with its description and the time of its measurement.
pub(crate) fn subjects(c: &Comparison) -> Section {
    let mut section = Section::new("");
    let shown = c.subjects.len() <= MOST_SUBJECTS;
    for (index, subject) in c.subjects.iter().enumerate() {
        if !shown && index != c.baseline {
            continue;
        }
        let role = if index == c.baseline { " (baseline)" } else { "" };
        let mut parts = vec![subject.machine.clone()];
        if !subject.started.is_empty() {
            let word = if subject.imported { "dated" } else { "measured" };
            let day = subject.started.strip_suffix("T00:00:00Z").filter(|_| subject.imported);
            let whole = subject.started.replace('T', " ");
            parts.push(format!("{word} {}", day.unwrap_or(whole.trim_end_matches('Z'))));
        }
        if subject.newest {
            // Only the end of a long path is shown.
            let file = subject.source.rsplit('/').next().unwrap_or(&subject.source);
            parts.push(format!("record {file}"));
        }
        parts.extend(subject.notes.iter().map(Text::to_string));
        parts.retain(|part| !part.is_empty());
        let letter = letter(c, index).map_or(String::new(), |letter| format!("{letter}: "));
        section.add(format!("{letter}{}{role}", subject.name), parts.join("; "));
    }
    if !shown {
        let others: Vec<usize> = (0..c.subjects.len()).filter(|index| *index != c.baseline).collect();
        section.add(count_noun(others.len(), "other"), names(c, &others));
    }
    section
}

/// All sections below the answer.
pub(crate) fn blocks(c: &Comparison) -> Vec<Block> {
    if c.relation == Relation::SameRecord {
        return Vec::new();
    }
    let within = c.within.iter().map(|says| Part::Says(says.to_string())).collect();
    let mut blocks = vec![
        gate_block(c),
        why::orders(c),
        why::explanations(c),
        why::what_if(c),
        Block::new("Within each record", None, within),
        differences(c),
    ];
    blocks.extend(figures::blocks(c));
    blocks.push(refused(c));
    blocks.retain(|block| !block.is_empty());
    blocks
}

/// The results of a gate; names are shown if there are several records besides the baseline.
fn gate_block(c: &Comparison) -> Block {
    let table = |gate: &Gate| Part::Table(gate::table(gate, gate.held.iter(), record_names(c).as_deref()));
    Block::new("Gate", Some("gate"), c.gate.iter().map(table).collect())
}

/// Names of records for a gate's table, if they must be distinguished.
pub(crate) fn record_names(c: &Comparison) -> Option<Box<dyn Fn(usize) -> String + '_>> {
    (c.subjects.len() > 2).then(|| Box::new(|index| label(c, index)) as Box<dyn Fn(usize) -> String + '_>)
}

/// Differences in the inventory.
fn differences(c: &Comparison) -> Block {
    let mut parts = Vec::new();
    if c.differences.is_empty() && c.subjects.len() > 1 {
        let same = "The records show no difference in hardware or settings.";
        parts.push(Part::Says(same.to_owned()));
    }
    for (kind, title) in [
        (FactKind::Hardware, "Hardware"),
        (FactKind::Setting, "Software and settings"),
        (FactKind::State, "State during the run"),
    ] {
        let few = c.subjects.len() <= COLUMNS;
        let own: Vec<String> = match few {
            true => (0..c.subjects.len()).map(|index| label(c, index)).collect(),
            false => vec!["values".to_owned()],
        };
        // A name that begins like a column mark is not a mark.
        let heads = [vec![title.to_owned()], own].concat();
        let mut table = Table::new(title, None, heads.iter().map(|head| head.trim_start_matches(['#', '?'])));
        for difference in c.differences.iter().filter(|difference| difference.kind == kind) {
            let each = difference.values.iter().map(|value| value.clone().unwrap_or_else(|| "-".to_owned()));
            let values = if few { each.collect() } else { vec![grouped(c, &difference.values)] };
            table.row([vec![difference.what.to_string()], values].concat());
        }
        parts.push(Part::Table(table.finished()));
    }
    let title = if c.relation == Relation::SameMachine { "What changed" } else { "What differs" };
    Block::new(title, None, parts)
}

/// The values of many subjects: rare values with the names of their subjects, other values with the number of subjects.
fn grouped(c: &Comparison, values: &[Option<String>]) -> String {
    let known = values.iter().enumerate().filter_map(|(index, value)| Some((value.as_deref()?, index)));
    let mut groups = group_by(known, |(value, _)| *value);
    groups.sort_by_key(|(_, of)| std::cmp::Reverse(of.len()));
    let more = groups.len().saturating_sub(MOST_VALUES);
    let mut said: Vec<String> = groups
        .iter()
        .take(MOST_VALUES)
        .map(|(value, of)| match of.len() {
            count if count <= MOST_NAMES => {
                let of: Vec<usize> = of.iter().map(|(_, index)| *index).collect();
                format!("{value} ({})", names(c, &of))
            }
            count => format!("{value} ({count} of {})", values.len()),
        })
        .collect();
    said.extend((more > 0).then(|| count_noun(more, "other")));
    said.join("; ")
}

/// Results that are not comparable, with the reasons.
fn refused(c: &Comparison) -> Block {
    let mut section = Section::new("Not comparable");
    for refusal in c.refused.iter().take(MOST_REFUSALS) {
        let figures = count_noun(refusal.figures, "result");
        let text = format!("{} ({figures} of {})", refusal.why, names(c, &refusal.subjects));
        section.add(refusal.metrics.join(", "), text);
    }
    if c.refused.len() > MOST_REFUSALS {
        section.add("more", format!("{} more reasons in the JSON", c.refused.len() - MOST_REFUSALS));
    }
    Block::new("Not comparable", None, vec![Part::Facts(section)])
}
