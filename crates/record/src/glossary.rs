//! What every metric, measurement and inventory word means. The one text is `docs/words.md`, which is also the
//! documentation; this reads it.
//!
//! Form: `## Group`, then for each word `### name`, a paragraph that says what it is, and the lines
//! `Also: other, names`, `How: …`, `Usual: …`, `Moves: …` (each may be absent, each may run over several lines).

use std::sync::OnceLock;

/// The document.
const TEXT: &str = include_str!("../../../docs/words.md");

/// Labels that begin a part of a word's text.
const LABELS: [&str; 4] = ["Also: ", "How: ", "Usual: ", "Moves: "];

/// The words about one name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Term {
    /// The name as in a record: `load.latency`, `wakeup`, `governor`.
    pub name: &'static str,
    /// The group that it stands in: `Metrics`, `Measurements`, `Inventory`, `Knobs`, `Proofs`, `Findings`, `Words`.
    pub group: &'static str,
    /// Other names that lead to it: keys of the record, names of other tools.
    pub also: Vec<String>,
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
pub fn all() -> &'static [Term] {
    static TERMS: OnceLock<Vec<Term>> = OnceLock::new();
    TERMS.get_or_init(|| parse_terms(TEXT))
}

/// The words about `name`: a word's own name, one of its other names, a path in the record that ends in one
/// (`conditions.before.thp`), or the last part of the only metric that ends in it (`IPC`). Upper and lower case, `_`, `-`
/// and blanks make no difference.
pub fn find(name: &str) -> Option<&'static Term> {
    let wanted = fold(name);
    let by = |wanted: &str| {
        all()
            .iter()
            .find(|word| fold(word.name) == wanted)
            .or_else(|| all().iter().find(|word| word.also.iter().any(|other| fold(other) == wanted)))
    };
    by(&wanted).or_else(|| by(wanted.rsplit_once('.')?.1)).or_else(|| match find_ending_in(name).as_slice() {
        [only] => Some(*only),
        _ => None,
    })
}

/// The words about metrics whose names end in `.name`: `load.parallelism` for `parallelism`.
pub fn find_ending_in(name: &str) -> Vec<&'static Term> {
    let wanted = fold(name);
    let ends = |word: &&Term| word.name.rsplit_once('.').is_some_and(|(_, last)| fold(last) == wanted);
    all().iter().filter(ends).collect()
}

/// The name that is nearest to `name` by edit distance, for a person who mistyped one; `None` when nothing is near.
pub fn find_nearest_term(name: &str) -> Option<&str> {
    let names =
        all().iter().flat_map(|word| std::iter::once(word.name).chain(word.also.iter().map(String::as_str)));
    find_nearest(name, names)
}

/// The one of `names` that is nearest to `name`: at most a third of its letters (and at least one) may differ.
/// `None` when none is that near.
pub fn find_nearest<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // A name longer than any that exists is not a slip of the finger, and the distance takes quadratic time.
    const LONGEST: usize = 64;
    let wanted: Vec<char> = fold(name).chars().take(LONGEST + 1).collect();
    if wanted.is_empty() || wanted.len() > LONGEST {
        return None;
    }
    let most = (wanted.len() / 3).max(1);
    names
        .into_iter()
        .map(|candidate| (edit_distance(&wanted, &fold(candidate).chars().collect::<Vec<_>>()), candidate))
        .filter(|(far, _)| *far <= most)
        .min_by_key(|(far, _)| *far)
        .map(|(_, candidate)| candidate)
}

/// Lower case, with `_` and blanks as `-`.
fn fold(name: &str) -> String {
    name.trim().to_lowercase().replace(['_', ' '], "-")
}

