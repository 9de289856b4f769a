//! The fields of a cache as kernels write them.

use record::machine::CacheKind;

/// No cache is larger (1 TiB); the largest today is about 1 GiB.
const MAX_BYTES: u64 = 1 << 40;

/// What it holds.
pub(crate) fn kind(text: &str) -> Option<CacheKind> {
    match text {
        "Data" => Some(CacheKind::Data),
        "Instruction" => Some(CacheKind::Instruction),
        "Unified" => Some(CacheKind::Unified),
        _ => None,
    }
}

/// A size as the kernel writes it: `48K`; `M` and `G` are believed too.
pub(crate) fn bytes(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let scale: u64 = match &text[digits.len()..] {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(scale).filter(|bytes| *bytes <= MAX_BYTES)
}

/// A line size or a number of ways.
pub(crate) fn count(text: &str) -> Option<u32> {
    text.parse().ok().filter(|number| *number <= 65_536)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_read_as_the_kernel_writes_them_and_no_absurd_ones() {
        assert_eq!(bytes("48K"), Some(48 << 10));
        assert_eq!(bytes("1M"), Some(1 << 20));
        assert_eq!(bytes("0"), Some(0));
        for absurd in ["-32K", "99999999999999K", "99999999999999999999K", "K", "", "32KB", "0x20K", "3 2K"] {
            assert_eq!(bytes(absurd), None, "{absurd:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,20}|-?[0-9]{0,25}[KMGé]{0,2}") {
            prop_assert!(bytes(&text).is_none_or(|bytes| bytes <= MAX_BYTES));
            prop_assert!(count(&text).is_none_or(|count| count <= 65_536));
            let _ = kind(&text);
        }
    }
}
