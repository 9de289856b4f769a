//! Arm processors by their MIDR_EL1: who made the core and what it is called.
//!
//! The numbers are facts from Arm's, the makers' and the Linux kernel's lists (`arch/arm64/include/asm/cputype.h`);
//! the names are those that lscpu prints, so that a reading can be compared by eye.

/// What MIDR_EL1 tells.
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
    /// Takes the register apart (Arm Architecture Reference Manual, MIDR_EL1).
    pub fn from_register(value: u64) -> Self {
        let bits = |from: u32, count: u32| (value >> from) as u32 & ((1 << count) - 1);
        Self { implementer: bits(24, 8), variant: bits(20, 4), part: bits(4, 12), revision: bits(0, 4) }
    }

    /// Variant and revision as Arm writes them: `r1p0`.
    pub fn revision_name(&self) -> String {
        format!("r{}p{}", self.variant, self.revision)
    }
}

/// Who makes cores with this implementer code, as lscpu writes it.
pub fn vendor(implementer: u32) -> Option<&'static str> {
    makers(implementer).map(|maker| maker.0)
}

/// The core's name as lscpu writes it: `Neoverse-N1`, `Cortex-A76`, `Kunpeng-920`.
pub fn name(implementer: u32, part: u32) -> Option<&'static str> {
    let (_, parts) = makers(implementer)?;
    parts.iter().find(|(id, _)| *id == part).map(|(_, name)| *name)
}

/// The name of the core's design, where that differs from [`name`] (`TaiShan v110` inside a Kunpeng 920), or
/// [`name`] itself with the series' own spelling (`Neoverse N1`).
pub fn microarchitecture(implementer: u32, part: u32) -> Option<String> {
    Some(match (implementer, part) {
        (0x48, 0xd01) => "TaiShan v110".to_owned(),
        (0x48, 0xd02) => "TaiShan v120".to_owned(),
        // Microsoft's Cobalt 100 has Arm's own part number for the Neoverse N2 that it is.
        (0x6d, 0xd49) => "Neoverse N2".to_owned(),
        (0x61, _) => {
            // Apple's cores are known by the core and the chip: `Firestorm-M1-Max` is a Firestorm.
            let name = name(implementer, part)?;
            name.split('-').next().unwrap_or(name).to_owned()
        }
        _ => name(implementer, part)?.replace("Neoverse-", "Neoverse "),
    })
}

type Parts = &'static [(u32, &'static str)];

fn makers(implementer: u32) -> Option<(&'static str, Parts)> {
    Some(match implementer {
        0x41 => ("ARM", ARM),
        0x42 => ("Broadcom", &[(0x00f, "Brahma-B15"), (0x100, "Brahma-B53"), (0x516, "ThunderX2")]),
        0x43 => ("Cavium", CAVIUM),
        0x44 => ("DEC", &[(0xa10, "SA110"), (0xa11, "SA1100")]),
        0x46 => ("FUJITSU", &[(0x001, "A64FX"), (0x003, "MONAKA")]),
        0x48 => ("HiSilicon", HISILICON),
        0x49 => ("Infineon", &[]),
        0x4d => ("Motorola/Freescale", &[]),
        0x4e => ("NVIDIA", &[(0x000, "Denver"), (0x003, "Denver 2"), (0x004, "Carmel"), (0x010, "Olympus")]),
        0x50 => ("APM", &[(0x000, "X-Gene")]),
        0x51 => ("Qualcomm", QUALCOMM),
        0x53 => (
            "Samsung",
            &[(0x001, "exynos-m1"), (0x002, "exynos-m3"), (0x003, "exynos-m4"), (0x004, "exynos-m5")],
        ),
        0x56 => ("Marvell", &[(0x131, "Feroceon-88FR131"), (0x581, "PJ4/PJ4b"), (0x584, "PJ4B-MP")]),
        0x61 => ("Apple", APPLE),
        0x66 => ("Faraday", &[(0x526, "FA526"), (0x626, "FA626")]),
        0x69 => ("Intel", INTEL),
        0x6d => ("Microsoft", &[(0xd49, "Azure-Cobalt-100")]),
        0x70 => ("Phytium", PHYTIUM),
        0xc0 => ("Ampere", &[(0xac3, "Ampere-1"), (0xac4, "Ampere-1a"), (0xac5, "Ampere-1b")]),
        _ => return None,
    })
}

