//! Table-driven AES in infinite garble extension mode, measured by OpenSSL 1.1 as `aes-256 ige`.
//!
//! It uses no AES instructions and no library, so the result compares the cores themselves. The work consists of loads
//! that hit the first-level cache, shifts and XORs, in one dependency chain across all blocks. It is portable Rust with
//! four tables of 1 KiB, as in the reference implementation of table-driven AES, which OpenSSL compiles on aarch64. On
//! x86-64, OpenSSL's assembly processes single blocks with one small table and more arithmetic, so that its cache
//! accesses reveal less about the key. Published x86-64 results were measured with that assembly, and are lower than
//! the results of this code on the same machine.
//!
//! This code is not secure: table look-ups leak keys through the cache.

mod tables;

use tables::{ENCRYPT, S_BOX};

/// Bytes of a block.
pub const BLOCK: usize = 16;

/// The number of rounds for a 256-bit key, which is the maximum.
const MOST_ROUNDS: usize = 14;

/// A block as four columns, the first row in the highest byte.
type State = [u32; 4];

/// An expanded key.
#[derive(Clone, Debug)]
pub struct Key {
    round_keys: [State; MOST_ROUNDS + 1],
    rounds: usize,
}

impl Key {
    /// A 256-bit key for [`encrypt`].
    pub fn encrypt(key: &[u8; 32]) -> Key {
        expand(key)
    }
}

/// The key expansion (FIPS 197 §5.2) of a key of 4 or 8 words.
fn expand(key: &[u8]) -> Key {
    let length = key.len() / 4;
    let rounds = length + 6;
    let mut words = [0; 4 * (MOST_ROUNDS + 1)];
    for (word, bytes) in words.iter_mut().zip(key.chunks_exact(4)) {
        *word = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    }
    let substitute = |word: u32| u32::from_be_bytes(word.to_be_bytes().map(|x| S_BOX.0[usize::from(x)]));
    let mut constant = 1;
    for i in length..4 * (rounds + 1) {
        let mut word = words[i - 1];
        if i % length == 0 {
            word = substitute(word.rotate_left(8)) ^ u32::from(constant) << 24;
            constant = tables::product(constant, 2);
        } else if length > 6 && i % length == 4 {
            word = substitute(word);
        }
        words[i] = words[i - length] ^ word;
    }
    let mut round_keys = [[0; 4]; MOST_ROUNDS + 1];
    for (round_key, words) in round_keys.iter_mut().zip(words.chunks_exact(4)) {
        round_key.copy_from_slice(words);
    }
    Key { round_keys, rounds }
}

/// The combined result of the four rows of one column.
#[inline(always)]
fn mix(tables: &[[u32; 256]; 4], rows: [u8; 4]) -> u32 {
    tables[0][usize::from(rows[0])]
        ^ tables[1][usize::from(rows[1])]
        ^ tables[2][usize::from(rows[2])]
        ^ tables[3][usize::from(rows[3])]
}

#[inline(always)]
fn xor(a: State, b: State) -> State {
    [a[0] ^ b[0], a[1] ^ b[1], a[2] ^ b[2], a[3] ^ b[3]]
}

/// The block cipher: row i comes from the column that is i positions further on (FIPS 197 §5.1.2).
#[inline(always)]
fn encrypt_block(key: &Key, block: State) -> State {
    let (words, bytes) = (&ENCRYPT.0, &S_BOX.0);
    // The four bytes that form the column `i`.
    let rows = |state: State, i: usize| {
        [
            (state[i] >> 24) as u8,
            (state[(i + 1) % 4] >> 16) as u8,
            (state[(i + 2) % 4] >> 8) as u8,
            state[(i + 3) % 4] as u8,
        ]
    };
    let mut state = xor(block, key.round_keys[0]);
    for round_key in &key.round_keys[1..key.rounds] {
        let mixed = [
            mix(words, rows(state, 0)),
            mix(words, rows(state, 1)),
            mix(words, rows(state, 2)),
            mix(words, rows(state, 3)),
        ];
        state = xor(mixed, *round_key);
    }
    let last = |i| u32::from_be_bytes(rows(state, i).map(|x| bytes[usize::from(x)]));
    xor([last(0), last(1), last(2), last(3)], key.round_keys[key.rounds])
}

fn load(bytes: &[u8]) -> State {
    std::array::from_fn(|i| {
        u32::from_be_bytes([bytes[4 * i], bytes[4 * i + 1], bytes[4 * i + 2], bytes[4 * i + 3]])
    })
}

