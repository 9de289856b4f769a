//! Reads memory devices and processors from SMBIOS structures (DMTF DSP0134, versions 2.1 to 3.9).
//!
//! smbios-lib parses the table. It returns a field only if the structure is long enough to contain it, so the version in the entry
//! point does not matter. Of the two maintained parsers, only this one handles damaged tables: the crate dmidecode
//! 1.0.1 indexes past the end if a table is shorter than its entry point claims, or if a structure is shorter than
//! its own header. It also rejects the memory devices of SMBIOS 2.3 to 2.6, which lack the fields added in 2.7.

use record::machine::{MemoryDevice, System};
use smbioslib::{
    MemoryArrayUse, MemoryDeviceType, MemoryFormFactor, MemorySize, MemorySizeExtended, MemorySpeed,
    MemorySpeedExtended, SMBiosBaseboardInformation, SMBiosEndOfTable, SMBiosInformation, SMBiosMemoryDevice,
    SMBiosPhysicalMemoryArray, SMBiosProcessorInformation, SMBiosStruct, SMBiosSystemInformation,
    UndefinedStruct, UndefinedStructTable,
};

use crate::{locators, system};

/// Maximum number of memory devices read: four times the slots of the largest machines (Superdome Flex, 384).
pub const MAX_DEVICES: usize = 1536;

/// The contents of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tables {
    /// All slots for system memory, whether populated or not, in the table's order.
    pub devices: Vec<MemoryDevice>,
    /// The first processor's name as given by the firmware (`Kunpeng 920-4826`).
    pub processor: Option<String>,
    /// The clock of the first processor at boot ("Current Speed"), Hz, which may have been boosted or throttled.
    pub processor_hz: Option<u64>,
    /// Populated sockets, and their processors.
    pub populated: Populated,
    /// Vendor, product, board and firmware.
    pub system: System,
    /// Whether the table ends properly: structures after a damaged one cannot be found.
    pub complete: bool,
}

/// The central processors in a table, summed over all populated sockets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Populated {
    /// Number of populated sockets.
    pub sockets: u32,
    /// Enabled cores; `None` if a processor does not report them.
    pub cores: Option<u32>,
    /// Threads of all these processors.
    pub threads: Option<u32>,
}

impl Populated {
    /// Adds one processor with this many cores and threads.
    pub fn and(self, cores: Option<u32>, threads: Option<u32>) -> Self {
        let sum = |all: Option<u32>, own: Option<u32>| {
            let all = if self.sockets == 0 { Some(0) } else { all };
            all.zip(own).and_then(|(all, own)| all.checked_add(own))
        };
        let (cores, threads) = (sum(self.cores, cores), sum(self.threads, threads));
        Self { sockets: self.sockets.saturating_add(1), cores, threads }
    }
}

/// Reads a table, the contents of `/sys/firmware/dmi/tables/DMI`.
pub fn read(table: Vec<u8>) -> Tables {
    let table = UndefinedStructTable::from(table);
    let complete = table.iter().any(|s| s.header.struct_type() == SMBiosEndOfTable::STRUCT_TYPE);
    let arrays: Vec<SMBiosPhysicalMemoryArray> = table.collect();
    // Devices for flash and video memory are excluded; a device whose array is missing is included.
    let of_system = |device: &SMBiosMemoryDevice| {
        let array = device.physical_memory_array_handle();
        let array = arrays.iter().find(|candidate| Some(candidate.parts().header.handle()) == array);
        array.and_then(|array| array.usage()).is_none_or(|usage| usage.value == MemoryArrayUse::SystemMemory)
    };
    let devices = table.defined_struct_iter::<SMBiosMemoryDevice>().filter(of_system).take(MAX_DEVICES);
    let mut devices: Vec<MemoryDevice> = devices.map(|device| memory_device(&device)).collect();
    place(&mut devices);
    let processors = || table.defined_struct_iter::<SMBiosProcessorInformation>().filter(is_central);
    let populated = processors().fold(Populated::default(), |all, cpu| {
        all.and(
            count(cpu.parts(), 0x24, 0x2c).or(count(cpu.parts(), 0x23, 0x2a)),
            count(cpu.parts(), 0x25, 0x2e),
        )
    });
    let processor = processors().next();
    let bios = table.defined_struct_iter::<SMBiosInformation>().next();
    let bios = |offset| bios.as_ref().and_then(|bios| string(bios.parts(), offset));
    let product = table.defined_struct_iter::<SMBiosSystemInformation>().next();
    let product = |offset| product.as_ref().and_then(|product| string(product.parts(), offset));
    let board = table.defined_struct_iter::<SMBiosBaseboardInformation>().next();
    let board = |offset| board.as_ref().and_then(|board| string(board.parts(), offset));
    Tables {
        system: System {
            vendor: product(0x04),
            product: product(0x05),
            firmware: system::joined([bios(0x04), bios(0x05), bios(0x08)]),
            board: system::joined([board(0x04), board(0x05), None]),
        },
        devices,
        populated,
        processor: processor.as_ref().and_then(|cpu| string(cpu.parts(), 0x10)),
        processor_hz: processor.and_then(|cpu| cpu.parts().get_field_word(0x16)).and_then(mhz),
        complete,
    }
}

