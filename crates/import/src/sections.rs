//! Finds the machine for each part of a text, from the host names in prompts and the divisions specified by the user.

use std::collections::HashMap;

use record::import::{NotUnderstood, Origin, Output};
use record::{Measurement, detail, metrics};

use crate::facts::key;
use crate::limits::{MOST_EXAMPLES, MOST_MACHINES};
use crate::line::Line;
use crate::prompts::titled_host;
use crate::scan;
use crate::sink::{Draft, origin};
use crate::split::Split;

/// The data that has been read about one machine so far.
#[derive(Debug, Default)]
pub(crate) struct Section {
    /// The division that contains this data; `None` before the first division.
    pub division: Option<String>,
    /// The host in the prompts.
    pub host: Option<String>,
    /// The first label of an accepted table row, and its line.
    pub label: Option<(String, u64)>,
    /// The first line of prose above an output that may name the machine.
    subject: Option<Origin>,
    /// The data read from the tools' outputs.
    pub draft: Draft,
    /// The tools' outputs for this machine.
    pub outputs: Vec<Output>,
}

/// A division of the text by a heading, a line, or a file.
#[derive(Debug)]
struct Division {
    name: String,
    /// The words of the name ([`split_words`]).
    words: Vec<String>,
    level: u8,
    /// The words of the row label for this machine; a different label means a different machine.
    label: Option<Vec<String>>,
}

/// The machines found so far, and the current one.
#[derive(Debug, Default)]
pub(crate) struct Sections {
    split: Split,
    divisions: Vec<Division>,
    /// The headings above the current line, outermost first, each with its level, its words, and its division.
    headings: Vec<(u8, String, Option<usize>)>,
    division: Option<usize>,
    /// The last line matched by [`Split::Lines`], until an output follows and the line becomes a division: its text, and whether the text
    /// is a name. A line without a name always begins a new machine.
    begun: Option<(String, bool)>,
    /// The name in the last line matched by [`Split::Lines`], in lower case.
    named: Option<String>,
    /// The index of each division by its name in lower case, and the number of divisions with each name.
    by_name: HashMap<String, usize>,
    given: HashMap<String, usize>,
    host: Option<String>,
    /// The last line of prose that may name a machine.
    subject: Option<Origin>,
    /// The remote host of the current command.
    remote: Option<String>,
    remotes: bool,
    sections: Vec<Section>,
    by_key: HashMap<(Option<usize>, Option<String>), usize>,
    /// Cached results of [`Sections::find_division`] by name, because the same first cells occur repeatedly in a table.
    found: HashMap<(String, Option<u8>), Option<usize>>,
}

impl Sections {
    pub(crate) fn new(split: Split) -> Self {
        Self { split, ..Self::default() }
    }

    /// A new text begins.
    pub(crate) fn begin_text(&mut self, name: &str) {
        (self.host, self.remote, self.subject) = (None, None, None);
        self.headings.clear();
        (self.begun, self.named) = (None, None);
        self.division = match self.split {
            Split::Files => Some(self.add_division(name, 0)),
            _ => None,
        };
    }

    /// A line that may name the machine of the outputs below it; returns whether it serves as a heading.
    pub(crate) fn note_subject(&mut self, text: &str, line: Line, is_prose: bool) -> bool {
        let bare = line.text.trim_end_matches([':', '：']);
        let found = titled_host(line.text);
        let host = found.filter(|(kind, _)| *kind == "host" || *kind == "container" && !is_prose);
        let host = host.map(|(_, host)| host);
        let named = is_prose && bare.len() <= 100 && split_words(bare).iter().any(|word| is_machine(word));
        let subject = Some(origin("", text, line)).filter(|_| named || host.is_some());
        self.subject = subject.or(self.subject.take());
        let title = host.or(Some(bare).filter(|_| named && bare.len() < line.text.len()));
        // The heading is below those of all marked levels.
        title.map(|title| self.add_heading(7, title)).is_some()
    }

    /// Sets the host; called for a prompt that contains a host name.
    pub(crate) fn set_host(&mut self, host: &str) {
        self.host = Some(host.to_owned());
    }

