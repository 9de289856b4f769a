//! dmidecode: the text of any version, whole or searched with grep, its bytes (`-u`), and the table that `--dump-bin` writes.

mod dump;
mod raw;
mod structure;

use std::collections::BTreeSet;

use machine::smbios::Populated;
use record::import::Origin;

use crate::facts::{self, Fact};
use crate::line::Line;
use crate::scan;
use crate::sink::Sink;
use crate::tool::{Command, Fit, Reader, Tool};

use raw::{Raw, RawTable};
use structure::Structure;

pub(crate) use dump::{DUMP_MARK, LONGEST_DUMP, dump, is_dump};

/// The structures that are read, by their type and title.
const TITLES: &[(u32, &str)] = &[
    (0, "BIOS Information"),
    (1, "System Information"),
    (2, "Base Board Information"),
    (4, "Processor Information"),
    (7, "Cache Information"),
    (16, "Physical Memory Array"),
    (17, "Memory Device"),
];

/// The type of the structure that a line begins, and its handle; a title has none (`-q` prints no handles).
fn begins(text: &str) -> Option<(Option<u32>, u32)> {
    if let Some(rest) = text.strip_prefix("Handle 0x") {
        let (handle, rest) = rest.split_once(',')?;
        let kind = rest.trim().strip_prefix("DMI type ")?;
        let digits: String = kind.chars().take_while(char::is_ascii_digit).collect();
        let handle = u16::from_str_radix(handle, 16).ok()?;
        return Some((Some(handle.into()), digits.parse().ok()?));
    }
    TITLES.iter().find(|(_, title)| *title == text).map(|(kind, _)| (None, *kind))
}

/// What a command line asks for: `-t memory`, `-t 17`, `--type processor`.
fn asked(command: &Command) -> Option<u32> {
    let own = command.text.split('|').next()?;
    let mut words = own.split(['=', ' ']).skip_while(|word| !word.ends_with("dmidecode"));
    let option = words.find(|word| word.starts_with("-t") || *word == "--type")?;
    let kind = option.strip_prefix("-t").filter(|kind| !kind.is_empty()).or_else(|| words.next())?;
    match kind.trim_matches(['"', '\'']) {
        "memory" | "17" => Some(17),
        "processor" | "4" => Some(4),
        "system" | "1" => Some(1),
        _ => None,
    }
}

/// dmidecode.
pub(crate) const DMIDECODE: Tool = Tool { name: "dmidecode", opens, reader };

fn opens(line: Line, command: Option<&Command>) -> bool {
    let text = line.text.trim();
    if text.starts_with("# dmidecode ") || matches!(begins(text), Some((Some(_), _))) {
        return true;
    }
    let title = begins(text).is_some();
    // Lines that grep let through have no structure above them.
    let field = command.is_some_and(|c| c.text.contains('|') && asked(c).is_some()) && text.contains(": ");
    title || field
}

fn reader(command: Option<&Command>) -> Box<dyn Reader> {
    let searched = command.filter(|command| command.text.contains('|')).and_then(asked);
    Box::new(Text { searched, ..Text::default() })
}

#[derive(Default)]
struct Text {
    /// The type of the structures that single lines without a head are of.
    searched: Option<u32>,
    structure: Option<Structure>,
    /// Handles of arrays that are no system memory.
    arrays: BTreeSet<String>,
    /// Handles of the memory arrays, memory devices and processors that have been read.
    seen: BTreeSet<u32>,
    /// Slots of all arrays.
    slots: u32,
    /// A structure has been read.
    closed: bool,
    /// The line that begins a whole output.
    head: Option<Origin>,
    /// The processors so far.
    populated: Populated,
    /// The line of the first array.
    array: Option<Origin>,
    /// What `-u` prints.
    raw: RawTable,
    /// Arrays of system memory that were seen, and those that devices name.
    memory: (BTreeSet<String>, BTreeSet<String>),
}

