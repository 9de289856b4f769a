//! The meaning of metrics, measurements, knobs, findings and words. Each entry is stored next to its subject; this module reads and finds
//! entries. A test generates `docs/glossary.md` from all of them.
//!
//! Format of an entry: paragraphs that explain it, and the lines `Also: other, names`, `How: …`, `Usual: …`, `Influences: …`
//! (each is optional and can span several lines).

const METRICS: &str = include_str!("glossary/metrics.md");
const INVENTORY: &str = include_str!("glossary/inventory.md");
const WORDS: &str = include_str!("glossary/words.md");

/// Prefixes of the labeled parts of an entry.
const LABELS: [&str; 4] = ["Also: ", "How: ", "Usual: ", "Influences: "];

/// The entries of one group: their names and texts.
#[derive(Clone, Debug)]
pub struct Group {
    /// `Metrics`, `Measurements`, `Inventory`, `Knobs`, `Proofs`, `Findings`, `Words`.
    pub name: &'static str,
    /// Name and text of each entry.
    pub entries: Vec<(&'static str, &'static str)>,
}

impl Group {
    /// Creates a group from a text with one section per entry; each section starts with `### name`.
    pub fn new(name: &'static str, text: &'static str) -> Self {
        let sections = text.split("### ").skip(1);
        let entries = sections.map(|section| section.split_once('\n').unwrap_or((section, "")));
        Self { name, entries: entries.collect() }
    }

    /// The metrics.
    pub fn metrics() -> Self {
        Self::new("Metrics", METRICS)
    }

    /// The inventory and conditions in a record.
    pub fn inventory() -> Self {
        Self::new("Inventory", INVENTORY)
    }

    /// Technical terms, and terms that reports use.
    pub fn words() -> Self {
        Self::new("Words", WORDS)
    }
}

/// One entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Term {
    /// The name as in a record: `load.latency`, `wakeup`, `governor`.
    pub name: &'static str,
    /// The entry's group: `Metrics`, `Measurements`, `Inventory`, `Knobs`, `Proofs`, `Findings`, `Words`.
    pub group: &'static str,
    /// Other names of the entry: keys of the record, names in other tools.
    pub also: Vec<String>,
    /// What it is.
    pub what: String,
    /// The method of measuring or reading it.
    pub how: Option<String>,
    /// The usual values.
    pub usual: Option<String>,
    /// Influences on the value.
    pub moves: Option<String>,
}

impl Term {
    /// The entry's first sentence.
    pub fn brief(&self) -> &str {
        self.what.split(". ").next().unwrap_or_default()
    }
}

/// Entries of several groups.
#[derive(Clone, Debug)]
pub struct Glossary {
    terms: Vec<Term>,
}

impl Glossary {
    /// Creates a glossary from these groups, in order. An entry without text is omitted because another group defines
    /// it.
    pub fn new(groups: impl IntoIterator<Item = Group>) -> Self {
        let terms = groups.into_iter().flat_map(|group| {
            let entries = group.entries.into_iter().filter(|(_, text)| !text.is_empty());
            entries.map(move |(name, text)| Term::parse(name, group.name, text))
        });
        Self { terms: terms.collect() }
    }

    /// Every entry, in order.
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// The entry for `name`: `name` can be the entry's own name, an alias, a path in the record that ends in one of
    /// these (`conditions.before.thp`), or the last part of a metric's name if it is unique (`IPC`). Case, `_`, `-` and
    /// blanks are ignored.
    pub fn find(&self, name: &str) -> Option<&Term> {
        let wanted = fold(name);
        let by = |wanted: &str| {
            let own = self.terms.iter().find(|term| fold(term.name) == wanted);
            own.or_else(|| self.terms.iter().find(|term| term.also.iter().any(|other| fold(other) == wanted)))
        };
        // `wake-up latency` must find `wakeup.latency`.
        let letters = |name: &str| fold(name).replace(['-', '.'], "");
        let spelled = || self.terms.iter().find(|term| letters(term.name) == letters(name));
        by(&wanted)
            .or_else(spelled)
            .or_else(|| by(wanted.rsplit_once('.')?.1))
            .or_else(|| if let [only] = self.find_ending_in(name).as_slice() { Some(*only) } else { None })
    }

    /// The metrics whose names end in `.name`: `load.parallelism` for `parallelism`.
    pub fn find_ending_in(&self, name: &str) -> Vec<&Term> {
        let wanted = fold(name);
        let ends = |term: &&Term| term.name.rsplit_once('.').is_some_and(|(_, last)| fold(last) == wanted);
        self.terms.iter().filter(ends).collect()
    }

