use proptest::prelude::*;

use crate::tools::testing::{damaged, import};
use crate::{Imported, Importer, Split};

const T480: &str = include_str!("../../../tests/texts/dmidecode-t480.txt");
const X9DBL: &str = include_str!("../../../tests/texts/dmidecode-x9dbl.txt");
const DIMM: &str = include_str!("../../../tests/texts/dmidecode-lshw-dimm.txt");
const T480_DUMP: &[u8] = include_bytes!("../../../../machine/tests/smbios/Lenovo-ThinkPad-T480.bin");
const X9DBL_DUMP: &[u8] = include_bytes!("../../../../machine/tests/smbios/SuperMicro-X9DBL.bin");

fn dump(bytes: &[u8]) -> Imported {
    let mut importer = Importer::new(Split::Hosts);
    importer.read("dump", bytes).unwrap();
    importer.finish().unwrap().swap_remove(0)
}

#[test]
fn the_text_and_the_table_tell_the_same_devices() {
    for (text, bytes) in [(T480, T480_DUMP), (X9DBL, X9DBL_DUMP)] {
        let (text, table) = (import(text), dump(bytes));
        assert_eq!(text.machine.memory_devices, table.machine.memory_devices);
        assert_eq!(text.machine.processor.firmware_name, table.machine.processor.firmware_name);
        assert_eq!(text.machine.processor.base_hz, table.machine.processor.base_hz);
        assert!(text.machine.memory_devices.iter().any(|device| device.configured_mt_s.is_some()));
        assert_eq!(text.import.not_understood.lines, 0);
    }
}

#[test]
fn the_kernels_own_table_tells_what_a_dump_of_it_tells() {
    for bytes in [T480_DUMP, X9DBL_DUMP] {
        let (dumped, bare) = (dump(bytes).machine, dump(&bytes[32..]).machine);
        assert!(dumped.memory_devices.len() > 1 && dumped.system.board.is_some());
        assert_eq!((bare.memory_devices, bare.system), (dumped.memory_devices, dumped.system));
    }
}

#[test]
fn comments_behind_values_and_odd_indentation_do_no_harm() {
    let imported = import(DIMM);
    let [slow, listed] = imported.machine.memory_devices.as_slice() else {
        panic!("{:?}", imported.machine.memory_devices)
    };
    assert_eq!((slow.rated_mt_s, slow.configured_mt_s, slow.bytes), (Some(2933), Some(2100), Some(32 << 30)));
    assert_eq!(
        (slow.locator.as_deref(), slow.kind.as_deref(), slow.ranks),
        (Some("CPU0_DIMMA0"), Some("DDR4"), Some(2))
    );
    // lshw lists another bank.
    assert_eq!(
        (listed.locator.as_deref(), listed.rated_mt_s, listed.configured_mt_s),
        (Some("CPU1_DIMMB0"), Some(2933), None)
    );
    assert_eq!(
        (listed.part.as_deref(), listed.bytes, listed.data_bits),
        (Some("HMAA4GR7AJR8N-WM"), Some(32 << 30), Some(64))
    );
    let origin = &imported.import.inventory["machine.memory_devices[0].configured_mt_s"];
    assert!(origin.says.starts_with("Configured Memory Speed: 2100 MT/s") && origin.tool == "dmidecode");
}

#[test]
fn old_names_and_units_mean_the_same() {
    let imported = import(
        "# dmidecode 2.12\nHandle 0x1100, DMI type 17, 40 bytes\nMemory Device\n\tSize: 8192 MB\n\tLocator: A1\n\tType: DDR3\n\tSpeed: 1600 MHz\n\tConfigured Clock Speed: 1333 MHz\n",
    );
    let device = &imported.machine.memory_devices[0];
    assert_eq!(
        (device.rated_mt_s, device.configured_mt_s, device.bytes),
        (Some(1600), Some(1333), Some(8 << 30))
    );
    assert_eq!(imported.import.outputs[0].version.as_deref(), Some("2.12"));
}

