//! A report as Markdown.

use crate::table::Table;
use crate::text::clean;

/// Text in which Markdown sees no marks.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in clean(text).trim().chars() {
        match c {
            '*' | '`' | '|' | '\\' => escaped.extend(['\\', c]),
            '<' => escaped.push_str("&lt;"),
            c => escaped.push(c),
        }
    }
    // What would begin a heading or an item of a list.
    if escaped.starts_with(['#', '+', '>']) { format!("\\{escaped}") } else { escaped }
}

/// A table with its notes.
pub(super) fn table(table: &Table) -> String {
    let row =
        |cells: &mut dyn Iterator<Item = String>| format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "));
    let mut text = row(&mut table.columns.iter().map(|column| escape(&column.head)));
    text.push_str(&row(&mut table
        .columns
        .iter()
        .map(|column| if column.figures { "--:" } else { "---" }.to_owned())));
    for cells in &table.rows {
        text.push_str(&row(&mut cells.iter().map(|cell| escape(cell))));
    }
    let notes = table.notes.iter().enumerate().map(|(number, note)| format!("[{}] {note}", number + 1));
    for note in notes.chain(table.remarks.iter().cloned()) {
        text.push_str(&format!("\n{}\n", escape(&note)));
    }
    text
}
