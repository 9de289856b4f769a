//! Removes names from a record: those of hosts, users, commands, files, processes, units, kernel options and addresses.
//! Each name is replaced by a pseudonym (`host-kq3v9x2m`) derived from the name and a key. A name has the same
//! pseudonym in all output, so records redacted with the same key can still be compared. Guessed names cannot be tested
//! without the key.
//!
//! Each text in a record is declared in `texts.rs` by the end of its path. A test compares the declarations with the
//! schema, which forces every new field to be declared. Names are first removed from the fields that contain only a
//! name, then from every sentence that quotes them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::file_name::host_of;
use crate::{Record, Text, in_turn, text};
pub use aliases::Aliases;
pub use key::Key;
use texts::Holds::{self, Argv, BuildLine, Name, Own, Sentence};
use texts::declared;
pub use words::is_own_word;
use words::{BETWEEN, PROGRAM, is_of_sentences};

mod aliases;
mod key;
mod texts;
mod words;

/// The kind of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::EnumString, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Kind {
    /// A machine.
    Host,
    /// A person.
    User,
    /// A program.
    Command,
    /// A word of a command line.
    Argument,
    /// An option of the kernel's command line.
    Option,
    /// A process or thread.
    Process,
    /// A control group, unit or container.
    Group,
    /// A file.
    File,
    /// One line of an imported text.
    Line,
    /// A path in a home directory.
    Path,
    /// An IP or MAC address, or a machine's identifier.
    Address,
}

impl Kind {
    fn word(self) -> &'static str {
        self.into()
    }
}

/// Whether a name has the form of a pseudonym.
pub fn is_pseudonym(kind: Kind, name: &str) -> bool {
    let rest = name.strip_prefix(kind.word()).and_then(|rest| rest.strip_prefix('-'));
    rest.is_some_and(key::is_sign)
}

/// Replaces names with pseudonyms, consistently for all output redacted with the same key.
#[derive(Debug)]
pub struct Pseudonyms {
    key: Key,
    names: BTreeMap<(Kind, String), String>,
    /// Names as they occur in sentences, with their pseudonyms, indexed by the names' first part. In each list, the longest name is first.
    secrets: HashMap<String, Vec<(String, String)>>,
    /// Names that are not searched for in sentences.
    common: BTreeSet<(Kind, String)>,
}

impl Pseudonyms {
    /// Pseudonyms derived from this key.
    pub fn new(key: Key) -> Self {
        Self { key, names: BTreeMap::new(), secrets: HashMap::new(), common: BTreeSet::new() }
    }

    /// The pseudonym of a name.
    pub fn of(&mut self, kind: Kind, name: &str) -> String {
        if name.is_empty() {
            return String::new();
        }
        if let Some(pseudonym) = self.names.get(&(kind, name.to_owned())) {
            return pseudonym.clone();
        }
        let pseudonym = format!("{}-{}", kind.word(), self.key.sign(kind.word(), name));
        self.names.insert((kind, name.to_owned()), pseudonym.clone());
        self.hide(kind, name, &pseudonym);
        if let (Kind::Host, Some((short, _))) = (kind, name.split_once('.').filter(|_| !is_address(name))) {
            self.hide_part(kind, short, &pseudonym);
        }
        pseudonym
    }

    /// The pseudonym of a file. For a record, it consists of the pseudonym of the host and the record's time; any other file
    /// has a pseudonym of its own.
    pub fn file(&mut self, path: &Path) -> PathBuf {
        let (stem, ending) = (path.file_stem().unwrap_or_default().to_string_lossy(), path.extension());
        let ending = ending.filter(|ending| *ending == "json").map_or("", |_| ".json");
        let named = match host_of(&stem) {
            Some(host) => {
                let time = stem.get(host.len()..).unwrap_or_default();
                self.of(Kind::File, &path.to_string_lossy());
                format!("{}{time}", self.of(Kind::Host, host))
            }
            None => self.of(Kind::File, &path.to_string_lossy()),
        };
        PathBuf::from(named + ending)
    }

    /// A one-line summary of the replacements; `None` if there were no names.
    pub fn summary(&self) -> Option<Text> {
        let names = crate::phrase::count_noun(self.names.len() as u64, "name");
        (!self.names.is_empty()).then(|| {
            text!(
                "--redact: {names} replaced by pseudonyms; results, settings and times are unchanged",
                names
            )
        })
    }

