//! A record without names: of hosts, users, commands, files, processes, units, options of the kernel, addresses. What is taken
//! out has a pseudonym (`host-1`), the same wherever it stood, so that redacted records still compare.
//!
//! Each text of a record is declared in `texts.rs` by the end of its path; a test holds that against the schema, so that a new
//! field is asked for. Names are taken out where they stand alone, then wherever a sentence quotes them.

use std::collections::{BTreeMap, HashMap};
use std::io;

use serde_json::Value;

use crate::Record;
use texts::Holds::{self, Argv, Name, Own, Sentence};
use texts::{KEYED_BY_PROCESS, declared};

mod texts;

/// Which kind of name something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A machine.
    Host,
    /// A person.
    User,
    /// A program that was run.
    Command,
    /// A word of its command line.
    Argument,
    /// An option of the kernel's command line.
    Option,
    /// A process or thread.
    Process,
    /// A control group, unit or container.
    Group,
    /// A file.
    File,
    /// A line of a text that was imported.
    Line,
    /// A path in somebody's home.
    Path,
    /// An IP or MAC address, or a machine's identifier.
    Address,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Kind::Host => "host",
            Kind::User => "user",
            Kind::Command => "command",
            Kind::Argument => "argument",
            Kind::Option => "option",
            Kind::Process => "process",
            Kind::Group => "group",
            Kind::File => "file",
            Kind::Line => "line",
            Kind::Path => "path",
            Kind::Address => "address",
        }
    }
}

/// Pseudonyms of names, the same for all records that are redacted together.
#[derive(Clone, Debug, Default)]
pub struct Pseudonyms {
    names: BTreeMap<(Kind, String), usize>,
    counts: BTreeMap<Kind, usize>,
    /// Names as they stand in sentences, with their pseudonyms.
    secrets: HashMap<String, String>,
}

/// Names that are shorter are not looked for in sentences: two letters are everywhere.
const SHORTEST: usize = 3;

