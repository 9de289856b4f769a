//! Compressed texts, and the files of `/sys` and `/proc` in a tar archive (POSIX ustar, and GNU's long names).

use std::io::{self, Read};

use crate::limits::LONGEST_TEXT;

/// First bytes of a compressed text.
const GZIP: &[u8] = &[0x1f, 0x8b, 8];

/// Maximum number of compression layers: one around the file itself, and one around an archive inside it.
const MOST_PACKED: usize = 2;

/// Size of an archive's block.
const BLOCK: usize = 512;

/// Maximum size of a saved file, the same limit as for the inspection of a machine.
const LONGEST: usize = 16 << 20;

/// A text, decompressed if necessary.
pub(crate) fn unpacked(mut bytes: Vec<u8>) -> io::Result<Vec<u8>> {
    for _ in 0..MOST_PACKED {
        if !bytes.starts_with(GZIP) {
            break;
        }
        let mut text = Vec::new();
        let packed = flate2::read::GzDecoder::new(bytes.as_slice());
        if packed.take(LONGEST_TEXT + 1).read_to_end(&mut text)? as u64 > LONGEST_TEXT {
            return Err(too_long());
        }
        bytes = text;
    }
    Ok(bytes)
}

/// The error for a text above the limit.
pub(crate) fn too_long() -> io::Error {
    io::Error::other(format!("it is longer than {} MiB", LONGEST_TEXT >> 20))
}

/// The files under `sys` and `proc`, by their path on the machine. The result is empty if the text is not an archive.
pub(crate) fn files(archive: &[u8]) -> Vec<(String, &[u8])> {
    let mut files = Vec::new();
    let mut rest = archive;
    let mut long_name: Option<String> = None;
    while let Some((header, behind)) = rest.split_at_checked(BLOCK) {
        let word = |from: usize, to: usize| {
            let bytes = &header[from..to];
            String::from_utf8_lossy(bytes.split(|b| *b == 0).next().unwrap_or_default()).into_owned()
        };
        let size = usize::from_str_radix(word(124, 136).trim(), 8).ok();
        let Some(size) = size.filter(|size| &header[257..262] == b"ustar" && *size <= behind.len()) else {
            break;
        };
        let (prefix, name) = (word(345, 500), word(0, 100));
        let named = if prefix.is_empty() || header[262] == b' ' { name } else { format!("{prefix}/{name}") };
        let path = long_name.take().unwrap_or(named);
        match header[156] {
            b'L' => {
                long_name = Some(String::from_utf8_lossy(&behind[..size]).trim_end_matches('\0').to_owned())
            }
            b'0' | 0 if size <= LONGEST => {
                let whole = format!("/{path}");
                let at = ["/sys/", "/proc/", "/etc/os-release"].iter().filter_map(|s| whole.find(s)).min();
                files.extend(at.map(|at| (whole[at..].to_owned(), &behind[..size])));
            }
            _ => {}
        }
        rest = behind.get(size.div_ceil(BLOCK) * BLOCK..).unwrap_or_default();
    }
    files
}
