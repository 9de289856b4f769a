//! Which machine a part of a text is of: by the host names of prompts, and by whatever the user says divides it.

use std::collections::HashMap;

use regex_lite::Regex;

use crate::sink::Draft;

/// What divides a text into machines, beside the host names of its prompts.
#[derive(Clone, Debug, Default)]
pub enum Split {
    /// Nothing else.
    #[default]
    Hosts,
    /// Each file is a machine.
    Files,
    /// A heading names the machine that the outputs below it are of, as does the first cell of a table's row. Headings
    /// of one level that begin with the same words are one machine.
    Headings,
    /// A line that this expression matches begins a machine; its first group is the machine's name, and without a group
    /// every such line begins another machine.
    Lines(Regex),
}

/// Most machines in one import.
pub const MOST_PARTS: usize = 1000;

/// Names of which is remembered what they mean.
const MOST_FOUND: usize = 256;

/// What to do when two machines stand in one text and nothing tells them apart.
pub const WAY_OUT: &str = "two machines, and no host name says which is which: tell where each begins with --split headings, \
                       --split files, or --split REGEX";

/// What is known of one machine so far.
#[derive(Debug, Default)]
pub struct Part {
    /// What divides it from the others; `None` for what stands before the first division.
    pub section: Option<String>,
    /// The host that the prompts named.
    pub host: Option<String>,
    /// The first label of a table's row that was taken, and its line.
    pub label: Option<(String, u64)>,
    /// What its outputs told.
    pub draft: Draft,
    /// Its outputs.
    pub outputs: Vec<record::import::Output>,
    /// Its lines that no tool's output has.
    pub not_understood: record::import::NotUnderstood,
}

/// A section: what a heading, a line, or a file says divides the text.
#[derive(Debug)]
struct Section {
    name: String,
    /// Its [`words`].
    words: String,
    level: u8,
}

/// The level at which a name stood, and the section that it means there.
type Found = (Option<u8>, Option<usize>);

/// The machines found so far, and which of them the text is at.
#[derive(Debug, Default)]
pub struct Parts {
    split: Split,
    sections: Vec<Section>,
    /// The headings above, outermost first: level, words, the section that they name.
    headings: Vec<(u8, String, Option<usize>)>,
    section: Option<usize>,
    /// What a line of [`Split::Lines`] said last, until an output makes a section of it: a name, or a line that begins
    /// another machine each time.
    begun: Option<(String, bool)>,
    /// The last name of such a line, in lower case.
    named: Option<String>,
    /// Sections by their names in lower case, and how often each name was given.
    by_name: HashMap<String, usize>,
    given: HashMap<String, usize>,
    host: Option<String>,
    parts: Vec<Part>,
    by_key: HashMap<(Option<usize>, Option<String>), usize>,
    /// What [`Parts::known`] found of a name: a table has the same first cells again and again.
    found: HashMap<String, Vec<Found>>,
}

impl Parts {
    pub fn new(split: Split) -> Self {
        Self { split, ..Self::default() }
    }

    /// A new text begins.
    pub fn text(&mut self, name: &str) {
        self.host = None;
        self.headings.clear();
        (self.begun, self.named) = (None, None);
        self.section = match self.split {
            Split::Files => Some(self.add_section(name, 0)),
            _ => None,
        };
    }

    /// A prompt names a host.
    pub fn host(&mut self, host: &str) {
        if self.host.as_deref() != Some(host) {
            self.host = Some(host.to_owned());
        }
    }

    /// A heading.
    pub fn heading(&mut self, level: u8, text: &str) {
        if !matches!(self.split, Split::Headings) {
            return;
        }
        // Its machine is not the one that a prompt above it named.
        self.host = None;
        self.headings.retain(|(above, ..)| *above < level);
        let known = self.known(text, Some(level));
        self.headings.push((level, text.to_owned(), known));
    }

