//! `aes-256-ige`: table-based AES-256 in IGE mode, as in OpenSSL 1.1's `aes-256 ige`. It does lookups in tables in the
//! first-level cache, and each block waits for the previous one.

use kernels::aes_ige::{BLOCK, Key, encrypt};
use record::{Template, Text, Unavailable, text};

use super::loops::checked;
use super::workload::{Definition, Site, Worker, Workload, iterations_a_round};

/// The workload that this module describes.
pub(crate) struct Aes256Ige;

/// Bytes of a message: a size that every version of `openssl speed` measures, and at which all published rates have
/// leveled off.
const MESSAGE: usize = 1 << 10;

/// The last block of the message's cipher text, by OpenSSL's `AES_ige_encrypt`. In IGE mode, a wrong bit changes all
/// following blocks.
const LAST_BLOCK: [u8; BLOCK] =
    [0x09, 0x7e, 0x28, 0x89, 0xaa, 0xb2, 0x6c, 0xf2, 0x7f, 0xed, 0xb6, 0x14, 0xff, 0xca, 0x40, 0xee];

/// Key and initial values: 0, 1, 2 …, as in `openssl speed`.
fn count_up() -> [u8; 32] {
    std::array::from_fn(|at| at as u8)
}

impl Workload for Aes256Ige {
    fn definition(&self) -> Definition {
        let work = Template::new("work-aes-256-ige", "B");
        Definition { bytes: 2 * MESSAGE as u64, ..Definition::new("aes-256-ige", work) }
    }

    fn prepare(&self, _: &Site) -> Result<Box<dyn Worker>, Unavailable> {
        let mut cipher = Cipher::new();
        cipher.message();
        let messages = iterations_a_round(|n| (0..n).for_each(|_| drop(cipher.message())));
        Ok(checked(move || {
            let wrong = (0..messages).filter_map(|_| cipher.message()).last();
            ((messages * MESSAGE as u64) as f64, wrong)
        }))
    }
}

struct Cipher {
    key: Key,
    start: [u8; 2 * BLOCK],
    message: Vec<u8>,
    output: Vec<u8>,
}

impl Cipher {
    fn new() -> Self {
        Self {
            key: Key::encrypt(&count_up()),
            start: count_up(),
            message: (0..MESSAGE).map(|at| (at % 251) as u8).collect(),
            output: vec![0; MESSAGE],
        }
    }

    /// Encrypts a message; returns the error if its last block is wrong.
    fn message(&mut self) -> Option<Text> {
        let mut state = self.start;
        encrypt(&self.message, &mut self.output, &self.key, &mut state);
        (state[..BLOCK] != LAST_BLOCK).then(|| {
            text!(
                "workload-aes-wrong",
                "the last block of a message is {got}, expected {right}",
                got = hexadecimal(&state[..BLOCK]),
                right = hexadecimal(&LAST_BLOCK)
            )
        })
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flipped_bit_is_noticed() {
        let mut cipher = Cipher::new();
        assert_eq!(cipher.message(), None);
        cipher.message[77] ^= 4;
        assert_eq!(cipher.message().unwrap().code(), Some("workload-aes-wrong"));
    }
}
