//! Numbers as tools print them in any locale: `25,130,886,211`, `25.130.886.211`, `25 130 886 211`, `2,57`.

/// Characters that some locale puts between groups of digits: comma, point, apostrophes, blanks that do not break.
fn is_separator(c: char) -> bool {
    matches!(c, ',' | '.' | '\'' | '’' | ' ' | '\u{a0}' | '\u{202f}' | '\u{2009}' | '_' | '٬')
}

/// A whole number, with or without separators between groups of three digits (two in India, the last always three).
/// `None` for anything else, also for a number with more digits than an `u64` holds.
pub fn whole(text: &str) -> Option<u64> {
    let text = text.trim();
    let mut groups = text.split(is_separator);
    let first = groups.next()?;
    let mut digits = first.to_owned();
    let rest: Vec<&str> = groups.collect();
    let mut separators = text.chars().filter(|c| is_separator(*c));
    let mark = separators.next();
    if separators.any(|c| Some(c) != mark) || (!rest.is_empty() && first.len() > 3) {
        return None;
    }
    for (index, group) in rest.iter().enumerate() {
        let last = index + 1 == rest.len();
        if group.len() != 3 && (last || group.len() != 2) {
            return None;
        }
        digits.push_str(group);
    }
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    if plain { digits.parse().ok() } else { None }
}

/// A number that may have a fraction. The last comma or point is the decimal mark, unless it stands there twice: then it
/// groups digits. So `1,234` is 1.234 here; where only whole numbers are printed, ask [`whole`]. Finite always.
pub fn decimal(text: &str) -> Option<f64> {
    shifted(text, 0)
}

/// As [`decimal`], times a power of ten: 8700.75 MB/s are exactly 8,700,750,000 B/s and no rounding error away from it.
pub fn shifted(text: &str, exponent: i32) -> Option<f64> {
    let text = text.trim();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let (front, fraction) = match digits.rfind([',', '.']) {
        Some(at) if digits.matches(&digits[at..=at]).count() == 1 => (&digits[..at], &digits[at + 1..]),
        _ => (digits, ""),
    };
    if !fraction.bytes().all(|b| b.is_ascii_digit()) || (front.is_empty() && fraction.is_empty()) {
        return None;
    }
    let front = if front.is_empty() { 0 } else { whole(front)? };
    format!("{sign}{front}.{fraction}0e{exponent}").parse().ok().filter(|value: &f64| value.is_finite())
}

/// A plain decimal number as the C locale prints it: digits, perhaps a sign, a point, an exponent. No `inf`, no `nan`.
pub fn plain(text: &str) -> Option<f64> {
    let number = text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'.' | b'-' | b'+' | b'e' | b'E'));
    text.parse().ok().filter(|value: &f64| number && value.is_finite())
}

/// The number that a text begins with, and what follows it. Groups may be parted by single blanks if each has three
/// digits: `25 130 886 211      cycles`.
pub fn leading(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let bytes = text.as_bytes();
    let mut end = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let digit_next = chars.peek().is_some_and(|(_, next)| next.is_ascii_digit());
        let takes = match c {
            '0'..='9' => true,
            '-' | '+' => at == 0 && digit_next,
            ' ' => {
                let group = bytes.get(at + 1..at + 4).is_some_and(|next| next.iter().all(u8::is_ascii_digit));
                end > 0 && group && !bytes.get(at + 4).is_some_and(u8::is_ascii_digit)
            }
            c => is_separator(c) && end > 0 && digit_next,
        };
        if !takes {
            break;
        }
        end = at + c.len_utf8();
    }
    (end > 0 && text[..end].ends_with(|c: char| c.is_ascii_digit())).then(|| text.split_at(end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn thousands_of_every_locale_are_one_number() {
        for text in [
            "25130886211",
            "25,130,886,211",
            "25.130.886.211",
            "25 130 886 211",
            "25\u{202f}130\u{202f}886\u{202f}211",
            "25'130'886'211",
            "25’130’886’211",
            "25,13,08,86,211",
        ] {
            assert_eq!(whole(text), Some(25_130_886_211), "{text}");
        }
        for text in [
            "",
            ",",
            "1,2",
            "1,,234",
            "12,34",
            "1,234.567",
            "1234,567",
            "a",
            "1e5",
            "99999999999999999999999",
        ] {
            assert_eq!(whole(text), None, "{text}");
        }
    }

    #[test]
    fn fractions_of_every_locale_are_one_number() {
        for (text, value) in [
            ("2,57", 2.57),
            ("2.57", 2.57),
            ("1,000.23", 1000.23),
            ("1.000,23", 1000.23),
            ("1 000,23", 1000.23),
            ("1,234,567", 1234567.0),
            ("-0.5", -0.5),
            ("18,603323495", 18.603323495),
            (".5", 0.5),
            ("7", 7.0),
        ] {
            assert_eq!(decimal(text), Some(value), "{text}");
        }
        for text in ["", ".", "-", "1.2.3", "1,2,3", "inf", "nan", "0x10", "1e5"] {
            assert_eq!(decimal(text), None, "{text}");
        }
    }

    #[test]
    fn a_number_ends_where_the_next_word_begins() {
        assert_eq!(leading("  25 130 886 211      cycles"), Some(("25 130 886 211", "      cycles")));
        assert_eq!(leading("11984.691958  task-clock"), Some(("11984.691958", "  task-clock")));
        assert_eq!(leading("4 1234 x"), Some(("4", " 1234 x")));
        assert_eq!(leading("1.00, then"), Some(("1.00", ", then")));
        assert_eq!(leading("none"), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,40}", digits in "[-0-9., '\u{202f}]{0,40}") {
            for text in [text, digits] {
                let _ = (whole(&text), decimal(&text), plain(&text), leading(&text));
            }
        }

        #[test]
        fn what_was_printed_is_read(value in 0u64..1_000_000_000_000) {
            prop_assert_eq!(whole(&record::units::thousands(value as f64)), Some(value));
        }
    }
}
