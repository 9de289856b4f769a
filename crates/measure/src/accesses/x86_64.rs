//! Instructions of x86-64: their length, and what memory they name. No more is decoded than that takes.
//!
//! By the opcode maps and the encoding of operands in Intel's Software Developer's Manual, volume 2, chapter 2 and appendix A; EVEX by
//! chapter 2.7.

use super::instruction::{Instruction, Kind, Operand, Place, Result};

const RSP: u8 = 4;
const RSI: u8 = 6;
const RDI: u8 = 7;

/// No instruction is longer.
pub(super) const LONGEST: usize = 15;

/// What comes before an opcode.
#[derive(Clone, Copy, Debug, Default)]
struct Prefixes {
    operand_size: bool,
    /// 0xf2 or 0xf3, the later of both.
    repeat: u8,
    lock: bool,
    /// FS or GS: its base is not among the registers that are sampled.
    segment: bool,
    /// Addresses of 32 bits.
    short: bool,
    rex: u8,
}

struct Bytes<'a> {
    all: &'a [u8],
    at: usize,
}

impl Bytes<'_> {
    fn next(&mut self) -> Option<u8> {
        let byte = *self.all.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn peek(&self) -> Option<u8> {
        self.all.get(self.at).copied()
    }

    fn skip(&mut self, count: usize) -> Option<()> {
        self.at += count;
        (self.at <= self.all.len()).then_some(())
    }

    fn word(&mut self) -> Option<i64> {
        let bytes = self.all.get(self.at..self.at + 4)?;
        self.at += 4;
        Some(i32::from_le_bytes(bytes.try_into().ok()?).into())
    }
}

/// The operand byte, and what it names.
struct Operands {
    /// The middle three bits: a register, or more of the opcode.
    reg: u8,
    /// The register in place of memory.
    register: Option<u8>,
    memory: Option<Operand>,
}

impl Operands {
    /// The register that the middle three bits name.
    fn own(&self, prefixes: Prefixes) -> u8 {
        self.reg | (prefixes.rex & 4) << 1
    }
}

/// The first instruction of these bytes; `None` of what is none, or goes beyond their end.
pub(super) fn decode(bytes: &[u8]) -> Option<Instruction> {
    let mut bytes = Bytes { all: &bytes[..bytes.len().min(LONGEST)], at: 0 };
    let mut prefixes = Prefixes::default();
    let opcode = loop {
        match bytes.next()? {
            0x66 => prefixes.operand_size = true,
            0x67 => prefixes.short = true,
            0xf0 => prefixes.lock = true,
            repeat @ (0xf2 | 0xf3) => prefixes.repeat = repeat,
            0x64 | 0x65 => prefixes.segment = true,
            0x26 | 0x2e | 0x36 | 0x3e => {}
            rex @ 0x40..=0x4f => {
                prefixes.rex = rex;
                match bytes.peek()? {
                    // One that another prefix follows counts for nothing.
                    0x66
                    | 0x67
                    | 0xf0
                    | 0xf2
                    | 0xf3
                    | 0x64
                    | 0x65
                    | 0x26
                    | 0x2e
                    | 0x36
                    | 0x3e
                    | 0x40..=0x4f => {
                        prefixes.rex = 0;
                    }
                    _ => break bytes.next()?,
                }
            }
            opcode => break opcode,
        }
    };
    match opcode {
        0xc4 | 0xc5 | 0x62 => vector(&mut bytes, prefixes, opcode),
        0x0f => match bytes.next()? {
            0x38 => plain(&mut bytes, prefixes, false),
            0x3a => plain(&mut bytes, prefixes, true),
            opcode => second(&mut bytes, prefixes, opcode),
        },
        opcode => first(&mut bytes, prefixes, opcode),
    }
}

/// Bytes of a full immediate.
fn immediate(prefixes: Prefixes) -> usize {
    if prefixes.operand_size && prefixes.rex & 8 == 0 { 2 } else { 4 }
}

