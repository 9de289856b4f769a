//! dmidecode: the text of any version, whole or searched with grep, and the table that `--dump-bin` writes.

mod dump;

use std::collections::BTreeSet;

use record::import::Origin;
use record::machine::MemoryDevice;

use crate::facts::{self, Fact, Socket};
use crate::line::Line;
use crate::numbers;
use crate::sink::Sink;
use crate::tool::{Command, Fit, Reader, Tool};

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
    let mut words = command.text.split_whitespace();
    words.find(|word| word.ends_with("dmidecode"))?;
    while let Some(word) = words.next() {
        let kind = match word {
            "-t" | "--type" => words.next()?,
            "|" => return None,
            word => match word.strip_prefix("-t").or_else(|| word.strip_prefix("--type=")) {
                Some(kind) => kind,
                None => continue,
            },
        };
        return match kind.trim_matches(['"', '\'']) {
            "memory" | "17" => Some(17),
            "processor" | "4" => Some(4),
            "system" | "1" => Some(1),
            _ => None,
        };
    }
    None
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
    let kind = command.filter(|command| command.text.contains('|')).and_then(asked);
    Box::new(Text {
        searched: kind,
        structure: None,
        arrays: BTreeSet::new(),
        seen: BTreeSet::new(),
        slots: 0,
        memory: Default::default(),
        closed: false,
        array: None,
    })
}

/// A structure that is being read.
struct Structure {
    kind: u32,
    handle: Option<u32>,
    title: Option<(u64, String)>,
    /// A line that is a field's has followed.
    begun: bool,
    fields: Vec<(String, Fact<String>)>,
}

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
    /// The line of the first array.
    array: Option<Origin>,
    /// Arrays of system memory that were seen, and those that devices name.
    memory: (BTreeSet<String>, BTreeSet<String>),
}

/// The fields that are read of some structure.
const READ: &[&str] = &[
    "Array Handle",
    "Bank Locator",
    "Configured Clock Speed",
    "Configured Memory Speed",
    "Current Speed",
    "Data Width",
    "Form Factor",
    "Locator",
    "Manufacturer",
    "Number Of Devices",
    "Part Number",
    "Product Name",
    "Rank",
    "Release Date",
    "Size",
    "Speed",
    "Status",
    "Type",
    "Use",
    "Vendor",
    "Version",
];

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
            return Fit::Taken;
        }
        match begins(text) {
            Some((Some(handle), kind)) => {
                self.close(sink);
                self.structure = Some(Structure {
                    kind,
                    handle: Some(handle),
                    title: None,
                    begun: false,
                    fields: Vec::new(),
                });
                return Fit::Taken;
            }
            Some((None, kind)) => {
                let title = Some((line.number, text.to_owned()));
                match &mut self.structure {
                    Some(open) if open.title.is_none() && open.kind == kind => open.title = title,
                    _ => {
                        self.close(sink);
                        self.structure =
                            Some(Structure { kind, handle: None, title, begun: false, fields: Vec::new() });
                    }
                }
                return Fit::Taken;
            }
            None => {}
        }
        let preamble = [
            "Getting SMBIOS data",
            "SMBIOS ",
            "Legacy DMI",
            "Scanning /dev/mem",
            "Reading SMBIOS",
            "Table at",
            "Using SMBIOS",
            "/dev/mem: ",
            "/sys/firmware/dmi/tables/",
            "Can't read memory",
            "# No SMBIOS nor DMI entry point",
        ];
        if text.starts_with('#') {
            let known = ["SMBIOS implementations newer", "fully supported by this version"];
            let comment = text.trim_start_matches('#').trim();
            return if known.iter().any(|words| comment.starts_with(words)) {
                Fit::Taken
            } else {
                Fit::Between
            };
        }
        if self.structure.is_none() && self.searched.is_none() {
            let known = preamble.iter().any(|words| text.starts_with(words))
                || text.ends_with("structures occupying")
                || text.contains("structures occupying");
            return if known { Fit::Taken } else { Fit::Over };
        }
        self.field(text, line, sink)
    }

    fn end(&mut self, sink: &mut Sink) {
        self.close(sink);
        let slots = &mut sink.draft.machine.memory_slots;
        // Of an array that devices name the number of slots is missing.
        let all = self.memory.0.is_empty() || self.memory.1.is_subset(&self.memory.0);
        *slots = (*slots).max((self.slots > 0 && all).then_some(self.slots));
        if let Some(origin) = self.array.take().filter(|_| all) {
            sink.draft.facts.slots.push(Fact { value: self.slots, origin });
        }
        machine::smbios::place(&mut sink.draft.machine.memory_devices);
    }
}

