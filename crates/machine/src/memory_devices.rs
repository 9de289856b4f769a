//! Memory devices, from the firmware's SMBIOS table if this user may read it, otherwise from udev's decoded copy, which
//! every user may read.

use std::collections::BTreeMap;

use record::machine::MemoryDevice;
use record::{Coverage, Machine, text};

use crate::root::Why;
use crate::text::assignment;
use crate::{Root, smbios, system};

/// The table, readable by root only.
const TABLE: &str = "/sys/firmware/dmi/tables/DMI";
/// Maximum size of a table. A version 2 table has at most 64 KiB; the longest known version 3 table has about 100 KiB.
const MAX_TABLE: usize = 1 << 20;
/// The table's structures, one per directory; readable by root only.
const ENTRIES: &str = "/sys/firmware/dmi/entries";
/// Maximum size of a structure: 255 bytes plus its strings.
const MAX_ENTRY: usize = 1 << 16;
/// The file in which udev stores the properties of the DMI device. systemd 248 and later decode the memory devices
/// (udev's `dmi_memory_id`), and everyone may read them.
const UDEV: &str = "/run/udev/data/+dmi:id";
/// The name of the coverage entry.
const WHAT: &str = "memory devices";

/// Fills [`Machine::memory_devices`], and the processor's name and clock as reported by the firmware. Architecture and hypervisor must
/// already be known.
pub(crate) fn read(root: &Root, machine: &mut Machine, coverage: &mut Vec<Coverage>) {
    let Some(table) = root.bytes(TABLE, MAX_TABLE).or_else(|| from_entries(root)) else {
        return without_table(root, machine, coverage);
    };
    let tables = smbios::read(table);
    if !tables.complete {
        machine.notes.push(text!(
            "memory-devices-table-damaged",
            "{table} is damaged or truncated, so later memory devices are missing",
            table = TABLE
        ));
    }
    // QEMU reports its board's version instead of the processor's name.
    let of_qemu = |name: &String| name.starts_with("pc-") || name.starts_with("virt-");
    machine.processor.firmware_name = tables.processor.filter(|name| !of_qemu(name));
    // Virtual firmware reports a fictitious clock: QEMU's is 2 GHz on any host. On a CPU with boost, the clock at boot
    // is not the nominal clock.
    let is_bare = machine.virtualization.hypervisor.as_deref() == Some("none");
    if is_bare && machine.architecture == "aarch64" {
        machine.processor.base_hz = machine.processor.base_hz.or(tables.processor_hz);
    }
    coverage.push(if tables.devices.is_empty() {
        Coverage::impossible(WHAT, text!("the firmware lists no memory devices ({table})", table = TABLE))
    } else {
        Coverage::measured(WHAT)
    });
    machine.memory_devices = tables.devices;
}

/// The table's structures for processors, memory arrays and devices, if they exist as separate files
/// (Documentation/ABI/testing/sysfs-firmware-dmi-entries of the kernel).
fn from_entries(root: &Root) -> Option<Vec<u8>> {
    let is_wanted = |name: &String| ["4-", "16-", "17-"].iter().any(|kind| name.starts_with(kind));
    let entries = root.list(ENTRIES).into_iter().filter(is_wanted).take(2 * smbios::MAX_DEVICES);
    let table: Vec<u8> = entries
        .filter_map(|name| root.bytes(&format!("{ENTRIES}/{name}/raw"), MAX_ENTRY))
        .flatten()
        .collect();
    // The end marker is also a structure (type 127).
    (!table.is_empty()).then(|| [table, vec![127, 4, 0xff, 0xff, 0, 0]].concat())
}

fn without_table(root: &Root, machine: &mut Machine, coverage: &mut Vec<Coverage>) {
    machine.memory_devices = root.text(UDEV).map(|text| from_udev(&text)).unwrap_or_default();
    if !machine.memory_devices.is_empty() {
        coverage.push(Coverage::measured(WHAT));
        return;
    }
    // If the file can be read as text although it could not be read as a table, it is too long.
    let why = root.try_text(TABLE).err().map_or(Why::TooLong(MAX_TABLE), |unreadable| unreadable.why);
    coverage.push(match why {
        Why::Missing if root.is_live() => Coverage::impossible(
            WHAT,
            text!("the firmware has no SMBIOS table (no {table}), as in most small guests", table = TABLE),
        ),
        Why::Missing => {
            Coverage::impossible(WHAT, text!("the captured tree has no {table}", table = TABLE)).with_remedy(
                text!("memory-devices-capture-as-root", "also capture {table}, as root", table = TABLE),
            )
        }
        Why::Denied => Coverage::impossible(WHAT, text!("{table}: permission denied", table = TABLE))
            .with_remedy(text!("run as root: sudo linespeed inspect")),
        why => Coverage::impossible(WHAT, text!("{table}: {why}", table = TABLE, why = why.to_string())),
    });
}

