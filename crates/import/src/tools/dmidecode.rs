//! dmidecode: the text of any version, complete or filtered by grep, the bytes printed by `-u`, and the table written by `--dump-bin`.

mod bytes;

use std::collections::{BTreeMap, BTreeSet};

use machine::smbios::Populated;
use record::import::Origin;
use record::machine::System;

use super::memory::{self, Listed};
use crate::facts::{self, Fact, Socket};
use crate::reading::*;

use bytes::{Raw, RawTable};

pub(crate) use bytes::{dump, is_dump};

/// The types of the structures to read, with their titles.
fn titles() -> impl Iterator<Item = (u32, &'static str)> {
    memory::rows("title").filter_map(|[_, title, kind, _]| Some((kind.parse().ok()?, title)))
}

/// A field of [`System`]: the type of the structure, the labels of the values, the field's path in the record, and the field itself.
type SystemRow = (u32, &'static [&'static str], &'static str, fn(&mut System) -> &mut Option<String>);
const SYSTEM: &[SystemRow] = &[
    (0, &["Vendor", "Version", "Release Date"], "machine.system.firmware", |system| &mut system.firmware),
    (1, &["Manufacturer"], "machine.system.vendor", |system| &mut system.vendor),
    (1, &["Product Name"], "machine.system.product", |system| &mut system.product),
    (2, &["Manufacturer", "Product Name"], "machine.system.board", |system| &mut system.board),
];

/// The type of the structure that begins at a line, and its handle; a title has no handle (`-q` does not print any).
fn begins(text: &str) -> Option<(Option<u32>, u32)> {
    if let Some(rest) = text.strip_prefix("Handle 0x") {
        let (handle, rest) = rest.split_once(',')?;
        let kind = rest.trim().strip_prefix("DMI type ")?.split([',', ' ']).next()?;
        return Some((Some(u16::from_str_radix(handle, 16).ok()?.into()), kind.parse().ok()?));
    }
    text.starts_with(|c: char| c.is_ascii_uppercase()).then_some(())?;
    titles().find(|(_, title)| *title == text).map(|(kind, _)| (None, kind))
}

/// The type of the structures that a command filters with grep, as in `dmidecode -t 17 | grep Speed`.
fn searched(command: &Command) -> Option<u32> {
    let (own, _) = command.text.split_once('|')?;
    let mut words = own.split(['=', ' ']).skip_while(|word| !word.ends_with("dmidecode"));
    let option = words.find(|word| word.starts_with("-t") || *word == "--type")?;
    let kind = option.strip_prefix("-t").filter(|kind| !kind.is_empty()).or_else(|| words.next())?;
    let kinds = [("memory", 17), ("17", 17), ("processor", 4), ("4", 4), ("system", 1), ("1", 1)];
    scan::find(&kinds, kind.trim_matches(['"', '\'']))
}

/// dmidecode.
pub(crate) const DMIDECODE: Tool = Tool {
    name: "dmidecode",
    opens: |line, command| {
        let text = line.text.trim();
        // Lines selected by grep have no structure header above them.
        let field = || text.contains(": ") && command.is_some_and(|command| searched(command).is_some());
        text.starts_with("# dmidecode ") || begins(text).is_some() || field()
    },
    reader: |command| Box::new(Text { searched: command.and_then(searched), ..Text::default() }),
};

/// The current structure.
#[derive(Clone, Default)]
struct Structure {
    kind: u32,
    handle: Option<u32>,
    titled: bool,
    /// Whether a line with a field has been read.
    begun: bool,
    fields: Vec<(String, Fact<String>)>,
    /// The structure's bytes from `-u`, and their first line.
    raw: Option<(Raw, Origin)>,
}

impl Structure {
    fn get(&self, key: &str) -> Option<&Fact<String>> {
        self.fields.iter().find(|(name, _)| name == key).map(|(_, fact)| fact)
    }

    fn is(&self, key: &str, value: &str) -> bool {
        self.get(key).is_none_or(|fact| fact.value == value)
    }

    /// Identifies a structure that may occur twice: its handle, which `-q` omits, and the slot of a memory device.
    fn keys(&self) -> Vec<String> {
        let part = |key| memory::meaningful(&self.get(key)?.value);
        let slot = || Some(part("Locator")? + "\n" + &part("Bank Locator")?);
        let handle =
            self.handle.filter(|_| matches!(self.kind, 4 | 16 | 17)).map(|handle| handle.to_string());
        handle.into_iter().chain(slot()).collect()
    }

    fn count(&self, key: &str) -> Option<u32> {
        memory::number(&self.get(key)?.value, "")
    }

    /// A meaningful text.
    fn text(&self, key: &str, path: &str, sink: &mut Sink) -> Option<Fact<String>> {
        let fact = self.get(key)?;
        let value = memory::meaningful(&fact.value)?;
        sink.note_at(path, fact.origin.clone());
        Some(Fact { value, origin: fact.origin.clone() })
    }