    /// A note on names left in sentences because they are also common words; `None` if there are none.
    pub fn remark(&self) -> Option<Text> {
        let mut kinds: Vec<&str> = self.common.iter().map(|(kind, _)| kind.word()).collect();
        let names = kinds.len();
        kinds.dedup();
        (names > 0).then(|| {
            text!(
                "redaction-common-words",
                "--redact: {names} (kinds: {kinds}) are also ordinary words and were replaced only in \
                 their own fields, not in sentences",
                names = crate::phrase::count_noun(names as u64, "name"),
                kinds = kinds.join(", ")
            )
        })
    }

    /// Marks a name for removal from sentences; if the name is a path, its last component is removed as well.
    fn hide(&mut self, kind: Kind, name: &str, pseudonym: &str) {
        let last = name.rsplit('/').next().unwrap_or_default();
        for part in [name, last] {
            self.hide_part(kind, part, pseudonym);
        }
    }

    fn hide_part(&mut self, kind: Kind, part: &str, pseudonym: &str) {
        if part.is_empty() || is_figure(part) || part == PROGRAM {
            return;
        }
        if is_of_sentences(part) {
            self.common.insert((kind, part.to_owned()));
            return;
        }
        let first = part.get(..edges(part).get(1).copied().unwrap_or(part.len())).unwrap_or(part);
        let alike = self.secrets.entry(first.to_owned()).or_default();
        if !alike.iter().any(|(name, _)| name == part) {
            alike.push((part.to_owned(), pseudonym.to_owned()));
            alike.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        }
    }

    /// Redacts a word of a command line. `own` means linespeed's own command line, whose options are not replaced.
    fn word(&mut self, word: &str, first: bool, own: bool) -> String {
        if own {
            let base = word.rsplit('/').next().unwrap_or_default();
            if base == PROGRAM {
                return base.to_owned();
            }
            if is_own(word) {
                return word.to_owned();
            }
            if let Some(option) = word.strip_prefix('-') {
                let Some((name, value)) = option.split_once('=').filter(|(_, value)| !is_own(value)) else {
                    return word.to_owned();
                };
                return format!("-{name}={}", self.of(Kind::Argument, value));
            }
        } else if matches!(word, "--" | BETWEEN) {
            return word.to_owned();
        }
        if let Some((name, value)) =
            word.split_once('=').filter(|(name, value)| !own && !name.is_empty() && !value.is_empty())
        {
            // Sentences may quote the name or the value separately.
            let whole = self.of(Kind::Argument, word);
            self.hide(Kind::Argument, value, &whole);
            self.hide(Kind::Argument, name.trim_start_matches('-'), &whole);
            return whole;
        }
        self.of(if first { Kind::Command } else { Kind::Argument }, word)
    }

    fn argv(&mut self, words: &[Value], own: bool) -> Vec<Value> {
        let (mut own, mut first) = (own, !own);
        let mut redacted = Vec::with_capacity(words.len());
        for word in words.iter().map(|word| word.as_str().unwrap_or_default()) {
            redacted.push(Value::from(self.word(word, first, own)));
            first = own && word == "--" || !own && word == BETWEEN;
            own &= word != "--";
        }
        redacted
    }

    /// A sentence without names.
    pub fn sentence(&mut self, text: &str) -> String {
        // Words that look like names are replaced even if no field contains them.
        for word in text.split(|c: char| !c.is_alphanumeric() && !"_./:@%+~=-".contains(c)) {
            for part in word.trim_end_matches(['.', ':', ',']).split('=') {
                match part {
                    _ if is_in_a_home(part) => drop(self.of(Kind::Path, part)),
                    _ if is_address(part) => drop(self.of(Kind::Address, part)),
                    _ if part.contains('@') => drop(self.of(Kind::User, part)),
                    _ => {}
                }
            }
        }
        self.without_names(text)
    }