/// What stands above the table.
const PREAMBLE: &str = "Getting SMBIOS data|SMBIOS |Legacy DMI|Scanning /dev/mem|Reading SMBIOS|Table at|Using SMBIOS|\
    /dev/mem: |/sys/firmware/dmi/tables/|Can't read memory";

/// Most slots that are believed of one array.
const MOST_SLOTS: u32 = machine::smbios::MAX_DEVICES as u32;
/// Fields kept of one structure; the longest list (a processor's features) is not kept.
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
            return Fit::Taken;
        }
        match begins(text) {
            Some((Some(handle), kind)) => {
                self.close(sink);
                self.structure = Some(Structure::new(kind, Some(handle), None));
                return Fit::Taken;
            }
            Some((None, kind)) => {
                let title = Some((line.number, text.to_owned()));
                match &mut self.structure {
                    Some(open) if open.title.is_none() && open.kind == kind => open.title = title,
                    _ => {
                        self.close(sink);
                        self.structure = Some(Structure::new(kind, None, title));
                    }
                }
                return Fit::Taken;
            }
            None => {}
        }
        if text.starts_with('#') {
            let comment = text.trim_start_matches('#').trim();
            let known = "SMBIOS implementations newer|fully supported by this version";
            return if scan::begins(comment, known) { Fit::Taken } else { Fit::Between };
        }
        if self.bytes(text, line, sink) {
            return Fit::Taken;
        }
        if self.structure.is_none() && self.searched.is_none() {
            let known = scan::begins(text, PREAMBLE) || text.contains("structures occupying");
            return if known { Fit::Taken } else { Fit::Over };
        }
        self.field(text, line, sink)
    }

    fn end(&mut self, sink: &mut Sink) {
        self.close(sink);
        std::mem::take(&mut self.raw).end(sink);
        let slots = &mut sink.draft.machine.memory_slots;
        // Of an array that devices name the number of slots is missing.
        let all = self.memory.0.is_empty() || self.memory.1.is_subset(&self.memory.0);
        *slots = (*slots).max((self.slots > 0 && all).then_some(self.slots));
        if let Some(origin) = self.array.take().filter(|_| all) {
            sink.draft.facts.slots.push(Fact { value: self.slots, origin });
        }
        // An excerpt has no head.
        if let Some(origin) = self.head.take().filter(|_| self.populated.sockets > 0) {
            sink.draft.facts.populated.push(Fact { value: self.populated, origin });
        }
        machine::smbios::place(&mut sink.draft.machine.memory_devices);
    }
}

impl Text {
    /// A line of what `-u` prints of a structure.
    fn bytes(&mut self, text: &str, line: Line, sink: &Sink) -> bool {
        let Some(open) = &mut self.structure else { return false };
        if open.title.is_some() {
            return false;
        }
        if text == "Header and Data:" {
            // A second time in one structure is another's, whose head is missing.
            let head = open.handle.filter(|_| !open.begun).map(|handle| (handle, open.kind));
            open.begun = true;
            if let Some((raw, origin)) = open.raw.replace((Raw::new(head), sink.origin(line))) {
                self.raw.close(&raw, origin);
            }
            return true;
        }
        match &mut open.raw {
            Some((raw, _)) => raw.line(text),
            None if open.begun || raw::hex(text).is_none() => return false,
            None => self.raw.lose(Some(open.kind)),
        }
        true
    }

