//! Where strings, objects and lists of a JSON text end. Eight bytes are looked at together.

const ONES: u64 = 0x0101_0101_0101_0101;
const TOPS: u64 = 0x8080_8080_8080_8080;

/// A word whose lowest byte with its top bit set is the first of these bytes that is `byte`.
fn find(word: u64, byte: u8) -> u64 {
    let without = word ^ (ONES * byte as u64);
    without.wrapping_sub(ONES) & !without & TOPS
}

/// The place of the first byte from `at` on for which `find` has a bit; `is` says it of one byte.
fn next(text: &[u8], mut at: usize, find: impl Fn(u64) -> u64, is: impl Fn(&u8) -> bool) -> Option<usize> {
    let mut rest = text.get(at..)?;
    while let Some((word, after)) = rest.split_first_chunk::<8>() {
        let found = find(u64::from_le_bytes(*word));
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize / 8);
        }
        at += 8;
        rest = after;
    }
    rest.iter().position(is).map(|found| at + found)
}

/// Where the first byte from `at` on that opens or closes a string, an object or a list stands.
fn next_bracket(text: &[u8], at: usize) -> Option<usize> {
    // `[` and `]` are `{` and `}` without this bit.
    const FOLD: u64 = ONES * 0x20;
    let found = |word| find(word | FOLD, b'{') | find(word | FOLD, b'}') | find(word, b'"');
    next(text, at, found, |byte| matches!(byte | 0x20, b'{' | b'}') || *byte == b'"')
}

/// Where a string ends that begins before `at`: the place of its closing quote; `None` where it does not end.
pub(crate) fn string_end(text: &[u8], mut at: usize) -> Option<usize> {
    loop {
        let found = |word| find(word, b'"') | find(word, b'\\');
        at = next(text, at, found, |byte| matches!(byte, b'"' | b'\\'))?;
        if text.get(at) == Some(&b'"') {
            return Some(at);
        }
        at += 2;
    }
}

/// The place behind the bracket that closes what `open` brackets before `at` opened; `None` where it is not closed.
pub(crate) fn close(text: &[u8], mut at: usize, mut open: usize) -> Option<usize> {
    while open > 0 {
        at = next_bracket(text, at)?;
        match text.get(at)? {
            b'"' => at = string_end(text, at + 1)?,
            b'{' | b'[' => open += 1,
            _ => open -= 1,
        }
        at += 1;
    }
    Some(at)
}

/// The place behind a value that begins at `at`; `None` where it does not end, or is none.
pub(crate) fn value_end(text: &[u8], at: usize) -> Option<usize> {
    match text.get(at)? {
        b'"' => string_end(text, at + 1).map(|end| end + 1),
        b'{' | b'[' => close(text, at + 1, 1),
        _ => {
            let rest = text.get(at..)?;
            let is_end =
                |byte: &u8| matches!(byte, b',' | b'}' | b']' | b':' | b'"' | b'{' | b'[') || is_blank(byte);
            let length = rest.iter().position(is_end).unwrap_or(rest.len());
            (length > 0).then_some(at + length)
        }
    }
}

/// Whether a byte is nothing between values.
fn is_blank(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
}

/// The place of the next byte that is no blank.
pub(crate) fn after_blanks(text: &[u8], at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    at + rest.iter().position(|byte| !is_blank(byte)).unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_bracket_is_found_wherever_it_stands(bytes in proptest::collection::vec(0x18u8..0x90, 0..60)) {
            let slow = bytes.iter().position(|byte| b"[]{}\"".contains(byte));
            prop_assert_eq!(next_bracket(&bytes, 0), slow);
        }

        #[test]
        fn a_value_ends_where_serde_ends_it(
            texts in proptest::collection::vec("[a\"\\\\{}\\[\\]:, \n]{0,12}", 0..4),
            number: f64,
        ) {
            let value = serde_json::json!([{"a": texts, "b": {"c": number}}, texts, null, true]);
            for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
                prop_assert_eq!(value_end(format!("{text}]}}\"").as_bytes(), 0), Some(text.len()));
                prop_assert_eq!(value_end(&text.as_bytes()[..text.len() - 1], 0), None);
            }
        }
    }
}