/// The lowest speed of each kind of memory, MT/s. A configured speed that is lower, and is also about half of
/// the rated speed, is discarded, because it is the clock instead of the transfer rate.
const LEAST_MT_S: [(&str, u32); 3] = [("DDR5", 2800), ("DDR4", 1400), ("DDR3", 700)];

/// Fills in the devices' channels and nodes from their locators, and discards configured speeds that are clocks.
pub fn place(devices: &mut [MemoryDevice]) {
    for device in devices.iter_mut() {
        let kind = device.kind.as_deref().unwrap_or_default();
        let least = LEAST_MT_S.iter().find(|(name, _)| kind.starts_with(name)).map_or(0, |(_, least)| *least);
        let half = |mt_s: u32| {
            device.rated_mt_s.is_some_and(|rated| mt_s.saturating_mul(2).abs_diff(rated) <= rated / 32)
        };
        device.configured_mt_s = device.configured_mt_s.filter(|mt_s| *mt_s >= least || !half(*mt_s));
    }
    let slots: Vec<_> =
        devices.iter().map(|device| (device.locator.as_deref(), device.bank.as_deref())).collect();
    let places = locators::places(&slots);
    for (device, place) in devices.iter_mut().zip(places) {
        device.channel = place.channel;
        device.node = place.node;
    }
}

/// Splits a file in the format of `dmidecode --dump-bin` into entry point and table: the entry point is at offset 0 and
/// contains the address of the table, 32. `None` if the file is too short or has a different format.
pub fn split_dump(dump: &[u8]) -> Option<(&[u8], &[u8])> {
    let entry = dump.get(..32)?;
    // The offset of the table's address in each version's entry point (DSP0134, 5.2).
    let address = if entry.starts_with(b"_SM3_") {
        entry.get(0x10..0x18)?.try_into().ok().map(u64::from_le_bytes)?
    } else if entry.starts_with(b"_SM_") {
        entry.get(0x18..0x1c)?.try_into().ok().map(u32::from_le_bytes)?.into()
    } else {
        return None;
    };
    Some((entry, dump.get(usize::try_from(address).ok()?..)?))
}

fn memory_device(device: &SMBiosMemoryDevice) -> MemoryDevice {
    MemoryDevice {
        locator: string(device.parts(), 0x10),
        bank: string(device.parts(), 0x11),
        bytes: bytes(device),
        kind: device.memory_type().and_then(|kind| kind_name(&kind.value)),
        form: device.form_factor().and_then(|form| form_name(&form.value)),
        rated_mt_s: device.speed().and_then(|speed| mt_s(speed, device.extended_speed())),
        configured_mt_s: device
            .configured_memory_speed()
            .and_then(|speed| mt_s(speed, device.extended_configured_memory_speed())),
        // 0 means a device used only for error correction, and 0xFFFF an unknown width.
        data_bits: device.data_width().filter(|bits| (1..0xffff).contains(bits)).map(u32::from),
        ranks: device.attributes().map(|bits| u32::from(bits & 0xf)).filter(|ranks| *ranks > 0),
        vendor: string(device.parts(), 0x17),
        part: string(device.parts(), 0x1a),
        channel: None,
        node: None,
    }
}