/// Commands and words of linespeed's own command line that name nobody's.
const OWN_WORDS: [&str; 16] = [
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

impl Pseudonyms {
    /// The pseudonym of a name.
    pub fn of(&mut self, kind: Kind, name: &str) -> String {
        if name.is_empty() {
            return String::new();
        }
        let key = (kind, name.to_owned());
        let number = match self.names.get(&key) {
            Some(number) => *number,
            None => {
                let count = self.counts.entry(kind).or_default();
                *count += 1;
                self.names.insert(key, *count);
                *count
            }
        };
        let pseudonym = format!("{}-{number}", kind.word());
        self.hide(name, &pseudonym);
        pseudonym
    }

    /// Takes a name out of sentences, too: the whole, and the last part of a path.
    fn hide(&mut self, name: &str, pseudonym: &str) {
        let last = name.rsplit('/').next().unwrap_or_default();
        for part in [name, last] {
            if part.len() >= SHORTEST && !OWN_WORDS.contains(&part) && !is_figure(part) {
                self.secrets.entry(part.to_owned()).or_insert_with(|| pseudonym.to_owned());
            }
        }
    }

    /// A word of a command line. `own`: of linespeed's, whose options stay.
    fn word(&mut self, word: &str, first: bool, own: bool) -> String {
        if own {
            let base = word.rsplit('/').next().unwrap_or_default();
            if OWN_WORDS.contains(&base) {
                return base.to_owned();
            }
            if is_figure(word) || word == "--" {
                return word.to_owned();
            }
            if let Some(option) = word.strip_prefix('-') {
                let Some((name, value)) = option.split_once('=') else { return word.to_owned() };
                return format!("-{name}={}", self.of(Kind::Argument, value));
            }
        } else if word == "--" {
            return word.to_owned();
        }
        if let Some((name, value)) =
            word.split_once('=').filter(|(name, value)| !own && !name.is_empty() && !value.is_empty())
        {
            // Sentences may quote the value alone.
            let whole = self.of(Kind::Argument, word);
            self.hide(value, &whole);
            self.hide(name.trim_start_matches('-'), &whole);
            return whole;
        }
        self.of(if first { Kind::Command } else { Kind::Argument }, word)
    }

    fn argv(&mut self, words: &[Value], own: bool) -> Vec<Value> {
        let (mut own, mut first) = (own, !own);
        let mut redacted = Vec::with_capacity(words.len());
        for word in words.iter().map(|word| word.as_str().unwrap_or_default()) {
            redacted.push(Value::from(self.word(word, first, own)));
            first = own && word == "--";
            own &= word != "--";
        }
        redacted
    }

    /// A sentence without names.
    pub fn sentence(&mut self, text: &str) -> String {
        let mut left = text;
        let mut redacted = String::with_capacity(text.len());
        while let Some(start) = left.find(is_of_word) {
            let (before, rest) = left.split_at(start);
            redacted.push_str(before);
            let end = rest.find(|c| !is_of_word(c)).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            redacted.push_str(&self.in_sentence(word));
            left = after;
        }
        redacted.push_str(left);
        // Names of several words, or parts of a word.
        let spaced =
            self.secrets.iter().filter(|(name, _)| name.contains(|c: char| !is_of_word(c) || c == '='));
        let mut spaced: Vec<_> = spaced.map(|(name, pseudonym)| (name.clone(), pseudonym.clone())).collect();
        spaced.sort_by(|a, b| b.0.len().cmp(&a.0.len()).then(a.cmp(b)));
        for (name, pseudonym) in spaced {
            redacted = redacted.replace(&name, &pseudonym);
        }
        redacted
    }

    /// A word of a sentence: a name, `key=name`, a path with one in it, an address.
    fn in_sentence(&mut self, word: &str) -> String {
        let bare = word.trim_end_matches(['.', ':', ',']);
        let tail = word.get(bare.len()..).unwrap_or_default();
        if let Some(pseudonym) = self.secrets.get(bare) {
            return format!("{pseudonym}{tail}");
        }
        if bare.contains('=') {
            // One after the other: a hostile record's word may have millions of them.
            let parts: Vec<String> = bare.split('=').map(|part| self.in_sentence(part)).collect();
            return format!("{}{tail}", parts.join("="));
        }
        if is_in_a_home(bare) {
            return format!("{}{tail}", self.of(Kind::Path, bare));
        }
        if is_address(bare) {
            return format!("{}{tail}", self.of(Kind::Address, bare));
        }
        if bare.contains('@') {
            return format!("{}{tail}", self.of(Kind::User, bare));
        }
        // `server-7-20260102T010000Z.json`, `/srv/server/log`: the name is a part.
        let mut parted = bare.to_owned();
        let mut inside: Vec<(&String, &String)> =
            self.secrets.iter().filter(|(name, _)| parted.contains(name.as_str())).collect();
        inside.sort_by(|a, b| b.0.len().cmp(&a.0.len()).then(a.cmp(b)));
        for (name, pseudonym) in inside {
            parted = replace_part(&parted, name, pseudonym);
        }
        format!("{parted}{tail}")
    }
}

/// A name where it is a part of a word by itself: not within letters.
fn replace_part(word: &str, name: &str, pseudonym: &str) -> String {
    let mut redacted = String::new();
    let mut left = word;
    while let Some(at) = left.find(name) {
        let (before, rest) = left.split_at(at);
        let after = rest.get(name.len()..).unwrap_or_default();
        let edge = |c: Option<char>| !c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        let whole = edge(before.chars().next_back().or_else(|| redacted.chars().next_back()))
            && edge(after.chars().next());
        redacted.push_str(before);
        redacted.push_str(if whole { pseudonym } else { name });
        left = after;
    }
    redacted + left
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || "_./:@%+~=-".contains(c)
}

/// A number, a time, a list of CPUs.
fn is_figure(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
        && word.len() <= 12
        && !is_address(word)
        && word
            .trim_end_matches(char::is_alphabetic)
            .chars()
            .all(|c| c.is_ascii_digit() || ".,-:".contains(c))
}

fn is_in_a_home(word: &str) -> bool {
    ["/home/", "/root/", "/Users/", "~"].iter().any(|start| word.starts_with(start)) || word == "/root"
}

/// An IPv4 or IPv6 address, a MAC address, a UUID.
fn is_address(word: &str) -> bool {
    let host = word.split('/').next().unwrap_or_default();
    let host = host
        .rsplit_once(':')
        .filter(|(_, port)| host.contains('.') && port.parse::<u16>().is_ok())
        .map_or(host, |(host, _)| host);
    let hex = |part: &str| part.chars().all(|c| c.is_ascii_hexdigit());
    let mac: Vec<&str> = host.split(':').collect();
    let uuid: Vec<usize> = word.split('-').map(|part| if hex(part) { part.len() } else { 0 }).collect();
    host.parse::<std::net::IpAddr>().is_ok() && host.len() > 3
        || (mac.len() == 6 && mac.iter().all(|part| part.len() == 2 && hex(part)))
        || uuid == [8, 4, 4, 4, 12]
        || (word.len() == 32 && hex(word))
}

impl Record {
    /// The same without names. Figures, settings and hardware stay.
    ///
    /// # Errors
    ///
    /// It has no form in JSON, which is how it is looked through.
    pub fn redacted(&self, pseudonyms: &mut Pseudonyms) -> io::Result<Self> {
        let mut value: Value = serde_json::from_str(&self.to_json()?)?;
        // Names first, where they stand alone, then what quotes them.
        walk(&mut value, &mut String::new(), &mut |text, holds| pseudonyms.name(text, holds));
        walk(&mut value, &mut String::new(), &mut |text, holds| pseudonyms.quote(text, holds));
        let text = serde_json::to_vec(&value)?;
        Self::from_json(&text).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))
    }
}

impl Pseudonyms {
    fn name(&mut self, value: &mut Value, holds: Holds) {
        match (holds, &mut *value) {
            (Name(kind), Value::String(text)) => *text = self.of(kind, text),
            (Own | Argv, Value::Array(words)) => *words = self.argv(words, holds == Own),
            (Name(kind), Value::Object(map)) => {
                *map = std::mem::take(map)
                    .into_iter()
                    .map(|(key, value)| (self.of(kind, &key), value))
                    .collect();
            }
            _ => {}
        }
    }

    fn quote(&mut self, value: &mut Value, holds: Holds) {
        if let (Sentence, Value::String(text)) = (holds, value) {
            *text = self.sentence(text);
        }
    }
}

/// Hands every text with what it holds to `each`: of command lines the whole list, of maps with names as keys the map.
fn walk(value: &mut Value, path: &mut String, each: &mut dyn FnMut(&mut Value, Holds)) {
    if KEYED_BY_PROCESS.iter().any(|end| path.ends_with(end)) && value.is_object() {
        each(value, Name(Kind::Process));
    }
    let length = path.len();
    match value {
        Value::String(_) => each(value, declared(path).unwrap_or(Sentence)),
        Value::Array(_) => {
            path.push_str("[]");
            match declared(path) {
                Some(holds @ (Own | Argv)) => each(value, holds),
                _ => {
                    for element in value.as_array_mut().into_iter().flatten() {
                        walk(element, path, each);
                    }
                }
            }
            path.truncate(length);
        }
        Value::Object(map) => {
            for (key, value) in map {
                path.push('.');
                path.push_str(key);
                walk(value, path, each);
                path.truncate(length);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests;