    /// Sets the host on which `ssh` runs a command: `ssh -p 22 root@db1 lscpu`.
    pub(crate) fn set_remote(&mut self, command: &str) {
        self.remote =
            titled_host(command).filter(|(kind, _)| *kind == "ssh").map(|(_, host)| host.to_owned());
        self.remotes |= self.remote.is_some();
    }

    /// A heading.
    pub(crate) fn add_heading(&mut self, level: u8, text: &str) {
        if !matches!(self.split, Split::Headings) {
            return;
        }
        // The outputs below a heading are not from the host in the prompt above the heading.
        self.host = None;
        self.headings.retain(|(above, ..)| *above < level);
        let known = self.find_division(text, Some(level));
        self.headings.push((level, text.to_owned(), known));
    }

    /// Examines a line before any other processing; returns whether it begins another machine.
    pub(crate) fn divide_at(&mut self, text: &str) -> bool {
        let Split::Lines(expression) = &self.split else { return false };
        let Some(found) = expression.captures(text) else { return false };
        let name = found.get(1).map(|group| group.as_str().trim()).filter(|name| !name.is_empty());
        let key = name.map(|name| shorten(name).to_lowercase());
        if key.is_some() && key == self.named {
            return false;
        }
        self.host = None;
        self.begun = Some((shorten(name.unwrap_or(text.trim())), name.is_some()));
        self.named = key;
        true
    }

    /// Returns the section for an output that begins here. `label` is the first cell of its table row.
    pub(crate) fn enter_section(&mut self, label: Option<&str>) -> usize {
        if let Some((name, named)) = self.begun.take() {
            let known = self.by_name.get(&name.to_lowercase()).copied().filter(|_| named);
            self.division = Some(known.unwrap_or_else(|| self.add_division(&name, 0)));
        }
        if matches!(self.split, Split::Headings) {
            self.division = match label {
                Some(label) => Some(self.label_division(label)),
                None => self.divide_by_headings(),
            };
        }
        let at = self.find_or_add((self.division, self.remote.clone().or_else(|| self.host.clone())));
        let section = &mut self.sections[at];
        // A host or a heading says more than prose.
        if section.host.is_none() && section.division.is_none() {
            section.compare_subject(self.subject.clone());
        }
        section.subject = section.subject.take().or_else(|| self.subject.clone());
        at
    }

    /// The section of the machine with this name; without a name, the current section.
    pub(crate) fn enter_named(&mut self, name: Option<&str>) -> usize {
        let Some(name) = name else { return self.enter_section(None) };
        let division = self.label_division(name);
        self.find_or_add((Some(division), None))
    }

    /// Whether the row label `label` belongs to another section than `section`.
    pub(crate) fn moves_to(&mut self, label: &str, section: usize) -> bool {
        matches!(self.split, Split::Headings) && self.enter_section(Some(label)) != section
    }

    /// The section with this number.
    pub(crate) fn get(&mut self, section: usize) -> &mut Section {
        &mut self.sections[section]
    }

    /// Marks line `number`, at which a text ended without a line end, as possibly incomplete.
    pub(crate) fn doubt_last_line(&mut self, text: &str, number: u64) {
        for section in &mut self.sections {
            // A line that is cut off before its values is not recognized, so the output may end at the line above.
            let is_last =
                |output: &&Output| output.text == text && (number - 1..=number).contains(&output.lines.1);
            let Some(first) = section.outputs.iter().find(is_last).map(|output| output.lines.0) else {
                continue;
            };
            for lscpu in &mut section.draft.facts.lscpu {
                let flags = lscpu.machine.get(key::FLAGS);
                lscpu.cut_flags |=
                    flags.is_some_and(|fact| (&*fact.origin.text, fact.origin.line) == (text, number));
            }
            let note = format!("{text} ends in the middle of line {number}; the last value may be truncated");
            section.draft.machine.notes.push(note.into());
            for m in &mut section.draft.measurements {
                // A result that is combined from several lines lacks the part from the last line.
                let from = if is_summed(m) { first } else { number };
                if m.origin.as_ref().is_some_and(|origin| origin.line >= from && origin.text == text) {
                    let why = "may be truncated: the text ends in the middle of this line";
                    m.doubt.get_or_insert_with(|| why.into());
                }
            }
        }
    }