fn store(state: State, bytes: &mut [u8]) {
    for (bytes, word) in bytes.chunks_exact_mut(4).zip(state) {
        bytes.copy_from_slice(&word.to_be_bytes());
    }
}

/// Encrypts `input` into `output`. The mode is `cᵢ = E(mᵢ ⊕ cᵢ₋₁) ⊕ mᵢ₋₁`, where c₀ and m₀ are the two halves of `iv`.
/// Afterwards, `iv` contains the last c and m, so that a message can be processed in parts.
///
/// # Panics
/// If the lengths differ, or if they are not a multiple of the block size.
pub fn encrypt(input: &[u8], output: &mut [u8], key: &Key, iv: &mut [u8; 2 * BLOCK]) {
    assert_eq!(input.len(), output.len(), "input and output must have the same length");
    assert!(input.len().is_multiple_of(BLOCK), "{} bytes: partial last block", input.len());
    let (mut cipher_text, mut message) = (load(&iv[..BLOCK]), load(&iv[BLOCK..]));
    for (input, output) in input.chunks_exact(BLOCK).zip(output.chunks_exact_mut(BLOCK)) {
        let block = load(input);
        cipher_text = xor(encrypt_block(key, xor(block, cipher_text)), message);
        message = block;
        store(cipher_text, output);
    }
    store(cipher_text, &mut iv[..BLOCK]);
    store(message, &mut iv[BLOCK..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes<const N: usize>(hex: &str) -> [u8; N] {
        let hex: String = hex.split_whitespace().collect();
        std::array::from_fn(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap())
    }

    fn counting<const N: usize>() -> [u8; N] {
        std::array::from_fn(|i| i as u8)
    }

    #[test]
    fn the_s_box_is_the_published_one() {
        // Corners of FIPS 197, figure 7.
        assert_eq!([0x00, 0x01, 0x53, 0xff].map(|x: usize| S_BOX.0[x]), [0x63, 0x7c, 0xed, 0x16]);
    }

    #[test]
    fn blocks_are_those_of_fips_197() {
        // FIPS 197, appendices C.1 and C.3.
        let plain = load(&bytes::<16>("00112233445566778899aabbccddeeff"));
        let short = load(&bytes::<16>("69c4e0d86a7b0430d8cdb78070b4c55a"));
        assert_eq!(encrypt_block(&expand(&counting::<16>()), plain), short);
        let long = load(&bytes::<16>("8ea2b7ca516745bfeafc49904b496089"));
        assert_eq!(encrypt_block(&Key::encrypt(&counting()), plain), long);
    }

    /// The two vectors that OpenSSL publishes for the mode (test/igetest.c): key, iv, message, cipher text.
    const VECTORS: [[&str; 4]; 2] = [
        [
            "000102030405060708090a0b0c0d0e0f",
            "000102030405060708090a0b0c0d0e0f 101112131415161718191a1b1c1d1e1f",
            "00000000000000000000000000000000 00000000000000000000000000000000",
            "1a8519a6557be652e9da8e43da4ef445 3cf456b4ca488aa383c79c98b34797cb",
        ],
        [
            "5468697320697320616e20696d706c65",
            "6d656e746174696f6e206f6620494745 206d6f646520666f72204f70656e5353",
            "99706487a1cde613bc6de0b6f24b1c7a a448c8b9c3403e3467a8cad89340f53b",
            "4c2e204c6574277320686f7065204265 6e20676f74206974207269676874210a",
        ],
    ];

    #[test]
    fn the_mode_is_openssls() {
        for [key, start, message, cipher_text] in VECTORS {
            let (key, mut iv) = (bytes::<16>(key), bytes(start));
            let (message, cipher_text) = (bytes::<32>(message), bytes::<32>(cipher_text));
            let mut output = [0; 32];
            encrypt(&message, &mut output, &expand(&key), &mut iv);
            assert_eq!(output, cipher_text);
        }
    }

    #[test]
    fn a_message_in_parts_is_the_message() {
        let message: [u8; 160] = std::array::from_fn(|i| (i * i) as u8);
        let (mut whole, mut parts) = ([0; 160], [0; 160]);
        let key = Key::encrypt(&counting());
        encrypt(&message, &mut whole, &key, &mut counting());
        let mut iv = counting();
        for part in [0..16, 16..16, 16..112, 112..160] {
            encrypt(&message[part.clone()], &mut parts[part], &key, &mut iv);
        }
        assert_eq!(whole, parts);
    }
}
