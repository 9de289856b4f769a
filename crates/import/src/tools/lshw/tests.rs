use proptest::prelude::*;

use crate::tools::testing::{damaged, import};

const LISTING: &str = "\
$ sudo lshw -class memory
  *-firmware
       description: BIOS
       physical id: 0
       size: 64KiB
  *-memory
       description: System Memory
       slot: System board or motherboard
       size: 32GiB
     *-bank:0
          description: DIMM DDR4 Synchronous Registered (Buffered) 2933 MHz (0.3 ns)
          product: HMAA4GR7AJR8N-WM
          vendor: SK Hynix
          slot: CPU1_DIMMB0
          size: 32GiB  //one of many
          width: 64 bits
          clock: 2933MHz (0.3ns)
     *-bank:1
          description: DIMM Synchronous [empty]
          slot: CPU1_DIMMB1
";

#[test]
fn banks_are_memory_devices_and_other_classes_are_not() {
    let imported = import(LISTING);
    let [full, empty] = imported.machine.memory_devices.as_slice() else {
        panic!("{:?}", imported.machine.memory_devices)
    };
    assert_eq!((full.kind.as_deref(), full.form.as_deref()), (Some("DDR4"), Some("DIMM")));
    assert_eq!((full.bytes, full.rated_mt_s, full.configured_mt_s), (Some(32 << 30), Some(2933), None));
    assert_eq!((empty.bytes, empty.locator.as_deref()), (None, Some("CPU1_DIMMB1")));
    assert_eq!(imported.import.not_understood.lines, 0);
}

#[test]
fn json_and_the_short_form_tell_the_same_banks() {
    let json = "[\n  {\n    \"id\" : \"memory\",\n    \"class\" : \"memory\",\n    \"units\" : \"bytes\",\n    \"size\" : 34359738368,\n    \
        \"children\" : [\n      {\n        \"id\" : \"bank:0\",\n        \"class\" : \"memory\",\n        \"description\" : \"DIMM DDR4 Synchronous \
        Registered (Buffered) 2933 MHz (0.3 ns)\",\n        \"slot\" : \"CPU1_DIMMB0\",\n        \"units\" : \"bytes\",\n        \"size\" : 34359738368,\n        \
        \"width\" : 64,\n        \"clock\" : 2933000000\n      }\n    ]\n  }\n]\n";
    let short = "H/W path         Device      Class          Description\n======================================================\n/0/1000                      \
        memory         32GiB System Memory\n/0/1000/0                    memory         32GiB DIMM DDR4 Synchronous Registered (Buffered) 2933 MHz (0.3 \
        ns)\n/0/4                         processor      Some CPU\n";
    for text in [json, short] {
        let imported = import(text);
        let [bank] = imported.machine.memory_devices.as_slice() else {
            panic!("{:?}", imported.machine.memory_devices)
        };
        assert_eq!((bank.kind.as_deref(), bank.form.as_deref()), (Some("DDR4"), Some("DIMM")), "{text}");
        assert_eq!((bank.bytes, bank.rated_mt_s), (Some(32 << 30), Some(2933)), "{text}");
        assert_eq!(imported.machine.memory_bytes, Some(32 << 30), "{text}");
        assert_eq!(imported.import.not_understood.lines, 0, "{:?}", imported.import.not_understood);
    }
}

#[test]
fn slots_that_dmidecode_reported_already_are_the_same_slots() {
    let dmidecode = "$ dmidecode -t memory\n# dmidecode 3.2\nHandle 0x0041, DMI type 17, 84 bytes\nMemory Device\n\tLocator: CPU1_DIMMB0\n\tSize: \
        32 GB\n\tSpeed: 2933 MT/s\n\tConfigured Memory Speed: 2100 MT/s\n\tRank: 2\n";
    let imported = import(&format!("{dmidecode}{LISTING}"));
    let [full, empty] = imported.machine.memory_devices.as_slice() else {
        panic!("{:?}", imported.machine.memory_devices)
    };
    assert_eq!(
        (full.configured_mt_s, full.ranks, full.vendor.as_deref()),
        (Some(2100), Some(2), Some("SK Hynix"))
    );
    assert_eq!((empty.locator.as_deref(), imported.import.contradictions.len()), (Some("CPU1_DIMMB1"), 0));
    assert!(imported.import.inventory.contains_key("machine.memory_devices[1].locator"));
    let twice = import(&format!("{dmidecode}{}", dmidecode.replace("2100", "2400")));
    assert_eq!(twice.machine.memory_devices[0].configured_mt_s, Some(2400));
    assert!(twice.import.contradictions[0].says.contains("2100 and later with 2400"), "{:?}", twice.import);
}

