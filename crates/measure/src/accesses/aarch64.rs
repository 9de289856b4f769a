//! AArch64 instructions, decoded as in the Arm Architecture Reference Manual (DDI 0487), C4.1.

use super::instruction::{
    Condition, Flow, Instruction, Kind, Memory, Op, Operand, Operation, Order, Part, Place, Registers,
    Source, Target, Test, bit, field, signed,
};

/// The length of every instruction, bytes.
pub(super) const LENGTH: usize = 4;
/// The register number of XZR and WZR, or of the stack pointer.
const ZERO: u8 = 31;

/// Registers that a function may change (AAPCS64, 6.1.1): X0 to X18.
pub(super) fn lost_in_calls() -> Registers {
    (0..=18).map(Registers::of).collect::<Registers>().and(Registers::FLAGS)
}

/// The first instruction in these bytes; `None` if there are too few.
pub(super) fn decode(bytes: &[u8]) -> Option<Instruction> {
    let word = u32::from_le_bytes(bytes.get(..LENGTH)?.try_into().ok()?);
    let one = match field(word, 25, 4) {
        0b1000 | 0b1001 => of_constants(word),
        0b1010 | 0b1011 => of_branches(word),
        0b0101 | 0b1101 => of_registers(word),
        0b0111 | 0b1111 => of_floats(word),
        0b0010 => of_scalable(word),
        of if of & 0b0101 == 0b0100 => of_memory(word),
        _ => Instruction::default(),
    };
    Some(Instruction { length: LENGTH, ..one })
}

/// The register number whose field starts at bit `low` of the word.
fn register(word: u32, low: u32) -> u8 {
    field(word, low, 5) as u8
}

/// The register set that contains one general register; empty for XZR.
fn general(number: u8) -> Registers {
    if number == ZERO { Registers::default() } else { Registers::of(number) }
}

fn bytes(word: u32) -> u8 {
    if bit(word, 31) { 8 } else { 4 }
}

fn source(number: u8, bytes: u8, shift: u8) -> Source {
    match number {
        ZERO => Source::Constant(0),
        number => Source::Register(Part { number, bytes, signed: false, shift }),
    }
}

/// An instruction that stores `a op b` in register `to`, or only sets the flags.
fn computes(word: u32, op: Op, a: Source, b: Source, flags: bool, reads: Registers) -> Instruction {
    let to = register(word, 0);
    // In instructions with constants, register 31 is the stack pointer if no flags are set.
    let target = if to == ZERO && flags { Target::Nothing } else { Target::Register(to) };
    let sets = if flags { Registers::FLAGS.and(general(to)) } else { Registers::of(to) };
    let does = Some(Operation { op, a, b, to: target, bytes: bytes(word) });
    Instruction { reads, sets, does, ..Instruction::default() }
}

/// An instruction that sets a register to an unknown value.
fn unknown(word: u32, reads: Registers) -> Instruction {
    Instruction { reads, sets: general(register(word, 0)), ..Instruction::default() }
}

fn of_constants(word: u32) -> Instruction {
    let (from, wide) = (register(word, 5), bytes(word));
    let nothing = Source::Constant(0);
    match field(word, 23, 3) {
        // ADR and ADRP are relative to the instruction, whose page is unknown here.
        0 | 1 => unknown(word, Registers::default()),
        // ADD, ADDS, SUB, SUBS.
        2 => {
            let value = u64::from(field(word, 10, 12)) << if bit(word, 22) { 12 } else { 0 };
            let op = if bit(word, 30) { Op::Sub } else { Op::Add };
            let a = Source::register(from, wide);
            computes(word, op, a, Source::Constant(value), bit(word, 29), Registers::of(from))
        }
        // AND, ORR, EOR, ANDS.
        4 => {
            let op = [Op::And, Op::Or, Op::Xor, Op::And][field(word, 29, 2) as usize];
            match pattern(word) {
                Some(value) => {
                    let flags = field(word, 29, 2) == 3;
                    computes(word, op, source(from, wide, 0), Source::Constant(value), flags, general(from))
                }
                None => unknown(word, general(from)),
            }
        }
        // MOVN, MOVZ, MOVK.
        5 => {
            let value = u64::from(field(word, 5, 16)) << (16 * field(word, 21, 2));
            let value = match field(word, 29, 2) {
                0 => !value,
                2 => value,
                _ => return unknown(word, general(register(word, 0))),
            };
            computes(word, Op::Take, nothing, Source::Constant(value), false, Registers::default())
        }
        // SBFM and UBFM: shifts by a constant, and sign- or zero-extended parts of a register.
        6 if field(word, 29, 2) != 1 => {
            let (rotate, last, bits) = (field(word, 16, 6), field(word, 10, 6), 8 * u32::from(wide));
            let is_signed = field(word, 29, 2) == 0;
            let reads = general(from);
            if rotate >= bits || last >= bits {
                return unknown(word, reads);
            }
            if !is_signed && last + 1 == rotate {
                let by = Source::Constant(u64::from(bits - rotate));
                return computes(word, Op::Left, source(from, wide, 0), by, false, reads);
            }
            if last + 1 == bits {
                let op = if is_signed { Op::RightSigned } else { Op::Right };
                let by = Source::Constant(rotate.into());
                return computes(word, op, source(from, wide, 0), by, false, reads);
            }
            match (rotate, last) {
                (0, 7 | 15 | 31) if from != ZERO => {
                    let bytes = (last as u8 + 1) / 8;
                    let part = Part { number: from, bytes, signed: is_signed, shift: 0 };
                    computes(word, Op::Take, nothing, Source::Register(part), false, reads)
                }
                _ => unknown(word, reads),
            }
        }
        _ => unknown(word, general(from).and(general(register(word, 16))).and(general(register(word, 0)))),
    }
}

