//! Names of x86-64 core designs by vendor, family and model.
//!
//! Families and models are the displayed ones (extended fields added in), as in `/proc/cpuinfo`. The numbers are
//! facts from the Linux kernel's `intel-family.h`, AMD's processor programming references, and GCC's `cpuinfo.h`.

use std::fmt;

/// What of `/proc/cpuinfo` decides the name.
#[derive(Clone, Copy, Debug, Default)]
pub struct Identity<'a> {
    /// `GenuineIntel`, `AuthenticAMD`…
    pub vendor: &'a str,
    /// Displayed family.
    pub family: u32,
    /// Displayed model.
    pub model: u32,
    /// Stepping.
    pub stepping: u32,
    /// The flags, separated by spaces.
    pub flags: &'a str,
}

impl Identity<'_> {
    fn has(&self, flag: &str) -> bool {
        self.flags.split_ascii_whitespace().any(|f| f == flag)
    }
}

/// A core design; shown as `Raptor Lake (Raptor Cove + Gracemont)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Design {
    /// Its name.
    pub name: &'static str,
    /// Its cores, the larger first, where they have names of their own.
    pub cores: &'static [&'static str],
    /// Whether it may be a successor of this name.
    pub or_later: bool,
}

impl Design {
    const fn of(name: &'static str, cores: &'static [&'static str]) -> Self {
        Self { name, cores, or_later: false }
    }
}

impl fmt::Display for Design {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        if !self.cores.is_empty() {
            write!(f, " ({})", self.cores.join(" + "))?;
        }
        f.write_str(if self.or_later { " or later" } else { "" })
    }
}

/// The design: `Skylake-X`, `Raptor Lake (Raptor Cove + Gracemont)`, `Zen 2`… `None` for an unknown one.
///
/// A hypervisor may present any model number. Where the number names a design that lacks features the flags
/// show, the name is what those features prove (`Sapphire Rapids or later`), because the number cannot be true.
pub fn microarchitecture(cpu: &Identity) -> Option<Design> {
    match cpu.vendor {
        "GenuineIntel" => intel(cpu),
        "AuthenticAMD" => amd(cpu),
        "HygonGenuine" => hygon(cpu),
        "CentaurHauls" | "  Shanghai  " | "Shanghai" => zhaoxin(cpu),
        _ => None,
    }
}

fn intel(cpu: &Identity) -> Option<Design> {
    let by_number = match cpu.family {
        6 => intel_6(cpu),
        // Pentium 4 and its Xeons (NetBurst); only those with 64 bits run this program.
        15 => match cpu.model {
            0..=2 => Some(Design::of("NetBurst (Willamette/Northwood)", &[])),
            3 | 4 => Some(Design::of("NetBurst (Prescott)", &[])),
            6 => Some(Design::of("NetBurst (Cedar Mill/Tulsa)", &[])),
            _ => None,
        },
        18 => match cpu.model {
            1 | 3 => Some(Design::of("Nova Lake", &["Coyote Cove", "Arctic Wolf"])),
            _ => None,
        },
        19 => match cpu.model {
            1 => Some(Design::of("Diamond Rapids", &["Panther Cove"])),
            _ => None,
        },
        _ => None,
    };
    // AMX came with Sapphire Rapids, its fp16 form with Granite Rapids: no design before them can show these.
    let with_amx =
        |name: &str| ["Sapphire", "Emerald", "Granite", "Diamond"].iter().any(|n| name.starts_with(n));
    match by_number {
        Some(design) if !with_amx(design.name) && cpu.has("amx_tile") => {
            let name = if cpu.has("amx_fp16") { "Granite Rapids" } else { "Sapphire Rapids" };
            Some(Design { name, cores: &[], or_later: true })
        }
        other => other,
    }
}

