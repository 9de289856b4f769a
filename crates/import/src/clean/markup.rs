//! A line without what mail, Markdown and HTML put around it.

use std::borrow::Cow;

/// Tags that are taken out. Others stay: tools print `<OUT OF SPEC>` and `<not supported>`.
const TAGS: &str = "\
    a article b blockquote body center code dd details div dl dt em font h1 h2 h3 h4 h5 h6 head html i \
    kbd li ol p pre samp section small span strong sub summary sup table tbody td th thead tr tt u ul";

/// Tags that end a line.
const BREAKS: &[&str] = &["br", "hr"];

/// The longest tag that is looked for, attributes included.
const LONGEST_TAG: usize = 400;

/// The line without tags and with entities turned into their characters; several where it has `<br>`.
pub(super) fn without_tags(line: &str) -> Vec<Cow<'_, str>> {
    if !line.contains(['<', '&']) {
        return vec![Cow::Borrowed(line)];
    }
    let mut pieces = Vec::new();
    let mut text = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find(['<', '&']) {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let taken = if rest.starts_with('<') {
            tag(rest).map(|(name, length)| {
                if BREAKS.contains(&name.as_str()) {
                    pieces.push(Cow::Owned(std::mem::take(&mut text)));
                } else if matches!(name.as_str(), "td" | "th" | "/td" | "/th") {
                    text.push(' ');
                }
                length
            })
        } else {
            entity(rest).map(|(character, length)| {
                text.push(character);
                length
            })
        };
        let length = taken.unwrap_or_else(|| {
            text.push_str(&rest[..1]);
            1
        });
        rest = &rest[length..];
    }
    text.push_str(rest);
    pieces.push(Cow::Owned(text));
    pieces
}

/// The name of the tag that `text` begins with (in lower case, `/` before an end tag's), and its length.
fn tag(text: &str) -> Option<(String, usize)> {
    let head: Cow<str> = String::from_utf8_lossy(&text.as_bytes()[..text.len().min(LONGEST_TAG)]);
    let end = head.find('>')?;
    let inner = head[1..end].trim_end_matches('/').trim();
    let (slash, inner) = match inner.strip_prefix('/') {
        Some(inner) => ("/", inner),
        None => ("", inner),
    };
    let name_end = inner.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(inner.len());
    let (name, after) = inner.split_at(name_end);
    let name = name.to_ascii_lowercase();
    // A tag has attributes or nothing behind its name.
    let is_tag = after.is_empty() || after.starts_with(char::is_whitespace) && after.contains('=');
    let known = TAGS.split(' ').any(|tag| tag == name) || BREAKS.contains(&name.as_str());
    (known && is_tag).then(|| (format!("{slash}{name}"), end + 1))
}

/// The character of the entity that `text` begins with, and its length.
fn entity(text: &str) -> Option<(char, usize)> {
    let end = text.bytes().take(10).position(|byte| byte == b';')?;
    let name = text.get(1..end)?;
    let character = match name {
        "gt" => '>',
        "lt" => '<',
        "amp" => '&',
        "nbsp" => ' ',
        "quot" => '"',
        "apos" => '\'',
        "times" => '×',
        _ => {
            let digits = name.strip_prefix('#')?;
            let code = match digits.strip_prefix(['x', 'X']) {
                Some(hexadecimal) => u32::from_str_radix(hexadecimal, 16).ok()?,
                None => digits.parse().ok()?,
            };
            let character = char::from_u32(code)?;
            if character == '\u{a0}' {
                ' '
            } else {
                Some(character).filter(|c| !c.is_control() || *c == '\t')?
            }
        }
    };
    Some((character, end + 1))
}

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
    let trimmed = line.trim();
    let Some(mark) = trimmed.chars().next().filter(|c| matches!(c, '`' | '~')) else { return false };
    let marks = trimmed.chars().take_while(|c| *c == mark).count();
    // Behind the marks stands the language at most: `~~~~` rulers and `` `code` `` in prose are none.
    let language = &trimmed[marks..];
    marks >= 3 && language.len() <= 30 && !language.contains(mark)
}

/// The cells of a row of a Markdown table.
pub(super) fn row(line: &str) -> Option<Vec<&str>> {
    let inner = line.trim().strip_prefix('|')?;
    if inner.is_empty() {
        return None;
    }
    let inner = inner.strip_suffix('|').unwrap_or(inner);
    // A bar behind a backslash is the cell's own.
    let mut escaped = false;
    let ends_cell = |c: char| {
        let ends = c == '|' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    };
    Some(inner.split(ends_cell).map(str::trim).collect())
}

/// Whether these cells are the ruler below a table's head.
pub(super) fn is_ruler(cells: &[&str]) -> bool {
    cells.iter().all(|cell| cell.len() >= 2 && cell.chars().all(|c| matches!(c, '-' | ':')))
}