/// The constant of a logical instruction (DecodeBitMasks).
fn pattern(word: u32) -> Option<u64> {
    let (last, rotate) = (field(word, 10, 6), field(word, 16, 6));
    let size = (field(word, 22, 1) << 6 | (!last & 0x3f)).checked_ilog2().filter(|size| *size > 0)?;
    let bits = 1_u32 << size;
    let (ones, rotate) = ((last & (bits - 1)) + 1, rotate & (bits - 1));
    if ones == bits {
        return None;
    }
    let one = (1_u64 << ones) - 1;
    let element = u64::MAX >> (64 - bits);
    let rotated = if rotate == 0 { one } else { (one >> rotate | one << (bits - rotate)) & element };
    Some((0..64 / bits).fold(0, |all, at| all | rotated << (at * bits)))
}

fn of_branches(word: u32) -> Instruction {
    let with = |flow: Flow, reads: Registers| Instruction { flow, reads, ..Instruction::default() };
    let of = |kind: Kind| Instruction { kind, ..Instruction::default() };
    let none = Registers::default();
    let number = register(word, 0);
    match word {
        // YIELD, WFE, WFI and ISB, which are used in spin loops.
        0xd503_203f | 0xd503_205f | 0xd503_207f | 0xd503_3fdf => return of(Kind::Spin),
        _ => {}
    }
    // B and BL.
    if word & 0x7c00_0000 == 0x1400_0000 {
        let by = signed(word, 0, 26) * 4 - 4;
        return with(if bit(word, 31) { Flow::Call(Some(by)) } else { Flow::Jump(by) }, none);
    }
    if word & 0xff00_0010 == 0x5400_0000 {
        return with(
            Flow::Branch(signed(word, 5, 19) * 4 - 4, condition(field(word, 0, 4))),
            Registers::FLAGS,
        );
    }
    // CBZ and CBNZ, then TBZ and TBNZ.
    if word & 0x7e00_0000 == 0x3400_0000 {
        let when = match number {
            ZERO => Condition::Unknown,
            number => Condition::Zero(number, bytes(word), !bit(word, 24)),
        };
        return with(Flow::Branch(signed(word, 5, 19) * 4 - 4, when), general(number));
    }
    if word & 0x7e00_0000 == 0x3600_0000 {
        return with(Flow::Branch(signed(word, 5, 14) * 4 - 4, Condition::Unknown), general(number));
    }
    // BR, BLR and RET, then SVC.
    if word & 0xfe00_0000 == 0xd600_0000 {
        let flow = match field(word, 21, 4) {
            1 => Flow::Call(None),
            2 => Flow::Return,
            _ => Flow::Elsewhere,
        };
        return with(flow, general(register(word, 5)));
    }
    if word & 0xff00_001f == 0xd400_0001 {
        return Instruction { kind: Kind::System, ..with(Flow::Call(None), none) };
    }
    // DSB and DMB, then DC CIVAC, DC CVAC and similar, then MRS.
    if word & 0xffff_f09f == 0xd503_309f {
        return of(Kind::Atomic);
    }
    if word & 0xffff_f000 == 0xd50b_7000 && field(word, 5, 3) == 1 {
        return of(Kind::Flush);
    }
    if word & 0xfff0_0000 == 0xd530_0000 { unknown(word, none) } else { Instruction::default() }
}

