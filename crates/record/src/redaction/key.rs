//! The key from which pseudonyms are derived.

use std::fmt;

use sha2::{Digest, Sha256};

/// Length of a key in bytes.
const KEY_BYTES: usize = 32;
/// Block size of SHA-256 in bytes.
const BLOCK: usize = 64;
/// The characters of which pseudonyms consist; each represents five bits.
const SIGNS: &[u8; 32] = b"0123456789abcdefghijklmnopqrstuv";
/// The number of characters in a pseudonym.
const LENGTH: usize = 8;

/// A secret of 256 bits.
#[derive(Clone, PartialEq, Eq)]
pub struct Key([u8; KEY_BYTES]);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

impl Key {
    /// Creates a key from these bytes, which must be unpredictable.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Parses a text written by [`Key::to_text`]; `None` for any other text.
    pub fn from_text(text: &str) -> Option<Self> {
        let text = text.trim_end();
        let mut key = [0; KEY_BYTES];
        if text.len() != 2 * KEY_BYTES || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        for (at, byte) in key.iter_mut().enumerate() {
            *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
        }
        Some(Self(key))
    }

    /// The key as a line of hexadecimal digits.
    pub fn to_text(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect::<String>() + "\n"
    }

    /// HMAC-SHA-256 (RFC 2104) of the concatenated bytes.
    fn code(&self, parts: &[&[u8]]) -> [u8; 32] {
        let begin = |pad: u8| {
            let mut block = [pad; BLOCK];
            block.iter_mut().zip(&self.0).for_each(|(byte, key)| *byte ^= key);
            Sha256::new().chain_update(block)
        };
        let inner = parts.iter().fold(begin(0x36), |hash, part| hash.chain_update(part)).finalize();
        begin(0x5c).chain_update(inner).finalize().into()
    }

    /// The code for a name of this kind: 40 bits of the HMAC of kind and name.
    pub(super) fn sign(&self, kind: &str, name: &str) -> String {
        let code = self.code(&[kind.as_bytes(), &[0], name.as_bytes()]);
        let bits = code.iter().take(5).fold(0u64, |bits, byte| bits << 8 | u64::from(*byte));
        let sign = |at: usize| SIGNS.get((bits >> (5 * at)) as usize & 31).copied().map_or('0', char::from);
        (0..LENGTH).map(sign).collect()
    }
}

/// Whether a text looks like a result of [`Key::sign`].
pub(super) fn is_sign(text: &str) -> bool {
    text.len() == LENGTH && text.bytes().all(|sign| SIGNS.contains(&sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_signed_as_hmac_sha_256_has_it() {
        // RFC 4231, case 2.
        let mut key = [0; KEY_BYTES];
        key[..4].copy_from_slice(b"Jefe");
        let key = Key::new(key);
        let code = key.code(&[b"what do ya want ", b"for nothing?"]);
        assert_eq!(code[..8], [0x5b, 0xdc, 0xc1, 0x46, 0xbf, 0x60, 0x75, 0x4e]);
        let (one, other) = (key.sign("host", "a"), key.sign("user", "a"));
        assert!(one != other && one.len() == LENGTH && one == key.sign("host", "a"));
        assert_ne!(one, Key::new([7; KEY_BYTES]).sign("host", "a"));
    }

    #[test]
    fn a_key_survives_its_text_and_shows_itself_nowhere_else() {
        let key = Key::new(std::array::from_fn(|at| at as u8 * 7));
        assert_eq!(Key::from_text(&key.to_text()), Some(key.clone()));
        assert_eq!(format!("{key:?}"), "Key");
        for bad in ["", "00", &"g".repeat(64), &"0".repeat(63), &"é".repeat(32)] {
            assert_eq!(Key::from_text(bad), None);
        }
    }
}