    /// Whether there are more machines than the limit.
    pub(crate) fn are_too_many(&self) -> bool {
        self.sections.len() > MOST_MACHINES || self.divisions.len() > MOST_MACHINES * 10
    }

    /// Whether the labels of rows distinguish machines.
    pub(crate) fn split_by_labels(&self) -> bool {
        !matches!(self.split, Split::Hosts | Split::Files)
    }

    /// All sections in the order of their first output. If all prompts in a division are from a
    /// single host, the division's outputs without a prompt belong to that host as well.
    pub(crate) fn finish(self) -> Vec<Section> {
        let mut counts: HashMap<Option<String>, (usize, usize)> = HashMap::new();
        for section in &self.sections {
            let (sections, hosts) = counts.entry(section.division.clone()).or_default();
            *sections += 1;
            *hosts += usize::from(section.host.is_some());
        }
        let mut all: Vec<Section> = Vec::new();
        for section in self.sections {
            let is_one = !self.remotes && counts.get(&section.division) == Some(&(2, 1));
            match all.iter_mut().find(|first| is_one && first.division == section.division) {
                Some(first) => first.join(section),
                None => all.push(section),
            }
        }
        all
    }

    fn find_or_add(&mut self, key: (Option<usize>, Option<String>)) -> usize {
        if let Some(section) = self.by_key.get(&key) {
            return *section;
        }
        let division = key.0.map(|division| self.divisions[division].name.clone());
        self.sections.push(Section { division, host: key.1.clone(), ..Section::default() });
        self.by_key.insert(key, self.sections.len() - 1);
        self.sections.len() - 1
    }

    /// The division with this label in a table.
    fn label_division(&mut self, label: &str) -> usize {
        let division = self.find_division(label, None).unwrap_or_else(|| self.add_division(label, 0));
        let known = &mut self.divisions[division].label;
        if known.is_none() {
            *known = Some(split_words(label));
            self.found.clear();
        }
        division
    }

    fn add_division(&mut self, name: &str, level: u8) -> usize {
        let name = shorten(name);
        let given = self.given.entry(name.clone()).or_default();
        *given += 1;
        let name = if *given == 1 { name } else { format!("{name} {given}") };
        self.by_name.entry(name.to_lowercase()).or_insert(self.divisions.len());
        self.divisions.push(Division { words: split_words(&name), name, level, label: None });
        // The new division may match cached names, or make them ambiguous.
        self.found.clear();
        self.divisions.len() - 1
    }

    fn divide_by_headings(&mut self) -> Option<usize> {
        let named = self.headings.iter().rev().find_map(|(_, _, division)| *division);
        if named.is_some() {
            return named;
        }
        let (level, text, _) = self.headings.last()?;
        let (level, text) = (*level, text.clone());
        let division = self.add_division(&text, level);
        if let Some(last) = self.headings.last_mut() {
            last.2 = Some(division);
        }
        Some(division)
    }

    /// The division that `text` names. The words of the division's name begin with the words of `text`, or vice versa. In a heading of
    /// another level and in a table, the first word is sufficient if it is unambiguous.
    fn find_division(&mut self, text: &str, level: Option<u8>) -> Option<usize> {
        let key = (text.to_owned(), level);
        if let Some(known) = self.found.get(&key) {
            return *known;
        }
        let found = self.search_divisions(text, level);
        self.found.insert(key, found);
        found
    }

    fn search_divisions(&self, text: &str, level: Option<u8>) -> Option<usize> {
        let own = split_words(text);
        (!own.is_empty()).then_some(())?;
        let is_free = |division: &Division| {
            level.is_some() || division.label.as_ref().is_none_or(|label| *label == own)
        };
        let alike = |division: &Division| {
            let words = &division.words;
            !words.is_empty() && (own.starts_with(words) || words.starts_with(&own))
        };
        let same_start =
            |division: &Division| Some(division.level) != level && division.words.first() == own.first();
        let free = || self.divisions.iter().enumerate().filter(|(_, division)| is_free(division));
        let mut by_first = free().filter(|(_, division)| same_start(division));
        let only = by_first.next().filter(|_| by_first.next().is_none());
        let same = free().find(|(_, division)| division.words == own);
        same.or_else(|| free().find(|(_, division)| alike(division))).or(only).map(|(at, _)| at)
    }
}

