//! A line without terminal control sequences: colors, titles, cursor movements, overwritten progress messages.

use std::borrow::Cow;

/// Whether a line is not text, because it contains NUL characters, or more control and invalid characters than text does.
pub(super) fn is_binary(line: &str) -> bool {
    let (mut odd, mut all) = (0_usize, 0_usize);
    for c in line.chars().take(4096) {
        all += 1;
        odd += match c {
            '\0' => return true,
            '\t' | '\r' | '\u{8}' | '\u{c}' | '\u{1b}' | '\u{7}' | '\u{85}' | '\u{9b}' => 0,
            // A line with a few letters in another encoding is still text.
            char::REPLACEMENT_CHARACTER => 1,
            c => 2 * usize::from(c.is_control()),
        };
    }
    odd * 2 > all
}

/// The line without escape sequences (ECMA-48), backspaces and invisible characters; unusual space characters become plain spaces.
pub(super) fn without_codes(line: &str) -> Cow<'_, str> {
    // The escape character may be spelled out in text.
    if line.contains('[')
        && let Some(escape) =
            ["\\e[", "\\033[", "\\x1b[", "\\u001b[", "^[["].iter().find(|escape| line.contains(**escape))
    {
        return Cow::Owned(without_codes(&line.replace(escape, "\u{1b}[")).into_owned());
    }
    let odd = |c: char| {
        matches!(c, '\0'..='\u{8}' | '\u{b}'..='\u{c}' | '\u{e}'..='\u{1f}' | '\u{7f}'..='\u{a0}'
        | '\u{ad}' | '\u{2000}'..='\u{200f}' | '\u{2028}'..='\u{202f}' | '\u{2060}'..='\u{206f}' | '\u{3000}' | '\u{feff}')
    };
    if !line.contains(odd) {
        return without_orphans(line);
    }
    let mut text = String::with_capacity(line.len());
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' => rest = behind_escape(rest.as_str()).chars(),
            '\u{9b}' => rest = behind_parameters(rest.as_str()).chars(),
            '\u{8}' => drop(text.pop()),
            '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{3000}' => text.push(' '),
            c if odd(c) => {}
            c => text.push(c),
        }
    }
    Cow::Owned(text)
}

/// The line without color codes that lost their escape character: `[1;31m`, `[0m`.
fn without_orphans(line: &str) -> Cow<'_, str> {
    let colour = |rest: &str| {
        let inner = rest.strip_prefix('[')?;
        let end = inner.find(|c: char| !(c.is_ascii_digit() || c == ';'))?;
        (end > 0 && inner[end..].starts_with('m')).then_some(end + 2)
    };
    let mut text = Cow::Borrowed(line);
    while let Some((at, length)) =
        text.match_indices('[').find_map(|(at, _)| Some((at, colour(&text[at..])?)))
    {
        text.to_mut().replace_range(at..at + length, "");
    }
    // The end of a color and the line-clearing sequence, as printed by grep.
    match text {
        Cow::Owned(text) => Cow::Owned(text.replace("[m[K", "").replace("[K", "")),
        text => text,
    }
}

/// The text after an escape sequence.
fn behind_escape(text: &str) -> &str {
    let mut rest = text.chars();
    match rest.next() {
        Some('[') => behind_parameters(rest.as_str()),
        Some(']' | 'P' | '^' | '_' | 'X') => {
            let text = rest.as_str();
            // The sequence ends in BEL or ST; without an end, it is text.
            let behind = text.find(['\u{7}', '\u{1b}']).and_then(|at| {
                let end = &text[at..];
                end.strip_prefix('\u{7}').or_else(|| end.strip_prefix("\u{1b}\\"))
            });
            behind.unwrap_or(text)
        }
        // The sequence that selects a character set has one more character.
        Some('(' | ')' | '*' | '+' | '#' | '%' | ' ') => {
            rest.next();
            rest.as_str()
        }
        _ => rest.as_str(),
    }
}

/// The text after the parameters of a control sequence and its final character.
fn behind_parameters(text: &str) -> &str {
    let rest = text.trim_start_matches(|c| ('\u{20}'..='\u{3f}').contains(&c));
    rest.strip_prefix(|c| ('\u{40}'..='\u{7e}').contains(&c)).unwrap_or(rest)
}

/// A line without echoed control keys at its beginning: `^C` and others that terminate a program.
pub(super) fn without_keys(line: &str) -> &str {
    let rest = line.trim_start();
    ["^C", "^\\", "^Z"].iter().find_map(|key| rest.strip_prefix(key)).unwrap_or(line)
}
