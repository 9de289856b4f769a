//! A line without the markup of mail, Markdown and HTML.

use std::borrow::Cow;

use crate::scan;

/// Tags to remove. Other tags remain: tools print `<OUT OF SPEC>` and `<not supported>`.
const TAGS: &str = "\
    a article b blockquote body br center code dd details div dl dt em font h1 h2 h3 h4 h5 h6 head hr html i \
    kbd li ol p pre samp section small span strong sub summary sup table tbody td th thead tr tt u ul";

/// First characters of tags and entities.
const MARKS: [char; 4] = ['<', '&', '[', '{'];

/// Length of the longest recognized tag, including attributes.
const LONGEST_TAG: usize = 400;

/// The line without tags and with entities replaced by their characters; several lines if it contains `<br>`.
pub(super) fn without_tags(line: &str) -> Vec<Cow<'_, str>> {
    if !line.contains(MARKS) || is_wiki_fence(line) {
        return vec![Cow::Borrowed(line)];
    }
    let mut pieces = vec![String::new()];
    let mut rest = line;
    while let Some(at) = rest.find(MARKS) {
        let (before, here) = rest.split_at(at);
        let is_break = tag(here).is_some_and(|(name, _)| matches!(name, "br" | "hr"));
        let (shown, length) = match (tag(here), entity(here)) {
            (Some(("td" | "th", length)), _) => (Some(' '), length),
            (Some((_, length)), _) => (None, length),
            (None, Some((character, length))) => (Some(character), length),
            (None, None) => (here.chars().next(), 1),
        };
        if let Some(text) = pieces.last_mut() {
            text.push_str(before);
            text.extend(shown);
        }
        if is_break {
            pieces.push(String::new());
        }
        rest = &here[length..];
    }
    if let Some(text) = pieces.last_mut() {
        text.push_str(rest);
    }
    // A break at the end of a line does not start a new line.
    if pieces.len() > 1 && pieces.last().is_some_and(|last| last.trim().is_empty()) {
        pieces.pop();
    }
    pieces.into_iter().map(Cow::Owned).collect()
}

/// Name, in lower case, and length of the tag at the beginning of `text`.
fn tag(text: &str) -> Option<(&'static str, usize)> {
    // Forums and trackers use brackets around tags, and such tags are short; wikis use braces.
    let (close, longest, known) = match text.as_bytes().first()? {
        b'[' => (b']', 16, "code pre quote"),
        b'{' => (b'}', LONGEST_TAG, "code noformat panel quote"),
        _ => (b'>', LONGEST_TAG, TAGS),
    };
    let end = text.bytes().take(longest).position(|byte| byte == close)?;
    let inner = text[..end].strip_prefix(MARKS)?.trim_matches('/').trim();
    let name_end = inner.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(inner.len());
    let (name, after) = inner.split_at(name_end);
    // The name of a tag is followed by attributes or by nothing.
    let is_tag = after.is_empty()
        || after.starts_with(char::is_whitespace) && after.contains('=')
        || close == b'}' && after.starts_with(':');
    let known = known.split(' ').find(|tag| tag.eq_ignore_ascii_case(name)).filter(|_| is_tag)?;
    Some((known, end + 1))
}

/// Character and length of the entity at the beginning of `text`.
fn entity(text: &str) -> Option<(char, usize)> {
    let end = text.bytes().take(10).position(|byte| byte == b';')?;
    let character = match text[..end].strip_prefix('&')? {
        "gt" => '>',
        "lt" => '<',
        "amp" => '&',
        "nbsp" => ' ',
        "quot" => '"',
        "apos" => '\'',
        "times" => '×',
        name => {
            let digits = name.strip_prefix('#')?;
            let code = match digits.strip_prefix(['x', 'X']) {
                Some(hexadecimal) => u32::from_str_radix(hexadecimal, 16).ok()?,
                None => digits.parse().ok()?,
            };
            match char::from_u32(code)? {
                '\u{a0}' => ' ',
                c => Some(c).filter(|c| !c.is_control() || *c == '\t')?,
            }
        }
    };
    Some((character, end + 1))
}

/// The line without quote marks at its beginning (`> `, also nested).
pub(super) fn without_quotes(line: &str) -> &str {
    let mut text = line;
    while let Some(after) = text.trim_start_matches(' ').strip_prefix('>') {
        // Any indentation after the space that belongs to the mark is part of the tool's output.
        text = after.strip_prefix(' ').unwrap_or(after);
    }
    text
}

/// The content of a line that consists only of inline code: `` `CPU(s): 4` ``.
pub(super) fn ticked(line: &str) -> Option<&str> {
    let inner = line.trim().strip_prefix('`')?.strip_suffix('`')?;
    Some(inner).filter(|inner| !inner.is_empty() && !inner.contains('`'))
}

/// Whether a line begins or ends a code block.
pub(super) fn is_fence(line: &str) -> bool {
    let line = line.trim();
    if is_wiki_fence(line) {
        return true;
    }
    // The marks may be followed only by the language: `~~~~` rulers and `` `code` `` in prose are not fences.
    ['`', '~'].iter().any(|mark| {
        let language = line.trim_start_matches(*mark);
        let attributes = language.contains(['{', '=']);
        line.len() - language.len() >= 3
            && language.len() <= 30
            && !language.contains(*mark)
            && (attributes || !language.trim().contains(' '))
    })
}

/// `{code}`, `{code:bash|title=x}`, `{noformat}` on a separate line.
fn is_wiki_fence(line: &str) -> bool {
    let line = line.trim();
    scan::begins(line, "{code|{noformat") && line.find('}').is_some_and(|end| end + 1 == line.len())
}

/// The cells of a row in a Markdown table.
pub(super) fn row(line: &str) -> Option<Vec<&str>> {
    let line = line.trim();
    // A box drawn around a line has one cell.
    if let Some(cell) = line.strip_prefix('│').and_then(|rest| rest.strip_suffix('│')) {
        return Some(cell.split('│').map(str::trim).collect());
    }
    let inner = line.strip_prefix('|').filter(|inner| !inner.is_empty())?;
    // A bar after a backslash is part of the cell.
    let mut escaped = false;
    let ends_cell = |c: char| {
        let ends = c == '|' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    };
    Some(inner.strip_suffix('|').unwrap_or(inner).split(ends_cell).map(str::trim).collect())
}

/// Whether these cells form the separator line below the head of a table.
pub(super) fn is_ruler(cells: &[&str]) -> bool {
    cells.iter().all(|cell| cell.len() >= 2 && cell.chars().all(|c| matches!(c, '-' | ':')))
}