fn intel_6(cpu: &Identity) -> Option<Design> {
    let name = match cpu.model {
        0x0e => "Yonah",
        0x0f | 0x16 => "Merom",
        0x17 | 0x1d => "Penryn",
        0x1a | 0x1e | 0x1f | 0x2e => "Nehalem",
        0x25 | 0x2c | 0x2f => "Westmere",
        0x2a | 0x2d => "Sandy Bridge",
        0x3a | 0x3e => "Ivy Bridge",
        0x3c | 0x3f | 0x45 | 0x46 => "Haswell",
        0x3d | 0x47 | 0x4f | 0x56 => "Broadwell",
        0x4e | 0x5e => "Skylake",
        // One model number for three server generations; the stepping tells them apart, and where a hypervisor
        // hides it, the features that each brought.
        0x55 => match cpu.stepping {
            0..=4 if !cpu.has("avx512_vnni") => "Skylake-X",
            10.. => "Cooper Lake",
            _ if cpu.has("avx512_bf16") => "Cooper Lake",
            _ => "Cascade Lake",
        },
        0x8e => match cpu.stepping {
            0..=9 => "Kaby Lake",
            10 => "Coffee Lake",
            _ => "Whiskey Lake/Comet Lake",
        },
        0x9e => match cpu.stepping {
            0..=9 => "Kaby Lake",
            _ => "Coffee Lake",
        },
        0xa5 | 0xa6 => "Comet Lake",
        0x66 => "Cannon Lake",
        0x6a | 0x6c => "Ice Lake-X",
        0x7d | 0x7e | 0x9d => "Ice Lake",
        0x8c | 0x8d => "Tiger Lake",
        0xa7 => "Rocket Lake",
        0x8f => "Sapphire Rapids",
        0xcf => "Emerald Rapids",
        0xad | 0xae => "Granite Rapids",
        0x8a => return Some(Design::of("Lakefield", &["Sunny Cove", "Tremont"])),
        0x97 | 0x9a => return Some(Design::of("Alder Lake", &["Golden Cove", "Gracemont"])),
        0xb7 | 0xba | 0xbf => return Some(Design::of("Raptor Lake", &["Raptor Cove", "Gracemont"])),
        0xd7 => return Some(Design::of("Bartlett Lake", &["Raptor Cove"])),
        0xaa | 0xac => return Some(Design::of("Meteor Lake", &["Redwood Cove", "Crestmont"])),
        0xb5 => "Arrow Lake-U",
        0xc5 | 0xc6 => return Some(Design::of("Arrow Lake", &["Lion Cove", "Skymont"])),
        0xbd => return Some(Design::of("Lunar Lake", &["Lion Cove", "Skymont"])),
        0xcc | 0xe5 => return Some(Design::of("Panther Lake", &["Cougar Cove", "Darkmont"])),
        0xd5 => "Wildcat Lake",
        0x1c | 0x26 => "Bonnell",
        0x27 | 0x35 | 0x36 => "Saltwell",
        0x37 | 0x4a | 0x4d | 0x5d => "Silvermont",
        0x4c | 0x5a | 0x75 => "Airmont",
        0x5c | 0x5f => "Goldmont",
        0x7a => "Goldmont Plus",
        0x86 | 0x96 | 0x9c => "Tremont",
        0xbe => return Some(Design::of("Alder Lake-N", &["Gracemont"])),
        0xaf => return Some(Design::of("Sierra Forest", &["Crestmont"])),
        0xb6 => return Some(Design::of("Grand Ridge", &["Crestmont"])),
        0xdd => return Some(Design::of("Clearwater Forest", &["Darkmont"])),
        0x57 => "Knights Landing",
        0x85 => "Knights Mill",
        _ => return None,
    };
    Some(Design::of(name, &[]))
}

fn amd(cpu: &Identity) -> Option<Design> {
    let name = match (cpu.family, cpu.model) {
        (0x0f, _) => "K8",
        (0x10, _) => "K10",
        (0x11, _) => "K8/K10 (Griffin)",
        (0x12, _) => "K10 (Llano)",
        (0x14, _) => "Bobcat",
        (0x15, 0x02 | 0x10..=0x2f) => "Piledriver",
        (0x15, 0x00..=0x0f) => "Bulldozer",
        (0x15, 0x30..=0x4f) => "Steamroller",
        (0x15, 0x50..=0x7f) => "Excavator",
        (0x16, 0x00..=0x2f) => "Jaguar",
        (0x16, _) => "Puma",
        (0x17, 0x00..=0x07 | 0x10 | 0x11..=0x17 | 0x20..=0x2f) => "Zen",
        (0x17, 0x08..=0x0f | 0x18..=0x1f) => "Zen+",
        (0x17, _) => "Zen 2",
        // 0xa0 to 0xaf are the dense cores of Bergamo and Siena.
        (0x19, 0xa0..=0xaf) => "Zen 4c",
        (0x19, 0x10..=0x1f | 0x60..=0x9f) => "Zen 4",
        // A model not in the list: AVX-512 came with Zen 4.
        (0x19, 0xb0..) if cpu.has("avx512f") => "Zen 4",
        (0x19, _) => "Zen 3",
        // 0x10 to 0x1f are the dense cores of Turin Dense.
        (0x1a, 0x10..=0x1f) => "Zen 5c",
        (0x1a, 0x00..=0x0f | 0x20..=0x4f | 0x60..=0x7f) => "Zen 5",
        (0x1a, 0x50..=0x5f | 0x90..=0xaf | 0xc0..=0xcf) => "Zen 6",
        _ => return None,
    };
    Some(Design::of(name, &[]))
}

/// Hygon's Dhyana is Zen under licence; the later models are Hygon's own developments of it.
fn hygon(cpu: &Identity) -> Option<Design> {
    match (cpu.family, cpu.model) {
        (0x18, 0..=3) => Some(Design::of("Dhyana (Zen)", &[])),
        (0x18, 4..) => Some(Design::of("C86-4G", &[])),
        _ => None,
    }
}

