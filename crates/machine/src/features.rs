//! Instruction-set features that matter for speed, out of the flags that the kernel lists, in a fixed order; and
//! the widest vectors that they give.

/// x86-64 features in output order: vectors from narrow to wide, matrices, cryptography, bit and string instructions,
/// memory and cache instructions, transactions, pages, waiting and time. Names are the kernel's
/// (`arch/x86/include/asm/cpufeatures.h`).
#[rustfmt::skip]
const X86: &[&str] = &[
    "pni", "ssse3", "sse4_1", "sse4_2", "sse4a", "avx", "f16c", "fma", "fma4", "xop", "avx2", "avx_vnni",
    "avx_vnni_int8", "avx_vnni_int16", "avx_ifma", "avx_ne_convert", "avx512f", "avx512cd", "avx512bw",
    "avx512dq", "avx512vl", "avx512ifma", "avx512vbmi", "avx512_vbmi2", "avx512_vnni", "avx512_bitalg",
    "avx512_vpopcntdq", "avx512_bf16", "avx512_fp16", "avx512_vp2intersect", "avx512pf", "avx512er",
    "avx512_4vnniw", "avx512_4fmaps", "avx10_1", "avx10_2",
    "amx_tile", "amx_int8", "amx_bf16", "amx_fp16", "amx_complex",
    "aes", "vaes", "pclmulqdq", "vpclmulqdq", "sha_ni", "sha512", "sm3", "sm4", "gfni",
    "popcnt", "abm", "bmi1", "bmi2", "adx", "movbe", "apx", "cx16", "cmpccxadd",
    "rep_good", "erms", "fsrm", "fzrm", "fsrs", "fsrc",
    "clflushopt", "clwb", "cldemote", "clzero", "movdiri", "movdir64b", "enqcmd",
    "hle", "rtm", "tsxldtrk",
    "pdpe1gb", "pcid", "invpcid", "invlpgb", "la57", "pku", "fsgsbase",
    "waitpkg", "monitor", "mwaitx", "rdtscp", "rdpid", "constant_tsc", "nonstop_tsc", "tsc_known_freq",
    "tsc_reliable", "tsc_deadline_timer", "arat", "aperfmperf", "hwp", "cpb", "ida", "cppc", "x2apic",
    "cat_l3", "mba",
];

/// aarch64 features in output order; names are the kernel's (`arch/arm64/kernel/cpuinfo.c`).
#[rustfmt::skip]
const AARCH64: &[&str] = &[
    "fp", "asimd", "fphp", "asimdhp", "asimdrdm", "asimddp", "asimdfhm", "fcma", "jscvt", "frint", "i8mm",
    "bf16", "f8cvt", "f8fma",
    "sve", "sve2", "sve2p1", "svei8mm", "svebf16", "svef32mm", "svef64mm", "svebitperm", "sveaes",
    "svepmull", "svesha3", "svesm4",
    "sme", "sme2",
    "aes", "pmull", "sha1", "sha2", "sha3", "sha512", "sm3", "sm4",
    "crc32", "flagm", "flagm2", "cssc", "atomics", "lse128", "uscat", "lrcpc", "ilrcpc", "lrcpc3",
    "dcpop", "dcpodp", "mops", "ls64",
    "wfxt", "ecv", "sb", "paca", "pacg", "bti", "gcs", "mte",
];

/// The features among `flags` (separated by spaces) that matter for speed, in the fixed order of their
/// architecture (`x86_64` or `aarch64`); empty for any other.
pub fn select(architecture: &str, flags: &str) -> Vec<String> {
    let order = match architecture {
        "x86_64" => X86,
        "aarch64" => AARCH64,
        _ => return Vec::new(),
    };
    let present: std::collections::HashSet<&str> = flags.split_ascii_whitespace().collect();
    order.iter().filter(|name| present.contains(**name)).map(|name| (*name).to_owned()).collect()
}

/// The widest vectors in bits with these features. The kernel only lists a feature if it also saves the registers, so
/// that the flag is enough. `None` on aarch64 with SVE, whose width no flag shows, and without flags.
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
        // avx is no feature of an Arm core, whatever a damaged file says.
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
        for order in [X86, AARCH64] {
            let unique: std::collections::BTreeSet<_> = order.iter().collect();
            assert_eq!(unique.len(), order.len());
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
