//! Parses numbers as printed by tools in any locale: `25,130,886,211`, `25.130.886.211`, `25 130 886 211`, `2,57`.

/// Characters that some locale uses between groups of digits: comma, point, apostrophes, non-breaking blanks.
fn is_separator(c: char) -> bool {
    matches!(c, ',' | '.' | '\'' | '’' | ' ' | '\u{a0}' | '\u{202f}' | '\u{2009}' | '_' | '٬')
}

/// A whole number, with or without separators between groups of three digits (two in India, where only the last group has three). `None` for
/// anything else, including numbers too large for a `u64`.
pub(crate) fn parse_whole(text: &str) -> Option<u64> {
    let text = text.trim();
    // Most numbers consist of a few digits.
    if text.len() < 20 && text.bytes().all(|b| b.is_ascii_digit()) {
        return text.parse().ok();
    }
    let mut value = 0_u64;
    // The length of the current group in digits, the number of groups before it, and their separator.
    let (mut length, mut before, mut mark) = (0, 0, None);
    for c in text.chars() {
        if let Some(digit) = c.to_digit(10) {
            value = value.checked_mul(10)?.checked_add(digit.into())?;
            length += 1;
        } else if is_separator(c) && mark.is_none_or(|mark| mark == c) {
            // A zero is not followed by groups of digits: `0.107` is a fraction.
            let fits = if before == 0 { length <= 3 && value > 0 } else { matches!(length, 2 | 3) };
            fits.then_some(())?;
            mark = Some(c);
            before += 1;
            length = 0;
        } else {
            return None;
        }
    }
    let ends = if before == 0 { length > 0 } else { length == 3 };
    ends.then_some(value)
}

/// A number that may have a fraction. The last comma or point is the decimal mark, unless it occurs more than once and therefore separates
/// groups of digits. `1,234` is thus read as 1.234; if a tool prints only whole numbers, use [`parse_whole`]. Always finite.
pub(crate) fn parse_decimal(text: &str) -> Option<f64> {
    parse_scaled(text, 0)
}

/// Like [`parse_decimal`], multiplied by a power of ten: 8700.75 MB/s becomes exactly 8,700,750,000 B/s, without a rounding error.
pub(crate) fn parse_scaled(text: &str, exponent: i32) -> Option<f64> {
    let text = text.trim();
    // Most numbers need no conversion.
    let plain = exponent == 0 && text.len() < 20 && text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    if let Some(Ok(value)) = plain.then(|| text.parse()) {
        return Some(value);
    }
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let twice = |at: usize| digits.bytes().filter(|b| *b == digits.as_bytes()[at]).count() > 1;
    let (front, fraction) = match digits.bytes().rposition(|b| matches!(b, b',' | b'.')) {
        Some(at) if !twice(at) => (&digits[..at], &digits[at + 1..]),
        _ => (digits, ""),
    };
    (fraction.bytes().all(|b| b.is_ascii_digit()) && !(front.is_empty() && fraction.is_empty()))
        .then_some(())?;
    let front = if front.is_empty() { 0 } else { parse_whole(front)? };
    // The value is parsed as a single number, so it is rounded only once.
    let value: f64 = format!("{front}.{fraction}0e{exponent}").parse().ok()?;
    Some(if negative { -value } else { value }).filter(|value: &f64| value.is_finite())
}

/// Whether a text begins with an ambiguous number, in which a comma may precede either a fraction or a group of three digits: `32,000`.
fn is_ambiguous(text: &str) -> bool {
    let number = text.trim_start().split(|c: char| !(c.is_ascii_digit() || c == ',')).next().unwrap_or("");
    number.split_once(',').is_some_and(|(front, rest)| (1..=3).contains(&front.len()) && rest.len() == 3)
}

/// A number with a decimal point or comma at the beginning of `text`, and the text after it.
pub(crate) fn parse_number(text: &str) -> Option<(f64, &str)> {
    let text = text.trim_start();
    let end = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | ','))).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    // `37O0` and `1e308` are not the numbers 37 and 1 followed by a unit.
    let unit = rest.split(|c: char| !c.is_ascii_alphanumeric()).next()?;
    (!unit.bytes().any(|b| b.is_ascii_digit())).then_some(())?;
    let digits = digits.trim_end_matches(['.', ',']);
    let value = digits.replace(',', ".").parse().ok()?;
    Some((value, rest.trim_start()))
}

