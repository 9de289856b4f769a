//! Small parts of sentences: a number with its noun, a list, a word quoted for the shell.

/// A number with its noun: `1 CPU`, `2 CPUs`.
pub fn count_noun(count: impl TryInto<u64>, noun: &str) -> String {
    match count.try_into() {
        Ok(1) => format!("1 {noun}"),
        Ok(count) => format!("{count} {noun}s"),
        Err(_) => format!("many {noun}s"),
    }
}

/// The form of a word that agrees with a number: `one` for 1, otherwise `many`.
pub fn agree<'a>(count: usize, one: &'a str, many: &'a str) -> &'a str {
    if count == 1 { one } else { many }
}

/// `a, b and c`.
pub fn join_list(all: &[String]) -> String {
    match all {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// `a, b and c`; if there are more than `most` entries, the list is cut and ends with the number of remaining entries.
pub fn join_most(all: &[String], most: usize) -> String {
    let mut shown: Vec<String> = all.iter().take(most).cloned().collect();
    shown.extend((all.len() > most).then(|| format!("{} more", all.len() - most)));
    join_list(&shown)
}

/// Choices: `a`, `a or b`, `a, b or c`. If there are more than `most` choices, the list is cut and ends with the number
/// of remaining choices.
pub fn join_choices(all: &[String], most: usize) -> String {
    let joined = match all.get(..most).unwrap_or(all) {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        all => all.concat(),
    };
    match all.len().saturating_sub(most) {
        0 => joined,
        more => format!("{joined} ({more} more)"),
    }
}

/// A path for display: control characters are made visible.
pub fn visible(path: &std::path::Path) -> String {
    path.to_string_lossy()
        .chars()
        .map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c })
        .collect()
}

/// A word quoted for the shell.
pub fn quote_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%^".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_end_in_and() {
        let all: Vec<String> = ["a", "b", "c", "d"].map(str::to_owned).to_vec();
        assert_eq!((join_list(&all[..1]).as_str(), join_list(&all[..3]).as_str()), ("a", "a, b and c"));
        assert_eq!(
            (join_most(&all, 2).as_str(), join_most(&all, 4).as_str()),
            ("a, b and 2 more", "a, b, c and d")
        );
    }

    #[test]
    fn numbers_agree_with_their_nouns() {
        assert_eq!(
            (count_noun(1u32, "CPU").as_str(), count_noun(0usize, "CPU").as_str()),
            ("1 CPU", "0 CPUs")
        );
        assert_eq!(agree(2, "is", "are"), "are");
    }

    #[test]
    fn a_shell_reads_a_quoted_word_as_it_was() {
        assert_eq!((quote_word("a-b=1"), quote_word("it's")), ("a-b=1".to_owned(), "'it'\\''s'".to_owned()));
        assert_eq!(quote_word(""), "''");
    }
}
