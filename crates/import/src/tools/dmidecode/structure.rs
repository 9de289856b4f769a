//! A structure of dmidecode's text, and what its fields tell.

use record::import::Origin;
use record::machine::MemoryDevice;

use super::TITLES;
use super::raw::Raw;
use crate::facts::{self, Fact, Socket};
use crate::numbers;
use crate::scan;
use crate::sink::Sink;

/// A structure that is being read.
pub(super) struct Structure {
    pub(super) kind: u32,
    pub(super) handle: Option<u32>,
    pub(super) title: Option<(u64, String)>,
    /// A line that is a field's has followed.
    pub(super) begun: bool,
    pub(super) fields: Vec<(String, Fact<String>)>,
    /// What `-u` prints of it, and the line where that begins.
    pub(super) raw: Option<(Raw, Origin)>,
}

/// The fields that are read of some structure.
const READ: &str = "Array Handle|Bank Locator|Configured Clock Speed|Configured Memory Speed|Core Count|Core Enabled|\
    Current Speed|Data Width|Form Factor|Locator|Manufacturer|Number Of Devices|Part Number|Product Name|\
    Rank|Release Date|Size|Speed|Status|Thread Count|Type|Use|Vendor|Version";

impl Structure {
    /// One of which only the head was read.
    pub(super) fn new(kind: u32, handle: Option<u32>, title: Option<(u64, String)>) -> Self {
        Self { kind, handle, title, begun: false, fields: Vec::new(), raw: None }
    }

    /// Whether anybody asks for a field. Of lines that grep let through each counts: one that comes again begins another
    /// structure.
    pub(super) fn keeps(&self, key: &str) -> bool {
        let known = TITLES.iter().any(|(kind, _)| *kind == self.kind) && scan::is_one_of(key, READ);
        known || self.handle.is_none() && self.title.is_none()
    }

    pub(super) fn get(&self, key: &str) -> Option<&Fact<String>> {
        self.fields.iter().find(|(name, _)| name == key).map(|(_, fact)| fact)
    }

    /// A text that says something.
    pub(super) fn text(&self, key: &str, path: &str, sink: &mut Sink) -> Option<Fact<String>> {
        let fact = self.get(key)?;
        let meaningless =
            fact.value.starts_with('<') || matches!(fact.value.as_str(), "NULL" | "NO DIMM" | "Other");
        let value = machine::system::meaningful_name(&fact.value).filter(|_| !meaningless)?;
        sink.note_at(path, fact.origin.clone());
        Some(Fact { value, origin: fact.origin.clone() })
    }

    pub(super) fn joined(&self, keys: &[&str], path: &str, sink: &mut Sink) -> Option<String> {
        let parts: Vec<String> =
            keys.iter().filter_map(|key| self.text(key, path, sink)).map(|fact| fact.value).collect();
        (!parts.is_empty()).then(|| parts.join(" "))
    }

    /// Says that a value which begins with a number is not read; `Unknown` and 0 tell nothing.
    fn lose(&self, keys: &[&str], path: &str, sink: &mut Sink) {
        let Some(fact) = keys.iter().find_map(|key| self.get(key)) else { return };
        let value = fact.value.as_str();
        if value.starts_with(|c: char| c.is_ascii_digit())
            && value.contains(|c: char| ('1'..='9').contains(&c))
        {
            let shown: String = value.chars().take(60).collect();
            sink.withhold_at(path, format!("{shown} is not understood"), fact.origin.clone());
        }
    }

    /// A number before a unit, at least 1.
    pub(super) fn number(&self, key: &str, unit: &str) -> Option<Fact<u32>> {
        let fact = self.get(key)?;
        let (value, rest) = numbers::parse_number(&fact.value)?;
        let fits = value.fract() == 0.0 && (1.0..=f64::from(u32::MAX)).contains(&value) && rest == unit;
        fits.then(|| Fact { value: value as u32, origin: fact.origin.clone() })
    }