const ARM: Parts = &[
    (0x810, "ARM810"),
    (0x920, "ARM920"),
    (0x922, "ARM922"),
    (0x926, "ARM926"),
    (0x940, "ARM940"),
    (0x946, "ARM946"),
    (0x966, "ARM966"),
    (0xa20, "ARM1020"),
    (0xa22, "ARM1022"),
    (0xa26, "ARM1026"),
    (0xb02, "ARM11-MPCore"),
    (0xb36, "ARM1136"),
    (0xb56, "ARM1156"),
    (0xb76, "ARM1176"),
    (0xc05, "Cortex-A5"),
    (0xc07, "Cortex-A7"),
    (0xc08, "Cortex-A8"),
    (0xc09, "Cortex-A9"),
    // Sold as Cortex-A12 first.
    (0xc0d, "Cortex-A17"),
    (0xc0e, "Cortex-A17"),
    (0xc0f, "Cortex-A15"),
    (0xd01, "Cortex-A32"),
    (0xd02, "Cortex-A34"),
    (0xd03, "Cortex-A53"),
    (0xd04, "Cortex-A35"),
    (0xd05, "Cortex-A55"),
    (0xd06, "Cortex-A65"),
    (0xd07, "Cortex-A57"),
    (0xd08, "Cortex-A72"),
    (0xd09, "Cortex-A73"),
    (0xd0a, "Cortex-A75"),
    (0xd0b, "Cortex-A76"),
    (0xd0c, "Neoverse-N1"),
    (0xd0d, "Cortex-A77"),
    (0xd0e, "Cortex-A76AE"),
    (0xd13, "Cortex-R52"),
    (0xd14, "Cortex-R82AE"),
    (0xd15, "Cortex-R82"),
    (0xd16, "Cortex-R52+"),
    (0xd40, "Neoverse-V1"),
    (0xd41, "Cortex-A78"),
    (0xd42, "Cortex-A78AE"),
    (0xd43, "Cortex-A65AE"),
    (0xd44, "Cortex-X1"),
    (0xd46, "Cortex-A510"),
    (0xd47, "Cortex-A710"),
    (0xd48, "Cortex-X2"),
    (0xd49, "Neoverse-N2"),
    (0xd4a, "Neoverse-E1"),
    (0xd4b, "Cortex-A78C"),
    (0xd4c, "Cortex-X1C"),
    (0xd4d, "Cortex-A715"),
    (0xd4e, "Cortex-X3"),
    (0xd4f, "Neoverse-V2"),
    (0xd80, "Cortex-A520"),
    (0xd81, "Cortex-A720"),
    (0xd82, "Cortex-X4"),
    (0xd83, "Neoverse-V3AE"),
    (0xd84, "Neoverse-V3"),
    (0xd85, "Cortex-X925"),
    (0xd87, "Cortex-A725"),
    (0xd88, "Cortex-A520AE"),
    (0xd89, "Cortex-A720AE"),
    (0xd8a, "C1-Nano"),
    (0xd8b, "C1-Pro"),
    (0xd8c, "C1-Ultra"),
    (0xd8e, "Neoverse-N3"),
    (0xd8f, "Cortex-A320"),
    (0xd90, "C1-Premium"),
];

const CAVIUM: Parts = &[
    (0x0a0, "ThunderX"),
    (0x0a1, "ThunderX-88XX"),
    (0x0a2, "ThunderX-81XX"),
    (0x0a3, "ThunderX-83XX"),
    (0x0af, "ThunderX2-99xx"),
    (0x0b0, "OcteonTX2"),
    (0x0b1, "OcteonTX2-98XX"),
    (0x0b2, "OcteonTX2-96XX"),
    (0x0b3, "OcteonTX2-95XX"),
    (0x0b4, "OcteonTX2-95XXN"),
    (0x0b5, "OcteonTX2-95XXMM"),
    (0x0b6, "OcteonTX2-95XXO"),
    (0x0b8, "ThunderX3-T110"),
];

const HISILICON: Parts = &[
    // The chip's name, as lscpu printed it until 2.40; newer ones print the core's, TaiShan-v110.
    (0xd01, "Kunpeng-920"),
    (0xd02, "TaiShan-v120"),
    (0xd06, "HIP12"),
    // HiSilicon's own numbers for cores that it calls by Arm's names.
    (0xd40, "Cortex-A76"),
    (0xd41, "Cortex-A77"),
];