fn condition(code: u32) -> Condition {
    let (test, is) = match code >> 1 {
        0 => (Test::Equal, true),
        1 => (Test::Below, false),
        2 => (Test::Negative, true),
        4 => (Test::BelowOrEqual, false),
        5 => (Test::Less, false),
        6 => (Test::LessOrEqual, false),
        _ => return Condition::Unknown,
    };
    Condition::Of(test, is != (code & 1 == 1))
}

fn of_registers(word: u32) -> Instruction {
    let (a, b, wide) = (register(word, 5), register(word, 16), bytes(word));
    let reads = general(a).and(general(b));
    let amount = field(word, 10, 6) as u8;
    // Shifts other than left shifts are rare, so their results are treated as unknown.
    let shifted = (field(word, 22, 2) == 0 || amount == 0).then(|| source(b, wide, amount));
    let flags = bit(word, 29);
    match (word >> 21) & 0xff {
        // Logical, shifted.
        of if of & 0xf8 == 0x50 => {
            let of = field(word, 29, 2);
            let op = match (of, bit(word, 21)) {
                (0 | 3, false) => Op::And,
                (0 | 3, true) => Op::Clear,
                (1, false) => Op::Or,
                (2, false) => Op::Xor,
                _ => return unknown(word, reads),
            };
            let plain = |b: Source| computes(word, op, source(a, wide, 0), b, of == 3, reads);
            shifted.map_or_else(|| unknown(word, reads), plain)
        }
        // ADD and SUB with a shifted or extended second register.
        of if of & 0xf8 == 0x58 => {
            let op = if bit(word, 30) { Op::Sub } else { Op::Add };
            if !bit(word, 21) {
                let plain = |b: Source| computes(word, op, source(a, wide, 0), b, flags, reads);
                return shifted.map_or_else(|| unknown(word, reads), plain);
            }
            let option = field(word, 13, 3);
            let part = (1_u8 << (option & 3)).min(wide);
            let (signed, shift) = (option & 4 != 0, field(word, 10, 3) as u8);
            let b = match b {
                ZERO => Source::Constant(0),
                number => Source::Register(Part { number, bytes: part, signed, shift }),
            };
            computes(word, op, Source::register(a, wide), b, flags, reads.and(Registers::of(a)))
        }
        // CSEL. The result of CSINC and similar instructions is unknown.
        0xd4 => {
            let reads = reads.and(Registers::FLAGS);
            if field(word, 10, 2) != 0 || bit(word, 30) {
                return unknown(word, reads);
            }
            let op = Op::Select(condition(field(word, 12, 4)));
            computes(word, op, source(b, wide, 0), source(a, wide, 0), false, reads)
        }
        // CCMP and CCMN.
        0xd2 => Instruction {
            reads: reads.and(Registers::FLAGS),
            sets: Registers::FLAGS,
            ..Instruction::default()
        },
        // UDIV, SDIV, LSLV, LSRV, ASRV.
        0xd6 if !bit(word, 30) => {
            let op = match field(word, 10, 6) {
                8 => Op::Left,
                9 => Op::Right,
                10 => Op::RightSigned,
                2 | 3 => return Instruction { kind: Kind::Long, ..unknown(word, reads) },
                _ => return unknown(word, reads),
            };
            computes(word, op, source(a, wide, 0), source(b, wide, 0), false, reads)
        }
        // MUL is MADD with a zero addend.
        0xd8 if register(word, 10) == ZERO && !bit(word, 15) => {
            computes(word, Op::Multiply, source(a, wide, 0), source(b, wide, 0), false, reads)
        }
        _ => unknown(word, reads.and(general(register(word, 10)))),
    }
}

