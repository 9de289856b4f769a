//! A line without what mail and Markdown put around it.

/// The line without the marks of quoting before it (`> `, also nested).
pub(super) fn without_quotes(line: &str) -> &str {
    let mut text = line;
    while let Some(after) = text.trim_start_matches(' ').strip_prefix('>') {
        // Indentation behind the mark's own space is the tool's.
        text = after.strip_prefix(' ').unwrap_or(after);
    }
    text
}

/// Whether a line begins or ends a code block.
pub(super) fn is_fence(line: &str) -> bool {
    let line = line.trim();
    // Behind the marks stands the language at most: `~~~~` rulers and `` `code` `` in prose are none.
    ['`', '~'].iter().any(|mark| {
        let language = line.trim_start_matches(*mark);
        line.len() - language.len() >= 3 && language.len() <= 30 && !language.contains(*mark)
    })
}

/// The cells of a row of a Markdown table.
pub(super) fn row(line: &str) -> Option<Vec<&str>> {
    let inner = line.trim().strip_prefix('|').filter(|inner| !inner.is_empty())?;
    // A bar behind a backslash is the cell's own.
    let mut escaped = false;
    let ends_cell = |c: char| {
        let ends = c == '|' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    };
    Some(inner.strip_suffix('|').unwrap_or(inner).split(ends_cell).map(str::trim).collect())
}

/// Whether these cells are the ruler below a table's head.
pub(super) fn is_ruler(cells: &[&str]) -> bool {
    cells.iter().all(|cell| cell.len() >= 2 && cell.chars().all(|c| matches!(c, '-' | ':')))
}