#[test]
fn a_speed_that_no_memory_has_is_withheld() {
    let imported = import(
        "Memory Device\n\tSize: 16 GB\n\tLocator: A1\n\tSpeed: 3200 MT/s\n\tConfigured Memory Speed: 32768 MT/s\n",
    );
    assert_eq!(imported.machine.memory_devices[0].configured_mt_s, None);
    assert_eq!(imported.import.withheld[0].why, "32768 MT/s is not a plausible memory speed");
}

#[test]
fn lines_that_grep_let_through_are_read_by_what_was_asked() {
    let imported = import(
        "# dmidecode -t 17 | grep -i speed\n\tSpeed: 2666 MT/s\n\tConfigured Clock Speed: 2133 MT/s\n\tSpeed: 2666 MT/s\n\tConfigured Clock Speed: 2133 MT/s\n",
    );
    let speeds: Vec<_> = imported
        .machine
        .memory_devices
        .iter()
        .map(|device| (device.rated_mt_s, device.configured_mt_s))
        .collect();
    assert_eq!(speeds, [(Some(2666), Some(2133)), (Some(2666), Some(2133))]);
}

#[test]
fn video_memory_is_no_memory_of_the_machine() {
    let imported = import(
        "Handle 0x0010, DMI type 16, 23 bytes\nPhysical Memory Array\n\tUse: Video Memory\n\nHandle 0x0011, DMI type 17, 40 bytes\nMemory Device\n\tArray Handle: 0x0010\n\tSize: 64 MB\n",
    );
    assert!(imported.machine.memory_devices.is_empty());
}

const T480_BYTES: &str = include_str!("../../../tests/texts/dmidecode-u-t480.txt");

#[test]
fn the_bytes_that_u_prints_tell_what_the_table_tells() {
    let (bytes, table) = (import(T480_BYTES), dump(T480_DUMP));
    assert!(bytes.machine.memory_devices.len() > 1 && bytes.machine.system.board.is_some());
    assert_eq!(bytes.machine.memory_devices, table.machine.memory_devices);
    assert_eq!(bytes.machine.system, table.machine.system);
    assert_eq!(bytes.machine.processor, table.machine.processor);
    assert_eq!(bytes.import.not_understood.lines, 0, "{:?}", bytes.import.not_understood);
    let quoted: String = T480_BYTES
        .lines()
        .map(|line| match line.trim_start_matches('\t') {
            // Before dmidecode 3, strings were in quotation marks.
            "SK Hynix" => "\t\t\"SK Hynix\"\n".to_owned(),
            _ => format!("{line}\n"),
        })
        .collect();
    assert_eq!(import(&quoted).machine.memory_devices, table.machine.memory_devices);
}

/// A damaged text yields no values that the complete text does not.
fn tells_no_more(text: &str, whole: &Imported) {
    let machine = import(text).machine;
    for device in &machine.memory_devices {
        let known = whole.machine.memory_devices.iter().any(|known| {
            // Channels are derived from all devices together.
            let placed = record::machine::MemoryDevice {
                channel: known.channel.clone(),
                node: known.node,
                ..device.clone()
            };
            placed == *known && (device.channel.is_none() || device.channel == known.channel)
        });
        assert!(known, "{device:?}");
    }
    let (own, all) = (&machine.system, &whole.machine.system);
    for (now, was) in [
        (&own.vendor, &all.vendor),
        (&own.product, &all.product),
        (&own.board, &all.board),
        (&own.firmware, &all.firmware),
        (&machine.processor.firmware_name, &whole.machine.processor.firmware_name),
    ] {
        assert!(now.is_none() || now == was, "{now:?} is {was:?}");
    }
    let hz = machine.processor.base_hz;
    assert!(hz.is_none() || hz == whole.machine.processor.base_hz, "{hz:?}");
}