    pub(super) fn hz(&self, key: &str, path: &str, sink: &mut Sink) -> Option<Fact<u64>> {
        let Some(mhz) = self.number(key, "MHz") else {
            self.lose(&[key], path, sink);
            return None;
        };
        if !(1..=10_000).contains(&mhz.value) {
            let why = format!("{} MHz is not a clock that a processor can have", mhz.value);
            sink.withhold_at(path, why, mhz.origin);
            return None;
        }
        Some(Fact { value: u64::from(mhz.value) * 1_000_000, origin: mhz.origin })
    }

    /// A processor. Of populated sockets that have a title: cores that are enabled, and threads.
    pub(super) fn socket(&self, sink: &mut Sink) -> Option<(Option<u32>, Option<u32>)> {
        let central = self.get("Type").is_none_or(|kind| kind.value == "Central Processor");
        let populated = self.get("Status").is_none_or(|status| !status.value.starts_with("Unpopulated"));
        if !central || !populated {
            return None;
        }
        let socket = Socket {
            name: self.text("Version", "machine.processor.firmware_name", sink),
            hz: self.hz("Current Speed", "machine.processor.base_hz", sink),
            whole: self.title.is_some(),
        };
        sink.draft.facts.sockets.push(socket);
        let count = |key: &str| self.number(key, "").map(|count| count.value);
        self.title.is_some().then(|| (count("Core Enabled").or(count("Core Count")), count("Thread Count")))
    }

    pub(super) fn device(&self, sink: &mut Sink) {
        let at = sink.draft.machine.memory_devices.len();
        if at >= machine::smbios::MAX_DEVICES {
            let note = format!("memory devices after the first {at} were left out").into();
            if !sink.draft.machine.notes.contains(&note) {
                sink.draft.machine.notes.push(note);
            }
            return;
        }
        let path = |field: &str| format!("machine.memory_devices[{at}].{field}");
        let size = self.get("Size").and_then(|fact| Some((facts::parse_size(&fact.value)?.0, fact)));
        let size = size.filter(|(bytes, _)| *bytes > 0);
        match size {
            Some((_, fact)) => sink.note_at(path("bytes"), fact.origin.clone()),
            None => self.lose(&["Size"], &path("bytes"), sink),
        }
        let mut number = |key: &str, unit: &str, field: &str| {
            let number = self.number(key, unit).map(|fact| fact.value);
            if number.is_none() {
                self.lose(&[key], &path(field), sink);
            }
            number
        };
        let bits = number("Data Width", "bits", "data_bits").filter(|bits| *bits < 0xffff);
        let ranks = number("Rank", "", "ranks");
        let mut text = |key: &str, field: &str| self.text(key, &path(field), sink).map(|fact| fact.value);
        let configured = ["Configured Memory Speed", "Configured Clock Speed"];
        let device = MemoryDevice {
            locator: text("Locator", "locator"),
            bank: text("Bank Locator", "bank"),
            bytes: size.map(|(bytes, _)| bytes),
            kind: text("Type", "kind"),
            form: text("Form Factor", "form"),
            vendor: text("Manufacturer", "vendor"),
            part: text("Part Number", "part"),
            rated_mt_s: self.speed(&["Speed"], &path("rated_mt_s"), sink),
            configured_mt_s: self.speed(&configured, &path("configured_mt_s"), sink),
            data_bits: bits,
            ranks,
            channel: None,
            node: None,
        };
        if device != MemoryDevice::default() {
            sink.draft.machine.memory_devices.push(device);
        }
    }

    pub(super) fn speed(&self, keys: &[&str], path: &str, sink: &mut Sink) -> Option<u32> {
        let fact = keys.iter().find_map(|key| self.get(key))?;
        // The number was always the transfers'; before dmidecode 3.0 its unit was called MHz, and its period stood behind it.
        let is_speed =
            |rest: &str| rest.split(' ').next().is_some_and(|unit| ["MT/s", "MHz"].contains(&unit));
        let Some((value, _)) = numbers::parse_number(&fact.value).filter(|(_, rest)| is_speed(rest)) else {
            self.lose(keys, path, sink);
            return None;
        };
        if value.fract() != 0.0 || !facts::is_memory_speed(value) {
            let why = format!("{value} MT/s is not a speed that memory has");
            sink.withhold_at(path, why, fact.origin.clone());
            return None;
        }
        sink.note_at(path, fact.origin.clone());
        Some(value as u32)
    }
}