fn bytes(device: &SMBiosMemoryDevice) -> Option<u64> {
    match device.size()? {
        MemorySize::NotInstalled | MemorySize::Unknown => None,
        MemorySize::Kilobytes(kib) => Some(u64::from(kib) << 10),
        MemorySize::Megabytes(mib) => Some(u64::from(mib) << 20),
        MemorySize::SeeExtendedSize => match device.extended_size()? {
            MemorySizeExtended::Megabytes(mib) => Some(u64::from(mib) << 20),
            // If the extended field is missing, this value means 32 GB − 1 MB.
            MemorySizeExtended::SeeSize => Some(0x7fff << 20),
        },
    }
}

/// The speed in MT/s. Before SMBIOS 2.7, there was only one speed field, and until 3.0, its unit was called MHz; the
/// number always meant transfers.
fn mt_s(speed: MemorySpeed, extended: Option<MemorySpeedExtended>) -> Option<u32> {
    match speed {
        MemorySpeed::Unknown => None,
        MemorySpeed::MTs(speed) => Some(speed.into()),
        MemorySpeed::SeeExtendedSpeed => match extended? {
            MemorySpeedExtended::MTs(speed) => Some(speed),
            MemorySpeedExtended::SeeSpeed => None,
        },
    }
}

/// The string referenced by the field at `offset`, cleaned. Bytes that are not UTF-8 are dropped, because any encoding
/// was allowed before SMBIOS 3.5.
fn string(structure: &UndefinedStruct, offset: usize) -> Option<String> {
    let index = usize::from(structure.get_field_byte(offset)?).checked_sub(1)?;
    system::meaningful_name(&String::from_utf8_lossy(structure.strings.iter().nth(index)?))
}

fn is_central(processor: &SMBiosProcessorInformation) -> bool {
    // Type 3 is a central processor; status bit 6 means that the socket is populated.
    let structure = processor.parts();
    structure.get_field_byte(0x05) == Some(3)
        && structure.get_field_byte(0x18).is_none_or(|bits| bits & 0x40 != 0)
}

/// A processor's count: a byte, or a word if the byte is 255 (SMBIOS 3.0). 0 means unknown.
fn count(processor: &UndefinedStruct, byte: usize, word: usize) -> Option<u32> {
    let count = match processor.get_field_byte(byte)? {
        255 => processor.get_field_word(word).map_or(255, u32::from),
        count => count.into(),
    };
    (1..0xffff).contains(&count).then_some(count)
}

fn mhz(mhz: u16) -> Option<u64> {
    // Some firmware fills unknown speeds with all ones.
    (1..=20_000).contains(&mhz).then(|| u64::from(mhz) * 1_000_000)
}

/// The kind of memory spelled as in dmidecode. Most names are abbreviations.
fn kind_name(kind: &MemoryDeviceType) -> Option<String> {
    use MemoryDeviceType as Kind;
    Some(match kind {
        Kind::Other | Kind::Unknown | Kind::None => return None,
        Kind::Flash => "Flash".to_owned(),
        Kind::ThreeDram => "3DRAM".to_owned(),
        Kind::Ddr2Fbdimm => "DDR2 FB-DIMM".to_owned(),
        Kind::LogicalNonVolatileDevice => "Logical non-volatile device".to_owned(),
        abbreviation => format!("{abbreviation:?}").to_uppercase(),
    })
}

fn form_name(form: &MemoryFormFactor) -> Option<String> {
    use MemoryFormFactor as Form;
    Some(match form {
        Form::Other | Form::Unknown | Form::None => return None,
        Form::Chip => "Chip".to_owned(),
        Form::Die => "Die".to_owned(),
        Form::Fbdimm => "FB-DIMM".to_owned(),
        Form::ProprietaryCard => "Proprietary Card".to_owned(),
        Form::RowOfChips => "Row Of Chips".to_owned(),
        abbreviation => format!("{abbreviation:?}").to_uppercase(),
    })
}