    /// The entry name nearest to a mistyped `name` by edit distance; `None` if no name is near.
    pub fn find_nearest(&self, name: &str) -> Option<&str> {
        let names = self
            .terms
            .iter()
            .flat_map(|term| std::iter::once(term.name).chain(term.also.iter().map(String::as_str)));
        find_nearest(name, names)
    }

    /// The entries whose text contains `word`: first those with the word in a name, then in the meaning, and finally in
    /// the method, the usual values or the influences. All exact matches precede the matches of words that begin with
    /// `word`.
    pub fn find_containing(&self, word: &str) -> Vec<&Term> {
        let wanted = words(word);
        let place = |term: &Term, is: fn(&str, &str) -> bool| {
            let names = std::iter::once(term.name).chain(term.also.iter().map(String::as_str));
            let rest = [&term.how, &term.usual, &term.moves].into_iter().flatten().map(String::as_str);
            let mut texts = names
                .map(|name| (0, name))
                .chain([(1, term.what.as_str())])
                .chain(rest.map(|text| (2, text)));
            texts.find(|(_, text)| has(&words(text), &wanted, is)).map(|(place, _)| place)
        };
        let rank = |term: &Term| {
            let whole = place(term, |word, wanted| word == wanted).map(|place| (false, place));
            whole.or_else(|| Some((true, place(term, |word, wanted| word.starts_with(wanted))?)))
        };
        let mut found: Vec<_> = self.terms.iter().filter_map(|term| Some((rank(term)?, term))).collect();
        found.sort_by_key(|(rank, _)| *rank);
        found.into_iter().map(|(_, term)| term).collect()
    }
}

/// The entry of `names` nearest to `name`: up to a quarter of its letters may differ, or one letter if that is more.
/// `None` if no entry is that close, if `name` is too long, or if it has at most three letters, because one different
/// letter then makes a different word.
pub fn find_nearest<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // A name longer than any existing one is not a typing error, and the time for computing the distance grows
    // quadratically.
    const LONGEST: usize = 64;
    const SHORT: usize = 3;
    let wanted = fold(name);
    let length = wanted.chars().count();
    if length <= SHORT || length > LONGEST {
        return None;
    }
    let most = (length / 4).max(1);
    names
        .into_iter()
        .map(|candidate| (strsim::osa_distance(&wanted, &fold(candidate)), candidate))
        .filter(|(far, _)| *far <= most)
        .min_by_key(|(far, _)| *far)
        .map(|(_, candidate)| candidate)
}

/// Converts a name to lower case, and `_` and blanks to `-`.
fn fold(name: &str) -> String {
    name.trim().to_lowercase().replace(['_', ' '], "-")
}

/// The words of a text in lower case.
fn words(text: &str) -> Vec<String> {
    let all = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    all.map(str::to_lowercase).collect()
}

/// Whether the wanted words occur consecutively in a text.
fn has(text: &[String], wanted: &[String], is: fn(&str, &str) -> bool) -> bool {
    !wanted.is_empty()
        && text
            .windows(wanted.len())
            .any(|some| some.iter().zip(wanted).all(|(word, wanted)| is(word, wanted)))
}

impl Term {
    /// An entry of a group, read from its text.
    pub fn parse(name: &'static str, group: &'static str, text: &str) -> Self {
        let mut term = Term { name: name.trim(), group, ..Term::default() };
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        for part in lines.join("\n").split("\n\n").flat_map(split_labels) {
            term.take(&part);
        }
        term
    }