impl Section {
    /// Joins two sections into one machine.
    fn join(&mut self, other: Section) {
        self.compare_subject(other.subject);
        self.host = self.host.take().or(other.host);
        self.label = self.label.take().or(other.label);
        self.draft.absorb(other.draft);
        self.outputs.extend(other.outputs);
    }

    /// Compares the prose above earlier outputs with that above another output.
    fn compare_subject(&mut self, now: Option<Origin>) {
        let both = self.subject.clone().zip(now);
        let clash = both.filter(|(first, now)| are_two_machines(&first.says, &now.says)).map(Into::into);
        self.draft.facts.clash = self.draft.facts.clash.take().or(clash);
    }

    /// The machine's display name.
    pub(crate) fn name(&self) -> Option<String> {
        self.division.clone().or_else(|| self.host.clone())
    }
}

/// Words for a machine in prose, followed by groups of words of which a text about two machines uses two in the same place.
const MACHINES: &str = include_str!("machines.txt");

fn is_machine(word: &str) -> bool {
    MACHINES.lines().next().is_some_and(|machines| scan::is_one_of(word, machines))
}

/// Whether two lines name different machines in their last words: `On the old server:` and `On the new server:`, `Machine A` and `Machine B`.
/// `Server, old kernel:` and `First server run:` are about one machine.
fn are_two_machines(one: &str, other: &str) -> bool {
    if let (Some(one), Some(other)) = (titled_host(one), titled_host(other)) {
        let names = [one.1.to_lowercase(), other.1.to_lowercase()];
        // One name may lack the domain, and the nodes of a machine are numbered from 0.
        let is_same = names
            .iter()
            .any(|name| names.iter().all(|of| *of == *name || of.starts_with(&format!("{name}."))));
        return one.0 == other.0
            && !is_same
            && !names.iter().any(|name| name == "node0" || name.contains("numa"));
    }
    let [one, other] = [one, other].map(split_words);
    let apart: Vec<usize> = (0..one.len()).filter(|at| one.get(*at) != other.get(*at)).collect();
    let [at] = apart[..] else { return false };
    one.len() == other.len()
        && at + 2 >= one.len()
        && one[at.saturating_sub(usize::from(at + 1 == one.len()))..].iter().any(|word| is_machine(word))
        && MACHINES
            .lines()
            .skip(1)
            .any(|all| [&one, &other].iter().all(|words| scan::is_one_of(&words[at], all)))
}

/// The part of a name that is saved.
fn shorten(name: &str) -> String {
    name.chars().take(100).collect()
}

/// The lower-case words of a name up to a bracket, with numbers separated from letters: `Intel (52 cores)` yields `intel`, and `FT2500`
/// yields `ft` and `2500`.
fn split_words(name: &str) -> Vec<String> {
    let name = name.trim_start_matches(|c: char| !c.is_alphanumeric());
    let name = name.split(['(', '（', '[', '【']).next().unwrap_or_default();
    let kind = |c: &char| c.is_alphanumeric().then(|| c.is_numeric());
    let letters: Vec<char> = name.to_lowercase().chars().collect();
    let words = letters.chunk_by(|one, next| kind(one) == kind(next));
    words.filter(|word| word[0].is_alphanumeric()).map(|word| word.iter().collect()).collect()
}

/// Counts an unrecognized line, and saves its text if it is one of the first such lines.
pub(crate) fn add_example(lines: &mut NotUnderstood, text: &str, line: Line) {
    lines.lines += 1;
    lines.examples.extend((lines.examples.len() < MOST_EXAMPLES).then(|| origin("", text, line)));
}
/// The source of a result that is combined from two lines.
const OF_SEVERAL_LINES: &str = "events over total time";

/// Whether a result is combined from many lines, the last of which may be missing.
fn is_summed(m: &Measurement) -> bool {
    m.metric.family() == "wakeup"
        || matches!(m.metric, metrics::COUNTER_COUNT | metrics::CORE_IPC | metrics::CORE_CLOCK)
        || m.detail.get(detail::FROM) == Some(OF_SEVERAL_LINES)
}