impl Text {
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
        if !a_key || !indented && searched.is_none() && !value_of_known(key) {
            return Fit::Between;
        }
        let repeated = |open: &Structure| {
            open.title.is_none() && open.handle.is_none() && open.fields.iter().any(|(name, _)| name == key)
        };
        if let Some(kind) = searched
            && self.structure.as_ref().is_none_or(repeated)
        {
            self.close(sink);
            self.structure =
                Some(Structure { kind, handle: None, title: None, begun: false, fields: Vec::new() });
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
        let Some(structure) = self.structure.take() else { return };
        self.closed = true;
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
            4 => structure.socket(sink),
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
fn value_of_known(key: &str) -> bool {
    const KEYS: &[&str] = &[
        "Array Handle",
        "Error Information Handle",
        "Total Width",
        "Data Width",
        "Size",
        "Form Factor",
        "Set",
        "Locator",
        "Bank Locator",
        "Type",
        "Type Detail",
        "Speed",
        "Manufacturer",
        "Serial Number",
        "Asset Tag",
        "Part Number",
        "Rank",
        "Configured Clock Speed",
        "Configured Memory Speed",
        "Minimum Voltage",
        "Maximum Voltage",
        "Configured Voltage",
        "Memory Technology",
        "Version",
        "Socket Designation",
        "Family",
        "ID",
        "Voltage",
        "External Clock",
        "Max Speed",
        "Current Speed",
        "Status",
        "Upgrade",
        "Core Count",
        "Core Enabled",
        "Thread Count",
        "Product Name",
        "Vendor",
        "Release Date",
    ];
    KEYS.contains(&key)
}

impl Structure {
    /// Whether anybody asks for a field. Of lines that grep let through each counts: one that comes again begins another
    /// structure.
    fn keeps(&self, key: &str) -> bool {
        let known = TITLES.iter().any(|(kind, _)| *kind == self.kind) && READ.contains(&key);
        known || self.handle.is_none() && self.title.is_none()
    }

    fn get(&self, key: &str) -> Option<&Fact<String>> {
        self.fields.iter().find(|(name, _)| name == key).map(|(_, fact)| fact)
    }

    /// A text that says something.
    fn text(&self, key: &str, path: &str, sink: &mut Sink) -> Option<Fact<String>> {
        let fact = self.get(key)?;
        let meaningless =
            fact.value.starts_with('<') || matches!(fact.value.as_str(), "NULL" | "NO DIMM" | "Other");
        let value = machine::system::meaningful_name(&fact.value).filter(|_| !meaningless)?;
        sink.note_at(path, fact.origin.clone());
        Some(Fact { value, origin: fact.origin.clone() })
    }

    fn joined(&self, keys: &[&str], path: &str, sink: &mut Sink) -> Option<String> {
        let parts: Vec<String> =
            keys.iter().filter_map(|key| self.text(key, path, sink)).map(|fact| fact.value).collect();
        (!parts.is_empty()).then(|| parts.join(" "))
    }

    /// A number before a unit, at least 1.
    fn number(&self, key: &str, unit: &str) -> Option<Fact<u32>> {
        let fact = self.get(key)?;
        let (value, rest) = numbers::parse_number(&fact.value)?;
        let fits =
            value.fract() == 0.0 && (1.0..=f64::from(u32::MAX)).contains(&value) && rest.starts_with(unit);
        fits.then(|| Fact { value: value as u32, origin: fact.origin.clone() })
    }

    fn hz(&self, key: &str, path: &str, sink: &mut Sink) -> Option<Fact<u64>> {
        let mhz = self.number(key, "MHz")?;
        if !(1..=10_000).contains(&mhz.value) {
            sink.withhold_at(
                path,
                format!("{} MHz is not a clock that a processor can have", mhz.value),
                mhz.origin,
            );
            return None;
        }
        Some(Fact { value: u64::from(mhz.value) * 1_000_000, origin: mhz.origin })
    }

    fn socket(&self, sink: &mut Sink) {
        let central = self.get("Type").is_none_or(|kind| kind.value == "Central Processor");
        let populated = self.get("Status").is_none_or(|status| !status.value.starts_with("Unpopulated"));
        if !central || !populated {
            return;
        }
        let socket = Socket {
            name: self.text("Version", "machine.processor.firmware_name", sink),
            hz: self.hz("Current Speed", "machine.processor.base_hz", sink),
            whole: self.title.is_some(),
        };
        sink.draft.facts.sockets.push(socket);
    }

    fn device(&self, sink: &mut Sink) {
        let at = sink.draft.machine.memory_devices.len();
        if at >= machine::smbios::MAX_DEVICES {
            let note = format!("memory devices after the first {at} were left out").into();
            if !sink.draft.machine.notes.contains(&note) {
                sink.draft.machine.notes.push(note);
            }
            return;
        }
        let path = |field: &str| format!("machine.memory_devices[{at}].{field}");
        let bytes = self
            .get("Size")
            .and_then(|fact| facts::parse_size(&fact.value))
            .map(|(bytes, _)| bytes)
            .filter(|bytes| *bytes > 0);
        if let (Some(_), Some(fact)) = (bytes, self.get("Size")) {
            sink.note_at(path("bytes"), fact.origin.clone());
        }
        let device = MemoryDevice {
            locator: self.text("Locator", &path("locator"), sink).map(|t| t.value),
            bank: self.text("Bank Locator", &path("bank"), sink).map(|t| t.value),
            bytes,
            kind: self.text("Type", &path("kind"), sink).map(|t| t.value),
            form: self.text("Form Factor", &path("form"), sink).map(|t| t.value),
            rated_mt_s: self.speed(&["Speed"], &path("rated_mt_s"), sink),
            configured_mt_s: self.speed(
                &["Configured Memory Speed", "Configured Clock Speed"],
                &path("configured_mt_s"),
                sink,
            ),
            data_bits: self.number("Data Width", "bits").map(|t| t.value).filter(|bits| *bits < 0xffff),
            ranks: self.number("Rank", "").map(|t| t.value),
            vendor: self.text("Manufacturer", &path("vendor"), sink).map(|t| t.value),
            part: self.text("Part Number", &path("part"), sink).map(|t| t.value),
            channel: None,
            node: None,
        };
        if device != MemoryDevice::default() {
            sink.draft.machine.memory_devices.push(device);
        }
    }

    fn speed(&self, keys: &[&str], path: &str, sink: &mut Sink) -> Option<u32> {
        let fact = keys.iter().find_map(|key| self.get(key))?;
        let (value, rest) = numbers::parse_number(&fact.value)?;
        // The number was always the transfers'; before dmidecode 3.0 its unit was called MHz.
        if !rest.starts_with("MT/s") && !rest.starts_with("MHz") {
            return None;
        }
        if value.fract() != 0.0 || !facts::is_memory_speed(value) {
            let why = format!("{value} MT/s is not a speed that memory has");
            sink.withhold_at(path, why, fact.origin.clone());
            return None;
        }
        sink.note_at(path, fact.origin.clone());
        Some(value as u32)
    }
}

#[cfg(test)]
mod tests;
