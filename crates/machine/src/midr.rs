//! Identifies Arm processors by their MIDR_EL1: the core's vendor and name.
//!
//! The names are in `arm_cores.txt` and are the same as in lscpu, so that they can be compared.

use crate::root::Root;
use crate::text::number;

/// The contents of MIDR_EL1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Midr {
    /// Implementer code, bits 31–24.
    pub implementer: u32,
    /// Variant (the N of `rNpM`), bits 23–20.
    pub variant: u32,
    /// Part number, bits 15–4.
    pub part: u32,
    /// Revision (the M of `rNpM`), bits 3–0.
    pub revision: u32,
}

impl Midr {
    /// Splits the register into its fields (Arm Architecture Reference Manual, MIDR_EL1).
    pub fn from_register(value: u64) -> Self {
        let bits = |from: u32, count: u32| (value >> from) as u32 & ((1 << count) - 1);
        Self { implementer: bits(24, 8), variant: bits(20, 4), part: bits(4, 12), revision: bits(0, 4) }
    }

    /// The MIDR of a CPU on an arm64 kernel.
    pub fn of_cpu(root: &Root, cpu: u32) -> Option<Self> {
        let file = format!("/sys/devices/system/cpu/cpu{cpu}/regs/identification/midr_el1");
        Some(Self::from_register(number(&root.text(&file)?)?))
    }
}

/// The vendors and their parts: `41 ARM`, and below it `  d0c Neoverse-N1`.
const CORES: &str = include_str!("arm_cores.txt");

/// The vendor of cores with this implementer code, as in lscpu.
pub fn vendor(implementer: u32) -> Option<&'static str> {
    named(CORES.lines(), implementer)
}

/// The core's name as in lscpu: `Neoverse-N1`, `Cortex-A76`, `Kunpeng-920`.
pub fn name(implementer: u32, part: u32) -> Option<&'static str> {
    named(parts(implementer).filter_map(|line| line.strip_prefix("  ")), part)
}

/// The indented lines that follow an implementer's line.
fn parts(implementer: u32) -> impl Iterator<Item = &'static str> {
    let below = CORES.lines().skip_while(move |line| named([*line], implementer).is_none()).skip(1);
    below.take_while(|line| line.starts_with("  "))
}

/// The rest of the line that begins with this hexadecimal number.
fn named(lines: impl IntoIterator<Item = &'static str>, number: u32) -> Option<&'static str> {
    lines.into_iter().find_map(|line| {
        let (digits, name) = line.split_once(' ')?;
        (u32::from_str_radix(digits, 16) == Ok(number)).then_some(name)
    })
}

/// The name of the core's design: a separate name if it has one (`TaiShan v110` in a Kunpeng 920), otherwise [`name`],
/// in the spelling of the product series (`Neoverse N1`).
pub fn microarchitecture(implementer: u32, part: u32) -> Option<String> {
    Some(match (implementer, part) {
        (0x48, 0xd01) => "TaiShan v110".to_owned(),
        (0x48, 0xd02) => "TaiShan v120".to_owned(),
        // Microsoft's Cobalt 100 is a Neoverse N2 and has Arm's part number for it.
        (0x6d, 0xd49) => "Neoverse N2".to_owned(),
        (0x61, _) => {
            // Apple's cores are named after the core and the chip: `Firestorm-M1-Max` is a Firestorm.
            let name = name(implementer, part)?;
            name.split('-').next().unwrap_or(name).to_owned()
        }
        _ => name(implementer, part)?.replace("Neoverse-", "Neoverse "),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn servers_are_called_what_their_owners_call_them() {
        // MIDR values printed at boot by the kernels of these machines.
        for (register, vendor_name, core, design, revision) in [
            (0x481fd010, "HiSilicon", "Kunpeng-920", "TaiShan v110", "r1p0"),
            (0x413fd0c1, "ARM", "Neoverse-N1", "Neoverse N1", "r3p1"),
            (0x411fd400, "ARM", "Neoverse-V1", "Neoverse V1", "r1p0"),
            (0x410fd4f0, "ARM", "Neoverse-V2", "Neoverse V2", "r0p0"),
            (0x701f6633, "Phytium", "FTC663", "FTC663", "r1p3"),
            (0x700f8620, "Phytium", "FTC862", "FTC862", "r0p0"),
            (0xc00fac30, "Ampere", "Ampere-1", "Ampere-1", "r0p0"),
            (0x460f0010, "FUJITSU", "A64FX", "A64FX", "r0p0"),
            (0x6d0fd490, "Microsoft", "Azure-Cobalt-100", "Neoverse N2", "r0p0"),
            (0x611f0230, "Apple", "Firestorm-M1", "Firestorm", "r1p0"),
        ] {
            let midr = Midr::from_register(register);
            assert_eq!(vendor(midr.implementer), Some(vendor_name));
            assert_eq!(name(midr.implementer, midr.part), Some(core));
            assert_eq!(microarchitecture(midr.implementer, midr.part).as_deref(), Some(design));
            assert_eq!(format!("r{}p{}", midr.variant, midr.revision), revision);
        }
    }

    #[test]
    fn an_unknown_core_has_no_name_rather_than_a_wrong_one() {
        assert_eq!(name(0x41, 0xfff), None);
        assert_eq!(name(0x7f, 0xd01), None);
        assert_eq!(microarchitecture(0x61, 0xfff), None);
        assert_eq!(vendor(0), None);
    }

    #[test]
    fn no_part_is_listed_twice() {
        let mut all = 0;
        for implementer in 0..=0xff {
            let numbers = parts(implementer).filter_map(|line| line.trim().split_once(' '));
            let numbers: Vec<u32> = numbers.filter_map(|(n, _)| u32::from_str_radix(n, 16).ok()).collect();
            let unique: BTreeSet<&u32> = numbers.iter().collect();
            assert_eq!(unique.len(), numbers.len(), "implementer {implementer:#x}");
            assert!(numbers.iter().all(|part| *part <= 0xfff), "implementer {implementer:#x}");
            all += numbers.len();
        }
        assert!(all > 180, "{all}");
    }
}