fn zhaoxin(cpu: &Identity) -> Option<Design> {
    match (cpu.family, cpu.model) {
        (6, 0x0f) => Some(Design::of("Isaiah", &[])),
        (6, 0x19) => Some(Design::of("ZhangJiang", &[])),
        (7, 0x1b) => Some(Design::of("WuDaoKou", &[])),
        (7, 0x3b) => Some(Design::of("LuJiaZui", &[])),
        (7, 0x5b) => Some(Design::of("YongFeng", &[])),
        (7, 0x6b..=0x7f) => Some(Design::of("ShiJiDaDao", &[])),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn named(vendor: &str, family: u32, model: u32, stepping: u32, flags: &str) -> Option<String> {
        microarchitecture(&Identity { vendor, family, model, stepping, flags })
            .map(|design| design.to_string())
    }

    #[test]
    fn known_processors_get_their_own_name() {
        for (vendor, family, model, stepping, name) in [
            ("GenuineIntel", 6, 26, 5, "Nehalem"),                    // Xeon X5570
            ("GenuineIntel", 6, 45, 7, "Sandy Bridge"),               // Xeon E5-2670
            ("GenuineIntel", 6, 63, 2, "Haswell"),                    // Xeon E5-2680 v3
            ("GenuineIntel", 6, 85, 4, "Skylake-X"),                  // Xeon Gold 6148
            ("GenuineIntel", 6, 85, 7, "Cascade Lake"),               // Xeon Gold 6248
            ("GenuineIntel", 6, 85, 11, "Cooper Lake"),               // Xeon Gold 6348H
            ("GenuineIntel", 6, 106, 6, "Ice Lake-X"),                // Xeon Gold 6348
            ("GenuineIntel", 6, 143, 8, "Sapphire Rapids"),           // Xeon Platinum 8480+
            ("GenuineIntel", 6, 173, 1, "Granite Rapids"),            // Xeon 6972P
            ("GenuineIntel", 6, 175, 3, "Sierra Forest (Crestmont)"), // Xeon 6780E
            ("GenuineIntel", 6, 186, 2, "Raptor Lake (Raptor Cove + Gracemont)"), // Core i7-1370P
            ("GenuineIntel", 15, 6, 8, "NetBurst (Cedar Mill/Tulsa)"), // Xeon 7120M
            ("AuthenticAMD", 15, 33, 0, "K8"),                        // Opteron 865
            ("AuthenticAMD", 21, 2, 0, "Piledriver"),                 // Opteron 6376
            ("AuthenticAMD", 23, 1, 2, "Zen"),                        // EPYC 7601
            ("AuthenticAMD", 23, 8, 2, "Zen+"),                       // Ryzen 7 2700X
            ("AuthenticAMD", 23, 49, 0, "Zen 2"),                     // EPYC 7742
            ("AuthenticAMD", 25, 1, 1, "Zen 3"),                      // EPYC 7763
            ("AuthenticAMD", 25, 33, 0, "Zen 3"),                     // Ryzen 9 5950X
            ("AuthenticAMD", 25, 17, 1, "Zen 4"),                     // EPYC 9654
            ("AuthenticAMD", 25, 97, 2, "Zen 4"),                     // Ryzen 9 7950X
            ("AuthenticAMD", 25, 160, 2, "Zen 4c"),                   // EPYC 9754
            ("AuthenticAMD", 26, 2, 1, "Zen 5"),                      // EPYC 9755
            ("AuthenticAMD", 26, 17, 0, "Zen 5c"),                    // EPYC 9965
            ("HygonGenuine", 24, 1, 1, "Dhyana (Zen)"),               // C86 7185
            ("CentaurHauls", 7, 59, 0, "LuJiaZui"),                   // KX-U6780A
        ] {
            assert_eq!(
                named(vendor, family, model, stepping, "").as_deref(),
                Some(name),
                "{vendor} {family}/{model}/{stepping}"
            );
        }
    }

    #[test]
    fn a_model_number_that_the_features_contradict_is_not_believed() {
        assert_eq!(named("GenuineIntel", 6, 167, 1, "avx512f").as_deref(), Some("Rocket Lake"));
        assert_eq!(
            named("GenuineIntel", 6, 167, 1, "amx_tile amx_int8").as_deref(),
            Some("Sapphire Rapids or later")
        );
        assert_eq!(
            named("GenuineIntel", 6, 85, 7, "amx_tile amx_fp16").as_deref(),
            Some("Granite Rapids or later")
        );
        assert_eq!(named("GenuineIntel", 6, 143, 8, "amx_tile").as_deref(), Some("Sapphire Rapids"));
    }

    #[test]
    fn an_unknown_processor_has_no_name_rather_than_a_wrong_one() {
        assert_eq!(named("GenuineIntel", 6, 0xffff, 0, ""), None);
        assert_eq!(named("AuthenticAMD", 0x99, 1, 0, ""), None);
        assert_eq!(named("", 6, 85, 4, ""), None);
    }

    proptest! {
        #[test]
        fn no_number_panics(vendor in 0usize..5, family: u32, model: u32, stepping: u32, flags in "[a-z_0-9 ]{0,40}") {
            let vendors = ["GenuineIntel", "AuthenticAMD", "HygonGenuine", "CentaurHauls", "x"];
            let _ = named(vendors[vendor], family, model, stepping, &flags);
        }
    }
}