const BANK: &str = "\
  *-memory
       description: System Memory
       size: 16GiB
     *-bank:0
          description: SODIMM DDR5 Synchronous Unbuffered (Unregistered) 4800 MHz (0.2 ns)
          slot: DIMM 0
          size: 16GiB
          width: 64 bits
          clock: 505MHz (2.0ns)
          configured speed: 4400MT/s
";

#[test]
fn a_clock_that_32_bits_cannot_hold_is_no_speed() {
    let of = |text: &str| {
        let imported = import(text);
        let bank = imported.machine.memory_devices[0].clone();
        (bank.rated_mt_s, bank.configured_mt_s, imported.import.withheld.len())
    };
    assert_eq!(of(BANK), (Some(4800), Some(4400), 0));
    assert_eq!(of(&BANK.replace(" 4800 MHz (0.2 ns)", "")), (None, Some(4400), 0));
    let json = "  {\n    \"id\" : \"bank:0\",\n    \"description\" : \"DIMM DDR5 Synchronous 4800 MHz (0.2 ns)\",\n    \
        \"size\" : 17179869184,\n    \"clock\" : 505032704\n  }\n";
    assert_eq!(of(json), (Some(4800), None, 0));
}

#[test]
fn whole_tables_tell_the_same_bank() {
    let table = |head: &str, paths: [&str; 4]| {
        let says = [
            "system         Computer",
            "memory         16GiB System Memory",
            "memory         16GiB SODIMM DDR5 Synchronous 4800 MHz (0.2 ns)",
            "disk           512GB SSD",
        ];
        let rows: String = paths.iter().zip(says).map(|(path, says)| format!("{path:<28}{says}\n")).collect();
        format!("{head:<18}{:<10}Class          Description\n{}\n{rows}", "Device", "=".repeat(60))
    };
    let short = table("H/W path", ["", "/0/1000", "/0/1000/0", "/0/100/2  /dev/vda"]);
    let by_bus = table("Bus info", ["", "", "", "virtio@0  /dev/vda"]);
    for text in [&short, &by_bus] {
        let imported = import(text);
        let [bank] = imported.machine.memory_devices.as_slice() else {
            panic!("{text}: {:?}", imported.machine.memory_devices)
        };
        assert_eq!((bank.kind.as_deref(), bank.bytes), (Some("DDR5"), Some(16 << 30)), "{text}");
        assert_eq!((bank.rated_mt_s, imported.machine.memory_bytes), (Some(4800), Some(16 << 30)), "{text}");
    }
}

proptest! {
    #[test]
    fn damaged_listings_never_panic(at: usize, cut in 0usize..100, with in "\\PC{0,20}") {
        import(&damaged(LISTING, at, cut, &with));
    }
}

#[test]
fn the_period_of_a_clock_is_said_to_be_no_latency() {
    let bank = "  *-bank:19\n       description: DIMM DDR4 Synchronous 2933 MHz (0.3 ns)\n       slot: CPU1_DIMMB0\n       \
                size: 32GiB\n       clock: 2933MHz (0.3ns)\n";
    let machine = import(&format!("# lshw\n{bank}{}", bank.replace("B0", "C0"))).machine;
    assert_eq!(machine.notes.iter().map(|note| note.code()).collect::<Vec<_>>(), [Some("lshw-period")]);
    let clock = machine.memory_devices.iter().map(|device| device.rated_mt_s).collect::<Vec<_>>();
    assert_eq!(clock, [Some(2933), Some(2933)]);
}
