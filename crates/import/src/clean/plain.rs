//! A line without what terminals act on: colours, titles, cursor movements, overwritten progress.

use std::borrow::Cow;

/// What a byte means for a line: nothing, or one of these bits.
const BEYOND_ASCII: u8 = 1;
/// May begin a character that [`odd_characters`] looks for.
const PERHAPS_ODD: u8 = 2;
/// Something that this module or markup could take out.
const TAKEN_OUT: u8 = 4;

const MEANS: [u8; 256] = {
    let mut means = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        means[byte] = match byte as u8 {
            b'<' | b'&' | 0x7f => TAKEN_OUT,
            b'\t' | 0x20..0x7f => 0,
            0xc2 | 0xe2 | 0xe3 | 0xef => BEYOND_ASCII | PERHAPS_ODD,
            0x80.. => BEYOND_ASCII,
            _ => TAKEN_OUT,
        };
        byte += 1;
    }
    means
};

const ONES: u64 = u64::from_ne_bytes([1; 8]);
const HIGHEST: u64 = ONES << 7;

/// Whether eight bytes mean nothing, tabs apart.
fn mean_nothing(eight: [u8; 8]) -> bool {
    let eight = u64::from_ne_bytes(eight);
    // In ASCII what is below 0x20, these two and DEL borrow from their highest bit or carry into it.
    let is = |byte: u8| (eight ^ (ONES * u64::from(byte))).wrapping_sub(ONES);
    let below = eight.wrapping_sub(ONES * 0x20);
    (eight | below | is(b'<') | is(b'&') | eight.wrapping_add(ONES)) & HIGHEST == 0
}

/// Whether a line is of ASCII and has nothing that could be taken out; `false` for some of those, too.
fn is_simple(line: &[u8]) -> bool {
    let Some(last) = line.last_chunk() else { return false };
    line.as_chunks().0.iter().all(|eight| mean_nothing(*eight)) && mean_nothing(*last)
}

/// The text of a line in which there is nothing that this module or markup could take out: most lines, told at a glance.
pub fn plain(line: &[u8]) -> Option<&str> {
    if is_simple(line) {
        return str::from_utf8(line).ok();
    }
    let means = line.iter().fold(0, |means, byte| means | MEANS[usize::from(*byte)]);
    if means & TAKEN_OUT != 0 {
        return None;
    }
    let text = str::from_utf8(line).ok()?;
    (means & PERHAPS_ODD == 0 || !odd_characters(line)).then_some(text)
}

/// Whether UTF-8 text has a character that [`without_codes`] replaces or [`is_binary`] counts, beyond ASCII: U+0080 to
/// U+00A0, U+00AD, and in the blocks of punctuation the blanks and what is not to be seen.
fn odd_characters(text: &[u8]) -> bool {
    let begins = |byte: &u8| MEANS[usize::from(*byte)] & PERHAPS_ODD != 0;
    let mut at = 0;
    while let Some(next) = text[at..].iter().position(begins) {
        at += next;
        if odd(&text[at..]) {
            return true;
        }
        at += 1;
    }
    false
}

fn odd(character: &[u8]) -> bool {
    match character {
        [0xc2, second, ..] => *second <= 0xa0 || *second == 0xad,
        [0xe2, 0x80, third, ..] => matches!(third, 0x80..=0x8f | 0xa8..=0xaf),
        [0xe2, 0x81, third, ..] => *third >= 0xa0,
        [0xe3, 0x80, third, ..] => *third == 0x80,
        [0xef, 0xbb, third, ..] => *third == 0xbf,
        [0xef, 0xbf, third, ..] => *third == 0xbd,
        _ => false,
    }
}

/// Whether a line is not text at all: zero bytes, or more control and broken characters than a text has.
pub fn is_binary(line: &str) -> bool {
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
pub fn without_codes(line: &str) -> Cow<'_, str> {
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

/// What is left of a line in which CR sets the cursor back: what a later part covers is gone. Parts that cover nothing
/// of their like (a text in which some lines end with CR alone) are lines of their own.
pub fn segments(line: &str) -> Vec<&str> {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_simple_line_has_nothing_that_is_taken_out(line in "[ -~]{8,40}", at: usize) {
            let mut line = line.into_bytes();
            let at = at % line.len();
            for byte in 0..=255 {
                line[at] = byte;
                let nothing = line.iter().all(|byte| MEANS[usize::from(*byte)] == 0);
                prop_assert!(nothing || !is_simple(&line), "{:?}", line);
                prop_assert!(!nothing || line.contains(&b'\t') || is_simple(&line), "{:?}", line);
            }
        }
    }
}