    /// Adds one part of the text to its field.
    fn take(&mut self, part: &str) {
        if let Some(names) = part.strip_prefix("Also: ") {
            self.also =
                names.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect();
            return;
        }
        let slots =
            [("How: ", &mut self.how), ("Usual: ", &mut self.usual), ("Influences: ", &mut self.moves)];
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
    use std::collections::BTreeSet;

    fn own() -> Glossary {
        Glossary::new([Group::metrics(), Group::inventory(), Group::words()])
    }

    #[test]
    fn every_metric_is_explained_in_full() {
        let names = Group::metrics().entries.into_iter().map(|(name, _)| name);
        assert!(names.eq(crate::metrics::all().map(|metric| metric.name)));
        for term in Glossary::new([Group::metrics()]).terms() {
            assert!(!term.what.is_empty(), "{}: what it is", term.name);
            assert!(term.how.is_some(), "{}: how it is measured", term.name);
            assert!(term.usual.is_some(), "{}: what is usual", term.name);
            assert!(term.moves.is_some(), "{}: what moves it", term.name);
        }
    }

    #[test]
    fn every_key_of_the_inventory_and_the_conditions_is_explained() {
        // Keys that need no words: a number in a list, the ends of an interval, values explained with the knobs, or the name of the
        // parent.
        let plain = BTreeSet::from(["id", "name", "bytes", "cpus", "low", "high", "nice"]);
        let schemas = [
            serde_json::to_value(schemars::schema_for!(crate::Machine)),
            serde_json::to_value(schemars::schema_for!(crate::Conditions)),
        ];
        let (own, mut missing) = (own(), BTreeSet::new());
        for schema in schemas {
            keys(&schema.unwrap(), &mut |key| {
                if !plain.contains(key) && own.find(key).is_none() {
                    missing.insert(key.to_owned());
                }
            });
        }
        assert_eq!(missing, BTreeSet::new(), "no entry explains them");
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
        let own = own();
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
            assert_eq!(own.find(typed).map(|word| word.name), Some(name), "{typed}");
        }
        // Ambiguous between several metrics.
        assert_eq!(own.find("time"), None);
        let names: Vec<&str> = own.find_ending_in("time").iter().map(|word| word.name).collect();
        assert_eq!(names, ["workload.time", "layer.time"]);
        assert_eq!(own.find("nonsense.nonsense"), None);
        assert_eq!(own.find(""), None);
    }

    #[test]
    fn a_slip_of_the_finger_finds_the_name_that_was_meant() {
        let own = own();
        for (typed, name) in [
            ("load.latancy", "load.latency"),
            ("governer", "governor"),
            ("core.clokc", "core.clock"),
            ("numa_balancin", "numa_balancing"),
        ] {
            assert_eq!(own.find_nearest(typed), Some(name), "{typed}");
        }
        assert_eq!(own.find_nearest("xyzzyplugh"), None);
        // Different words, not typing errors.
        assert_eq!(own.find_nearest("wax"), None);
        assert_eq!(own.find_nearest("blenders"), None);
        assert_eq!(own.find_nearest(""), None);
        assert_eq!(own.find_nearest(&"a".repeat(1 << 20)), None);
    }

    #[test]
    fn a_word_of_a_text_leads_to_the_entries_that_have_it() {
        let glossary = Glossary {
            terms: [
                "### a\nOf halting.",
                "### b\nOne.\nHow: It halts.\nUsual: A halt, high.",
                "### halt-poll\nTwo.",
                "### c\nA Halt.",
            ]
            .iter()
            .flat_map(|text| Group::new("Words", text).entries)
            .map(|(name, text)| Term::parse(name, "", text))
            .collect(),
        };
        let names = |word: &str| -> Vec<&str> {
            glossary.find_containing(word).iter().map(|term| term.name).collect()
        };
        // First matches in names, then in meanings, then elsewhere, and finally longer words.
        assert_eq!(names("halt"), ["halt-poll", "c", "b", "a"]);
        assert_eq!((names("a HALT"), names("high")), (vec!["c", "b"], vec!["b"]));
        for none in ["alt", "", "-", "halt one"] {
            assert_eq!(names(none), [""; 0], "{none:?}");
        }
        assert!(!own().find_containing("high").is_empty());
    }

    #[test]
    fn an_entry_reads_into_its_parts() {
        let term = Term::parse(
            "a.b",
            "Group",
            "\n    One\n    two.\n    Also: c d, e\n\n    How: x\n    y.\n    Usual: z.\n",
        );
        assert_eq!((term.name, term.group, term.what.as_str()), ("a.b", "Group", "One two."));
        assert_eq!(term.also, ["c d", "e"]);
        assert_eq!(
            (term.how.as_deref(), term.usual.as_deref(), term.moves.as_deref()),
            (Some("x y."), Some("z."), None)
        );
        assert_eq!(
            Group::new("Words", "### a\nOne.\n\n### c d\nTwo.\n").entries,
            [("a", "One.\n\n"), ("c d", "Two.\n")]
        );
    }

    proptest! {
        #[test]
        fn nothing_typed_panics(text in "\\PC{0,40}") {
            let own = own();
            let _ = (own.find(&text), own.find_nearest(&text), own.find_containing(&text));
        }
    }
}