/// Opcodes of one byte.
fn first(bytes: &mut Bytes, prefixes: Prefixes, opcode: u8) -> Option<Instruction> {
    let full = immediate(prefixes);
    // Whether operands follow, bytes of an immediate, and whether memory is written.
    let (has_operands, after, mut writes) = match opcode {
        0x00..=0x3f => match opcode & 7 {
            low @ 0..=3 => (true, 0, low < 2 && opcode < 0x38),
            4 => (false, 1, false),
            5 => (false, full, false),
            _ => return None,
        },
        0x50..=0x5f | 0x6c..=0x6f | 0x90..=0x99 | 0x9b..=0x9f | 0xa4..=0xa7 | 0xaa..=0xaf => {
            (false, 0, false)
        }
        0xc3 | 0xc9 | 0xcb | 0xcc | 0xcf | 0xd7 | 0xec..=0xef | 0xf1 | 0xf4 | 0xf5 | 0xf8..=0xfd => {
            (false, 0, false)
        }
        0x63 | 0x84 | 0x85 | 0x8a | 0x8b | 0x8d | 0x8e | 0xd8..=0xdf => (true, 0, false),
        0x86..=0x89 | 0x8c | 0xd0..=0xd3 => (true, 0, true),
        // Below is what AMD called XOP.
        0x8f if bytes.peek()? & 0x38 == 0 => (true, 0, true),
        0x68 => (false, full, false),
        0x69 => (true, full, false),
        0x6a | 0x70..=0x7f | 0xa8 | 0xcd | 0xe0..=0xe7 | 0xeb | 0xb0..=0xb7 => (false, 1, false),
        0x6b => (true, 1, false),
        0x80 | 0x83 | 0xc0 | 0xc1 | 0xc6 => (true, 1, true),
        0x81 | 0xc7 => (true, full, true),
        0xa0..=0xa3 => (false, if prefixes.short { 4 } else { 8 }, false),
        0xa9 => (false, full, false),
        0xb8..=0xbf => (false, if prefixes.rex & 8 != 0 { 8 } else { full }, false),
        0xc2 | 0xca => (false, 2, false),
        0xc8 => (false, 3, false),
        0xe8 | 0xe9 => (false, 4, false),
        0xf6 | 0xf7 => {
            // TEST has an immediate; NOT and NEG write, MUL and DIV do not.
            let (which, size) = (bytes.peek()? & 0x30, if opcode == 0xf6 { 1 } else { full });
            (true, if which == 0 { size } else { 0 }, which == 0x10)
        }
        0xfe | 0xff => (true, 0, true),
        _ => return None,
    };
    let repeated = prefixes.repeat != 0;
    if !has_operands {
        let jump = match opcode {
            0x70..=0x7f | 0xe0..=0xe3 | 0xeb => Some(i64::from(bytes.peek()? as i8)),
            0xe9 => Some(Bytes { all: bytes.all, at: bytes.at }.word()?),
            _ => None,
        };
        bytes.skip(after)?;
        let string = |operand| Some(Operand { base: Place::Register(operand), ..Operand::default() });
        return Some(Instruction {
            length: bytes.at,
            kind: match opcode {
                // PAUSE.
                0x90 if prefixes.repeat == 0xf3 => Kind::Spin,
                0xa4..=0xa7 | 0xaa..=0xaf if repeated => Kind::Sequential,
                0xc2 | 0xc3 | 0xca | 0xcb | 0xe9 | 0xeb => Kind::End,
                _ => Kind::Other,
            },
            operand: match opcode {
                0xa4..=0xa7 | 0xac | 0xad if repeated => string(RSI),
                0xaa | 0xab | 0xae | 0xaf if repeated => string(RDI),
                _ => None,
            },
            writes: matches!(opcode, 0xa4 | 0xa5 | 0xaa | 0xab),
            // ADD and SUB of a constant to RAX.
            steps: matches!(opcode, 0x05 | 0x2d).then_some(0),
            sets: match opcode {
                0x00..=0x37 => Some((0, Result::Other)),
                0x58..=0x5f | 0xb8..=0xbf => Some((opcode & 7 | (prefixes.rex & 1) << 3, Result::Other)),
                _ => None,
            },
            jump,
            ..Instruction::default()
        });
    }
    let operands = operands(bytes, prefixes, after, 1)?;
    let own = operands.own(prefixes);
    let mut kind = Kind::Other;
    match opcode {
        // LEA names no memory.
        0x8d => {
            let is_own = |at: Operand| at.base == Place::Register(own) && at.index.is_none();
            let steps = operands.memory.is_some_and(is_own).then_some(own);
            let sets = Some((own, operands.memory.map_or(Result::Other, Result::Sum)));
            return Some(Instruction { length: bytes.at, steps, sets, ..Instruction::default() });
        }
        // Compares.
        0x80..=0x83 if operands.reg == 7 => writes = false,
        // Calls, jumps and pushes of what they read.
        0xff if operands.reg >= 2 => {
            writes = false;
            kind = if operands.reg == 4 { Kind::End } else { Kind::Other };
        }
        _ => {}
    }
    // What an exchange names is locked, with or without the prefix.
    if operands.memory.is_some() && (prefixes.lock || matches!(opcode, 0x86 | 0x87)) {
        kind = Kind::Atomic;
    }
    // Adds and subtractions of a constant, steps of one.
    let steps = match (opcode, operands.reg) {
        (0x81 | 0x83, 0 | 5) | (0xff, 0 | 1) => operands.register,
        _ => None,
    };
    let last = bytes.all.get(bytes.at - 1).copied().unwrap_or(0);
    let sets = result(opcode, prefixes, &operands, last);
    Some(Instruction {
        length: bytes.at,
        kind,
        operand: operands.memory,
        writes,
        steps,
        sets,
        ..Instruction::default()
    })
}

