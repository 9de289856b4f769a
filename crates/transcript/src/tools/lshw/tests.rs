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
    let told = import(LISTING);
    let [full, empty] = told.machine.memory_devices.as_slice() else {
        panic!("{:?}", told.machine.memory_devices)
    };
    assert_eq!((full.kind.as_deref(), full.form.as_deref()), (Some("DDR4"), Some("DIMM")));
    assert_eq!((full.bytes, full.rated_mt_s, full.configured_mt_s), (Some(32 << 30), Some(2933), None));
    assert_eq!((empty.bytes, empty.locator.as_deref()), (None, Some("CPU1_DIMMB1")));
    assert_eq!(told.import.not_understood.lines, 0);
}

proptest! {
    #[test]
    fn damaged_listings_never_panic(at: usize, cut in 0usize..100, with in "\\PC{0,20}") {
        import(&damaged(LISTING, at, cut, &with));
    }
}
