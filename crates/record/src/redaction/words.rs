//! Common words in sentences. A name that is also a common word cannot be recognized in a sentence.

/// The program.
pub(super) const PROGRAM: &str = "linespeed";
/// The separator of alternating commands.
pub(super) const BETWEEN: &str = ":::";

/// linespeed's own commands.
const COMMANDS: &str = "
    check compare completions explain fix fleet help history import inspect list live ls man overhead
    plan prune quiet records reference run scale schema show stat record
    ";

/// Other words on linespeed's command line that are not names: measurements and option values.
const VALUES: &str = "
    all always auto bandwidth bash clock core-to-core costs csv elvish fish kernel latency
    loaded-latency nagios never noisy note npd numa parallelism power-draw powershell record rm scaling
    serious slower slurm smt-yield stat stolen text user wakeup warning workloads zsh
    ";

/// The shortest words and units in sentences.
const SHORT: [&str; 68] = [
    "a", "A", "an", "An", "as", "As", "at", "At", "B", "b", "be", "by", "By", "c", "C", "d", "do", "e", "f",
    "fs", "GB", "H", "Hz", "i", "I", "if", "If", "in", "In", "io", "is", "it", "It", "J", "K", "kB", "L",
    "MB", "mm", "ms", "MT", "n", "N", "no", "No", "nr", "ns", "o", "of", "on", "or", "OS", "p", "r", "RT",
    "s", "so", "So", "TB", "to", "To", "u", "up", "us", "VM", "W", "x", "µs",
];

/// Whether this is a common word in sentences, even if it is also a name.
pub(super) fn is_of_sentences(word: &str) -> bool {
    word == PROGRAM || has(COMMANDS, word) || SHORT.contains(&word)
}

/// Whether this is a word of linespeed's own command line, even if it is also a name.
pub fn is_own_word(word: &str) -> bool {
    has(COMMANDS, word) || has(VALUES, word)
}

fn has(words: &str, word: &str) -> bool {
    words.split_whitespace().any(|one| one == word)
}