    /// A line, before anything else is made of it; whether it begins another machine.
    pub fn line(&mut self, text: &str) -> bool {
        let Split::Lines(expression) = &self.split else { return false };
        let Some(found) = expression.captures(text) else { return false };
        let name = found.get(1).map(|group| group.as_str().trim()).filter(|name| !name.is_empty());
        let key = name.map(|name| cut(name).to_lowercase());
        if key.is_some() && key == self.named {
            return false;
        }
        self.host = None;
        self.begun = Some((cut(name.unwrap_or(text.trim())), name.is_some()));
        self.named = key;
        true
    }

    /// The part that an output beginning here belongs to. `label` is the first cell of the table's row that it stands in.
    pub fn here(&mut self, label: Option<&str>) -> usize {
        if let Some((name, named)) = self.begun.take() {
            let known = self.by_name.get(&name.to_lowercase()).copied().filter(|_| named);
            self.section = Some(known.unwrap_or_else(|| self.add_section(&name, 0)));
        }
        if matches!(self.split, Split::Headings) {
            self.section = match label {
                Some(label) => Some(self.known(label, None).unwrap_or_else(|| self.add_section(label, 0))),
                None => self.by_headings(),
            };
        }
        self.part((self.section, self.host.clone()))
    }

    /// The part that `label` is of, where that may be another than the present one.
    pub fn moves_to(&mut self, label: Option<&str>, part: usize) -> bool {
        matches!(self.split, Split::Headings) && label.is_some() && self.here(label) != part
    }

    /// The part with this number.
    pub fn get(&mut self, part: usize) -> &mut Part {
        &mut self.parts[part]
    }

    /// A text ended within its line `number`, with no line end: whether all of it is there nobody can tell.
    pub fn end_within(&mut self, text: &str, number: u64) {
        for part in &mut self.parts {
            if !part.outputs.iter().any(|output| output.text == text && output.lines.1 == number) {
                continue;
            }
            part.draft.machine.notes.push(format!(
                "{text}: it ends within line {number}, with no line end; what stands there may be cut off"
            ));
            for m in &mut part.draft.measurements {
                if m.origin.as_ref().is_some_and(|origin| origin.line == number && origin.text == text) {
                    m.doubt.get_or_insert_with(|| {
                        "perhaps cut off: the text ends within its line, with no line end".to_owned()
                    });
                }
            }
        }
    }

    /// Whether there are more machines than any import is of.
    pub fn too_many(&self) -> bool {
        self.parts.len() > MOST_PARTS || self.sections.len() > MOST_PARTS * 10
    }

    /// Whether labels of rows tell machines apart.
    pub fn by_labels(&self) -> bool {
        !matches!(self.split, Split::Hosts | Split::Files)
    }

    /// All parts in the order in which their first output stands. What no prompt named is the same machine as what one
    /// host's prompts named, in the same section.
    pub fn finish(self) -> Vec<Part> {
        let mut sections: Vec<(Option<String>, Vec<Part>)> = Vec::new();
        let mut places: HashMap<Option<String>, usize> = HashMap::new();
        for part in self.parts {
            let at = *places.entry(part.section.clone()).or_insert_with(|| {
                sections.push((part.section.clone(), Vec::new()));
                sections.len() - 1
            });
            sections[at].1.push(part);
        }
        let mut all = Vec::new();
        for (_, parts) in sections {
            let hosts = parts.iter().filter(|part| part.host.is_some()).count();
            if hosts == 1 && parts.len() == 2 {
                let mut parts = parts.into_iter();
                if let (Some(mut first), Some(second)) = (parts.next(), parts.next()) {
                    first.absorb(second);
                    all.push(first);
                }
            } else {
                all.extend(parts);
            }
        }
        all
    }

    fn part(&mut self, key: (Option<usize>, Option<String>)) -> usize {
        if let Some(part) = self.by_key.get(&key) {
            return *part;
        }
        let section = key.0.map(|section| self.sections[section].name.clone());
        self.parts.push(Part { section, host: key.1.clone(), ..Part::default() });
        self.by_key.insert(key, self.parts.len() - 1);
        self.parts.len() - 1
    }