const QUALCOMM: Parts = &[
    (0x001, "Oryon"),
    (0x00f, "Scorpion"),
    (0x02d, "Scorpion"),
    (0x04d, "Krait"),
    (0x06f, "Krait"),
    (0x201, "Kryo"),
    (0x205, "Kryo"),
    (0x211, "Kryo"),
    (0x800, "Falkor-V1/Kryo"),
    (0x801, "Kryo-V2"),
    (0x802, "Kryo-3XX-Gold"),
    (0x803, "Kryo-3XX-Silver"),
    (0x804, "Kryo-4XX-Gold"),
    (0x805, "Kryo-4XX-Silver"),
    (0xc00, "Falkor"),
    (0xc01, "Saphira"),
];

const APPLE: Parts = &[
    (0x000, "Swift"),
    (0x001, "Cyclone"),
    (0x002, "Typhoon"),
    (0x003, "Typhoon/Capri"),
    (0x004, "Twister"),
    (0x005, "Twister/Elba/Malta"),
    (0x006, "Hurricane"),
    (0x007, "Hurricane/Myst"),
    (0x008, "Monsoon"),
    (0x009, "Mistral"),
    (0x00b, "Vortex"),
    (0x00c, "Tempest"),
    (0x00f, "Tempest-M9"),
    (0x010, "Vortex/Aruba"),
    (0x011, "Tempest/Aruba"),
    (0x012, "Lightning"),
    (0x013, "Thunder"),
    (0x020, "Icestorm-A14"),
    (0x021, "Firestorm-A14"),
    (0x022, "Icestorm-M1"),
    (0x023, "Firestorm-M1"),
    (0x024, "Icestorm-M1-Pro"),
    (0x025, "Firestorm-M1-Pro"),
    (0x026, "Thunder-M10"),
    (0x028, "Icestorm-M1-Max"),
    (0x029, "Firestorm-M1-Max"),
    (0x030, "Blizzard-A15"),
    (0x031, "Avalanche-A15"),
    (0x032, "Blizzard-M2"),
    (0x033, "Avalanche-M2"),
    (0x034, "Blizzard-M2-Pro"),
    (0x035, "Avalanche-M2-Pro"),
    (0x036, "Sawtooth-A16"),
    (0x037, "Everest-A16"),
    (0x038, "Blizzard-M2-Max"),
    (0x039, "Avalanche-M2-Max"),
];

const INTEL: Parts = &[
    (0x200, "i80200"),
    (0x210, "PXA250A"),
    (0x212, "PXA210A"),
    (0x242, "i80321-400"),
    (0x243, "i80321-600"),
    (0x290, "PXA250B/PXA26x"),
    (0x292, "PXA210B"),
    (0x2c2, "i80321-400-B0"),
    (0x2c3, "i80321-600-B0"),
    (0x2d0, "PXA250C/PXA255/PXA26x"),
    (0x2d2, "PXA210C"),
    (0x411, "PXA27x"),
    (0x41c, "IPX425-533"),
    (0x41d, "IPX425-400"),
    (0x41f, "IPX425-266"),
    (0x682, "PXA32x"),
    (0x683, "PXA930/PXA935"),
    (0x688, "PXA30x"),
    (0x689, "PXA31x"),
    (0xb11, "SA1110"),
    (0xc12, "IPX1200"),
];

const PHYTIUM: Parts = &[
    (0x303, "FTC310"),
    (0x660, "FTC660"),
    (0x661, "FTC661"),
    (0x662, "FTC662"),
    (0x663, "FTC663"),
    (0x664, "FTC664"),
    (0x862, "FTC862"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn servers_are_called_what_their_owners_call_them() {
        // MIDR values as the kernels of these machines print them at boot.
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
            assert_eq!(midr.revision_name(), revision);
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
        for implementer in 0..=0xff {
            let Some((_, parts)) = makers(implementer) else { continue };
            let unique: BTreeSet<u32> = parts.iter().map(|(part, _)| *part).collect();
            assert_eq!(unique.len(), parts.len(), "implementer {implementer:#x}");
            assert!(parts.iter().all(|(part, _)| *part <= 0xfff), "implementer {implementer:#x}");
        }
    }
}
