//! Firmware tables (SMBIOS type 17, memory devices) for QEMU's `-smbios file=`. QEMU's own keys have only one value for
//! both rated and configured speed.

use crate::shape::MemoryDevice;

/// Memory device, SMBIOS 3.2 section 7.18: the length up to and including the configured voltage (2.8).
const MEMORY_DEVICE: u8 = 17;
const LENGTH: u8 = 0x28;
/// Handles of type 17, numbered as in QEMU.
const FIRST_HANDLE: u16 = 0x1100;
/// The array of memory devices created by QEMU (type 16).
const ARRAY_HANDLE: u16 = 0x1000;
const NO_HANDLE: u16 = 0xfffe;
const DIMM: u8 = 0x09;
const DDR4: u8 = 0x1a;
/// Registered, synchronous.
const DETAIL: u16 = 0x2080;
/// Sizes from this value upwards are in a separate field, in MiB.
const EXTENDED_FROM: u64 = 0x7fff;

/// A structure for each device.
pub fn memory_devices(devices: &[MemoryDevice]) -> Vec<u8> {
    (FIRST_HANDLE..).zip(devices).flat_map(|(handle, device)| memory_device(handle, device)).collect()
}

fn memory_device(handle: u16, device: &MemoryDevice) -> Vec<u8> {
    let mut strings = Strings::default();
    let mib = device.mib();
    let populated = mib.is_some();
    let (size, extended) = match mib {
        None => (0, 0),
        Some(mib) if mib < EXTENDED_FROM => (mib as u16, 0),
        Some(mib) => (0x7fff, u32::try_from(mib).unwrap_or(u32::MAX)),
    };
    let width = |bits: u16| if populated { bits } else { 0xffff };
    let mut bytes = vec![MEMORY_DEVICE, LENGTH];
    for word in [handle, ARRAY_HANDLE, NO_HANDLE, width(72), width(64), size] {
        bytes.extend(word.to_le_bytes());
    }
    bytes.extend([DIMM, 0, strings.add(Some(&device.locator)), strings.add(Some(&device.bank))]);
    bytes.push(if populated { DDR4 } else { 0x02 });
    bytes.extend(if populated { DETAIL } else { 0x0004 }.to_le_bytes());
    bytes.extend(device.rated_mt_s.unwrap_or(0).to_le_bytes());
    // Maker, serial number, asset tag, part number, ranks.
    let (vendor, part) = (strings.add(device.vendor.as_deref()), strings.add(device.part.as_deref()));
    bytes.extend([vendor, 0, 0, part, device.ranks.unwrap_or(0) & 0xf]);
    bytes.extend(extended.to_le_bytes());
    bytes.extend(device.configured_mt_s.unwrap_or(0).to_le_bytes());
    // Voltages (minimum, maximum, configured) are unknown.
    bytes.resize(LENGTH.into(), 0);
    bytes.extend(strings.finish());
    bytes
}

/// A structure's strings, to which its fields refer by number, from 1.
#[derive(Default)]
struct Strings {
    bytes: Vec<u8>,
    count: u8,
}

impl Strings {
    /// The number of a text, 0 for none.
    fn add(&mut self, text: Option<&str>) -> u8 {
        let Some(text) = text else { return 0 };
        self.bytes.extend(text.bytes());
        self.bytes.push(0);
        self.count += 1;
        self.count
    }

    /// The texts and the end of the structure.
    fn finish(mut self) -> Vec<u8> {
        if self.count == 0 {
            self.bytes.push(0);
        }
        self.bytes.push(0);
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(size: Option<&str>) -> MemoryDevice {
        MemoryDevice {
            locator: "CPU0_DIMMA0".to_owned(),
            bank: "P0 CHANNEL A".to_owned(),
            size: size.map(str::to_owned),
            rated_mt_s: Some(2933),
            configured_mt_s: Some(2100),
            ranks: Some(2),
            vendor: Some("SK Hynix".to_owned()),
            part: None,
        }
    }

    #[test]
    fn both_speeds_stand_where_dmidecode_reads_them() {
        let bytes = memory_devices(&[device(Some("32GiB"))]);
        let word = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        assert_eq!((bytes[0], bytes[1]), (17, 0x28));
        assert_eq!((word(0x15), word(0x20)), (2933, 2100));
        // 32 GiB do not fit into the old field.
        assert_eq!(
            (word(0x0c), u32::from_le_bytes(bytes[0x1c..0x20].try_into().unwrap())),
            (0x7fff, 32 << 10)
        );
        assert_eq!(&bytes[0x28..], b"CPU0_DIMMA0\0P0 CHANNEL A\0SK Hynix\0\0");
        assert_eq!((bytes[0x10], bytes[0x11], bytes[0x17], bytes[0x1a]), (1, 2, 3, 0));
    }

    #[test]
    fn an_empty_slot_has_no_size_and_each_device_its_own_handle() {
        let one = memory_devices(&[device(None)]);
        assert_eq!((one[0x0c], one[0x0d], one[0x12]), (0, 0, 2));
        let two = memory_devices(&[device(None), device(Some("4GiB"))]);
        assert_eq!((two[2], two[one.len() + 2]), (0, 1));
        assert_eq!(u16::from_le_bytes([two[one.len() + 0x0c], two[one.len() + 0x0d]]), 4096);
    }
}
