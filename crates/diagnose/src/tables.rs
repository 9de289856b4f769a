//! Sentences and other strings in table files next to the code that displays them. A table consists of `[section]` lines, each followed by
//! one row per line, with ` :: ` between cells. `(code)` precedes words that have a code. Lines that begin with `#` are comments.

use record::Template;
use serde::Serialize;

/// The rows of a section, each as a list of cells.
pub(crate) fn rows(table: &'static str, section: &str) -> Vec<Vec<&'static str>> {
    let name = |line: &'static str| line.strip_prefix('[')?.strip_suffix(']');
    let lines = table.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut rows = lines.skip_while(|line| name(line) != Some(section));
    let head = rows.next();
    debug_assert!(head.is_some(), "no section {section}");
    rows.take_while(|line| name(line).is_none()).map(|line| line.split(" :: ").collect()).collect()
}

/// A cell as a sentence.
pub(crate) fn template(cell: &'static str) -> Template {
    match cell.strip_prefix('(').and_then(|cell| cell.split_once(") ")) {
        Some((code, words)) => Template { code, words },
        None => Template { code: "", words: cell },
    }
}

/// The sentences of the row that begins with this key; empty if the section has no such row.
pub(crate) fn sentences(table: &'static str, section: &str, key: &str) -> Vec<Template> {
    let row = rows(table, section).into_iter().find(|row| row.first() == Some(&key));
    row.unwrap_or_default().into_iter().skip(1).map(template).collect()
}

/// The name of an enum value without fields, as in JSON.
pub(crate) fn word(value: &impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| Some(value.as_str()?.to_owned())).unwrap_or_default()
}
