//! The tables of table-driven AES, computed from its definition (FIPS 197): the S-box, and four tables of 32-bit words
//! (4 KiB) that combine the S-box with MixColumns.

/// Tables that start at the beginning of a cache line, so that they occupy the same number of lines on every machine.
#[repr(align(64))]
pub(super) struct Words(pub [[u32; 256]; 4]);
/// Like [`Words`], but for bytes.
#[repr(align(64))]
pub(super) struct Bytes(pub [u8; 256]);

/// The substitution box of FIPS 197 §5.1.1: the inverse in GF(2⁸), then an affine map.
pub(super) static S_BOX: Bytes = Bytes(s_box());
/// `ENCRYPT[0][x]` is the column that results from `x` in the first row: the S-box, then MixColumns with {02}, {01},
/// {01}, {03}. The next three tables are the corresponding columns for the other rows.
pub(super) static ENCRYPT: Words = Words(mixed(&s_box(), [2, 1, 1, 3]));

/// The product in GF(2⁸) modulo x⁸ + x⁴ + x³ + x + 1 (FIPS 197 §4.2).
pub(super) const fn product(mut a: u8, mut b: u8) -> u8 {
    let mut product = 0;
    while b != 0 {
        if b & 1 == 1 {
            product ^= a;
        }
        a = if a & 0x80 == 0 { a << 1 } else { (a << 1) ^ 0x1b };
        b >>= 1;
    }
    product
}

const fn s_box() -> [u8; 256] {
    let mut table = [0; 256];
    // 3 generates all nonzero elements of the field: its powers enumerate them, and the powers of its inverse enumerate
    // their inverses.
    let (mut power, mut inverse) = (1u8, 1u8);
    let mut i = 0;
    while i < 255 {
        table[power as usize] = affine(inverse);
        power = product(power, 3);
        inverse = product(inverse, 0xf6);
        i += 1;
    }
    table[0] = affine(0);
    table
}

const fn affine(x: u8) -> u8 {
    x ^ x.rotate_left(1) ^ x.rotate_left(2) ^ x.rotate_left(3) ^ x.rotate_left(4) ^ 0x63
}

const fn mixed(table: &[u8; 256], factors: [u8; 4]) -> [[u32; 256]; 4] {
    let mut words = [[0; 256]; 4];
    let mut x = 0;
    while x < 256 {
        let s = table[x];
        let column =
            [product(s, factors[0]), product(s, factors[1]), product(s, factors[2]), product(s, factors[3])];
        let word = u32::from_be_bytes(column);
        let mut row = 0;
        while row < 4 {
            words[row][x] = word.rotate_right(8 * row as u32);
            row += 1;
        }
        x += 1;
    }
    words
}
