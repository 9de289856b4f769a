//! Common words in sentences. A name that is also a common word cannot be recognized in a sentence.

/// The program.
pub(super) const PROGRAM: &str = "linespeed";
/// The separator of alternating commands.
pub(super) const BETWEEN: &str = ":::";

/// linespeed's own commands.
const COMMANDS: &str = include_str!("commands.txt");

/// Other words on linespeed's command line that are not names: measurements and option values.
const VALUES: &str = include_str!("values.txt");

/// The shortest words and units in sentences.
const SHORT: &str = include_str!("short.txt");

/// Whether this is a common word in sentences, even if it is also a name.
pub(super) fn is_of_sentences(word: &str) -> bool {
    word == PROGRAM || has(COMMANDS, word) || has(SHORT, word)
}

/// Whether this is a word of linespeed's own command line, even if it is also a name.
pub fn is_own_word(word: &str) -> bool {
    has(COMMANDS, word) || has(VALUES, word)
}

fn has(words: &str, word: &str) -> bool {
    words.split_whitespace().any(|one| one == word)
}
