//! Memory devices as listed by tools: each format is a table of labels and the corresponding fields.

use std::fmt::Display;

use record::import::Origin;
use record::machine::MemoryDevice;
use serde_json::{Map, Value};

use crate::facts;
use crate::reading::*;
use crate::sink::fill;

/// The rows of one kind in `memory.txt`.
pub(super) fn rows(kind: &'static str) -> impl Iterator<Item = [&'static str; 4]> {
    scan::rows(include_str!("memory.txt")).filter(move |row: &[&str; 4]| row[0] == kind)
}

/// Placeholders written by firmware and tools.
const NOTHING: &str = "NULL|NO DIMM|Other|[Empty]|[empty]";

/// A meaningful text.
pub(super) fn meaningful(value: &str) -> Option<String> {
    machine::system::meaningful_name(value)
        .filter(|_| !value.starts_with('<') && !scan::is_one_of(value, NOTHING))
}

/// A size with a unit, or in bytes as in JSON.
pub(super) fn size(value: &str) -> Option<u64> {
    let bare = || value.parse().ok().filter(|bytes| (1 << 20..1 << 60).contains(bytes));
    facts::parse_size(value).map(|(bytes, _)| bytes).or_else(bare).filter(|bytes| *bytes > 0)
}

/// A whole number before a unit, at least 1.
pub(super) fn number(value: &str, unit: &str) -> Option<u32> {
    let (value, rest) = numbers::parse_number(value)?;
    let fits = value.fract() == 0.0 && (1.0..=f64::from(u32::MAX)).contains(&value);
    (fits && (rest == unit || rest.is_empty())).then_some(value as u32)
}

/// A device in one output: its fields as in a record, and the line from which each was read.
#[derive(Default)]
pub(super) struct Listed {
    fields: Map<String, Value>,
    origins: Vec<(&'static str, Origin)>,
}

impl Listed {
    /// A complete device from a table.
    pub(super) fn of_table(device: &MemoryDevice, origin: Origin) -> Self {
        let fields = serde_json::to_value(device).ok().and_then(|device| device.as_object().cloned());
        Self { fields: fields.unwrap_or_default(), origins: vec![("", origin)] }
    }

    /// Sets a field.
    pub(super) fn set(&mut self, field: &str, value: impl Into<Value>) {
        self.fields.insert(field.to_owned(), value.into());
    }

    /// Records the source of a field.
    pub(super) fn note(&mut self, field: &'static str, origin: Origin) {
        self.origins.push((field, origin));
    }

    /// Reads the value of a field in this format. A value that begins like a number but is not a number is withheld;
    /// `Unknown` and 0 are ignored.
    pub(super) fn take(
        &mut self,
        field: &'static str,
        how: &str,
        value: &str,
        origin: Origin,
        sink: &mut Sink,
    ) {
        let read = match how {
            "text" => {
                let Some(text) = meaningful(value) else { return };
                Some(Value::from(text))
            }
            "bytes" => size(value).map(Value::from),
            "speed" => {
                let is_unit = |rest: &str| matches!(rest.split(' ').next(), Some("MT/s" | "MHz"));
                let speed = numbers::parse_number(value).filter(|(_, rest)| is_unit(rest));
                if let Some((mt_s, _)) = speed.filter(|(mt_s, _)| mt_s.fract() != 0.0 || !is_speed(*mt_s)) {
                    self.fields.remove(field);
                    return withhold_speed(mt_s, field, origin, sink);
                }
                speed.map(|(mt_s, _)| Value::from(mt_s as u32))
            }
            how => {
                let unit = how.strip_prefix("number").unwrap_or_default().trim_start();
                number(value, unit).filter(|number| *number < 0xffff).map(Value::from)
            }
        };
        if read.is_none() {
            lose(&path(field, sink), value, origin, sink);
        } else if !how.starts_with("number") {
            self.note(field, origin);
        }
        self.set(field, read);
    }