/// The devices among udev's properties `E:MEMORY_DEVICE_<number>_<property>=<value>`.
fn from_udev(text: &str) -> Vec<MemoryDevice> {
    let mut properties: BTreeMap<u32, Vec<&str>> = BTreeMap::new();
    for line in text.lines() {
        let Some(rest) = line.strip_prefix("E:MEMORY_DEVICE_") else { continue };
        let Some((number, property)) = rest.split_once('_') else { continue };
        let Ok(number) = number.parse::<u32>() else { continue };
        if properties.len() < smbios::MAX_DEVICES || properties.contains_key(&number) {
            properties.entry(number).or_default().push(property);
        }
    }
    let mut devices: Vec<MemoryDevice> = properties.into_values().map(|lines| device(&lines)).collect();
    smbios::place(&mut devices);
    devices
}

fn device(properties: &[&str]) -> MemoryDevice {
    let value = |name: &str| properties.iter().find_map(|line| assignment(line, name));
    let string = |name: &str| value(name).and_then(system::meaningful_name);
    let number = |name: &str| value(name)?.parse::<u64>().ok().filter(|number| *number > 0);
    let small = |name: &str| number(name).and_then(|number| u32::try_from(number).ok());
    MemoryDevice {
        locator: string("LOCATOR"),
        bank: string("BANK_LOCATOR"),
        bytes: number("SIZE").filter(|_| value("PRESENT") != Some("0")),
        kind: string("TYPE"),
        form: string("FORM_FACTOR"),
        rated_mt_s: small("SPEED_MTS"),
        configured_mt_s: small("CONFIGURED_SPEED_MTS"),
        data_bits: small("DATA_WIDTH"),
        ranks: small("RANK"),
        vendor: string("MANUFACTURER"),
        part: string("PART_NUMBER"),
        channel: None,
        node: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::Tree;
    use proptest::prelude::*;
    use record::State;

    /// A structure of an SMBIOS table: its type, its fields from offset 4 on, its strings.
    fn structure(kind: u8, handle: u16, fields: &[u8], strings: &[&str]) -> Vec<u8> {
        let mut bytes = vec![kind, fields.len() as u8 + 4];
        bytes.extend(handle.to_le_bytes());
        bytes.extend(fields);
        for string in strings {
            bytes.extend(string.as_bytes());
            bytes.push(0);
        }
        bytes.extend(if strings.is_empty() { &[0, 0][..] } else { &[0][..] });
        bytes
    }

    fn array(handle: u16, usage: u8) -> Vec<u8> {
        structure(16, handle, &[3, usage, 6, 0, 0, 0, 1, 0xfe, 0xff, 1, 0], &[])
    }

    /// A memory device of an array, truncated to `length` bytes as in an older version of the specification.
    fn device_bytes(array: u16, size: u16, extended: u32, speed: u16, length: usize) -> Vec<u8> {
        let mut fields = Vec::new();
        fields.extend(array.to_le_bytes());
        fields.extend([0xfe, 0xff, 72, 0, 64, 0]);
        fields.extend(size.to_le_bytes());
        fields.extend([9, 0, 1, 2, 0x22, 0x80, 0x20]);
        fields.extend(speed.to_le_bytes());
        fields.extend([3, 0, 0, 4, 2]);
        fields.extend(extended.to_le_bytes());
        fields.extend(speed.saturating_sub(400).to_le_bytes());
        fields.resize(0x5c - 4, 0);
        fields[0x54 - 4..0x58 - 4].copy_from_slice(&70_000u32.to_le_bytes());
        fields.truncate(length - 4);
        structure(17, 0x20, &fields, &["DIMM 0", "P0 CHANNEL A", "Samsung", "M321R8GA0BB0-CQKZJ   "])
    }

    fn tables(parts: &[Vec<u8>]) -> (Machine, Vec<Coverage>) {
        let mut bytes = parts.concat();
        bytes.extend(structure(127, 0xffff, &[], &[]));
        let tree = Tree::new().file("sys/firmware/dmi/tables/DMI", bytes);
        inspected(&tree)
    }

    fn inspected(tree: &Tree) -> (Machine, Vec<Coverage>) {
        let (mut machine, mut coverage) = (Machine::default(), Vec::new());
        read(&tree.root(), &mut machine, &mut coverage);
        (machine, coverage)
    }

    #[test]
    fn every_version_s_fields_are_read_as_far_as_it_has_them() {
        let one = |length: usize, size: u16, extended: u32, speed: u16| {
            let (machine, coverage) = tables(&[array(1, 3), device_bytes(1, size, extended, speed, length)]);
            assert_eq!(coverage[0].state, State::Measured);
            assert!(machine.notes.is_empty());
            machine.memory_devices[0].clone()
        };
        // SMBIOS 2.1, 2.3, 2.6, 2.7, 3.2 and 3.3.
        let oldest = one(0x15, 512, 0, 0);
        assert_eq!(
            (oldest.bytes, oldest.rated_mt_s, oldest.vendor.as_deref()),
            (Some(512 << 20), None, None)
        );
        let old = one(0x1b, 0x8000 | 256, 0, 1333);
        assert_eq!((old.bytes, old.rated_mt_s, old.configured_mt_s), (Some(256 << 10), Some(1333), None));
        assert_eq!((old.part.as_deref(), old.ranks), (Some("M321R8GA0BB0-CQKZJ"), None));
        assert_eq!(one(0x1c, 4096, 0, 1600).ranks, Some(2));
        let modern = one(0x28, 0x7fff, 64 << 10, 4800);
        assert_eq!(
            (modern.bytes, modern.rated_mt_s, modern.configured_mt_s),
            (Some(64 << 30), Some(4800), Some(4400))
        );
        assert_eq!((modern.kind.as_deref(), modern.form.as_deref()), (Some("DDR5"), Some("DIMM")));
        assert_eq!((modern.channel.as_deref(), modern.node), (Some("P0 CHANNEL A"), Some(0)));
        assert_eq!(modern.data_bits, Some(64));
        let fast = one(0x5c, 0x7fff, 128 << 10, 0xffff);
        assert_eq!(fast.rated_mt_s, Some(70_000));
        assert_eq!(one(0x28, 0xffff, 0, 0).bytes, None);
        assert_eq!(one(0x28, 0, 0, 0).bytes, None);
    }

    #[test]
    fn structures_in_files_of_their_own_are_a_table() {
        let device = device_bytes(1, 4096, 0, 1333, 0x22);
        let folder = "sys/firmware/dmi/entries";
        let tree = Tree::new().file(&format!("{folder}/16-0/raw"), array(1, 3));
        let tree = (0..11).fold(tree, |tree, slot| {
            let size = if slot == 10 { 0 } else { 4096 };
            tree.file(&format!("{folder}/17-{slot}/raw"), device_bytes(1, size, 0, 1333, 0x22))
        });
        let (machine, coverage) = inspected(&tree.file(&format!("{folder}/1-0/raw"), device));
        assert_eq!((coverage[0].state, machine.notes.len()), (State::Measured, 0));
        let sizes: Vec<_> = machine.memory_devices.iter().map(|device| device.bytes).collect();
        assert_eq!(sizes, [&[Some(4 << 30); 10][..], &[None]].concat());
        assert_eq!(machine.memory_devices[0].configured_mt_s, Some(933));
    }

    #[test]
    fn flash_is_not_memory() {
        let (machine, _) = tables(&[
            array(1, 3),
            array(2, 5),
            device_bytes(2, 16, 0, 0, 0x22),
            device_bytes(1, 1024, 0, 2400, 0x22),
        ]);
        assert_eq!(machine.memory_devices.len(), 1);
        assert_eq!(machine.memory_devices[0].bytes, Some(1 << 30));
    }

    #[test]
    fn the_firmware_names_an_arm_processor_s_model() {
        let mut fields = [0u8; 0x1a - 4];
        (fields[0], fields[1], fields[0x10 - 4], fields[0x18 - 4]) = (1, 3, 2, 0x41);
        fields[0x16 - 4..0x18 - 4].copy_from_slice(&2600u16.to_le_bytes());
        let of = |architecture: &str, name: &str, hypervisor: &str| {
            let bytes = structure(4, 4, &fields, &["CPU01", name]);
            let tree = Tree::new().file("sys/firmware/dmi/tables/DMI", bytes);
            let mut machine = Machine { architecture: architecture.to_owned(), ..Machine::default() };
            machine.virtualization.hypervisor = Some(hypervisor.to_owned());
            read(&tree.root(), &mut machine, &mut Vec::new());
            (machine.processor.firmware_name, machine.processor.base_hz)
        };
        let name = |name: &str| Some(name.to_owned());
        let kunpeng = of("aarch64", "Kunpeng 920-4826", "none");
        assert_eq!(kunpeng, (name("Kunpeng 920-4826"), Some(2_600_000_000)));
        assert_eq!(of("aarch64", "AWS Graviton2", "kvm"), (name("AWS Graviton2"), None));
        assert_eq!(of("aarch64", "virt-8.2", "qemu"), (None, None));
        // The clock was boosted when the firmware read it.
        let ultra = "Intel(R) Core(TM) Ultra 9 185H";
        assert_eq!(of("x86_64", ultra, "none"), (name(ultra), None));
    }

    #[test]
    fn a_table_that_cannot_be_read_says_what_would_help() {
        let (machine, coverage) = inspected(&Tree::new());
        assert_eq!(machine.memory_devices, []);
        assert_eq!((coverage[0].what.as_str(), coverage[0].state), (WHAT, State::Impossible));
        assert!(
            coverage[0].remedy.as_ref().and_then(|text| text.code())
                == Some("memory-devices-capture-as-root"),
            "{coverage:?}"
        );
        let (_, coverage) = tables(&[]);
        assert_eq!(coverage[0].state, State::Impossible);
        let cut = Tree::new().file("sys/firmware/dmi/tables/DMI", [array(1, 3), vec![17, 40, 1]].concat());
        assert_eq!(inspected(&cut).0.notes[0].code(), Some("memory-devices-table-damaged"));
    }

    #[test]
    fn without_root_udev_s_copy_is_read() {
        let tree = Tree::new().file(
            "run/udev/data/+dmi:id",
            "I:1\nE:MEMORY_ARRAY_NUM_DEVICES=2\nE:MEMORY_DEVICE_10_PRESENT=0\nE:MEMORY_DEVICE_10_LOCATOR=ChannelB-DIMM0\n\
             E:MEMORY_DEVICE_2_SIZE=17179869184\nE:MEMORY_DEVICE_2_TYPE=DDR4\nE:MEMORY_DEVICE_2_FORM_FACTOR=SODIMM\n\
             E:MEMORY_DEVICE_2_SPEED_MTS=3200\nE:MEMORY_DEVICE_2_CONFIGURED_SPEED_MTS=2933\n\
             E:MEMORY_DEVICE_2_LOCATOR=ChannelA-DIMM0\nE:MEMORY_DEVICE_2_RANK=2\nE:MEMORY_DEVICE_2_MANUFACTURER=Unknown\n",
        );
        let (machine, coverage) = inspected(&tree);
        assert_eq!(coverage[0].state, State::Measured);
        let [full, empty] = machine.memory_devices.as_slice() else { panic!("{:?}", machine.memory_devices) };
        assert_eq!(
            (full.bytes, full.rated_mt_s, full.configured_mt_s),
            (Some(16 << 30), Some(3200), Some(2933))
        );
        assert_eq!(
            (full.channel.as_deref(), full.ranks, full.vendor.as_deref()),
            (Some("CHANNEL A"), Some(2), None)
        );
        assert_eq!((empty.bytes, empty.locator.as_deref()), (None, Some("ChannelB-DIMM0")));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            let tables = smbios::read(bytes);
            prop_assert!(tables.devices.len() <= 100);
        }

        #[test]
        fn no_properties_panic(lines in proptest::collection::vec(("[0-9]{1,11}", "SIZE|RANK|LOCATOR|TYPE|PRESENT|", "\\PC{0,12}|[0-9]{0,22}"), 0..20)) {
            let text: String = lines.iter().map(|(n, key, value)| format!("E:MEMORY_DEVICE_{n}_{key}={value}\n")).collect();
            prop_assert!(from_udev(&text).len() <= lines.len());
        }
    }
}
