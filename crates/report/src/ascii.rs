//! Converts text for ASCII-only terminals (`LC_ALL=C`, `TERM=dumb`). Replacements keep the width of the text, so that
//! columns stay aligned; wider replacements are made before the layout.

use unicode_width::UnicodeWidthChar;

/// The text with every non-ASCII character replaced by one ASCII character per column, or by two if one would be ambiguous.
pub fn to_ascii(text: &str) -> String {
    let columns = |c: char| c.width().unwrap_or(1);
    two_signs(text)
        .chars()
        .flat_map(|c| std::iter::repeat_n(sign(c), if c.is_ascii() { 1 } else { columns(c) }))
        .collect()
}

/// Replaces only the characters that need two ASCII characters, before the layout. `±` becomes `+-`, because `~` would
/// be understood as "about".
pub(crate) fn two_signs(text: &str) -> String {
    text.replace('±', "+-")
}

fn sign(c: char) -> char {
    match c {
        c if c.is_ascii() => c,
        '–' | '—' | '−' | '─' | '━' | '┄' | '╌' => '-',
        '×' => 'x',
        'µ' | 'μ' => 'u',
        '…' | '≈' => '~',
        '→' => '>',
        '←' => '<',
        '≤' => '<',
        '≥' => '>',
        '·' | '░' | '∙' => '.',
        '▒' => ':',
        '▓' => '+',
        '█' | '■' => '#',
        '▏' | '▎' | '▍' | '▌' | '▋' | '▊' | '▉' | '│' | '┃' | '┊' | '┆' => '|',
        '┌' | '┐' | '└' | '┘' | '├' | '┤' | '┬' | '┴' | '┼' => '+',
        '▁' | '▂' => '_',
        '▃' | '▄' | '▅' => '=',
        '▆' | '▇' => '#',
        '÷' => '/',
        '²' | '₂' => '2',
        '³' | '₃' => '3',
        '₁' => '1',
        '°' => ' ',
        _ => '?',
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_reports_hold_has_a_sign_that_reads_alike() {
        assert_eq!(to_ascii("3.2 µs … 1.14× [2 – 3] → −5 ██░"), "3.2 us ~ 1.14x [2 - 3] > -5 ##.");
        assert_eq!(to_ascii("43.0 GB/s ±2.1 %"), "43.0 GB/s +-2.1 %");
    }

    proptest! {
        #[test]
        fn nothing_else_than_ascii_is_left_and_nothing_moves(text in "\\PC{0,60}") {
            let plain = to_ascii(&text);
            prop_assert!(plain.is_ascii());
            let columns = |c: char| if c.is_ascii() { 1 } else { c.width().unwrap_or(1) };
            prop_assert_eq!(plain.len(), two_signs(&text).chars().map(columns).sum::<usize>());
        }
    }
}
