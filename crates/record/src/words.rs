//! What every metric, measurement and inventory word means. The one text is `docs/words.md`, which is also the
//! documentation; this reads it.
//!
//! Form: `## Group`, then for each word `### name`, a paragraph that says what it is, and the lines
//! `How: …`, `Usual: …`, `Moves: …` (each may be absent, each may run over several lines).

use std::sync::OnceLock;

const TEXT: &str = include_str!("../../../docs/words.md");

/// The words about one name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// The name as in a record: `load.latency`, `wakeup`, `machine.nodes`.
    pub name: &'static str,
    /// The group that it stands in: `Metrics`, `Measurements`, `Inventory`.
    pub group: &'static str,
    /// What it is.
    pub what: String,
    /// How it is measured or read.
    pub how: Option<String>,
    /// What is usual.
    pub usual: Option<String>,
    /// What moves it.
    pub moves: Option<String>,
}

/// Every word, in the document's order.
pub fn all() -> &'static [Word] {
    static WORDS: OnceLock<Vec<Word>> = OnceLock::new();
    WORDS.get_or_init(|| read(TEXT))
}

/// The words about `name`.
pub fn find(name: &str) -> Option<&'static Word> {
    all().iter().find(|word| word.name.eq_ignore_ascii_case(name))
}

fn read(text: &'static str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut group = "";
    for section in text.split("\n#").skip(1) {
        if let Some(rest) = section.strip_prefix("## ") {
            let (name, body) = rest.split_once('\n').unwrap_or((rest, ""));
            let mut word = Word { name: name.trim(), group, ..Word::default() };
            for paragraph in body.split("\n\n").flat_map(labelled).filter(|p| !p.is_empty()) {
                let labels = [("How: ", &mut word.how), ("Usual: ", &mut word.usual), ("Moves: ", &mut word.moves)];
                let mut taken = false;
                for (label, slot) in labels {
                    if let Some(rest) = paragraph.strip_prefix(label) {
                        *slot = Some(rest.to_owned());
                        taken = true;
                    }
                }
                if !taken {
                    if !word.what.is_empty() {
                        word.what.push(' ');
                    }
                    word.what.push_str(&paragraph);
                }
            }
            words.push(word);
        } else if let Some(rest) = section.strip_prefix("# ") {
            group = rest.split('\n').next().unwrap_or("").trim();
        }
    }
    words
}

/// Splits a paragraph at lines that begin with a label, and joins each part's lines.
fn labelled(paragraph: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for line in paragraph.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let labelled = ["How: ", "Usual: ", "Moves: "].iter().any(|label| line.starts_with(label));
        match parts.last_mut() {
            Some(last) if !labelled => {
                last.push(' ');
                last.push_str(line);
            }
            _ => parts.push(line.to_owned()),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_has_words_in_full() {
        for metric in crate::metrics::METRICS {
            let word = find(metric.name).unwrap_or_else(|| panic!("docs/words.md has no {}", metric.name));
            assert!(!word.what.is_empty(), "{}: what it is", metric.name);
            assert!(word.how.is_some(), "{}: how it is measured", metric.name);
            assert!(word.usual.is_some(), "{}: what is usual", metric.name);
            assert!(word.moves.is_some(), "{}: what moves it", metric.name);
        }
    }

    #[test]
    fn sections_read_into_their_parts() {
        let words = read("\n## Group\n\n### a.b\nOne\ntwo.\n\nHow: x\ny.\nUsual: z.\n\n### c\nThree.\n");
        assert_eq!(words.len(), 2);
        assert_eq!((words[0].name, words[0].group, words[0].what.as_str()), ("a.b", "Group", "One two."));
        assert_eq!((words[0].how.as_deref(), words[0].usual.as_deref()), (Some("x y."), Some("z.")));
        assert_eq!(words[1].what, "Three.");
    }
}
