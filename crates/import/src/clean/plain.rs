//! A line without what terminals act on: colours, titles, cursor movements, overwritten progress.

use std::borrow::Cow;

/// Whether a line is not text at all: zero bytes, or more control and broken characters than a text has.
pub(super) fn is_binary(line: &str) -> bool {
    let sample = line.chars().take(4096);
    let (mut odd, mut all) = (0_usize, 0_usize);
    for c in sample {
        all += 1;
        match c {
            '\0' => return true,
            '\t' | '\r' | '\u{8}' | '\u{c}' | '\u{1b}' | '\u{7}' | '\u{85}' | '\u{9b}' => {}
            // Another encoding of a few letters is no reason to give a line up.
            char::REPLACEMENT_CHARACTER => odd += 1,
            c if c.is_control() => odd += 2,
            _ => {}
        }
    }
    odd * 2 > all
}

/// Without escape sequences (ECMA-48 control sequences and strings), backspaces and invisible characters; odd spaces
/// become usual ones.
pub(super) fn without_codes(line: &str) -> Cow<'_, str> {
    let plain = |c: char| {
        !matches!(c, '\0'..='\u{8}' | '\u{b}'..='\u{c}' | '\u{e}'..='\u{1f}' | '\u{7f}'..='\u{a0}'
        | '\u{ad}' | '\u{2000}'..='\u{200f}' | '\u{2028}'..='\u{202f}' | '\u{2060}'..='\u{206f}' | '\u{3000}' | '\u{feff}')
    };
    if line.chars().all(plain) {
        return Cow::Borrowed(line);
    }
    let mut text = String::with_capacity(line.len());
    let mut rest = line.chars();
    let mut endless = false;
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' => escape(&mut rest, &mut endless),
            '\u{9b}' => control_sequence(&mut rest),
            '\u{9d}' | '\u{90}' | '\u{9e}' | '\u{9f}' => control_string(&mut rest, &mut endless),
            '\u{8}' => {
                text.pop();
            }
            '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{3000}' => text.push(' '),
            c if plain(c) => text.push(c),
            _ => {}
        }
    }
    Cow::Owned(text)
}

fn escape(rest: &mut std::str::Chars, endless: &mut bool) {
    match rest.next() {
        Some('[') => control_sequence(rest),
        Some(']' | 'P' | '^' | '_' | 'X') => control_string(rest, endless),
        // A character set's choice has one character more.
        Some('(' | ')' | '*' | '+' | '#' | '%' | ' ') => {
            rest.next();
        }
        _ => {}
    }
}

/// Parameters, then one final character.
fn control_sequence(rest: &mut std::str::Chars) {
    loop {
        let mut ahead = rest.clone();
        match ahead.next() {
            Some('\u{20}'..='\u{3f}') => *rest = ahead,
            Some('\u{40}'..='\u{7e}') => {
                *rest = ahead;
                return;
            }
            // Cut off: what follows is text.
            _ => return,
        }
    }
}

/// Up to BEL or ST. One that never ends within the line is cut off there: the rest of the line stays. `endless` remembers
/// that no end is ahead, so that it is looked for once.
fn control_string(rest: &mut std::str::Chars, endless: &mut bool) {
    if *endless {
        return;
    }
    let text = rest.as_str();
    let mut ahead = rest.clone();
    while let Some(c) = ahead.next() {
        let ended = match c {
            '\u{7}' | '\u{9c}' => true,
            '\u{1b}' => {
                let mut after = ahead.clone();
                let ended = after.next() == Some('\\');
                if ended {
                    ahead = after;
                }
                ended
            }
            _ => false,
        };
        if ended {
            *rest = ahead;
            return;
        }
    }
    *rest = text.chars();
    *endless = true;
}

/// A line without the keys that a terminal showed before it: `^C` and others that end a program.
pub(super) fn without_keys(line: &str) -> &str {
    let rest = line.trim_start();
    ["^C", "^\\", "^Z"].iter().find_map(|key| rest.strip_prefix(key)).unwrap_or(line)
}

/// What is left of a line in which CR sets the cursor back: what a later part covers is gone. Parts that cover nothing
/// of their like (a text in which some lines end with CR alone) are lines of their own.
pub(super) fn segments(line: &str) -> Vec<&str> {
    if !line.contains('\r') {
        return vec![line];
    }
    let parts: Vec<&str> = line.split('\r').filter(|part| !part.trim().is_empty()).collect();
    let covered = |part: &str, next: &str| {
        let first = |text: &str| text.split_whitespace().next().map(str::to_owned);
        next.trim_end().len() >= part.trim_end().len() || first(part) == first(next)
    };
    let mut left = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        if parts.get(at + 1).is_none_or(|next| !covered(part, next)) {
            left.push(*part);
        }
    }
    left
}
