//! SMBIOS tables in binary form: the file written by `dmidecode --dump-bin`, and the structures printed by `dmidecode -u`.

use std::collections::BTreeSet;

use record::import::Origin;

use super::super::memory;
use crate::facts::{Fact, Socket};
use crate::reading::*;

/// Maximum size of a table; real tables have at most about 100 KiB.
const LONGEST_DUMP: usize = 4 << 20;

/// Whether these bytes are the beginning of a table, which may be written by `dmidecode --dump-bin` or copied from the kernel's
/// `tables/DMI`.
pub(crate) fn is_dump(bytes: &[u8]) -> bool {
    bytes.starts_with(b"_SM3_") || bytes.starts_with(b"_SM_") || is_bare(bytes)
}

/// Whether these bytes begin with the BIOS information structure (type 0) and its length (DSP0134, 7.1), or with any short structure whose
/// handle is 0. Text does not begin with such control characters and zeros.
fn is_bare(bytes: &[u8]) -> bool {
    matches!(bytes, [0, 0x12..=0x1f, ..] | [_, 4..=0x1f, 0, 0, ..])
}

/// Reads a table recognized by [`is_dump`].
pub(crate) fn dump(bytes: &[u8], sink: &mut Sink) {
    let line = Line { number: 1, text: "an SMBIOS table (dmidecode --dump-bin)" };
    let bytes = &bytes[..bytes.len().min(LONGEST_DUMP)];
    let table = machine::smbios::split_dump(bytes).map(|(_, table)| table);
    match table.or(is_bare(bytes).then_some(bytes)) {
        Some(table) => read(table.to_vec(), &[], &sink.origin(line), sink),
        None => sink.withhold("machine.memory_devices", "the SMBIOS table is truncated".to_owned(), line),
    }
}

/// Adds the content of a table to the machine. Each device may have its own origin.
fn read(table: Vec<u8>, devices: &[Origin], origin: &Origin, sink: &mut Sink) {
    let tables = machine::smbios::read(table);
    if !tables.complete {
        let note = "the SMBIOS table is damaged or truncated; entries after the damage are missing";
        sink.draft.machine.notes.push(format!("{}: {note}", sink.text).into());
    }
    let (own, system) = (&mut sink.draft.machine.system, tables.system);
    let fields = [
        (&mut own.vendor, system.vendor, "vendor"),
        (&mut own.product, system.product, "product"),
        (&mut own.firmware, system.firmware, "firmware"),
        (&mut own.board, system.board, "board"),
    ];
    let named = fields.into_iter().filter(|(_, value, _)| value.is_some());
    let named: Vec<&str> = named.map(|(field, value, name)| (*field = value, name).1).collect();
    named.into_iter().for_each(|name| sink.note_at(format!("machine.system.{name}"), origin.clone()));
    for (at, mut device) in tables.devices.into_iter().enumerate() {
        let origin = devices.get(at).unwrap_or(origin);
        let speeds =
            [(&mut device.rated_mt_s, "rated_mt_s"), (&mut device.configured_mt_s, "configured_mt_s")];
        for (speed, field) in speeds {
            if let Some(mt_s) = speed.take_if(|mt_s| !memory::is_speed(f64::from(*mt_s))) {
                memory::withhold_speed(mt_s, field, origin.clone(), sink);
            }
        }
        memory::Listed::of_table(&device, origin.clone()).push(sink);
    }
    if tables.complete && tables.populated.sockets > 0 {
        sink.draft.facts.populated.push(Fact { value: tables.populated, origin: origin.clone() });
    }
    if tables.processor.is_some() || tables.processor_hz.is_some() {
        sink.note_at("machine.processor.firmware_name", origin.clone());
        sink.draft.facts.sockets.push(Socket {
            name: tables.processor.map(|value| Fact { value, origin: origin.clone() }),
            hz: tables.processor_hz.map(|value| Fact { value, origin: origin.clone() }),
            whole: false,
        });
    }
}

/// Offsets of the string numbers within the supported structures (DSP0134, 7).
const STRING_FIELDS: [(u8, &[usize]); 5] = [
    (0, &[0x04, 0x05, 0x08]),
    (1, &[0x04, 0x05, 0x06, 0x07, 0x19, 0x1a]),
    (2, &[0x04, 0x05, 0x06, 0x07, 0x08, 0x0a]),
    (4, &[0x04, 0x07, 0x10, 0x20, 0x21, 0x22]),
    (17, &[0x10, 0x11, 0x17, 0x18, 0x19, 0x1a, 0x2b]),
];
/// The structure at the end of a table, with its handle and without strings.
const END: [u8; 6] = [127, 4, 0xfe, 0xff, 0, 0];
/// Maximum number of bytes on a line.
const IN_A_LINE: usize = 16;

/// A structure as printed by `-u`: its bytes, then each string, first as bytes and then as text.
#[derive(Clone, Debug, Default)]
pub(super) struct Raw {
    data: Vec<u8>,
    /// Strings, each with its terminating zero.
    strings: Vec<u8>,
    in_strings: bool,
    /// The start of the string whose bytes are complete and whose text follows.
    shown: Option<usize>,
    damaged: bool,
}

