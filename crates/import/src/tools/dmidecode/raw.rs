//! Structures as `dmidecode -u` prints them: their bytes, then each string in bytes and once more as text.

use std::collections::BTreeSet;

use record::import::Origin;

use super::dump;
use crate::sink::Sink;

/// The types of the structures that are read, but for memory devices: of these the first counts, or all together, so that
/// where one is lost the others tell something else.
const COUNTED: [u8; 5] = [0, 1, 2, 4, 16];
const MEMORY_DEVICE: u8 = 17;
/// Where structures of a type have the numbers of their strings (DSP0134, 7).
const STRING_FIELDS: [(u8, &[usize]); 5] = [
    (0, &[0x04, 0x05, 0x08]),
    (1, &[0x04, 0x05, 0x06, 0x07, 0x19, 0x1a]),
    (2, &[0x04, 0x05, 0x06, 0x07, 0x08, 0x0a]),
    (4, &[0x04, 0x07, 0x10, 0x20, 0x21, 0x22]),
    (MEMORY_DEVICE, &[0x10, 0x11, 0x17, 0x18, 0x19, 0x1a, 0x2b]),
];
/// The type of the structure that ends a table, with its handle and no strings.
const END: [u8; 6] = [127, 4, 0xfe, 0xff, 0, 0];
/// Most bytes in a line.
const IN_A_LINE: usize = 16;

/// One structure so far.
#[derive(Debug, Default)]
pub(super) struct Raw {
    /// What its head says: handle and type; `None` where that was lost.
    head: Option<(u32, u32)>,
    data: Vec<u8>,
    /// Each with the zero behind it.
    strings: Vec<u8>,
    /// The bytes of the string that is being read.
    string: Vec<u8>,
    in_strings: bool,
    /// The string has ended, and stands once more as text next.
    awaits_text: bool,
    damaged: bool,
}

impl Raw {
    pub(super) fn new(head: Option<(u32, u32)>) -> Self {
        Self { head, ..Self::default() }
    }

    /// A line that follows `Header and Data:`.
    pub(super) fn line(&mut self, text: &str) {
        if self.awaits_text {
            self.end_string(Some(text));
        } else if text == "Strings:" {
            self.damaged |= std::mem::replace(&mut self.in_strings, true);
        } else if let Some(bytes) = hex(text) {
            if self.in_strings {
                self.of_string(&bytes);
            } else {
                self.data.extend(bytes);
            }
        } else {
            self.damaged = true;
        }
    }

    fn of_string(&mut self, bytes: &[u8]) {
        let ended = bytes.last() == Some(&0);
        let text = if ended { &bytes[..bytes.len() - 1] } else { bytes };
        self.damaged |= text.contains(&0) || !ended && bytes.len() < IN_A_LINE;
        self.string.extend(text);
        self.awaits_text = ended;
        // What nobody sees has no line that could be held against it.
        if ended && shown(&self.string).trim().is_empty() {
            self.end_string(None);
        }
    }

    /// The string is as its text says, or damaged.
    fn end_string(&mut self, text: Option<&str>) {
        let (own, filtered) = (String::from_utf8_lossy(&self.string), shown(&self.string));
        let is_own = |text: &str| text == own.trim() || text == filtered.trim();
        // Before dmidecode 3 it stood in quotation marks.
        let quoted = |text: &str| {
            let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
            inner.is_some_and(|inner| is_own(inner.trim()))
        };
        self.damaged |= self.string.is_empty() || text.is_some_and(|text| !is_own(text) && !quoted(text));
        self.strings.append(&mut self.string);
        self.strings.push(0);
        self.awaits_text = false;
    }

