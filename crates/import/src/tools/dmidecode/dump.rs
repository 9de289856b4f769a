//! The table that `dmidecode --dump-bin` writes.

use record::import::Origin;

use crate::facts::{self, Fact, Socket};
use crate::line::Line;
use crate::sink::Sink;

/// The longest dump that is read: tables have some 100 KiB at most.
pub(crate) const LONGEST_DUMP: usize = 4 << 20;

/// Bytes that tell a dump from a text.
pub(crate) const DUMP_MARK: u64 = 5;

/// Whether these bytes begin a table: one that `dmidecode --dump-bin` wrote, or a copy of the kernel's, `tables/DMI`.
pub(crate) fn is_dump(bytes: &[u8]) -> bool {
    bytes.starts_with(b"_SM3_") || bytes.starts_with(b"_SM_") || is_bare(bytes)
}

/// Whether these bytes begin with the structure of the firmware and its length (DSP0134, 7.1), or with any short one that has the
/// first handle. No text has control characters and zeros like these.
fn is_bare(bytes: &[u8]) -> bool {
    matches!(bytes, [0, 0x12..=0x1f, ..] | [_, 4..=0x1f, 0, 0, ..])
}

/// Reads the table that `dmidecode --dump-bin` wrote; `false` where it is damaged beyond that.
pub(crate) fn dump(bytes: &[u8], sink: &mut Sink) -> bool {
    let line = Line { number: 1, text: "an SMBIOS table (dmidecode --dump-bin)" };
    let table = match machine::smbios::split_dump(bytes) {
        Some((_, table)) => Some(table),
        None => is_bare(bytes).then_some(bytes),
    };
    let Some(table) = table else {
        sink.withhold("machine.memory_devices", "the SMBIOS table is cut off".to_owned(), line);
        return false;
    };
    let origin = sink.origin(line);
    take(machine::smbios::read(table.to_vec()), |_| origin.clone(), origin.clone(), sink);
    true
}

/// What a table tells goes into the machine, each device with its own origin.
pub(super) fn take(
    tables: machine::smbios::Tables,
    of_device: impl Fn(usize) -> Origin,
    origin: Origin,
    sink: &mut Sink,
) {
    if !tables.complete {
        let note = "the SMBIOS table is damaged or cut off; what stands after the damage is missing";
        sink.draft.machine.notes.push(format!("{}: {note}", sink.text).into());
    }
    let own = &mut sink.draft.machine.system;
    let system = tables.system;
    let named = [
        (&mut own.vendor, system.vendor, "vendor"),
        (&mut own.product, system.product, "product"),
        (&mut own.firmware, system.firmware, "firmware"),
        (&mut own.board, system.board, "board"),
    ];
    let mut paths = Vec::new();
    for (field, value, name) in named {
        if value.is_some() {
            *field = value;
            paths.push(format!("machine.system.{name}"));
        }
    }
    for path in paths {
        sink.note_at(path, origin.clone());
    }
    let first = sink.draft.machine.memory_devices.len();
    for (at, mut device) in tables.devices.into_iter().enumerate() {
        let path = format!("machine.memory_devices[{}]", first + at);
        sink.note_at(path.clone(), of_device(at));
        for (speed, name) in
            [(&mut device.rated_mt_s, "rated_mt_s"), (&mut device.configured_mt_s, "configured_mt_s")]
        {
            if let Some(mt_s) = speed.filter(|mt_s| !facts::is_memory_speed(f64::from(*mt_s))) {
                let why = format!("{mt_s} MT/s is not a speed that memory has");
                sink.withhold_at(&format!("{path}.{name}"), why, of_device(at));
                *speed = None;
            }
        }
        sink.draft.machine.memory_devices.push(device);
    }
    if tables.complete && tables.populated.sockets > 0 {
        sink.draft.facts.populated.push(Fact { value: tables.populated, origin: origin.clone() });
    }
    if tables.processor.is_some() || tables.processor_hz.is_some() {
        sink.note_at("machine.processor.firmware_name", origin.clone());
        sink.draft.facts.sockets.push(Socket {
            name: tables.processor.map(|value| Fact { value, origin: origin.clone() }),
            hz: tables.processor_hz.map(|value| Fact { value, origin }),
            whole: false,
        });
    }
}