impl Raw {
    /// A line after `Header and Data:`.
    pub(super) fn line(&mut self, text: &str) {
        if let Some(from) = self.shown.take() {
            // Before dmidecode 3, the text was in quotation marks.
            let bare = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
            self.damaged |= printed(&self.strings[from..]).trim() != bare.trim();
        } else if text == "Strings:" {
            self.damaged |= std::mem::replace(&mut self.in_strings, true);
        } else if let Some(bytes) = hex(text) {
            if !self.in_strings {
                return self.data.extend(bytes);
            }
            let ended = bytes.last() == Some(&0);
            let zeros = bytes.iter().filter(|byte| **byte == 0).count();
            self.damaged |= zeros != usize::from(ended) || !ended && bytes.len() < IN_A_LINE;
            self.strings.extend(bytes);
            if ended {
                let own = &self.strings[..self.strings.len() - 1];
                let from = own.iter().rposition(|byte| *byte == 0).map_or(0, |last| last + 1);
                self.damaged |= from == own.len();
                // For a blank string, no line with text follows.
                self.shown = Some(from).filter(|_| !printed(&own[from..]).trim().is_empty());
            }
        } else {
            self.damaged = true;
        }
    }

    /// The structure in its binary form within a table, if it is complete.
    fn bytes(&self, handle: u32, kind: u32) -> Option<Vec<u8>> {
        let [own_kind, length, low, high, ..] = *self.data.as_slice() else { return None };
        let strings = self.strings.iter().filter(|byte| **byte == 0).count();
        let fields = STRING_FIELDS.iter().find(|(kind, _)| *kind == own_kind).map_or(&[][..], |(_, at)| *at);
        // If a string is missing, all later strings have wrong numbers.
        let has_all = fields.iter().filter_map(|at| self.data.get(*at)).all(|at| usize::from(*at) <= strings);
        let whole = u32::from(own_kind) == kind
            && usize::from(length) == self.data.len()
            && u32::from(u16::from_le_bytes([low, high])) == handle
            && self.strings.last().is_none_or(|last| *last == 0)
            && has_all
            && !self.damaged
            && self.shown.is_none();
        // A structure without strings ends in two zeros; after strings, one more zero follows.
        let end: &[u8] = if self.strings.is_empty() { &[0, 0] } else { &[0] };
        whole.then(|| [&self.data, self.strings.as_slice(), end].concat())
    }
}

/// Whether structures of a type are read.
fn is_read(kind: u32) -> bool {
    matches!(kind, 0 | 1 | 2 | 4 | 16 | 17)
}

/// A string as printed by dmidecode, without its terminating zero.
fn printed(bytes: &[u8]) -> String {
    let shown = |byte: &u8| if (32..127).contains(byte) { char::from(*byte) } else { '.' };
    bytes.strip_suffix(&[0]).unwrap_or(bytes).iter().map(shown).collect()
}

/// The bytes in a line.
pub(super) fn hex(text: &str) -> Option<Vec<u8>> {
    let byte =
        |word: &str| u8::from_str_radix(word, 16).ok().filter(|_| word.len() == 2 && !word.starts_with('+'));
    let bytes: Vec<u8> = text.split(' ').take(IN_A_LINE + 1).map(byte).collect::<Option<_>>()?;
    (bytes.len() <= IN_A_LINE).then_some(bytes)
}

/// All structures printed by `-u`.
#[derive(Debug, Default)]
pub(super) struct RawTable {
    table: Vec<u8>,
    seen: BTreeSet<u32>,
    /// The line of each memory device.
    devices: Vec<Origin>,
    first: Option<Origin>,
    /// An incomplete structure.
    broken: Option<Origin>,
}

impl RawTable {
    /// Adds a completed structure.
    pub(super) fn close(&mut self, raw: Option<&Raw>, handle: u32, kind: u32, origin: Origin) {
        self.first.get_or_insert_with(|| origin.clone());
        match raw.and_then(|raw| raw.bytes(handle, kind)) {
            None => {
                let own = raw.and_then(|raw| raw.data.first().copied()).map_or(kind, u32::from);
                self.broken = self.broken.take().or(Some(origin).filter(|_| is_read(kind) || is_read(own)));
            }
            // The same table may occur twice in one output.
            Some(bytes) => {
                if self.seen.insert(handle) && self.table.len() + bytes.len() <= LONGEST_DUMP {
                    self.table.extend(bytes);
                    self.devices.extend((kind == 17).then_some(origin));
                }
            }
        }
    }

    /// Reads the table if it is complete.
    pub(super) fn end(self, sink: &mut Sink) {
        let Some(first) = self.first else { return };
        match self.broken {
            Some(origin) => {
                let why = "this structure is incomplete; the whole table is ignored".to_owned();
                sink.withhold_at("machine.memory_devices", why, origin);
            }
            None => read([self.table.as_slice(), &END].concat(), &self.devices, &first, sink),
        }
    }
}
