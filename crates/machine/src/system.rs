//! The names of the machine's system, board and firmware, from the DMI strings or the device tree's model, and its host name.

use record::machine::System;
use record::{Coverage, Machine};

use crate::Root;
use crate::text::{self, field};

/// The kernel's copies of DMI strings, which every user may read.
pub(crate) const DMI: &str = "/sys/class/dmi/id";

/// Firmware placeholders for unfilled fields.
const PLACEHOLDERS: &str = "default string|not specified|system manufacturer|system product name|not applicable|unknown|none|n/a|undefined";

/// The beginning of `To Be Filled By O.E.M.`, whose spelling varies.
const TO_BE_FILLED: &str = "to be filled";

/// Fills [`Machine::system`] and [`Machine::hostname`].
pub fn read(root: &Root, machine: &mut Machine, _coverage: &mut Vec<Coverage>) {
    let captured = || field(&root.text("/proc/hwloc-nofile-info")?, "HostName").and_then(text::name);
    let named = root.text("/proc/sys/kernel/hostname").as_deref().and_then(text::name);
    // The kernel's placeholder for a host without a name.
    machine.hostname = named.filter(|name| name != "(none)").or_else(captured);
    // A running machine has the directory under both paths; a captured tree may have only one of them.
    let dmi = |name: &str| {
        let text = root.text(&format!("{DMI}/{name}"));
        text.or_else(|| root.text(&format!("/sys/devices/virtual/dmi/id/{name}")))
            .as_deref()
            .and_then(meaningful_name)
    };
    machine.system = System {
        vendor: dmi("sys_vendor"),
        product: dmi("product_name")
            .or_else(|| root.text("/proc/device-tree/model").as_deref().and_then(meaningful_name)),
        firmware: joined([dmi("bios_vendor"), dmi("bios_version"), dmi("bios_date")]),
        board: joined([dmi("board_vendor"), dmi("board_name"), None]),
    };
}

/// A meaningful name.
pub fn meaningful_name(text: &str) -> Option<String> {
    let is_placeholder =
        |name: &str| PLACEHOLDERS.split('|').any(|known| known == name) || name.starts_with(TO_BE_FILLED);
    text::name(text).filter(|name| !is_placeholder(&name.to_lowercase()))
}

/// The available parts, joined by spaces.
pub(crate) fn joined(parts: [Option<String>; 3]) -> Option<String> {
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::Tree;

    fn read_tree(tree: &Tree) -> Machine {
        let mut machine = Machine::default();
        read(&tree.root(), &mut machine, &mut Vec::new());
        machine
    }

    #[test]
    fn firmware_names_are_reported_and_placeholders_are_not() {
        let tree = Tree::new().file("proc/sys/kernel/hostname", "db1\n").files(
            "sys/class/dmi/id",
            &[
                ("sys_vendor", "Dell Inc.\n"),
                ("product_name", "PowerEdge R740\n"),
                ("bios_vendor", "Dell Inc.\n"),
                ("bios_version", "2.10.2\n"),
                ("bios_date", "02/24/2021\n"),
                ("board_vendor", "To be filled by O.E.M.\n"),
                ("board_name", "\x1b[31m0923K0\n"),
            ],
        );
        let machine = read_tree(&tree);
        assert_eq!(machine.hostname.as_deref(), Some("db1"));
        assert_eq!(machine.system.vendor.as_deref(), Some("Dell Inc."));
        assert_eq!(machine.system.firmware.as_deref(), Some("Dell Inc. 2.10.2 02/24/2021"));
        assert_eq!(machine.system.board.as_deref(), Some("[31m0923K0"));
    }

    #[test]
    fn a_board_without_dmi_is_named_by_its_device_tree() {
        let machine =
            read_tree(&Tree::new().file("proc/device-tree/model", "Raspberry Pi 5 Model B Rev 1.0\0"));
        assert_eq!(machine.system.product.as_deref(), Some("Raspberry Pi 5 Model B Rev 1.0"));
        assert_eq!(read_tree(&Tree::new()).system, System::default());
    }
}