/// Floating-point and vector instructions.
fn of_floats(word: u32) -> Instruction {
    let vector = |low: u32| Registers::vector(register(word, low));
    let reads = vector(5).and(vector(16));
    let plain = |kind: Kind| Instruction { kind, reads, sets: vector(0), ..Instruction::default() };
    // FMADD and similar.
    if word & 0xff00_0000 == 0x1f00_0000 {
        return Instruction { reads: reads.and(vector(10)), ..plain(Kind::Float) };
    }
    if word & 0x5f20_0000 == 0x1e20_0000 {
        return match (field(word, 10, 2), field(word, 10, 6)) {
            // Moves between general and vector registers.
            (0, 0) if matches!(field(word, 16, 3), 2 | 3 | 7) => {
                Instruction { reads: general(register(word, 5)), sets: vector(0), ..Instruction::default() }
            }
            (0, 0) => unknown(word, vector(5)),
            (0, of) if of & 0xf == 8 => Instruction { sets: Registers::FLAGS, ..plain(Kind::Other) },
            (0, of) if of & 0x1f == 16 => {
                plain(if field(word, 15, 6) == 3 { Kind::Long } else { Kind::Other })
            }
            (2, _) => plain(match field(word, 12, 4) {
                1 => Kind::Long,
                0 | 2 | 3 | 8 => Kind::Float,
                _ => Kind::Other,
            }),
            (3, _) => Instruction { reads: reads.and(Registers::FLAGS), ..plain(Kind::Other) },
            _ => plain(Kind::Other),
        };
    }
    // UMOV and SMOV.
    if word & 0xbfe0_dc00 == 0x0e00_0c00 || word & 0xbfe0_fc00 == 0x0e00_2c00 {
        return unknown(word, vector(5));
    }
    // Operations on three vectors: FDIV, then FADD, FMUL and FMLA.
    let kind = match (field(word, 11, 5), bit(word, 21) && bit(word, 10)) {
        (0b11111, true) if bit(word, 29) => Kind::Long,
        (0b11001..=0b11011, true) => Kind::Float,
        _ => Kind::Other,
    };
    Instruction { reads: reads.and(vector(0)), ..plain(kind) }
}

/// The element size of LD1 (log2 of bytes) for each value of its field `dtype`.
const ELEMENTS: [u8; 16] = [0, 0, 0, 0, 2, 1, 1, 1, 1, 1, 2, 2, 0, 0, 0, 3];

/// Instructions on vectors of a processor-dependent length (SVE). Addresses are known only if they are computed from
/// general-purpose registers; offsets in units of that length are ignored.
fn of_scalable(word: u32) -> Instruction {
    let vector = |low: u32| Registers::vector(register(word, low));
    let (from, index) = (register(word, 5), register(word, 16));
    // CNTD, INCD, ADDVL and similar change general-purpose registers by the unknown vector length.
    if word & 0xff20_e000 == 0x0420_e000 || word & 0xff20_f000 == 0x0420_5000 {
        return unknown(word, general(register(word, 0)).and(general(index)));
    }
    let reads = vector(5).and(vector(16));
    if !bit(word, 31) {
        // WHILELO, PTEST and similar set the flags.
        let sets = vector(0).and(Registers::FLAGS);
        return Instruction { reads: reads.and(vector(0)), sets, ..Instruction::default() };
    }
    let (group, form) = (field(word, 29, 3), field(word, 13, 3));
    let writes = group == 0b111;
    let operand = |index| Operand { base: Place::Register(from), index, offset: 0 };
    let at = match (group, form) {
        (0b101, 1 | 5 | 7) | (0b111, 7) => Some(operand(None)),
        (0b101, 2) => Some(operand(Some(Part::full(index, ELEMENTS[field(word, 21, 4) as usize])))),
        _ => None,
    };
    Instruction {
        memory: Some(Memory { at, bytes: 16, reads: !writes, writes, order: Order::Vector }),
        reads: Registers::of(from).and(at.map_or(reads, |at| at.registers())),
        sets: if writes { Registers::default() } else { vector(0) },
        ..Instruction::default()
    }
}