    /// The structure as it stands in a table, if nothing of it is missing.
    fn bytes(&self) -> Option<Vec<u8>> {
        let (handle, kind) = self.head?;
        let [own_kind, length, low, high, ..] = *self.data.as_slice() else { return None };
        let agrees = u32::from(own_kind) == kind
            && usize::from(length) == self.data.len()
            && u32::from(u16::from_le_bytes([low, high])) == handle;
        // Where one is missing the others have other numbers.
        let strings = self.strings.iter().filter(|byte| **byte == 0).count();
        let fields =
            STRING_FIELDS.iter().find(|(kind, _)| *kind == own_kind).map_or([].as_slice(), |(_, at)| *at);
        let has_all =
            fields.iter().filter_map(|at| self.data.get(*at)).all(|number| usize::from(*number) <= strings);
        let ended = has_all && !self.damaged && !self.awaits_text && self.string.is_empty();
        // One without strings ends in two zeros, one with them in one more.
        let end: &[u8] = if self.strings.is_empty() { &[0, 0] } else { &[0] };
        (agrees && ended).then(|| [&self.data, self.strings.as_slice(), end].concat())
    }
}

/// A string as dmidecode prints it.
fn shown(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| if (32..127).contains(byte) { char::from(*byte) } else { '.' }).collect()
}

/// The bytes of a line of them.
pub(super) fn hex(text: &str) -> Option<Vec<u8>> {
    let byte = |word: &str| {
        let digits = word.len() == 2 && word.bytes().all(|b| b.is_ascii_hexdigit());
        digits.then(|| u8::from_str_radix(word, 16).ok()).flatten()
    };
    let bytes: Vec<u8> = text.split(' ').take(IN_A_LINE + 1).map(byte).collect::<Option<_>>()?;
    (bytes.len() <= IN_A_LINE).then_some(bytes)
}

/// All structures of an output.
#[derive(Debug, Default)]
pub(super) struct RawTable {
    table: Vec<u8>,
    seen: BTreeSet<u32>,
    /// The line of each memory device.
    devices: Vec<Origin>,
    first: Option<Origin>,
    /// Types of structures that were damaged.
    lost: BTreeSet<u8>,
}

impl RawTable {
    /// Takes a structure that has ended.
    pub(super) fn close(&mut self, raw: &Raw, origin: Origin) {
        self.first.get_or_insert_with(|| origin.clone());
        let Some(bytes) = raw.bytes() else {
            self.lose(raw.head.map(|(_, kind)| kind));
            self.lose(raw.data.first().map(|kind| u32::from(*kind)));
            return;
        };
        let Some((handle, kind)) = raw.head else { return };
        // The same table twice in one output.
        if self.seen.insert(handle) && self.table.len() + bytes.len() <= dump::LONGEST_DUMP {
            self.table.extend(bytes);
            self.devices.extend((kind == u32::from(MEMORY_DEVICE)).then_some(origin));
        }
    }

    /// A structure of this type was there and cannot be read.
    pub(super) fn lose(&mut self, kind: Option<u32>) {
        let kind = kind.and_then(|kind| u8::try_from(kind).ok());
        self.lost.extend(kind.filter(|kind| COUNTED.contains(kind) || *kind == MEMORY_DEVICE));
    }

    /// Reads what is whole.
    pub(super) fn end(self, sink: &mut Sink) {
        let Some(first) = self.first else { return };
        let mut tables = machine::smbios::read([self.table.as_slice(), &END].concat());
        tables.complete &= self.lost.is_empty();
        let lost = |kind: u8| self.lost.contains(&kind);
        if lost(0) {
            tables.system.firmware = None;
        }
        if lost(1) {
            (tables.system.vendor, tables.system.product) = (None, None);
        }
        if lost(2) {
            tables.system.board = None;
        }
        if lost(4) {
            (tables.processor, tables.processor_hz) = (None, None);
            tables.populated = Default::default();
        }
        if lost(16) {
            // Flash and video memory have devices, too, and only their arrays tell.
            tables.devices.clear();
        }
        let lines = if self.devices.len() == tables.devices.len() { self.devices } else { Vec::new() };
        dump::take(tables, |device| lines.get(device).unwrap_or(&first).clone(), first.clone(), sink);
    }
}