#[test]
fn bytes_of_which_a_line_is_missing_or_doubled_tell_nothing_else() {
    let (whole, lines) = (import(T480_BYTES), T480_BYTES.lines().collect::<Vec<_>>());
    for at in 0..lines.len() {
        let joined = |parts: &[&[&str]]| parts.concat().join("\n") + "\n";
        tells_no_more(&joined(&[&lines[..at], &lines[at + 1..]]), &whole);
        tells_no_more(&joined(&[&lines[..at], lines.get(at + 2..).unwrap_or_default()]), &whole);
        tells_no_more(&joined(&[&lines[..=at], &lines[at..]]), &whole);
        tells_no_more(&joined(&[&lines[..at]]), &whole);
    }
}

proptest! {
    #[test]
    fn bytes_that_lost_some_characters_of_a_line_tell_nothing_else(at in 0usize..20_000, cut in 1usize..6) {
        let at = at % T480_BYTES.len();
        let end = (at + cut).min(at + T480_BYTES[at..].find('\n').unwrap_or(0));
        tells_no_more(&damaged(T480_BYTES, at, end - at, ""), &import(T480_BYTES));
    }
}

proptest! {
    #[test]
    fn damaged_texts_never_panic(at: usize, cut in 0usize..300, with in "\\PC{0,20}") {
        import(&damaged(X9DBL, at, cut, &with));
        import(&damaged(DIMM, at, cut, &with));
    }

    #[test]
    fn damaged_tables_never_panic(at in 0usize..4000, byte: u8, length in 5usize..4700) {
        let mut bytes = X9DBL_DUMP.to_vec();
        bytes[at + 5] = byte;
        bytes.truncate(length);
        let mut importer = Importer::new(Split::Hosts);
        importer.read("dump", bytes.as_slice()).unwrap();
        let _ = importer.finish();
    }
}

#[test]
fn the_clock_of_the_boot_is_no_base_clock_where_it_may_be_a_turbos() {
    let of = |name: &str, mhz: u32| {
        let text = format!(
            "Handle 0x0030, DMI type 4, 48 bytes\nProcessor Information\n\tType: Central Processor\n\tVersion: {name}\n\t\
             Max Speed: 5000 MHz\n\tCurrent Speed: {mhz} MHz\n\tStatus: Populated, Enabled\n"
        );
        import(&text).machine.processor.base_hz
    };
    assert_eq!(of("Intel(R) Xeon(R) E-2386G CPU @ 3.50GHz", 4691), Some(3_500_000_000));
    assert_eq!(of("Intel(R) Xeon(R) CPU E5-2650 0 @ 2.00GHz", 1200), Some(2_000_000_000));
    assert_eq!(of("Intel(R) Core(TM) Ultra 9 185H", 4455), None);
    assert_eq!(of("AMD EPYC 9354 32-Core Processor", 3250), Some(3_250_000_000));
}

#[test]
fn the_board_has_the_slots_that_its_arrays_count_and_not_those_that_are_shown() {
    let array = |handle: &str, what: &str, slots: &str| {
        format!(
            "Handle {handle}, DMI type 16, 23 bytes\nPhysical Memory Array\n\tUse: {what}\n\tNumber Of Devices: {slots}\n\n"
        )
    };
    let device =
        "Handle 0x0041, DMI type 17, 84 bytes\nMemory Device\n\tSize: 32 GB\n\tLocator: CPU0_DIMMA0\n\n";
    let text = array("0x0033", "System Memory", "16  //slots")
        + &array("0x0034", "System Memory", "16")
        + &array("0x0034", "System Memory", "16")
        + &array("0x0035", "Flash Memory", "1")
        + device;
    let machine = import(&text).machine;
    assert_eq!((machine.memory_slots, machine.memory_devices.len()), (Some(32), 1));
    assert_eq!(import(&array("0x0033", "System Memory", "65534")).machine.memory_slots, None);
}

