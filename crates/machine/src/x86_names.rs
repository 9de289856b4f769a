//! Names of x86-64 core designs by vendor, family and model, from `x86_designs.txt`.

/// The parts of `/proc/cpuinfo` that determine the name.
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

    /// Whether all `conditions` apply to this processor; `None` if they are malformed.
    fn fits(&self, conditions: &str) -> Option<bool> {
        let mut words = conditions.split(' ');
        let vendor = if self.vendor.trim() == "Shanghai" { "CentaurHauls" } else { self.vendor };
        let (own, family, models) = (words.next()?, words.next()?.parse::<u32>().ok()?, words.next()?);
        let holds = |word: &str| match word.split_once('=') {
            Some(("stepping", numbers)) => among(numbers, self.stepping),
            Some(("has", flag)) => self.has(flag),
            Some(("not", flag)) => !self.has(flag),
            _ => false,
        };
        Some(own == vendor && family == self.family && among(models, self.model) && words.all(holds))
    }
}

/// One design per line: `GenuineIntel 6 55 stepping=0-4 not=avx512_vnni: Skylake-X`.
const DESIGNS: &str = include_str!("x86_designs.txt");

/// The design: `Skylake-X`, `Raptor Lake (Raptor Cove + Gracemont)`, `Zen 2`… `None` for an unknown one.
///
/// A hypervisor may present any model number. If the design with that number lacks features that the flags show, the
/// number is wrong, and the name is derived from those features (`Sapphire Rapids or later`).
pub fn microarchitecture(cpu: &Identity) -> Option<&'static str> {
    let name = DESIGNS.lines().find_map(|line| {
        let (conditions, name) = line.split_once(": ")?;
        cpu.fits(conditions)?.then_some(name)
    })?;
    // AMX was introduced with Sapphire Rapids, and its fp16 form with Granite Rapids: no earlier design can have these
    // flags.
    let with_amx = ["Sapphire", "Emerald", "Granite", "Diamond"].iter().any(|n| name.starts_with(n));
    if cpu.vendor != "GenuineIntel" || with_amx || !cpu.has("amx_tile") {
        return Some(name);
    }
    Some(if cpu.has("amx_fp16") { "Granite Rapids or later" } else { "Sapphire Rapids or later" })
}

/// Whether a number is in a list such as `4e`, `0-2f,60-9f`, `b0-`, `*`.
fn among(numbers: &str, number: u32) -> bool {
    let hexadecimal = |digits: &str| u32::from_str_radix(digits, 16).ok();
    numbers == "*"
        || numbers.split(',').any(|some| {
            let (first, last) = some.split_once('-').unwrap_or((some, some));
            let last = if last.is_empty() { Some(u32::MAX) } else { hexadecimal(last) };
            hexadecimal(first).zip(last).is_some_and(|(first, last)| (first..=last).contains(&number))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn named(vendor: &str, family: u32, model: u32, stepping: u32, flags: &str) -> Option<String> {
        microarchitecture(&Identity { vendor, family, model, stepping, flags }).map(str::to_owned)
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