    /// A text without the names that occur in it as separate words (`server-7-20260102T010000Z.json`, `/srv/server/log`); at each position the
    /// longest name is replaced.
    fn without_names(&self, text: &str) -> String {
        let edges = edges(text);
        let mut redacted = String::with_capacity(text.len());
        let mut at = 0;
        while let (Some(start), Some(next)) = (edges.get(at), edges.get(at + 1)) {
            let (rest, piece) =
                (text.get(*start..).unwrap_or_default(), text.get(*start..*next).unwrap_or_default());
            let mut alike = self.secrets.get(piece).into_iter().flatten();
            let found = alike.find_map(|(name, pseudonym)| {
                let end =
                    rest.starts_with(name.as_str()).then(|| edges.binary_search(&(start + name.len())).ok());
                Some((end.flatten()?, pseudonym))
            });
            let (end, shown) = found.map_or((at + 1, piece), |(end, pseudonym)| (end, pseudonym.as_str()));
            redacted.push_str(shown);
            at = end;
        }
        redacted
    }
}

/// Positions in a word at which a name may begin or end: all except those between two letters, digits or underscores.
fn edges(word: &str) -> Vec<usize> {
    let joins = |c: char| c.is_alphanumeric() || c == '_';
    let mut before = None;
    let mut edges = Vec::new();
    for (at, c) in word.char_indices() {
        if !before.is_some_and(joins) || !joins(c) {
            edges.push(at);
        }
        before = Some(c);
    }
    edges.push(word.len());
    edges
}

/// A word of linespeed's own command line that is not a name: `--`, `latency`, `5s`, `slower:5%`, `load.latency`.
fn is_own(word: &str) -> bool {
    let part = |part: &str| is_own_word(part) || is_figure(part) || crate::metrics::find(part).is_some();
    word == "--" || !is_address(word) && word.split([',', ':']).all(part)
}

/// A number, a time, a share, a list of CPUs.
fn is_figure(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
        && word.len() <= 12
        && !is_address(word)
        && word
            .trim_end_matches(|c: char| c.is_alphabetic() || c == '%')
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
    /// The record without names. Results, settings and hardware remain unchanged. Texts about alternating commands are
    /// removed, because they contain many names and can be recomputed from the results.
    ///
    /// # Errors
    ///
    /// The record cannot be represented as JSON, the form in which names are searched for.
    pub fn redacted(&self, pseudonyms: &mut Pseudonyms) -> io::Result<Self> {
        let renamed = in_turn::rename(self, &mut |name| pseudonyms.of(Kind::Command, name));
        pseudonyms.redact(renamed.as_ref().unwrap_or(self), "")
    }
}

impl Pseudonyms {
    /// The part of a record at this path (`.machine`), without names.
    ///
    /// # Errors
    ///
    /// The part cannot be represented as JSON, the form in which names are searched for.
    pub fn redact<T: Serialize + DeserializeOwned>(&mut self, part: &T, at: &str) -> io::Result<T> {
        Ok(serde_json::from_value(self.redacted_value(serde_json::to_value(part)?, at))?)
    }

    fn redacted_value(&mut self, mut value: Value, at: &str) -> Value {
        // Fields that contain only a name are replaced first, then texts that quote names.
        walk(&mut value, &mut at.to_owned(), &mut |text, holds| self.name(text, holds));
        walk(&mut value, &mut at.to_owned(), &mut |text, holds| self.quote(text, holds));
        value
    }

    fn name(&mut self, value: &mut Value, holds: Holds) {
        match (holds, &mut *value) {
            (Name(kind), Value::String(text)) => *text = self.of(kind, text),
            (BuildLine, Value::String(text)) => *text = without_builder(text),
            (Own | Argv, Value::Array(words)) => *words = self.argv(words, holds == Own),
            _ => {}
        }
    }

    fn quote(&mut self, value: &mut Value, holds: Holds) {
        if let (Sentence, Value::String(text)) = (holds, value) {
            *text = self.sentence(text);
        }
    }
}

/// A build line without the user and the host that built the kernel: `Linux version 6.1.0 (user@host) (gcc …) #1 SMP`.
fn without_builder(line: &str) -> String {
    let hide = |word: &str| if word.contains('@') { "(hidden)".to_owned() } else { word.to_owned() };
    line.split(' ').map(hide).collect::<Vec<_>>().join(" ")
}

/// Passes every text and its declared kind to `each`; a command line is passed as one list.
fn walk(value: &mut Value, path: &mut String, each: &mut dyn FnMut(&mut Value, Holds)) {
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