    /// The clock of a processor.
    fn hz(&self, sink: &mut Sink) -> Option<Fact<u64>> {
        const PATH: &str = "machine.processor.base_hz";
        let fact = self.get("Current Speed")?;
        let hz = facts::parse_mhz(&fact.value).filter(|_| memory::number(&fact.value, "MHz").is_some());
        if hz.is_none() {
            memory::lose(PATH, &fact.value, fact.origin.clone(), sink);
        }
        hz.map(|value| Fact { value, origin: fact.origin.clone() })
    }
}

#[derive(Default)]
struct Text {
    /// The type of the structures to which single lines without a header belong.
    searched: Option<u32>,
    structure: Option<Structure>,
    /// The memory arrays, memory devices and processors read so far, by their [`Structure::keys`].
    seen: BTreeMap<String, Structure>,
    /// Memory arrays by their handles, each with its number of slots if it is an array of system memory.
    arrays: BTreeMap<String, Option<u32>>,
    /// Handles of the arrays to which devices refer.
    named: BTreeSet<String>,
    /// The line of the first array of system memory.
    array: Option<Origin>,
    /// Whether a structure has been read.
    closed: bool,
    /// The first line of a complete output.
    head: Option<Origin>,
    /// The processors counted so far.
    populated: Populated,
    /// The bytes from `-u`.
    raw: RawTable,
}

/// Lines above the table.
const PREAMBLE: &str = "Getting SMBIOS data|SMBIOS |Legacy DMI|Scanning /dev/mem|Reading SMBIOS|Table at|Using SMBIOS|\
    /dev/mem: |/sys/firmware/dmi/tables/|Can't read memory|# SMBIOS implementations newer|# fully supported by this version";

/// Maximum accepted number of slots in one array.
const MOST_SLOTS: u32 = machine::smbios::MAX_DEVICES as u32;
/// Maximum number of fields saved from one structure.
const MOST_FIELDS: usize = 64;

impl Reader for Text {
    fn line(&mut self, line: Line, sink: &mut Sink) -> Fit {
        let text = line.text.trim();
        if text.is_empty() {
            return Fit::Between;
        }
        if let Some(version) = text.strip_prefix("# dmidecode ") {
            if self.structure.is_some() || self.closed {
                return Fit::Over;
            }
            sink.version(version.trim());
            self.head = Some(sink.origin(line));
        } else if let Some((handle, kind)) = begins(text) {
            let open =
                self.structure.as_mut().filter(|open| handle.is_none() && !open.titled && open.kind == kind);
            if let Some(open) = open {
                open.titled = true;
            } else {
                self.close(sink);
                let titled = handle.is_none();
                self.structure = Some(Structure { kind, handle, titled, ..Structure::default() });
            }
        } else if self.bytes(text, line, sink)
            || scan::begins(text, PREAMBLE)
            || text.contains("structures occupying")
        {
        } else if text.starts_with('#') {
            return Fit::Between;
        } else {
            return self.field(text, line, sink);
        }
        Fit::Taken
    }

    fn end(&mut self, sink: &mut Sink) {
        self.close(sink);
        std::mem::take(&mut self.raw).end(sink);
        // If an array to which devices refer is missing from the output, the total number of slots is unknown.
        let all = self.arrays.is_empty() || self.named.iter().all(|name| self.arrays.contains_key(name));
        if let Some(origin) = self.array.take().filter(|_| all) {
            let value = self.arrays.values().flatten().sum();
            sink.draft.machine.memory_slots = sink.draft.machine.memory_slots.max(Some(value));
            sink.draft.facts.slots.push(Fact { value, origin });
        }
        // An excerpt has no header line.
        if let Some(origin) = self.head.take().filter(|_| self.populated.sockets > 0) {
            sink.draft.facts.populated.push(Fact { value: self.populated, origin });
        }
        machine::smbios::place(&mut sink.draft.machine.memory_devices);
    }
}

impl Text {
    /// Reads a line that belongs to the bytes of a structure, as printed by `-u`.
    fn bytes(&mut self, text: &str, line: Line, sink: &Sink) -> bool {
        let Some(open) = self.structure.as_mut().filter(|open| !open.titled) else { return false };
        match &mut open.raw {
            // A second block of bytes belongs to another structure, whose header is missing.
            Some((raw, _)) => raw.line(text),
            None if text == "Header and Data:" => open.raw = Some((Raw::default(), sink.origin(line))),
            // The title of a structure whose type is not read.
            None if !line.text.starts_with([' ', '\t']) && !text.contains(':') => open.titled = true,
            None if open.begun || bytes::hex(text).is_none() => return false,
            None => self.raw.close(None, 0, open.kind, sink.origin(line)),
        }
        true
    }

