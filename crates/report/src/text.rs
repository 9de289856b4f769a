//! Text that is safe to print: strings from a machine are untrusted input, and lines have a width.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Maximum length of a printed string, in characters. The longest legitimate ones (a kernel command line, an error that quotes a path) stay below
/// 4,096, the kernel's limit for both.
const LONGEST: usize = 4096;

/// Whether a character changes the display of surrounding text, or is invisible: controls (C0, DEL, C1),
/// bidirectional marks, embeddings, overrides and isolates, joiners and other zero-width characters, line and
/// paragraph separators, variation selectors, interlinear annotations, tags.
fn unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

/// The text, in which everything that could affect a terminal or reorder a line is made visible: an escape character becomes the four
/// characters `\x1b`. Tabs and line ends become spaces, and excessively long text is truncated.
pub(crate) fn clean(text: &str) -> String {
    if text.len() <= LONGEST && is_plain(text) {
        return text.to_owned();
    }
    let mut safe = String::with_capacity(text.len());
    for (count, c) in text.chars().enumerate() {
        if count == LONGEST {
            safe.push('…');
            break;
        }
        push_safe(&mut safe, c);
    }
    safe
}

/// Makes the text of a finished page safe to print: line ends stay, and nothing is truncated.
pub(crate) fn clean_page(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if c == '\n' { safe.push(c) } else { push_safe(&mut safe, c) }
    }
    safe
}

fn push_safe(safe: &mut String, c: char) {
    match c {
        '\t' | '\n' | '\r' => safe.push(' '),
        c if !unprintable(c) => safe.push(c),
        c if (c as u32) < 0x100 => safe.push_str(&format!("\\x{:02x}", c as u32)),
        c => safe.push_str(&format!("\\u{{{:x}}}", c as u32)),
    }
}

/// Whether a text consists only of printable ASCII characters, as most texts do. Each of these characters takes one column and has no other
/// effect.
fn is_plain(text: &str) -> bool {
    text.bytes().fold(true, |plain, b| plain & (0x20..0x7f).contains(&b))
}

/// The width of the text on a terminal.
pub fn width(text: &str) -> usize {
    if is_plain(text) {
        return text.len();
    }
    // The larger of two counts, because terminals differ in the width of combining sequences.
    text.width().max(text.chars().map(|c| c.width().unwrap_or(1)).sum())
}

/// The text, padded with spaces on the right to a width of `columns`, but never truncated.
pub(crate) fn pad_right(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// The text, padded with spaces on the left to a width of `columns`, but never truncated.
pub(crate) fn pad_left(text: &str, columns: usize) -> String {
    format!("{}{text}", " ".repeat(columns.saturating_sub(width(text))))
}

/// The text, truncated to `columns` if it is too long; a truncated text ends in `…`.
pub fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut kept = take(text, columns.saturating_sub(1)).to_owned();
    kept.extend((columns > 0).then_some('…'));
    kept
}

/// As many whole words of the text as fit into `columns`, with `…` if truncated. Words are kept whole because half a number would be a
/// different number, and because a value needs its unit. If no word fits, the text is truncated anywhere.
pub(crate) fn cut_words(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let lead = text.len() - text.trim_start().len();
    let ends = text.match_indices(' ').map(|(at, _)| at).filter(|at| *at > lead);
    let whole = |end: &usize| {
        let kept = text[..*end].trim_end();
        let half = |c: char| c.is_ascii_digit() || ['–', '±', '(', '['].contains(&c);
        width(kept) + 2 <= columns && !kept.ends_with(half)
    };
    ends.rev().find(whole).map_or_else(|| cut(text, columns), |end| format!("{} …", text[..end].trim_end()))
}

/// As much of the text as fits into `most` lines of `columns`. A truncated list ends after a complete item, with the number of omitted
/// items; other truncated text ends after a complete word, with `…`.
pub(crate) fn shorten(text: &str, columns: usize, most: usize) -> String {
    let lines = wrap(text, columns);
    let counted = [';', ','].into_iter().flat_map(|sign| {
        let ends = item_ends(text, sign).into_iter().rev().zip(1..);
        // Items far beyond the available room are skipped, so that a long list is not wrapped once per item.
        let near = ends.skip_while(move |(end, _)| *end > most.saturating_mul(columns).saturating_mul(4));
        near.map(move |(end, left): (usize, usize)| format!("{}{sign} {left} more", &text[..end]))
    });
    if let Some(counted) =
        counted.filter(|_| lines.len() > most).find(|said| wrap(said, columns).len() <= most)
    {
        return counted;
    }
    match lines.get(..most) {
        Some([whole @ .., last]) if lines.len() > most => {
            // The added spaces make the last line too long, so that it is always truncated and ends in `…`.
            let last = cut_words(&format!("{last}{}", " ".repeat(columns)), columns);
            whole.iter().map(String::as_str).chain([last.as_str()]).collect::<Vec<_>>().join(" ")
        }
        _ => text.to_owned(),
    }
}

