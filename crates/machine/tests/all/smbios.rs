//! Results for SMBIOS tables of real machines must agree with dmidecode, and damaged tables must not cause failures.

use std::path::{Path, PathBuf};

use machine::{Root, inspect, smbios};
use proptest::prelude::*;
use record::State;
use record::machine::MemoryDevice;

/// The dumps, each with a file that contains dmidecode's output.
const DUMPS: [&str; 2] = ["Lenovo-ThinkPad-T480", "SuperMicro-X9DBL"];

fn path(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/smbios").join(file)
}

/// The table of a dump.
fn table(name: &str) -> Vec<u8> {
    let dump = std::fs::read(path(&format!("{name}.bin"))).unwrap();
    smbios::split_dump(&dump).unwrap().1.to_owned()
}

/// The sections of dmidecode's text with this title, each as (name, value) pairs.
fn sections(text: &str, title: &str) -> Vec<Vec<(String, String)>> {
    text.split("\n\n")
        .filter(|section| section.lines().nth(1) == Some(title))
        .map(|section| {
            let lines = section.lines().filter_map(|line| line.strip_prefix('\t')?.split_once(':'));
            lines.map(|(name, value)| (name.to_owned(), value.trim().to_owned())).collect()
        })
        .collect()
}

/// dmidecode's value of one field, in our format; `None` for its words for missing values.
fn said(section: &[(String, String)], name: &str) -> Option<String> {
    let nothing = ["", "Unknown", "None", "Not Specified", "Undefined", "No Module Installed"];
    let value = section.iter().find(|(field, _)| field == name).map(|(_, value)| value.clone())?;
    (!nothing.contains(&value.as_str())).then_some(value)
}

/// The number before a unit.
fn number(section: &[(String, String)], name: &str, unit: &str) -> Option<u32> {
    said(section, name)?.strip_suffix(unit)?.trim().parse().ok()
}

fn bytes(section: &[(String, String)]) -> Option<u64> {
    let size = said(section, "Size")?;
    let (number, unit) = size.split_once(' ')?;
    let shift = match unit {
        "kB" => 10,
        "MB" => 20,
        "GB" => 30,
        _ => panic!("a size in {unit}"),
    };
    Some(number.parse::<u64>().ok()? << shift)
}

#[test]
fn every_field_of_every_memory_device_is_dmidecode_s() {
    for name in DUMPS {
        let text = std::fs::read_to_string(path(&format!("{name}.orig.txt"))).unwrap();
        let theirs = sections(&text, "Memory Device");
        let ours = smbios::read(table(name));
        assert!(ours.complete, "{name}");
        assert_eq!(ours.devices.len(), theirs.len(), "{name}");
        assert!(!theirs.is_empty(), "{name}");
        for (ours, theirs) in ours.devices.iter().zip(&theirs) {
            let expected = MemoryDevice {
                locator: said(theirs, "Locator"),
                bank: said(theirs, "Bank Locator"),
                bytes: bytes(theirs),
                kind: said(theirs, "Type"),
                form: said(theirs, "Form Factor"),
                rated_mt_s: number(theirs, "Speed", "MT/s"),
                configured_mt_s: number(theirs, "Configured Memory Speed", "MT/s"),
                data_bits: number(theirs, "Data Width", "bits"),
                ranks: number(theirs, "Rank", ""),
                vendor: said(theirs, "Manufacturer"),
                part: said(theirs, "Part Number"),
                // dmidecode does not interpret the locators.
                channel: ours.channel.clone(),
                node: ours.node,
            };
            assert_eq!(*ours, expected, "{name}");
        }
    }
}

#[test]
fn processors_cores_and_threads_are_counted_as_dmidecode_lists_them() {
    for name in DUMPS {
        let text = std::fs::read_to_string(path(&format!("{name}.orig.txt"))).unwrap();
        let theirs = sections(&text, "Processor Information");
        let populated = |cpu: &&Vec<(String, String)>| {
            said(cpu, "Type").as_deref() == Some("Central Processor")
                && said(cpu, "Status").is_some_and(|status| status.starts_with("Populated"))
        };
        let sum = |names: &[&str]| {
            let own = |cpu: &Vec<(String, String)>| names.iter().find_map(|name| number(cpu, name, ""));
            theirs.iter().filter(populated).map(own).sum::<Option<u32>>()
        };
        let sockets = theirs.iter().filter(populated).count();
        let expected = smbios::Populated {
            sockets: sockets as u32,
            cores: sum(&["Core Enabled", "Core Count"]).filter(|_| sockets > 0),
            threads: sum(&["Thread Count"]).filter(|_| sockets > 0),
        };
        assert_eq!(smbios::read(table(name)).populated, expected, "{name}");
    }
}

