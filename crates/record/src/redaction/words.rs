//! Words that sentences have by themselves: a name that is one of them cannot be told from the word.

/// Commands and words of linespeed's own command line that name nobody's; the first is the program.
pub(super) const OWN_WORDS: [&str; 16] = [
    "linespeed",
    "run",
    "inspect",
    "list",
    "scale",
    "stat",
    "live",
    "check",
    "plan",
    "quiet",
    "overhead",
    "show",
    "compare",
    "fleet",
    "import",
    "record",
];

/// The shortest words and units of sentences.
const SHORT: [&str; 68] = [
    "a", "A", "an", "An", "as", "As", "at", "At", "B", "b", "be", "by", "By", "c", "C", "d", "do", "e", "f",
    "fs", "GB", "H", "Hz", "i", "I", "if", "If", "in", "In", "io", "is", "it", "It", "J", "K", "kB", "L",
    "MB", "mm", "ms", "MT", "n", "N", "no", "No", "nr", "ns", "o", "of", "on", "or", "OS", "p", "r", "RT",
    "s", "so", "So", "TB", "to", "To", "u", "up", "us", "VM", "W", "x", "µs",
];

/// Whether sentences have this word, whatever is called so.
pub(super) fn is_of_sentences(word: &str) -> bool {
    OWN_WORDS.contains(&word) || SHORT.contains(&word)
}
