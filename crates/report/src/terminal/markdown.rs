//! A report as Markdown.

use crate::table::Table;
use crate::text::clean;

/// The place of a text, which determines the characters to escape.
#[derive(Clone, Copy, PartialEq)]
enum Within {
    /// Text in a paragraph.
    Words,
    /// Text in a table cell, where a bar must be escaped even in code: the renderer removes the backslash.
    Cell,
}

/// Text in which the only Markdown markup is code in backticks.
pub(super) fn escape(text: &str) -> String {
    let escaped = escape_within(text, Within::Words);
    // Characters that would begin a heading, a list item or a quotation.
    if escaped.starts_with(['#', '+', '>']) { format!("\\{escaped}") } else { escaped }
}

fn escape_within(text: &str, within: Within) -> String {
    let text = clean(text);
    let mut rest = text.trim();
    let mut escaped = String::with_capacity(rest.len());
    while let Some(c) = rest.chars().next() {
        let piece = code_at_start(rest).unwrap_or(&rest[..c.len_utf8()]);
        let is_code = piece.len() > c.len_utf8();
        rest = &rest[piece.len()..];
        for c in piece.chars() {
            match c {
                '|' if within == Within::Cell => escaped.push_str("\\|"),
                c if is_code => escaped.push(c),
                '*' | '`' | '\\' => escaped.extend(['\\', c]),
                '<' => escaped.push_str("&lt;"),
                c => escaped.push(c),
            }
        }
    }
    escaped
}

/// The code at the beginning of a text: up to the matching backticks.
fn code_at_start(text: &str) -> Option<&str> {
    let run = |text: &str| text.len() - text.trim_start_matches('`').len();
    let opening = Some(run(text)).filter(|opening| *opening > 0)?;
    let mut at = opening;
    loop {
        at += text[at..].find('`')?;
        let closing = run(&text[at..]);
        at += closing;
        if closing == opening {
            return Some(&text[..at]);
        }
    }
}

/// A command as code.
pub(super) fn code(command: &str) -> String {
    let longest = command.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let gap = if command.starts_with('`') || command.ends_with('`') { " " } else { "" };
    format!("{fence}{gap}{command}{gap}{fence}")
}

/// A table with its notes, followed by an empty line.
pub(super) fn table(table: &Table) -> String {
    let escape_cell = |text: &str| escape_within(text, Within::Cell);
    let row =
        |cells: &mut dyn Iterator<Item = String>| format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "));
    let mut text = row(&mut table.columns.iter().map(|column| escape_cell(&column.head)));
    text.push_str(&row(&mut table
        .columns
        .iter()
        .map(|column| if column.figures { "--:" } else { "---" }.to_owned())));
    for cells in &table.rows {
        text.push_str(&row(&mut cells.iter().map(|cell| escape_cell(cell))));
    }
    let notes = table.notes.iter().enumerate().map(|(number, note)| format!("[{}] {note}", number + 1));
    for note in notes.chain(table.remarks.iter().cloned()) {
        text.push_str(&format!("\n{}\n", escape(&note)));
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_stays_code_and_nothing_else_is_a_mark() {
        for (text, words, cell) in [
            ("see top | head", "see top | head", r"see top \| head"),
            ("`a | b*` and *c*", r"`a | b*` and \*c\*", r"`a \| b*` and \*c\*"),
            ("``a ` b`` <i>", "``a ` b`` &lt;i>", "``a ` b`` &lt;i>"),
            ("one ` alone", r"one \` alone", r"one \` alone"),
            ("``", r"\`\`", r"\`\`"),
            ("`a``", r"\`a\`\`", r"\`a\`\`"),
            (r"C:\`x`", r"C:\\`x`", r"C:\\`x`"),
            ("µ `é` …", "µ `é` …", "µ `é` …"),
        ] {
            assert_eq!(escape(text), words);
            assert_eq!(escape_within(text, Within::Cell), cell);
        }
        assert_eq!(escape("# no heading"), r"\# no heading");
    }

    #[test]
    fn a_command_is_code_whatever_it_holds() {
        for command in ["a | b", "echo `x`", "`x`", "``"] {
            let code = code(command);
            assert_eq!(code_at_start(&code), Some(code.as_str()), "{command}");
            assert_eq!(escape(&code), code, "{command}");
        }
    }
}