fn of_memory(word: u32) -> Instruction {
    let from = register(word, 5);
    let (vector, size) = (bit(word, 26), field(word, 30, 2));
    let (fetches, wide) = (bit(word, 22), vector && bit(word, 23) && size == 0);
    let (to, base) = (register(word, 0), Registers::of(from));
    let at = |offset: i64| Operand { base: Place::Register(from), index: None, offset };
    let shift = if wide { 4 } else { size };
    let value = |number: u8| if vector { Registers::vector(number) } else { general(number) };
    // A plain load or store. `moves`: the constant added to the base register, if the base is updated.
    let plain = |operand: Operand, order: Order, moves: Option<i64>| {
        let kind = field(word, 22, 2);
        // PRFM is a load of size 3 whose bits 23 and 22 are 10.
        if !vector && size == 3 && kind == 2 {
            return Instruction::default();
        }
        let writes = if wide { !fetches } else { kind == 0 };
        let memory = Memory { at: Some(operand), bytes: 1 << shift, reads: !writes, writes, order };
        let is_signed = !vector && kind >= 2;
        let bytes = if kind == 2 || size == 3 { 8 } else { 4 };
        let does = match (vector, writes) {
            (true, _) => None,
            (false, true) => Some(Operation {
                op: Op::Take,
                a: Source::Constant(0),
                b: source(to, 1 << size, 0),
                to: Target::Stored,
                bytes: 1 << size,
            }),
            (false, false) => Some(Operation {
                op: Op::Take,
                a: Source::Constant(0),
                b: Source::Loaded { bytes: 1 << size, signed: is_signed },
                to: if to == ZERO { Target::Nothing } else { Target::Register(to) },
                bytes,
            }),
        };
        let reads = operand.registers().and(if writes { value(to) } else { Registers::default() });
        let sets = if writes { Registers::default() } else { value(to) };
        let moved = moves.map_or(Registers::default(), |_| base);
        let moves = moves.map(|by| (from, by));
        Instruction {
            memory: Some(memory),
            reads,
            sets: sets.and(moved),
            does,
            moves,
            ..Instruction::default()
        }
    };
    let order = if wide { Order::Vector } else { Order::Unknown };
    // Base register plus a constant offset in units of the access size.
    if word & 0x3b00_0000 == 0x3900_0000 {
        return plain(at(i64::from(field(word, 10, 12)) << shift), order, None);
    }
    if word & 0x3b20_0000 == 0x3800_0000 {
        let by = signed(word, 12, 9);
        return match field(word, 10, 2) {
            // Post-indexed and pre-indexed: the base is updated after or before the access.
            1 => plain(at(0), Order::Unknown, Some(by)),
            3 => plain(at(by), Order::Unknown, Some(by)),
            _ => plain(at(by), order, None),
        };
    }
    if word & 0x3b20_0c00 == 0x3820_0800 {
        let shift = if bit(word, 12) { shift as u8 } else { 0 };
        // UXTW and SXTW use the lower half of the register.
        let (bytes, signed) = (if bit(word, 13) { 8 } else { 4 }, bit(word, 15));
        let index = Part { bytes, signed, ..Part::full(register(word, 16), shift) };
        return plain(Operand { index: Some(index), ..at(0) }, order, None);
    }
    let atomic = |reads: Registers, writes: bool| Instruction {
        kind: Kind::Atomic,
        memory: Some(Memory {
            at: Some(at(0)),
            bytes: 1 << size,
            reads: true,
            writes,
            order: Order::Unknown,
        }),
        reads: base.and(reads),
        sets: general(to),
        ..Instruction::default()
    };
    // LDADD, SWP and similar. All but LDADD may leave memory unchanged.
    if word & 0x3b20_0c00 == 0x3820_0000 && !vector {
        let (by, bytes) = (register(word, 16), 1 << size);
        let a = Source::Loaded { bytes, signed: false };
        let adds = Operation { op: Op::Add, a, b: source(by, bytes, 0), to: Target::Stored, bytes };
        return Instruction { does: (field(word, 12, 4) == 0).then_some(adds), ..atomic(general(by), true) };
    }
    // Pairs.
    if word & 0x3a00_0000 == 0x2800_0000 {
        let shift = if vector { 2 + size } else { 2 + (size >> 1) };
        let by = signed(word, 15, 7) << shift;
        let (operand, moves) = match field(word, 23, 2) {
            1 => (at(0), Some(by)),
            3 => (at(by), Some(by)),
            _ => (at(by), None),
        };
        let both = value(to).and(value(register(word, 10)));
        let (loaded, stored) =
            if fetches { (both, Registers::default()) } else { (Registers::default(), both) };
        let order = if vector && size == 2 { Order::Vector } else { Order::Unknown };
        let memory = Memory { at: Some(operand), bytes: 2 << shift, reads: fetches, writes: !fetches, order };
        let moved = moves.map_or(Registers::default(), |_| base);
        return Instruction {
            memory: Some(memory),
            reads: base.and(stored),
            sets: loaded.and(moved),
            moves: moves.map(|by| (from, by)),
            ..Instruction::default()
        };
    }
    // Exclusive loads and stores, and compare and swap. LDAR and STLR count as plain accesses.
    if word & 0x3f00_0000 == 0x0800_0000 {
        let is_plain = bit(word, 23) && !bit(word, 21);
        let reads = if fetches { Registers::default() } else { general(to) };
        let one = atomic(reads.and(general(register(word, 16))), !is_plain || !fetches);
        return if is_plain { Instruction { kind: Kind::Other, ..one } } else { one };
    }
    // LD1 to LD4, ST1 to ST4.
    if word & 0xbe00_0000 == 0x0c00_0000 {
        let memory =
            Memory { at: Some(at(0)), bytes: 16, reads: fetches, writes: !fetches, order: Order::Vector };
        let moves = bit(word, 23);
        return Instruction {
            memory: Some(memory),
            reads: base,
            sets: Registers::vector(to).and(if moves { base } else { Registers::default() }),
            ..Instruction::default()
        };
    }
    // Loads of literals read constants within the code, so they have no memory operand here.
    Instruction { sets: value(to), ..Instruction::default() }
}