/// The positions at which the items of a list end. `sign` separates the items; it is ignored inside brackets.
fn item_ends(text: &str, sign: char) -> Vec<usize> {
    let mut depth = 0;
    let ends = text.char_indices().filter(|(at, c)| {
        depth += i32::from(*c == '(') - i32::from(*c == ')');
        depth == 0 && *c == sign && text[at + 1..].starts_with(' ')
    });
    ends.map(|(at, _)| at).collect()
}

/// The longest beginning of the text that fits into `columns`, but at least one character.
pub(crate) fn beginning(text: &str, columns: usize) -> &str {
    let end = take(text, columns).len().max(text.chars().next().map_or(0, char::len_utf8));
    &text[..end]
}

/// The longest beginning of the text that fits into `columns`.
fn take(text: &str, columns: usize) -> &str {
    let mut used = 0;
    let mut last = 0;
    for (at, c) in text.char_indices() {
        used += c.width().unwrap_or(1);
        let end = at + c.len_utf8();
        if used > columns || width(&text[..end]) > columns {
            break;
        }
        last = end;
    }
    &text[..last]
}

/// `3.1 – 3.4 GHz` from `3.1 GHz` and `3.4 GHz`; a single value if both are equal.
pub(crate) fn range(low: &str, high: &str) -> String {
    if low == high {
        return low.to_owned();
    }
    match (low.split_once(' '), high.split_once(' ')) {
        (Some((number, unit)), Some((_, other))) if unit == other => format!("{number} – {high}"),
        _ => format!("{low} – {high}"),
    }
}

/// A result without trailing zeros: `4.4 GHz` instead of `4.40 GHz`.
pub(crate) fn without_zeros(figure: &str) -> String {
    match figure.split_once(' ') {
        Some((number, unit)) if number.contains('.') => {
            format!("{} {unit}", number.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => figure.to_owned(),
    }
}

/// Units that stay on the line of their value.
const UNITS: &[&str] = &[
    "%", "ns", "µs", "ms", "s", "min", "Hz", "kHz", "MHz", "GHz", "B", "KiB", "MiB", "GiB", "TiB", "PiB",
    "B/s", "kB/s", "MB/s", "GB/s", "TB/s", "MT/s", "cycles", "°C", "W",
];

/// Whether a line must not break between two words: between a value and its unit, or a bound and its value.
fn glued(before: &str, after: &str) -> bool {
    before == "<"
        || before.ends_with(|c: char| c.is_ascii_digit())
            && UNITS.contains(&after.trim_end_matches([',', '.', ';', ':', ')', ']', '?']))
}

/// The text with no-break spaces (U+00A0) between values and their units, for a page.
pub(crate) fn keep_units(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    for (number, word) in text.split(' ').enumerate() {
        if number > 0 {
            let last = kept.rsplit([' ', '\u{a0}']).next().unwrap_or("");
            kept.push(if glued(last, word) { '\u{a0}' } else { ' ' });
        }
        kept.push_str(word);
    }
    kept
}

/// The text in lines of at most `columns`, broken at spaces, but not between a value and its unit. A word that is too long for a line is
/// broken after a comma, a slash or a bar if possible, otherwise after a hyphen, an underscore or an equals sign, and elsewhere only as a
/// last resort, because a number in two halves would look like two numbers. The result is never empty.
pub(crate) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(2);
    let spaced = || text.starts_with(' ') || text.ends_with(' ') || text.contains("  ");
    if text.len() <= columns && is_plain(text) && !spaced() {
        return vec![text.to_owned()];
    }
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        match words.last_mut() {
            Some(last) if glued(last, word) && width(last) + 1 + width(word) <= columns => {
                *last = format!("{last} {word}");
            }
            _ => words.push(word.to_owned()),
        }
    }
    for word in &words {
        let gap = usize::from(!line.is_empty());
        if width(&line) + gap + width(word) <= columns {
            line.extend((gap == 1).then_some(' '));
            line.push_str(word);
            continue;
        }
        if !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        }
        let mut rest = word.as_str();
        while width(rest) > columns {
            // A character that is wider than `columns` gets a line of its own, so that the loop ends.
            let fits = beginning(rest, columns);
            let after = |signs: &[char]| fits.rfind(signs).map(|at| at + 1).filter(|at| *at > fits.len() / 2);
            let end = after(&[',', '/', '|']).or_else(|| after(&['-', '_', '='])).unwrap_or(fits.len());
            lines.push(rest[..end].to_owned());
            rest = &rest[end..];
        }
        line = rest.to_owned();
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(line);
    }
    lines
}

