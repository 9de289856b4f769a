//! Blanks around a text, looked for at a glance: most lines have none.

/// A text without blanks at its ends, as [`str::trim`] has it.
pub fn trimmed(text: &str) -> &str {
    match text.as_bytes() {
        [first, .., last] if first.is_ascii_graphic() && last.is_ascii_graphic() => text,
        _ => trimmed_ascii(text),
    }
}

/// The blanks of ASCII go first; what stands there then may still be a blank of another writing.
fn trimmed_ascii(text: &str) -> &str {
    let rest = text.trim_ascii();
    match rest.as_bytes() {
        [first, .., last] if first.is_ascii_graphic() && last.is_ascii_graphic() => rest,
        _ => rest.trim(),
    }
}

/// Whether a text has nothing but blanks.
pub fn is_blank(text: &str) -> bool {
    text.bytes().next().is_none_or(|first| !first.is_ascii_graphic()) && trimmed(text).is_empty()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_left_is_what_the_standard_leaves(text in "[ \t\u{b}\u{c}\r\u{85}\u{a0}\u{3000}\u{2028}a海.]{0,8}") {
            prop_assert_eq!(trimmed(&text), text.trim());
            prop_assert_eq!(is_blank(&text), text.trim().is_empty());
        }
    }
}
