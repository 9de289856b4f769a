//! The check sum by which layers show that they ran the same bytes.

/// CRC-32 of IEEE 802.3 (reflected, polynomial 0xEDB88320), as zlib and the kernel's `crc32_le` with its usual
/// inversions have it.
pub fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(u32::MAX, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc)))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_check_value_is_the_published_one() {
        assert_eq!(super::crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(super::crc32(b""), 0);
    }
}