/// What an opcode of one byte with operands, of which `last` is the last byte, leaves in a register.
fn result(opcode: u8, prefixes: Prefixes, operands: &Operands, last: u8) -> Option<(u8, Result)> {
    let own = operands.own(prefixes);
    let loads = if operands.register.is_none() { Result::Loaded } else { Result::Other };
    let shifted = |by: u8| {
        let register = operands.register?;
        let index = Some((register, by)).filter(|_| by < 64);
        Some((
            register,
            index.map_or(Result::Other, |_| Result::Sum(Operand { index, ..Operand::default() })),
        ))
    };
    match (opcode, operands.reg) {
        (0x8b | 0x63, _) => Some((own, loads)),
        (0xc1, 4) => shifted(last),
        (0xd1, 4) => shifted(1),
        // Compares, and tests.
        (0x38..=0x3b | 0x84 | 0x85, _) | (0x80..=0x83, 7) | (0xf6 | 0xf7, 0 | 1) => None,
        (0x00..=0x37, _) if opcode & 7 >= 2 => Some((own, Result::Other)),
        (0x69 | 0x6b | 0x8a, _) => Some((own, Result::Other)),
        // MUL and DIV.
        (0xf6 | 0xf7, 4..) => Some((0, Result::Other)),
        (0xff, 2..) => None,
        _ => operands.register.map(|register| (register, Result::Other)),
    }
}