#[test]
fn slots_lie_in_the_channels_that_their_boards_print_beside_them() {
    let channels = |name| -> Vec<(Option<String>, Option<u32>)> {
        smbios::read(table(name)).devices.into_iter().map(|device| (device.channel, device.node)).collect()
    };
    let at = |channel: &str, node: Option<u32>| (Some(channel.to_owned()), node);
    assert_eq!(channels("Lenovo-ThinkPad-T480"), [at("CHANNEL A", None), at("CHANNEL B", None)]);
    assert_eq!(
        channels("SuperMicro-X9DBL"),
        [
            at("P0 CHANNEL 0", Some(0)),
            at("P0 CHANNEL 1", Some(0)),
            at("P0 CHANNEL 2", Some(0)),
            at("P1 CHANNEL 0", Some(1)),
            at("P1 CHANNEL 1", Some(1)),
            at("P1 CHANNEL 2", Some(1)),
        ]
    );
}

#[test]
fn the_processor_s_name_is_the_firmware_s() {
    for name in DUMPS {
        let text = std::fs::read_to_string(path(&format!("{name}.orig.txt"))).unwrap();
        let theirs = sections(&text, "Processor Information");
        let ours = smbios::read(table(name));
        // Names have a single space if the firmware pads with several.
        let version = said(&theirs[0], "Version").map(|v| v.split_whitespace().collect::<Vec<_>>().join(" "));
        assert_eq!(ours.processor, version, "{name}");
        assert_eq!(
            ours.processor_hz,
            number(&theirs[0], "Current Speed", "MHz").map(|mhz| u64::from(mhz) * 1_000_000)
        );
    }
}

#[test]
fn a_captured_tree_with_a_table_has_its_memory_devices() {
    let folder = tempfile::tempdir().unwrap();
    let tables = folder.path().join("sys/firmware/dmi/tables");
    std::fs::create_dir_all(&tables).unwrap();
    std::fs::write(tables.join("DMI"), table("SuperMicro-X9DBL")).unwrap();
    let inspection = inspect(&Root::captured(folder.path()).unwrap());
    assert_eq!(inspection.machine.memory_devices.len(), 6);
    let covered = inspection.coverage.iter().find(|coverage| coverage.what == "memory devices").unwrap();
    assert_eq!(covered.state, State::Measured);
}

#[test]
fn a_dump_that_is_none_is_not_split() {
    for bad in [&b""[..], b"_SM_", &[0; 64], b"_SM3_then nothing of an entry point.."] {
        assert_eq!(smbios::split_dump(bad), None);
    }
    let mut far = vec![0; 64];
    far[..5].copy_from_slice(b"_SM3_");
    far[0x10..0x18].copy_from_slice(&u64::MAX.to_le_bytes());
    assert_eq!(smbios::split_dump(&far), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_cut_table_keeps_the_devices_before_the_cut(which in 0usize..2, at in 0usize..4000) {
        let table = table(DUMPS[which]);
        let whole = smbios::read(table.clone()).devices;
        let cut = smbios::read(table[..at.min(table.len())].to_vec()).devices;
        prop_assert!(cut.len() <= whole.len());
        // If a board's slots are evaluated together, a missing one may make those of the others unknown.
        for (cut, whole) in cut.iter().zip(&whole) {
            prop_assert_eq!(&cut.locator, &whole.locator);
            prop_assert_eq!(cut.bytes, whole.bytes);
        }
    }

    #[test]
    fn flipped_bits_stop_nothing(which in 0usize..2, flips in proptest::collection::vec((any::<u16>(), 0u8..8), 1..20)) {
        let mut table = table(DUMPS[which]);
        for (at, bit) in flips {
            let at = usize::from(at) % table.len();
            table[at] ^= 1 << bit;
        }
        let length = table.len();
        let read = smbios::read(table);
        prop_assert!(read.devices.len() <= length / 4);
        for device in &read.devices {
            for text in [&device.locator, &device.bank, &device.vendor, &device.part].into_iter().flatten() {
                prop_assert!(!text.chars().any(char::is_control) && text.chars().count() <= 200);
            }
        }
    }
}
