//! Texts in tables, which lie in files beside the code that shows them: `[section]` on a line, then a row per line with ` :: `
//! between its cells, and `(code)` before words that are asked for. Lines that begin with `#` are comments.

use record::Template;

/// The rows of a section with their cells.
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