#[test]
fn devices_without_handles_are_told_apart_by_their_slots() {
    let device = |slot: &str, part: &str| {
        format!(
            "Memory Device\n\tSize: 16 GB\n\tLocator: {slot}\n\tBank Locator: NODE 1\n\tPart Number: {part}\n\n"
        )
    };
    let with = |handle: &str, slot: &str, part: &str| {
        format!("Handle 0x{handle}, DMI type 17, 84 bytes\n{}", device(slot, part))
    };
    let devices = |texts: &[String]| import(&texts.concat()).machine.memory_devices.len();
    let two = [device("A1", "M393A2"), device("A2", "HMA82G")];
    assert_eq!(devices(&two), 2);
    // The same devices again are no further devices, and another device in a slot is from another board.
    assert_eq!(devices(&[two.concat(), two.concat()]), 2);
    let is_refused = |texts: &[String]| {
        matches!(crate::real::import(texts.concat().as_bytes()), Err(crate::Error::SeveralMachines(_)))
    };
    assert!(is_refused(&[device("A1", "M393A2"), device("A1", "HMA82G")]));
    assert!(is_refused(&[with("0024", "A1", "M393A2"), device("A1", "HMA82G")]));
    // Some firmware has one name for all slots.
    assert_eq!(devices(&[device("A1", "M393A2"), device("A1", "M393A2")]), 2);
    assert_eq!(devices(&[with("0024", "A1", "M393A2"), with("0025", "A1", "HMA82G")]), 2);
    let unnamed = |part: &str| device("A1", part).replace("NODE 1", "Not Specified");
    assert_eq!(devices(&[unnamed("M393A2"), unnamed("HMA82G")]), 2);
}

#[test]
fn a_whole_table_counts_packages_cores_and_cpus_and_an_excerpt_does_not() {
    let socket = |handle: u32, counts: &str, status: &str| {
        format!(
            "Handle 0x{handle:04X}, DMI type 4, 48 bytes\nProcessor Information\n\tType: Central Processor\n\tVersion: EPYC\n{counts}\
             \tStatus: {status}\n\n"
        )
    };
    let of = |text: &str| {
        let counts = import(text).machine.counts;
        (counts.packages, counts.cores, counts.cpus_present)
    };
    let head = "# dmidecode 3.4\nGetting SMBIOS data from sysfs.\n\n";
    let whole = "\tCore Count: 64\n\tCore Enabled: 48\n\tThread Count: 96\n";
    let two = socket(1, whole, "Populated, Enabled")
        + &socket(2, whole, "Populated, Enabled")
        + &socket(3, "", "Unpopulated");
    assert_eq!(of(&format!("{head}{two}")), (Some(2), Some(96), Some(192)));
    let silent = socket(4, "\tCore Count: 64\n", "Populated, Enabled");
    assert_eq!(of(&format!("{head}{two}{silent}")), (Some(3), Some(160), None));
    assert_eq!(of(&two), (None, None, None));
    // lscpu shows the kernel's values.
    let lscpu =
        "Architecture: x86_64\nCPU(s): 4\nThread(s) per core: 1\nCore(s) per socket: 4\nSocket(s): 1\n\n";
    assert_eq!(
        of(&format!("{lscpu}{head}{}", socket(1, whole, "Populated, Enabled"))),
        (Some(1), Some(4), Some(4))
    );
}

#[test]
fn what_only_begins_as_a_number_is_withheld_and_said() {
    let text = "Handle 0x0041, DMI type 17, 84 bytes\nMemory Device\n\tData Width: 72x bits\n\tSize: 32 GB or 64 GB\n\
                \tLocator: A1\n\tType: DDR4\n\tSpeed: 48OO MT/s\n\tRank: 2x\n\tConfigured Memory Speed: Unknown\n";
    let imported = import(text);
    let device = &imported.machine.memory_devices[0];
    let read = (device.bytes, device.data_bits, device.rated_mt_s, device.ranks);
    assert_eq!(read, (None, None, None, None));
    assert_eq!(imported.import.withheld.len(), 4, "{:?}", imported.import.withheld);
}