    fn add_section(&mut self, name: &str, level: u8) -> usize {
        let name = cut(name);
        let given = self.given.entry(name.clone()).or_default();
        *given += 1;
        let name = if *given == 1 { name } else { format!("{name} {given}") };
        self.by_name.entry(name.to_lowercase()).or_insert(self.sections.len());
        self.sections.push(Section { words: words(&name), name, level });
        // It may be what names meant nothing before, or make them mean two.
        self.found.clear();
        self.sections.len() - 1
    }

    fn by_headings(&mut self) -> Option<usize> {
        let named = self.headings.iter().rev().find_map(|(_, _, section)| *section);
        if named.is_some() {
            return named;
        }
        let (level, text, _) = self.headings.last()?;
        let (level, text) = (*level, text.clone());
        let section = self.add_section(&text, level);
        if let Some(last) = self.headings.last_mut() {
            last.2 = Some(section);
        }
        Some(section)
    }

    /// The section that `text` names: its words begin with the section's, or the section's with them. In a heading of
    /// another level and in a table the first word is enough, where it can mean one section only.
    fn known(&mut self, text: &str, level: Option<u8>) -> Option<usize> {
        let before = self.found.get(text).and_then(|of| of.iter().find(|(of, _)| *of == level));
        if let Some((_, found)) = before {
            return *found;
        }
        let found = self.look_for(text, level);
        if self.found.len() >= MOST_FOUND {
            self.found.clear();
        }
        self.found.entry(text.to_owned()).or_default().push((level, found));
        found
    }

    fn look_for(&self, text: &str, level: Option<u8>) -> Option<usize> {
        let own = words(text);
        if own.is_empty() {
            return None;
        }
        let alike = |section: &Section| {
            !section.words.is_empty() && (own.starts_with(&section.words) || section.words.starts_with(&own))
        };
        if let Some(found) = self.sections.iter().position(alike) {
            return Some(found);
        }
        let mut first = self.sections.iter().enumerate().filter(|(_, section)| {
            Some(section.level) != level && first_of(&section.words) == first_of(&own)
        });
        let found = first.next().map(|(at, _)| at);
        found.filter(|_| first.next().is_none())
    }
}

impl Part {
    fn absorb(&mut self, other: Part) {
        self.host = self.host.take().or(other.host);
        self.label = self.label.take().or(other.label);
        self.draft.absorb(other.draft);
        self.outputs.extend(other.outputs);
        self.not_understood.lines += other.not_understood.lines;
        self.not_understood.examples.extend(other.not_understood.examples);
        self.not_understood.examples.truncate(crate::dispatch::MOST_EXAMPLES);
    }

    /// How people would call it.
    pub fn name(&self) -> Option<String> {
        self.section.clone().or_else(|| self.host.clone())
    }
}

/// What is kept of a name.
fn cut(name: &str) -> String {
    name.chars().take(100).collect()
}

/// The words of a name in lower case, numbers apart from letters, up to a bracket, a line each: `Intel (52 cores)` is
/// `intel`, `FT2500` is `ft` and `2500`.
fn words(name: &str) -> String {
    let name = name.trim_start_matches(|c: char| !c.is_alphanumeric());
    let end = name.find(['(', '（', '[', '【']).unwrap_or(name.len());
    let mut words = String::with_capacity(end + 8);
    let mut before: Option<bool> = None;
    for c in name[..end].to_lowercase().chars() {
        let kind = c.is_alphanumeric().then(|| c.is_numeric());
        if before.is_some() && kind != before {
            words.push('\n');
        }
        if kind.is_some() {
            words.push(c);
        }
        before = kind;
    }
    if before.is_some() {
        words.push('\n');
    }
    words
}

/// The first of some words.
fn first_of(words: &str) -> Option<&str> {
    words.split_once('\n').map(|(first, _)| first)
}