    /// Adds a device with known values. A slot that has the same locator as one in an earlier output is the same slot.
    /// If the values differ, the record contains the later ones and reports the difference.
    pub(super) fn push(self, sink: &mut Sink) {
        let Listed { fields, origins } = self;
        let device: MemoryDevice = serde_json::from_value(Value::Object(fields)).unwrap_or_default();
        let all = &mut sink.draft.machine.memory_devices;
        let (before, matched) = &mut sink.draft.devices;
        let earlier = all.iter().take(*before).enumerate();
        let same = earlier.filter(|(at, _)| !matched.contains(at)).find(|(_, known)| is_same(known, &device));
        let at = match same.map(|(at, _)| at) {
            _ if device == MemoryDevice::default() => return,
            None if all.len() >= machine::smbios::MAX_DEVICES => {
                let note = format!("only the first {} memory devices are saved", all.len()).into();
                if !sink.draft.machine.notes.contains(&note) {
                    sink.draft.machine.notes.push(note);
                }
                return;
            }
            None => {
                all.push(device);
                all.len() - 1
            }
            Some(at) => {
                matched.insert(at);
                let says = differs(&all[at], &device);
                let is_other = is_another_device(&all[at], &device);
                // The later device, completed with the fields that only the earlier device has.
                let [later, earlier] =
                    [&device, &all[at]].map(|one| serde_json::to_value(one).unwrap_or_default());
                all[at] = serde_json::from_value(fill(later, earlier)).unwrap_or(device);
                let prefix = format!("machine.memory_devices[{at}]");
                let known = sink.draft.inventory.iter().find(|(path, _)| path.starts_with(&prefix));
                let known = known.map(|(_, origin)| origin.clone());
                let both =
                    || known.clone().into_iter().chain(origins.first().map(|(_, origin)| origin.clone()));
                // A tool always describes the same device in the same way.
                if let [one, other] = both().collect::<Vec<_>>().as_slice()
                    && is_other
                    && one.tool == other.tool
                {
                    sink.draft.facts.clash.get_or_insert([one.clone(), other.clone()]);
                }
                if let Some(says) = says {
                    sink.contradict(says, both().collect());
                }
                at
            }
        };
        for (field, origin) in origins {
            let dot = if field.is_empty() { "" } else { "." };
            sink.note_at(format!("machine.memory_devices[{at}]{dot}{field}"), origin);
        }
    }
}

/// The path of a field in the next device to be added.
pub(super) fn path(field: &str, sink: &Sink) -> String {
    format!("machine.memory_devices[{}].{field}", sink.draft.machine.memory_devices.len())
}

/// Possible memory speeds, MT/s: from the slowest SDRAM to above HBM4 and GDDR7. Firmware reports 32,768 for an unknown
/// speed.
pub(super) fn is_speed(mt_s: f64) -> bool {
    mt_s != 32_768.0 && (10.0..=40_000.0).contains(&mt_s)
}

/// Reports a speed that no memory has.
pub(super) fn withhold_speed(mt_s: impl Display, field: &str, origin: Origin, sink: &mut Sink) {
    sink.withhold_at(path(field, sink), format!("{mt_s} MT/s is not a plausible memory speed"), origin);
}

/// Reports that a value that begins like a number could not be read.
pub(super) fn lose(path: &str, value: &str, origin: Origin, sink: &mut Sink) {
    if value.starts_with(|c: char| c.is_ascii_digit()) && value.contains(|c: char| ('1'..='9').contains(&c)) {
        sink.withhold_at(path, format!("{value:.60} is not understood"), origin);
    }
}

fn is_same(one: &MemoryDevice, other: &MemoryDevice) -> bool {
    let banks = one.bank.is_none() || other.bank.is_none() || one.bank == other.bank;
    one.locator.is_some() && one.locator == other.locator && banks
}

/// Whether two devices in one slot are different devices, rather than the same device with different settings.
fn is_another_device(one: &MemoryDevice, other: &MemoryDevice) -> bool {
    let sizes = one.bytes.zip(other.bytes).is_some_and(|(one, other)| one != other);
    let parts = one.part.as_ref().zip(other.part.as_ref()).is_some_and(|(one, other)| one != other);
    sizes || parts
}

/// The differences between two outputs for one slot.
fn differs(one: &MemoryDevice, other: &MemoryDevice) -> Option<String> {
    let speeds =
        |device: &MemoryDevice| [device.configured_mt_s, device.rated_mt_s].map(|mt_s| mt_s.map(u64::from));
    let (one_speeds, other_speeds) = (speeds(one), speeds(other));
    let both = [
        ("bytes", one.bytes, other.bytes),
        ("MT/s configured", one_speeds[0], other_speeds[0]),
        ("MT/s rated", one_speeds[1], other_speeds[1]),
    ];
    let slot = one.locator.as_deref().unwrap_or_default();
    both.into_iter().find_map(|(what, one, other)| {
        let (one, other) = one.zip(other).filter(|(one, other)| one != other)?;
        Some(format!(
            "{slot} is listed with {one} and later with {other} {what}; the record uses the later output"
        ))
    })
}
