//! From the flags that the kernel lists, selects the instruction-set features that affect speed, in a fixed order, and
//! determines the vector width.

/// The features of each architecture, listed below its name.
const FEATURES: &str = include_str!("features.txt");

/// The features of an architecture, in output order.
fn all(architecture: &str) -> impl Iterator<Item = &'static str> {
    let below = FEATURES.lines().skip_while(move |line| *line != architecture).skip(1);
    below.take_while(|line| line.starts_with("  ")).flat_map(str::split_ascii_whitespace)
}

/// The features relevant to speed among `flags` (separated by spaces), in the fixed order of their architecture
/// (`x86_64` or `aarch64`); empty for any other architecture.
pub fn select(architecture: &str, flags: &str) -> Vec<String> {
    let present: std::collections::HashSet<&str> = flags.split_ascii_whitespace().collect();
    all(architecture).filter(|name| present.contains(name)).map(str::to_owned).collect()
}

/// The widest vectors with these features, in bits. The kernel lists a feature only if it also saves the corresponding
/// registers, so the flag is sufficient. `None` on aarch64 with SVE, because no flag shows its width, and if there are
/// no flags.
pub fn vector_bits(architecture: &str, features: &[String]) -> Option<u32> {
    let has = |name: &str| features.iter().any(|feature| feature == name);
    match architecture {
        "x86_64" if has("avx512f") => Some(512),
        "x86_64" if has("avx") => Some(256),
        "x86_64" if !features.is_empty() => Some(128), // SSE2 is part of x86-64 itself.
        "aarch64" if has("sve") => None,
        "aarch64" if has("asimd") => Some(128),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn features_come_in_a_fixed_order_whatever_the_kernel_s() {
        let one = select("x86_64", "fpu avx512f sse4_2 avx2 nonstop_tsc avx vme");
        assert_eq!(one, ["sse4_2", "avx", "avx2", "avx512f", "nonstop_tsc"]);
        assert_eq!(select("x86_64", "vme avx nonstop_tsc avx2 avx512f fpu sse4_2"), one);
        assert_eq!(select("aarch64", "atomics fp asimd evtstrm"), ["fp", "asimd", "atomics"]);
        // avx is not a feature of an Arm core, even if a damaged file lists it.
        assert_eq!(select("aarch64", "avx"), Vec::<String>::new());
    }

    #[test]
    fn vectors_are_as_wide_as_the_flags_say() {
        let bits = |architecture: &str, flags: &str| vector_bits(architecture, &select(architecture, flags));
        assert_eq!(bits("x86_64", "sse4_2 avx avx512f"), Some(512));
        assert_eq!(bits("x86_64", "sse4_2 avx avx2"), Some(256));
        assert_eq!(bits("x86_64", "pni cx16"), Some(128));
        assert_eq!(bits("x86_64", ""), None);
        assert_eq!(bits("aarch64", "fp asimd"), Some(128));
        assert_eq!(bits("aarch64", "fp asimd sve"), None);
        assert_eq!(bits("riscv64", "v"), None);
    }

    #[test]
    fn no_feature_is_listed_twice() {
        for architecture in ["x86_64", "aarch64"] {
            let unique: std::collections::BTreeSet<_> = all(architecture).collect();
            assert!(unique.len() > 50, "{unique:?}");
            assert_eq!(unique.len(), all(architecture).count());
        }
    }

    proptest! {
        #[test]
        fn only_what_is_there_is_reported(flags in "[a-z0-9_ ]{0,200}") {
            for architecture in ["x86_64", "aarch64", ""] {
                for feature in select(architecture, &flags) {
                    prop_assert!(flags.split_ascii_whitespace().any(|flag| flag == feature));
                }
            }
        }
    }
}