/// The longest of these lines that fits, otherwise the shortest; the lines are in descending order of length.
pub(crate) fn longest(lines: impl Iterator<Item = String>, fits: impl Fn(&str) -> bool) -> String {
    let mut last = String::new();
    for line in lines {
        last = line;
        if fits(&last) {
            break;
        }
    }
    last
}

/// The text with a capital first letter.
pub fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_sentence_is_cut_between_words_and_never_behind_a_figure_without_its_unit() {
        for (text, columns, cut) in [
            ("waited for 2 CPUs", 17, "waited for 2 CPUs"),
            ("waited for 2 CPUs", 15, "waited for …"),
            ("waited for 2 CPUs of 4 in all", 21, "waited for 2 CPUs of …"),
            ("costs [53 – 75 %], high", 12, "costs …"),
            ("costs [53 – 75 %], high", 20, "costs [53 – 75 %], …"),
            ("   of a word", 8, "   of a …"),
            ("averylongword", 6, "avery…"),
        ] {
            let columns = columns.max(width(cut));
            assert_eq!(cut_words(text, columns), cut, "{text:?} in {columns}");
        }
        assert_eq!(shorten("one 22 CPUs and", 10, 1), "one …");
        assert_eq!(shorten("one, two (2, 3), four, five", 24, 1), "one, two (2, 3), 2 more");
        let long = vec!["12345678"; 20_000].join(", ");
        assert_eq!(shorten(&long, 40, 1), "12345678, 12345678, 12345678, 19997 more");
        assert_eq!(shorten("1: one, two; 2: one; 3: one", 20, 1), "1: one, two; 2 more");
        assert_eq!(wrap("steal < 0.1 %", 8), ["steal", "< 0.1 %"]);
    }

    #[test]
    fn a_figure_behind_an_equals_sign_is_not_cut_in_two() {
        assert_eq!(
            wrap("sysbench cpu --cpu-max-prime=50000", 20),
            ["sysbench cpu", "--cpu-max-prime=", "50000"]
        );
    }

    #[test]
    fn an_escape_sequence_from_a_machine_is_shown_and_does_nothing() {
        assert_eq!(clean("a\u{1b}[31mb\u{9b}K\u{7}"), "a\\x1b[31mb\\x9bK\\x07");
        assert_eq!(clean("abc\u{202e}fed"), "abc\\u{202e}fed");
        assert_eq!(clean("two\nlines"), "two lines");
        assert_eq!(clean(&"x".repeat(10_000)).chars().count(), LONGEST + 1);
    }

    #[test]
    fn names_of_events_break_after_a_hyphen() {
        assert_eq!(wrap("stalled-cycles-backend", 16), ["stalled-cycles-", "backend"]);
    }

    #[test]
    fn long_lists_break_after_a_comma() {
        assert_eq!(wrap("CPUs 0-15,32-47,64-79", 12), ["CPUs", "0-15,32-47,", "64-79"]);
        assert_eq!(wrap("costs 96.3 %, measured", 11), ["costs", "96.3 %,", "measured"]);
        assert_eq!(keep_units("at 3.80 GHz (parts) of 4 KiB."), "at 3.80\u{a0}GHz (parts) of 4\u{a0}KiB.");
        assert_eq!(wrap("", 10), [""]);
        assert_eq!(wrap("一二三", 4), ["一二", "三"]);
    }

    proptest! {
        #[test]
        // At least 3 columns, because the character U+17D8 is that wide, and characters are not split.
        fn no_text_is_wider_than_asked_or_lost(text in "\\PC{0,80}", columns in 3usize..40) {
            let text = clean(&text);
            let lines = wrap(&text, columns);
            for line in &lines {
                prop_assert!(width(line) <= columns, "{line:?}");
            }
            let letters = |s: &str| s.chars().filter(|c| *c != ' ').collect::<String>();
            prop_assert_eq!(letters(&lines.concat()), letters(&text));
            prop_assert!(width(&cut(&text, columns)) <= columns);
        }

        #[test]
        fn no_character_acts(text in any::<String>()) {
            prop_assert!(clean(&text).chars().all(|c| !unprintable(c)));
        }
    }
}
