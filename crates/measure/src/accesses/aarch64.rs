//! Instructions of AArch64: what memory they name. By the encodings of loads and stores in the Arm Architecture Reference Manual
//! (DDI 0487), C4.1, "Loads and Stores".

use super::instruction::{Instruction, Kind, Operand, Place, Result};

/// All have it.
pub(super) const LENGTH: usize = 4;

/// The first instruction of these bytes; `None` where they are fewer.
pub(super) fn decode(bytes: &[u8]) -> Option<Instruction> {
    let word = u32::from_le_bytes(bytes.get(..LENGTH)?.try_into().ok()?);
    Some(of_word(word))
}

/// A field of `bits` bits from bit `low` on.
fn field(word: u32, low: u32, bits: u32) -> u32 {
    (word >> low) & ((1 << bits) - 1)
}

/// The same as a number with a sign.
fn signed(word: u32, low: u32, bits: u32) -> i64 {
    let value = i64::from(field(word, low, bits));
    if value >> (bits - 1) == 1 { value - (1 << bits) } else { value }
}

/// XZR and WZR, or the stack pointer.
const ZERO: u8 = 31;

/// What an instruction of data processing leaves in a general register.
fn computed(word: u32) -> Option<(u8, Result)> {
    let (to, from, other) = (field(word, 0, 5) as u8, field(word, 5, 5) as u8, field(word, 16, 5) as u8);
    // Bits 28 to 25: 100x with immediates, x101 with registers.
    if to == ZERO || word & 0x1c00_0000 != 0x1000_0000 && word & 0x0e00_0000 != 0x0a00_0000 {
        return None;
    }
    // LSL of 64 bits, an alias of UBFM.
    let (rotated, last) = (field(word, 16, 6), field(word, 10, 6));
    if word & 0xffc0_0000 == 0xd340_0000 && last + 1 == rotated {
        let index = Some((from, (63 - last) as u8));
        return Some((to, Result::Sum(Operand { index, ..Operand::default() })));
    }
    // ADD of 64 bits, of a register shifted to the left.
    if word & 0xffe0_0000 == 0x8b00_0000 && from != ZERO && other != ZERO {
        let index = Some((other, field(word, 10, 6) as u8));
        return Some((to, Result::Sum(Operand { base: Place::Register(from), index, offset: 0 })));
    }
    Some((to, Result::Other))
}

fn of_word(word: u32) -> Instruction {
    let other = Instruction { length: LENGTH, ..Instruction::default() };
    match word {
        // YIELD, WFE, WFI, and ISB, which loops take that spin.
        0xd503_203f | 0xd503_205f | 0xd503_207f | 0xd503_3fdf => {
            return Instruction { kind: Kind::Spin, ..other };
        }
        _ => {}
    }
    // B, BR and RET; B.cond, CBZ and TBZ.
    if word & 0xfc00_0000 == 0x1400_0000 {
        return Instruction { kind: Kind::End, jump: Some(signed(word, 0, 26) * 4 - 4), ..other };
    }
    if word & 0xff9f_fc1f == 0xd61f_0000 {
        return Instruction { kind: Kind::End, ..other };
    }
    if word & 0xff00_0000 == 0x5400_0000 || word & 0x7e00_0000 == 0x3400_0000 {
        return Instruction { jump: Some(signed(word, 5, 19) * 4 - 4), ..other };
    }
    if word & 0x7e00_0000 == 0x3600_0000 {
        return Instruction { jump: Some(signed(word, 5, 14) * 4 - 4), ..other };
    }
    // ADD and SUB of a constant to the register itself.
    if word & 0x3f00_0000 == 0x1100_0000 || word & 0x3f00_0000 == 0x3100_0000 {
        let (to, from) = (field(word, 0, 5) as u8, field(word, 5, 5) as u8);
        let sets = Some((to, Result::Other)).filter(|_| to != ZERO);
        return Instruction { steps: Some(to).filter(|to| *to == from), sets, ..other };
    }
    // Bit 27 set and bit 25 clear: loads and stores.
    if word & 0x0a00_0000 != 0x0800_0000 {
        return Instruction { sets: computed(word), ..other };
    }
    let base = Place::Register(field(word, 5, 5) as u8);
    let at = |offset: i64| Some(Operand { base, index: None, offset });
    let (vector, size) = (field(word, 26, 1) == 1, field(word, 30, 2));
    let (fetches, wide) = (field(word, 22, 1) == 1, vector && field(word, 23, 1) == 1 && size == 0);
    // PRFM is a load of size 3 whose bits 23 and 22 are 10.
    let hint = !vector && size == 3 && field(word, 22, 2) == 2;
    let kind_of = |walks: bool| match (walks, wide) {
        (true, _) => Kind::Sequential,
        (false, true) => Kind::Vector,
        _ => Kind::Other,
    };
    let writes = field(word, 22, 2) == 0 || (wide && !fetches);
    let sets =
        Some((field(word, 0, 5) as u8, Result::Loaded)).filter(|to| !vector && !writes && to.0 != ZERO);
    // Registers with a constant offset that counts values.
    if word & 0x3b00_0000 == 0x3900_0000 {
        let shift = if wide { 4 } else { size };
        let operand = at(i64::from(field(word, 10, 12)) << shift).filter(|_| !hint);
        return Instruction { kind: kind_of(false), operand, writes, sets, ..other };
    }
    if word & 0x3b20_0000 == 0x3800_0000 {
        // Before and after the access the base moves by the offset; it has moved, or not yet.
        let moves = field(word, 10, 1) == 1;
        let operand = at(if moves { 0 } else { signed(word, 12, 9) }).filter(|_| !hint);
        return Instruction { kind: kind_of(moves), operand, writes, sets, ..other };
    }
    if word & 0x3b20_0c00 == 0x3820_0800 {
        let shift = if field(word, 12, 1) == 0 {
            0
        } else if wide {
            4
        } else {
            size
        };
        // UXTW and SXTW take the register's lower half, as it is in almost all programs.
        let index = Some((field(word, 16, 5) as u8, shift as u8));
        let operand = Some(Operand { base, index, offset: 0 }).filter(|_| !hint);
        return Instruction { kind: kind_of(false), operand, writes, sets, ..other };
    }
    // LDADD, SWP and their kind.
    if word & 0x3b20_0c00 == 0x3820_0000 && !vector {
        return Instruction { kind: Kind::Atomic, operand: at(0), writes: true, ..other };
    }
    // Pairs.
    if word & 0x3a00_0000 == 0x2800_0000 {
        let shift = if vector { 2 + size } else { 2 + (size >> 1) };
        let moves = field(word, 23, 1) == 1;
        let operand = at(if moves { 0 } else { signed(word, 15, 7) << shift });
        let kind = if moves {
            Kind::Sequential
        } else if vector && size == 2 {
            Kind::Vector
        } else {
            Kind::Other
        };
        return Instruction { kind, operand, writes: !fetches, ..other };
    }
    // Exclusive loads and stores, compare and swap; LDAR and STLR are plain.
    if word & 0x3f00_0000 == 0x0800_0000 {
        let plain = field(word, 23, 1) == 1 && field(word, 21, 1) == 0;
        let kind = if plain { Kind::Other } else { Kind::Atomic };
        return Instruction { kind, operand: at(0), writes: !plain || !fetches, ..other };
    }
    // LD1 to LD4, ST1 to ST4.
    if word & 0xbe00_0000 == 0x0c00_0000 {
        return Instruction { kind: Kind::Vector, operand: at(0), writes: !fetches, ..other };
    }
    other
}