/// Opcodes behind 0f.
fn second(bytes: &mut Bytes, prefixes: Prefixes, opcode: u8) -> Option<Instruction> {
    let none = |bytes: &Bytes, kind| Some(Instruction { length: bytes.at, kind, ..Instruction::default() });
    match opcode {
        0x05
        | 0x06
        | 0x07
        | 0x08
        | 0x09
        | 0x0b
        | 0x0e
        | 0x30..=0x35
        | 0x37
        | 0x77
        | 0xa0..=0xa2
        | 0xa8..=0xaa
        | 0xc8..=0xcf => none(bytes, Kind::Other),
        0x04 | 0x0a | 0x0c | 0x24..=0x27 | 0x36 | 0x39 | 0x3b..=0x3f => None,
        0x80..=0x8f => {
            let jump = Some(bytes.word()?);
            Some(Instruction { length: bytes.at, jump, ..Instruction::default() })
        }
        _ => {
            let after = usize::from(matches!(
                opcode,
                0x0f | 0x70..=0x73 | 0xa4 | 0xac | 0xba | 0xc2 | 0xc4..=0xc6
            ));
            let operands = operands(bytes, prefixes, after, 1)?;
            match opcode {
                // Prefetches, hints and long nops touch nothing that they wait for.
                0x0d | 0x18..=0x1f => return none(bytes, Kind::Other),
                // TPAUSE and UMWAIT.
                0xae if operands.register.is_some()
                    && operands.reg == 6
                    && (prefixes.operand_size || prefixes.repeat == 0xf2) =>
                {
                    return none(bytes, Kind::Spin);
                }
                _ => {}
            }
            let stores = matches!(
                opcode,
                0x11 | 0x13 | 0x17 | 0x29 | 0x2b | 0x7f | 0x90..=0x9f | 0xa3..=0xa5 | 0xab..=0xad | 0xb0 | 0xb1 | 0xb3
                    | 0xbb | 0xc0 | 0xc1 | 0xc3 | 0xc7 | 0xd6 | 0xe7
            ) || (opcode == 0x7e && prefixes.repeat != 0xf3)
                || (opcode == 0xba && operands.reg >= 5);
            let kind = if prefixes.lock {
                Kind::Atomic
            } else if is_packed(opcode, prefixes.repeat) {
                Kind::Vector
            } else {
                Kind::Other
            };
            let kind = if operands.memory.is_some() { kind } else { Kind::Other };
            let own = operands.own(prefixes);
            let sets = match opcode {
                // MOVZX and MOVSX.
                0xb6 | 0xb7 | 0xbe | 0xbf if operands.register.is_none() => Some((own, Result::Loaded)),
                // CMOV, IMUL, counts of bits.
                0x40..=0x4f | 0xaf | 0xb6..=0xb8 | 0xbc..=0xbf => Some((own, Result::Other)),
                _ => None,
            };
            Some(Instruction {
                length: bytes.at,
                kind,
                operand: operands.memory,
                writes: stores,
                sets,
                ..Instruction::default()
            })
        }
    }
}

/// Whether an opcode behind 0f moves or computes whole vectors: what loops over arrays do.
fn is_packed(opcode: u8, repeat: u8) -> bool {
    match opcode {
        // Half vectors, single values, conversions between these and registers.
        0x12 | 0x13 | 0x16 | 0x17 | 0x2a | 0x2c..=0x2f | 0x6e | 0x7e | 0xc4 | 0xc5 | 0xd6 => false,
        0x6f | 0x7f => true,
        0x10 | 0x11 | 0x51..=0x5f | 0xc2 => repeat == 0,
        0x28 | 0x29 | 0x2b | 0x50 | 0x60..=0x6d | 0x70 | 0x74..=0x76 | 0x7c | 0x7d | 0xc6 | 0xd0..=0xfe => {
            true
        }
        _ => false,
    }
}

/// Whether an opcode behind 0f 3a names a single value: roundings, extractions, insertions, RORX.
fn is_single(opcode: u8) -> bool {
    matches!(opcode, 0x0a | 0x0b | 0x14..=0x17 | 0x20..=0x22 | 0xf0)
}

/// Opcodes behind 0f 38 and 0f 3a without VEX: MOVBE, ADX, CRC32 and those of vectors.
fn plain(bytes: &mut Bytes, prefixes: Prefixes, has_immediate: bool) -> Option<Instruction> {
    let opcode = bytes.next()?;
    let operands = operands(bytes, prefixes, usize::from(has_immediate), 1)?;
    let packed = if has_immediate { !is_single(opcode) } else { opcode < 0xf0 };
    let kind = if packed && operands.memory.is_some() { Kind::Vector } else { Kind::Other };
    let writes = !has_immediate && opcode == 0xf1 && prefixes.repeat == 0;
    Some(Instruction { length: bytes.at, kind, operand: operands.memory, writes, ..Instruction::default() })
}

