//! Texts that the program carries, packed by `build.rs`.

use std::io::Read;

use flate2::read::DeflateDecoder;

pub(crate) const WORDS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/words"));
pub(crate) const RECORD_SCHEMA: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/record"));
pub(crate) const COMPARISON_SCHEMA: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/comparison"));

/// One of these texts.
pub(crate) fn text(packed: &[u8]) -> String {
    let mut text = String::new();
    // The test below holds that they are whole; what could be read would stand there else.
    let _ = DeflateDecoder::new(packed).read_to_string(&mut text);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_texts_are_those_of_the_files() {
        for (packed, file) in [
            (WORDS, include_str!("../../../docs/words.md")),
            (RECORD_SCHEMA, include_str!("schema/record.json")),
            (COMPARISON_SCHEMA, include_str!("schema/comparison.json")),
        ] {
            assert!(text(packed) == file && packed.len() * 2 < file.len(), "{} bytes packed", packed.len());
        }
    }
}