/// A number, and the power of two of its unit, if any: `1.3 MiB (40 instances)`, `36608K`. `None` if other words follow, because they may
/// change the size.
pub(crate) fn split_size(text: &str) -> Option<(f64, u32, &str)> {
    const UNITS: [&str; 5] = ["|b|bytes", "k|kb|kib", "m|mb|mib", "g|gb|gib", "t|tb|tib"];
    let (value, rest) = parse_number(text).filter(|_| !is_ambiguous(text))?;
    let (unit, behind) = rest.split_at(rest.bytes().take_while(u8::is_ascii_alphabetic).count());
    let is_unit = |names: &str| names.split('|').any(|name| unit.eq_ignore_ascii_case(name));
    let (_, shift) = UNITS.iter().zip((0..).step_by(10)).find(|(names, _)| is_unit(names))?;
    // Nothing else, or only a remark in brackets, may follow: `(2 instances)`.
    let behind = behind.trim();
    (behind.is_empty() || behind.starts_with('(') && behind.ends_with(')')).then_some((value, shift, unit))
}

/// A plain decimal number in the C locale, which consists of digits and optionally a sign, a point and an exponent; neither `inf` nor
/// `nan`.
pub(crate) fn parse_plain(text: &str) -> Option<f64> {
    let number = text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'.' | b'-' | b'+' | b'e' | b'E'));
    text.parse().ok().filter(|value: &f64| number && value.is_finite())
}

/// The number at the beginning of a text, and the text after it. Single blanks may separate groups of three digits: `25
/// 130 886 211      cycles`.
pub(crate) fn split_leading(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let bytes = text.as_bytes();
    // Most numbers consist only of digits.
    let digits = bytes.iter().take_while(|b| b.is_ascii_digit()).count();
    let mut end = digits;
    let mut chars = text[digits..].char_indices().peekable();
    while let Some((offset, c)) = chars.next() {
        let at = digits + offset;
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
    (end > 0 && bytes[end - 1].is_ascii_digit()).then(|| text.split_at(end))
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
            assert_eq!(parse_whole(text), Some(25_130_886_211), "{text}");
        }
        for text in [
            "",
            ",",
            "1,2",
            "1,,234",
            "12,34",
            "1,234.567",
            "1234,567",
            "0.107",
            "000,107",
            "a",
            "1e5",
            "99999999999999999999999",
        ] {
            assert_eq!(parse_whole(text), None, "{text}");
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
            assert_eq!(parse_decimal(text), Some(value), "{text}");
        }
        for text in ["", ".", "-", "1.2.3", "1,2,3", "inf", "nan", "0x10", "1e5"] {
            assert_eq!(parse_decimal(text), None, "{text}");
        }
    }

    #[test]
    fn a_number_ends_where_the_next_word_begins() {
        assert_eq!(split_leading("  25 130 886 211      cycles"), Some(("25 130 886 211", "      cycles")));
        assert_eq!(split_leading("11984.691958  task-clock"), Some(("11984.691958", "  task-clock")));
        assert_eq!(split_leading("4 1234 x"), Some(("4", " 1234 x")));
        assert_eq!(split_leading("1.00, then"), Some(("1.00", ", then")));
        assert_eq!(split_leading("none"), None);
    }

    proptest! {
        #[test]
        fn a_figure_is_the_double_that_is_nearest_to_it(
            front in 0u64..1_000_000_000_000,
            fraction in "[0-9]{0,12}",
            exponent in -9i32..12,
        ) {
            let nearest: f64 = format!("{front}.{fraction}0e{exponent}").parse().expect("it is a number");
            prop_assert_eq!(parse_scaled(&format!("{front}.{fraction}"), exponent), Some(nearest));
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,40}", digits in "[-0-9., '\u{202f}]{0,40}") {
            for text in [text, digits] {
                let _ = (parse_whole(&text), parse_decimal(&text), parse_plain(&text), split_leading(&text));
            }
        }

        #[test]
        fn what_was_printed_is_read(value in 0u64..1_000_000_000_000) {
            prop_assert_eq!(parse_whole(&record::units::thousands(value as f64)), Some(value));
        }
    }

    #[test]
    fn a_number_that_goes_on_is_not_read_by_its_beginning() {
        for text in ["37O0", "1e308", "1x00 MB", "3.5GHz2"] {
            assert_eq!(parse_number(text), None, "{text}");
        }
        assert_eq!(parse_number("3192,000"), Some((3192.0, "")));
        assert_eq!(parse_number("4096MB (2 x)"), Some((4096.0, "MB (2 x)")));
        assert_eq!(crate::facts::parse_size("32,000 MB"), None);
        assert_eq!(crate::facts::parse_size("1,5 MiB"), Some((3 << 19, true)));
    }
}