/// Opcodes behind VEX (c4, c5) and EVEX (62).
fn vector(bytes: &mut Bytes, mut prefixes: Prefixes, by: u8) -> Option<Instruction> {
    let (map, pp, scale) = match by {
        0xc5 => {
            let a = bytes.next()?;
            prefixes.rex = 0x40 | (!a >> 5) & 4;
            (1, a & 3, 1)
        }
        0xc4 => {
            let (a, b) = (bytes.next()?, bytes.next()?);
            prefixes.rex = 0x40 | (!a >> 5) & 7 | (b >> 4) & 8;
            (a & 0x1f, b & 3, 1)
        }
        _ => {
            let (a, b, c) = (bytes.next()?, bytes.next()?, bytes.next()?);
            prefixes.rex = 0x40 | (!a >> 5) & 7 | (b >> 4) & 8;
            // A displacement of one byte counts vectors, or values where these are broadcast or single: as if it were vectors.
            (a & 7, b & 3, 16_i64 << ((c >> 5) & 3).min(2))
        }
    };
    prefixes.operand_size = pp == 1;
    prefixes.repeat = [0, 0, 0xf3, 0xf2][usize::from(pp)];
    let opcode = bytes.next()?;
    if by != 0x62 && map == 1 && opcode == 0x77 {
        return Some(Instruction { length: bytes.at, ..Instruction::default() });
    }
    let after = usize::from(map == 3 || (map == 1 && matches!(opcode, 0x70..=0x73 | 0xc2 | 0xc4..=0xc6)));
    if !matches!(map, 1..=6) {
        return None;
    }
    // The index of a gather or scatter is a vector, which is not sampled.
    let gathers = map == 2 && matches!(opcode, 0x90..=0x93 | 0xa0..=0xa3);
    let operands = operands(bytes, prefixes, after, scale)?;
    let memory = operands.memory.filter(|_| !gathers);
    let hidden = gathers && operands.memory.is_some();
    let packed = match map {
        1 => is_packed(opcode, prefixes.repeat),
        // Single values: broadcasts, the odd ones of fused multiplication, integers of general registers.
        2 => match opcode {
            0x18 | 0x19 | 0x58 | 0x59 | 0x78 | 0x79 | 0xf0..=0xff => false,
            0x96..=0xbf => opcode & 0xf < 8 || opcode & 1 == 0,
            _ => true,
        },
        3 => !is_single(opcode),
        _ => true,
    };
    let writes = (map == 1
        && (matches!(opcode, 0x11 | 0x13 | 0x17 | 0x29 | 0x2b | 0x7f | 0xd6 | 0xe7)
            || (opcode == 0x7e && prefixes.repeat != 0xf3)))
        || (map == 2 && matches!(opcode, 0x2e | 0x2f | 0x8e));
    let kind = if packed && memory.is_some() { Kind::Vector } else { Kind::Other };
    Some(Instruction { length: bytes.at, kind, operand: memory, hidden, writes, ..Instruction::default() })
}

/// The operand byte and what belongs to it; `after`: bytes of an immediate behind it, `scale`: what a displacement of one byte
/// counts.
fn operands(bytes: &mut Bytes, prefixes: Prefixes, after: usize, scale: i64) -> Option<Operands> {
    let byte = bytes.next()?;
    let (mode, reg, low) = (byte >> 6, (byte >> 3) & 7, byte & 7);
    let (rex_x, rex_b) = ((prefixes.rex & 2) << 2, (prefixes.rex & 1) << 3);
    if mode == 3 {
        bytes.skip(after)?;
        return Some(Operands { reg, register: Some(low | rex_b), memory: None });
    }
    let mut operand = Operand { base: Place::Register(low | rex_b), ..Operand::default() };
    let mut has_word = mode == 2;
    if low == 4 {
        let sib = bytes.next()?;
        let (index, base) = ((sib >> 3) & 7 | rex_x, sib & 7);
        operand.base = Place::Register(base | rex_b);
        if index != RSP {
            operand.index = Some((index, sib >> 6));
        }
        if mode == 0 && base == 5 {
            operand.base = Place::Nothing;
            has_word = true;
        }
    } else if mode == 0 && low == 5 {
        operand.base = Place::Next;
        has_word = true;
    }
    operand.offset = match (mode, has_word) {
        (1, _) => i64::from(bytes.next()? as i8) * scale,
        (_, true) => bytes.word()?,
        _ => 0,
    };
    bytes.skip(after)?;
    let known = !prefixes.segment && !prefixes.short;
    Some(Operands { reg, register: None, memory: Some(operand).filter(|_| known) })
}