/// Letters to add, leave out, change or swap with their neighbour to get from `a` to `b` (optimal string alignment).
fn edit_distance(a: &[char], b: &[char]) -> usize {
    let width = b.len() + 1;
    let mut two_up: Vec<usize> = vec![0; width];
    let mut up: Vec<usize> = (0..width).collect();
    for (i, from) in a.iter().enumerate() {
        let mut row = vec![i + 1; width];
        for (j, to) in b.iter().enumerate() {
            let mut best = (up[j] + usize::from(from != to)).min(up[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *from == b[j - 1] && a[i - 1] == *to {
                best = best.min(two_up[j - 1] + 1);
            }
            row[j + 1] = best;
        }
        two_up = std::mem::replace(&mut up, row);
    }
    up[b.len()]
}

fn parse_terms(text: &'static str) -> Vec<Term> {
    let mut words: Vec<Term> = Vec::new();
    let mut group = "";
    for section in text.split("\n#").skip(1) {
        if let Some(rest) = section.strip_prefix("## ") {
            let (name, body) = rest.split_once('\n').unwrap_or((rest, ""));
            let mut word = Term { name: name.trim(), group, ..Term::default() };
            for part in body.split("\n\n").flat_map(split_labels) {
                word.take(&part);
            }
            words.push(word);
        } else if let Some(rest) = section.strip_prefix("# ") {
            group = rest.split('\n').next().unwrap_or("").trim();
        }
    }
    words
}

impl Term {
    /// Puts one part of the text where it belongs.
    fn take(&mut self, part: &str) {
        if let Some(names) = part.strip_prefix("Also: ") {
            self.also =
                names.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect();
            return;
        }
        let slots = [("How: ", &mut self.how), ("Usual: ", &mut self.usual), ("Moves: ", &mut self.moves)];
        for (label, slot) in slots {
            if let Some(rest) = part.strip_prefix(label) {
                *slot = Some(rest.to_owned());
                return;
            }
        }
        if !self.what.is_empty() {
            self.what.push(' ');
        }
        self.what.push_str(part);
    }
}

/// Splits a paragraph at lines that begin with a label, and joins each part's lines.
fn split_labels(paragraph: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for line in paragraph.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let begins = LABELS.iter().any(|label| line.starts_with(label));
        match parts.last_mut() {
            Some(last) if !begins => {
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
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    #[test]
    fn every_metric_has_words_in_full() {
        for metric in crate::metrics::METRICS {
            let word = find(metric.name).unwrap_or_else(|| panic!("docs/words.md has no {}", metric.name));
            assert_eq!(word.name, metric.name);
            assert!(!word.what.is_empty(), "{}: what it is", metric.name);
            assert!(word.how.is_some(), "{}: how it is measured", metric.name);
            assert!(word.usual.is_some(), "{}: what is usual", metric.name);
            assert!(word.moves.is_some(), "{}: what moves it", metric.name);
        }
    }

    #[test]
    fn every_word_says_what_it_is_and_every_name_leads_to_one_word() {
        let mut seen: BTreeMap<String, &str> = BTreeMap::new();
        for word in all() {
            assert!(!word.what.is_empty(), "{} says nothing", word.name);
            for name in std::iter::once(word.name).chain(word.also.iter().map(String::as_str)) {
                let other = seen.insert(fold(name), word.name);
                assert!(other.is_none(), "{name} stands in {} and in {other:?}", word.name);
            }
        }
    }

    #[test]
    fn every_key_of_the_inventory_and_the_conditions_has_words() {
        // Keys that need no words: a number in a list, or the name of what it stands in.
        let plain = BTreeSet::from(["id", "name", "bytes", "cpus"]);
        let schemas = [
            serde_json::to_value(schemars::schema_for!(crate::Machine)),
            serde_json::to_value(schemars::schema_for!(crate::Conditions)),
        ];
        let mut missing = BTreeSet::new();
        for schema in schemas {
            keys(&schema.unwrap(), &mut |key| {
                if !plain.contains(key) && find(key).is_none() {
                    missing.insert(key.to_owned());
                }
            });
        }
        assert_eq!(missing, BTreeSet::new(), "docs/words.md explains no such key");
    }

    fn keys(schema: &serde_json::Value, seen: &mut impl FnMut(&str)) {
        match schema {
            serde_json::Value::Object(map) => {
                for (name, inner) in map {
                    if let ("properties", serde_json::Value::Object(properties)) = (name.as_str(), inner) {
                        properties.keys().for_each(|key| seen(key));
                    }
                    keys(inner, seen);
                }
            }
            serde_json::Value::Array(items) => items.iter().for_each(|item| keys(item, seen)),
            _ => {}
        }
    }

    #[test]
    fn names_are_found_as_people_type_them() {
        for (typed, name) in [
            ("THP", "thp"),
            ("working-set", "working set"),
            ("Timer_Slack", "timer slack"),
            ("conditions.before.thp", "thp"),
            ("turbo", "boost"),
            ("load.latency", "load.latency"),
            (" L3 ", "cache"),
            ("IPC", "core.ipc"),
            ("ipc", "core.ipc"),
            ("Yield", "smt.yield"),
            ("PMU", "pmu"),
            ("counters", "pmu"),
            ("kind of pair", "core_to_core.latency"),
            ("off the fit", "scalability law"),
        ] {
            assert_eq!(find(typed).map(|word| word.name), Some(name), "{typed}");
        }
        // Of several metrics none is meant more than another.
        assert_eq!(find("time"), None);
        let names: Vec<&str> = find_ending_in("time").iter().map(|word| word.name).collect();
        assert_eq!(names, ["layer.time", "workload.time"]);
        assert_eq!(find("nonsense.nonsense"), None);
        assert_eq!(find(""), None);
    }

    #[test]
    fn a_slip_of_the_finger_finds_the_name_that_was_meant() {
        for (typed, name) in [
            ("load.latancy", "load.latency"),
            ("governer", "governor"),
            ("wakup", "wakeup"),
            ("core.clokc", "core.clock"),
            ("numa_balancin", "numa_balancing"),
        ] {
            assert_eq!(find_nearest_term(typed), Some(name), "{typed}");
        }
        assert_eq!(find_nearest_term("xyzzyplugh"), None);
        assert_eq!(find_nearest_term(""), None);
        assert_eq!(find_nearest_term(&"a".repeat(1 << 20)), None);
    }

    #[test]
    fn sections_read_into_their_parts() {
        let words = parse_terms(
            "\n## Group\n\n### a.b\nOne\ntwo.\nAlso: c d, e\n\nHow: x\ny.\nUsual: z.\n\n### c\nThree.\n",
        );
        assert_eq!(words.len(), 2);
        assert_eq!((words[0].name, words[0].group, words[0].what.as_str()), ("a.b", "Group", "One two."));
        assert_eq!(words[0].also, ["c d", "e"]);
        assert_eq!((words[0].how.as_deref(), words[0].usual.as_deref()), (Some("x y."), Some("z.")));
        assert_eq!(words[1].what, "Three.");
    }

    proptest! {
        #[test]
        fn the_distance_is_one(a in "[a-z]{0,12}", b in "[a-z]{0,12}") {
            let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
            prop_assert_eq!(edit_distance(&a, &b), edit_distance(&b, &a));
            prop_assert_eq!(edit_distance(&a, &b) == 0, a == b);
            prop_assert!(edit_distance(&a, &b) <= a.len().max(b.len()));
        }

        #[test]
        fn nothing_typed_panics(text in "\\PC{0,40}") {
            let _ = (find(&text), find_nearest_term(&text));
        }
    }
}
