//! Files that gzip packed: its header and trailer (RFC 1952). The packed bytes themselves are the library's.

/// What is packed in it, of which there may be at most so many bytes; `None` where that is more, or damaged.
pub(crate) fn unpack(file: &[u8], most: usize) -> Option<Vec<u8>> {
    const EXTRA: u8 = 1 << 2;
    const NAME: u8 = 1 << 3;
    const COMMENT: u8 = 1 << 4;
    const HEADER_CHECK: u8 = 1 << 1;
    let [0x1f, 0x8b, 8, flags, _, _, _, _, _, _, rest @ ..] = file else { return None };
    let mut rest = rest;
    if flags & EXTRA != 0 {
        let (length, after) = rest.split_first_chunk::<2>()?;
        rest = after.get(usize::from(u16::from_le_bytes(*length))..)?;
    }
    for text in [NAME, COMMENT] {
        if flags & text != 0 {
            rest = rest.get(rest.iter().position(|byte| *byte == 0)? + 1..)?;
        }
    }
    if flags & HEADER_CHECK != 0 {
        rest = rest.get(2..)?;
    }
    let (packed, length) = rest.split_last_chunk::<4>()?;
    let (packed, check) = packed.split_last_chunk::<4>()?;
    let unpacked = miniz_oxide::inflate::decompress_to_vec_with_limit(packed, most).ok()?;
    let is_whole = unpacked.len() as u32 == u32::from_le_bytes(*length)
        && crc32(&unpacked) == u32::from_le_bytes(*check);
    is_whole.then_some(unpacked)
}

/// CRC-32 with the reflected polynomial 0xEDB88320, four bits at a time.
fn crc32(bytes: &[u8]) -> u32 {
    const STEPS: [u32; 16] = {
        let (mut steps, mut at) = ([0; 16], 0);
        while at < 16 {
            let (mut crc, mut bit) = (at as u32, 0);
            while bit < 4 {
                crc = if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
                bit += 1;
            }
            steps[at] = crc;
            at += 1;
        }
        steps
    };
    let step = |crc: u32| (crc >> 4) ^ STEPS[(crc & 15) as usize];
    !bytes.iter().fold(u32::MAX, |crc, byte| step(step(crc ^ u32::from(*byte))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;

    fn packed(bytes: &[u8], header: flate2::GzBuilder) -> Vec<u8> {
        let mut encoder = header.write(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn the_check_is_that_of_the_catalogues() {
        assert_eq!((crc32(b"123456789"), crc32(b"")), (0xcbf4_3926, 0));
    }

    #[test]
    fn more_than_is_asked_for_is_refused() {
        let file = packed(&[0; 1 << 20], flate2::GzBuilder::new());
        assert_eq!(
            (unpack(&file, 1 << 20).map(|all| all.len()), unpack(&file, 1 << 19)),
            (Some(1 << 20), None)
        );
    }

    proptest! {
        #[test]
        fn what_was_packed_comes_back_and_nothing_else(
            bytes in proptest::collection::vec(0_u8..4, 0..2000), extra in any::<bool>(), named in any::<bool>(), at in any::<usize>(), bit in 0..8,
        ) {
            let mut header = flate2::GzBuilder::new();
            if extra {
                header = header.extra(vec![7; 5]).comment("a comment");
            }
            if named {
                header = header.filename("config");
            }
            let mut file = packed(&bytes, header);
            prop_assert_eq!(unpack(&file, 4000), Some(bytes.clone()));
            prop_assert_eq!(unpack(&file[..file.len() - 1], 4000), None);
            let at = at % file.len();
            file[at] ^= 1_u8 << bit;
            prop_assert!(unpack(&file, 4000).is_none_or(|other| other == bytes));
        }

        #[test]
        fn any_bytes_are_read_without_a_fault(bytes in proptest::collection::vec(any::<u8>(), 0..300), flags in any::<u8>()) {
            unpack(&bytes, 1000);
            let mut file = vec![0x1f, 0x8b, 8, flags, 0, 0, 0, 0, 0, 3];
            file.extend(bytes);
            unpack(&file, 1000);
        }
    }
}