    fn field(&mut self, text: &str, line: Line, sink: &mut Sink) -> Fit {
        let indented = line.text.starts_with([' ', '\t']);
        let Some((key, value)) = text.split_once(':') else {
            // Geekbench has such titles, too.
            if self.structure.as_ref().is_some_and(|s| s.handle.is_none() && !s.begun) {
                return Fit::Over;
            }
            // An entry of a list (`Multi-Core`), or the title of a structure that is not read.
            return if indented || self.structure.as_ref().is_some_and(|s| s.title.is_none()) {
                Fit::Taken
            } else {
                Fit::Between
            };
        };
        let key = key.trim();
        let value = facts::strip_comment(value);
        let a_key = key.len() <= 40 && key.is_ascii() && key.starts_with(|c: char| c.is_ascii_uppercase());
        let searched = self.searched;
        if !a_key || !indented && searched.is_none() && !scan::is_one_of(key, KEYS) {
            return Fit::Between;
        }
        let repeated = |open: &Structure| {
            open.title.is_none() && open.handle.is_none() && open.fields.iter().any(|(name, _)| name == key)
        };
        if let Some(kind) = searched
            && self.structure.as_ref().is_none_or(repeated)
        {
            self.close(sink);
            self.structure = Some(Structure::new(kind, None, None));
        }
        if let Some(open) = &mut self.structure {
            open.begun = true;
        }
        if let Some(open) = &mut self.structure
            && open.fields.len() < MOST_FIELDS
            && open.keeps(key)
        {
            let fact = Fact { value: value.to_owned(), origin: sink.origin(line) };
            open.fields.push((key.to_owned(), fact));
        }
        Fit::Taken
    }

    fn close(&mut self, sink: &mut Sink) {
        let Some(mut structure) = self.structure.take() else { return };
        self.closed = true;
        if let Some((raw, origin)) = structure.raw.take() {
            return self.raw.close(&raw, origin);
        }
        if let Some(handle) = structure.handle.filter(|_| matches!(structure.kind, 4 | 16 | 17)) {
            // The same table twice in one output.
            if !self.seen.insert(handle) {
                return;
            }
        }
        match structure.kind {
            0 => {
                sink.draft.machine.system.firmware =
                    structure.joined(&["Vendor", "Version", "Release Date"], "machine.system.firmware", sink)
            }
            1 => {
                sink.draft.machine.system.vendor =
                    structure.text("Manufacturer", "machine.system.vendor", sink).map(|t| t.value);
                sink.draft.machine.system.product =
                    structure.text("Product Name", "machine.system.product", sink).map(|t| t.value);
            }
            2 => {
                sink.draft.machine.system.board =
                    structure.joined(&["Manufacturer", "Product Name"], "machine.system.board", sink)
            }
            4 => {
                if let Some((cores, threads)) = structure.socket(sink) {
                    self.populated = self.populated.and(cores, threads);
                }
            }
            16 => {
                if structure.get("Use").is_none_or(|used| used.value == "System Memory") {
                    self.memory.0.extend(structure.handle.map(|handle| format!("0x{handle:04X}")));
                    let count =
                        structure.number("Number Of Devices", "").filter(|count| count.value <= MOST_SLOTS);
                    if let Some(count) = count {
                        self.array.get_or_insert_with(|| count.origin.clone());
                        sink.note_at("machine.memory_slots", count.origin);
                        self.slots += count.value;
                    }
                } else if let Some(handle) = structure.handle {
                    self.arrays.insert(format!("0x{handle:04X}"));
                }
            }
            17 => {
                let other =
                    structure.get("Array Handle").is_some_and(|handle| self.arrays.contains(&handle.value));
                if !other {
                    self.memory.1.extend(structure.get("Array Handle").map(|handle| handle.value.clone()));
                    structure.device(sink);
                }
            }
            _ => {}
        }
    }
}

/// Keys that are believed without indentation, as where a mail or a page lost it.
const KEYS: &str = "Array Handle|Error Information Handle|Total Width|Data Width|Size|Form Factor|Set|Locator|Bank Locator|\
    Type|Type Detail|Speed|Manufacturer|Serial Number|Asset Tag|Part Number|Rank|Configured Clock Speed|\
    Configured Memory Speed|Minimum Voltage|Maximum Voltage|Configured Voltage|Memory Technology|Version|\
    Socket Designation|Family|ID|Voltage|External Clock|Max Speed|Current Speed|Status|Upgrade|Core Count|\
    Core Enabled|Thread Count|Product Name|Vendor|Release Date";

#[cfg(test)]
mod tests;