    fn field(&mut self, text: &str, line: Line, sink: &mut Sink) -> Fit {
        let indented = line.text.starts_with([' ', '\t']);
        let is_read = |kind: u32| titles().any(|(known, _)| known == kind);
        let Some((key, value)) = scan::pair(text) else {
            return match &self.structure {
                None => Fit::Over,
                // Geekbench also prints such titles.
                Some(open) if open.handle.is_none() && !open.begun => Fit::Over,
                // An entry of a list (`Multi-Core`), or a field that is not read.
                Some(open) if indented || !is_read(open.kind) => Fit::Taken,
                Some(_) => Fit::Between,
            };
        };
        let a_key = key.len() <= 48 && key.is_ascii() && key.starts_with(|c: char| c.is_ascii_uppercase());
        if self.structure.is_none() && self.searched.is_none() {
            return Fit::Over;
        }
        if indented && self.structure.as_ref().is_some_and(|open| !is_read(open.kind)) {
            return Fit::Taken;
        }
        if !a_key || !indented && self.searched.is_none() {
            return Fit::Between;
        }
        let again = |open: &Structure| !open.titled && open.handle.is_none() && open.get(key).is_some();
        if let Some(kind) = self.searched.filter(|_| self.structure.as_ref().is_none_or(again)) {
            self.close(sink);
            self.structure = Some(Structure { kind, ..Structure::default() });
        }
        if let Some(open) = &mut self.structure {
            open.begun = true;
            if open.fields.len() < MOST_FIELDS {
                let value = facts::strip_comment(value).to_owned();
                open.fields.push((key.to_owned(), Fact { value, origin: sink.origin(line) }));
            }
        }
        Fit::Taken
    }

    fn close(&mut self, sink: &mut Sink) {
        let Some(structure) = self.structure.take() else { return };
        self.closed = true;
        let kind = structure.kind;
        if let Some((raw, origin)) = structure.raw {
            return self.raw.close(Some(&raw), structure.handle.unwrap_or(u32::MAX), kind, origin);
        }
        // The same table may occur twice in one output. A memory device of another machine may have the same handle or slot.
        let is_same = |known: &&Structure| known.handle.zip(structure.handle).is_none_or(|(a, b)| a == b);
        let keys = structure.keys();
        if let Some(before) = keys.iter().find_map(|key| self.seen.get(key).filter(is_same)) {
            let both = structure.fields.iter().filter_map(|(key, fact)| Some([before.get(key)?, fact]));
            let differs = both.into_iter().find(|[known, fact]| kind == 17 && known.value != fact.value);
            // Some firmware has one name for all slots.
            if differs.is_some() || before.handle.or(structure.handle).is_some() || self.seen.len() > 1 {
                let clash = &mut sink.draft.facts.clash;
                *clash = clash.take().or(differs.map(|both| both.map(|fact| fact.origin.clone())));
                return;
            }
        }
        self.seen.extend(keys.into_iter().map(|key| (key, structure.clone())));
        match kind {
            4 => self.processor(&structure, sink),
            16 => {
                let own = structure.is("Use", "System Memory");
                let slots = structure.count("Number Of Devices").filter(|count| own && *count <= MOST_SLOTS);
                if let Some(fact) = structure.get("Number Of Devices").filter(|_| slots.is_some()) {
                    self.array.get_or_insert_with(|| fact.origin.clone());
                    sink.note_at("machine.memory_slots", fact.origin.clone());
                }
                if slots.is_some() || !own {
                    let number = self.arrays.len();
                    let handle = structure.handle.map(|handle| format!("0x{handle:04X}"));
                    self.arrays.insert(handle.unwrap_or_else(|| format!("array {number}")), slots);
                }
            }
            17 => {
                let array = structure.get("Array Handle").map(|fact| fact.value.clone());
                if array.as_ref().is_some_and(|array| self.arrays.get(array) == Some(&None)) {
                    return;
                }
                self.named.extend(array);
                let mut listed = Listed::default();
                for [_, label, field, how] in memory::rows("dmidecode") {
                    if let Some(fact) = structure.get(label) {
                        listed.take(field, how, &fact.value, fact.origin.clone(), sink);
                    }
                }
                listed.push(sink);
            }
            _ => {
                for (_, keys, path, field) in SYSTEM.iter().filter(|row| row.0 == kind) {
                    let parts = keys.iter().filter_map(|key| Some(structure.text(key, path, sink)?.value));
                    let parts: Vec<String> = parts.collect();
                    if !parts.is_empty() {
                        *field(&mut sink.draft.machine.system) = Some(parts.join(" "));
                    }
                }
            }
        }
    }

    /// A processor. Populated sockets are counted if their structures are complete.
    fn processor(&mut self, structure: &Structure, sink: &mut Sink) {
        let empty = structure.get("Status").is_some_and(|status| status.value.starts_with("Unpopulated"));
        if empty || !structure.is("Type", "Central Processor") {
            return;
        }
        let name = structure.text("Version", "machine.processor.firmware_name", sink);
        let hz = structure.hz(sink);
        sink.draft.facts.sockets.push(Socket { name, hz, whole: structure.titled });
        if structure.titled {
            let cores = structure.count("Core Enabled").or(structure.count("Core Count"));
            self.populated = self.populated.and(cores, structure.count("Thread Count"));
        }
    }
}

#[cfg(test)]
mod tests;
