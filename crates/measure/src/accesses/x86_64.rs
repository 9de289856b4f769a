//! x86-64 instructions, decoded by `iced-x86`.

use std::cell::RefCell;

use iced_x86::{
    ConditionCode, Decoder, DecoderOptions, FlowControl, InstructionInfo, InstructionInfoFactory, Mnemonic,
    OpAccess, OpKind, Register,
};

use super::instruction::{
    Condition, Flow, Instruction, Kind, Memory, Op, Operand, Operation, Order, Part, Place, Registers,
    Source, Target, Test, VECTORS,
};

pub(super) const RAX: u8 = 0;
const RSP: u8 = 4;
const RSI: u8 = 6;
const RDI: u8 = 7;

/// Maximum length of an instruction.
pub(super) const LONGEST: usize = 15;

/// Registers that a function may change (System V ABI, AMD64, 3.2.1): RAX, RCX, RDX, RSI, RDI, R8 to R11, and all vector
/// registers.
pub(super) fn lost_in_calls() -> Registers {
    let is_lost = |number: &u8| matches!(number, 0..=2 | 6..=11 | VECTORS..);
    (0..64).filter(is_lost).map(Registers::of).collect::<Registers>().and(Registers::FLAGS)
}

thread_local! {
    /// All decoding in a thread shares this factory, because the factory reuses its memory between instructions.
    static FACTORY: RefCell<InstructionInfoFactory> = RefCell::new(InstructionInfoFactory::new());
}

/// The length of the first instruction in these bytes; `None` if it is invalid or incomplete.
pub(super) fn length(bytes: &[u8]) -> Option<usize> {
    let one = Decoder::new(64, &bytes[..bytes.len().min(LONGEST)], DecoderOptions::NONE).decode();
    (!one.is_invalid()).then(|| one.len())
}

/// The first instruction in these bytes; `None` if it is invalid or incomplete.
pub(super) fn decode(bytes: &[u8]) -> Option<Instruction> {
    let bytes = &bytes[..bytes.len().min(LONGEST)];
    let one = Decoder::new(64, bytes, DecoderOptions::NONE).decode();
    if one.is_invalid() {
        return None;
    }
    FACTORY.with_borrow_mut(|factory| Some(of(&one, factory.info(&one))))
}

/// Builds the instruction from its operands and used registers.
fn of(one: &iced_x86::Instruction, uses: &InstructionInfo) -> Instruction {
    let (mut reads, mut sets) = (Registers::default(), Registers::default());
    for used in uses.used_registers() {
        let part = part(used.register().full_register());
        let register = part.map(|(number, _)| Registers::of(number)).unwrap_or_default();
        let access = used.access();
        reads = reads.and(if is_read(access) { register } else { Registers::default() });
        sets = sets.and(if is_written(access) { register } else { Registers::default() });
    }
    if one.rflags_read() != 0 {
        reads = reads.and(Registers::FLAGS);
    }
    if one.rflags_modified() != 0 {
        sets = sets.and(Registers::FLAGS);
    }
    let memory = memory(one, |at| uses.op_access(at));
    Instruction {
        length: one.len(),
        flow: flow(one),
        kind: kind(one, memory.is_some_and(|memory| memory.writes)),
        memory,
        reads,
        sets,
        does: operation(one),
        moves: None,
    }
}

fn is_read(access: OpAccess) -> bool {
    use OpAccess::{CondRead, Read, ReadCondWrite, ReadWrite};
    matches!(access, Read | CondRead | ReadWrite | ReadCondWrite)
}

fn is_written(access: OpAccess) -> bool {
    use OpAccess::{CondWrite, ReadCondWrite, ReadWrite, Write};
    matches!(access, Write | CondWrite | ReadWrite | ReadCondWrite)
}

/// The number of a general register, or of the general register of which this register is a part.
fn general(register: Register) -> Option<u8> {
    let full = register.full_register();
    full.is_gpr64().then(|| full.number() as u8)
}

/// The memory that an instruction accesses, if any.
fn memory(one: &iced_x86::Instruction, access: impl Fn(u32) -> OpAccess) -> Option<Memory> {
    let bytes = u8::try_from(one.memory_size().size()).unwrap_or(u8::MAX);
    if one.is_string_instruction() {
        let kinds = [one.op0_kind(), one.op_kind(1)];
        let from = kinds.contains(&OpKind::MemorySegRSI);
        let base = Place::Register(if from { RSI } else { RDI });
        let repeated = one.has_rep_prefix() || one.has_repne_prefix();
        let order = if repeated { Order::Sequential } else { Order::Unknown };
        let writes = one.op0_kind() == OpKind::MemoryESRDI && is_written(access(0));
        let reads = from || !writes;
        return Some(Memory {
            at: Some(Operand { base, ..Operand::default() }),
            bytes,
            reads,
            writes,
            order,
        });
    }
    let named = (0..one.op_count()).find(|at| one.op_kind(*at) == OpKind::Memory)?;
    let access = access(named);
    // Instructions that have a memory operand but do not access it, such as long nops, do not wait for memory.
    if access == OpAccess::NoMemAccess || one.mnemonic() == Mnemonic::Nop {
        return None;
    }
    let is_vector = one.memory_size().is_packed() || (16..=64).contains(&one.memory_size().size());
    let order = if is_vector { Order::Vector } else { Order::Unknown };
    Some(Memory { at: operand(one), bytes, reads: is_read(access), writes: is_written(access), order })
}

/// The address of an instruction's operand; for a gather, the address of its first element. `None` if the address
/// depends on something that is not sampled, such as a segment or part of a register.
fn operand(one: &iced_x86::Instruction) -> Option<Operand> {
    let (base, index) = (one.memory_base(), one.memory_index());
    let is_half = base.is_gpr32() || index.is_gpr32() || base == Register::EIP;
    if is_half || matches!(one.segment_prefix(), Register::FS | Register::GS) {
        return None;
    }
    let offset = one.memory_displacement64() as i64;
    let (base, offset) = match base {
        Register::RIP => (Place::Next, offset.wrapping_sub(one.len() as i64)),
        base => (general(base).map_or(Place::Nothing, Place::Register), offset),
    };
    let index = part(index).map(|(number, _)| Part {
        number,
        bytes: if one.is_vsib32() { 4 } else { 8 },
        signed: one.is_vsib32(),
        shift: one.memory_index_scale().trailing_zeros() as u8,
    });
    Some(Operand { base, index, offset })
}

fn flow(one: &iced_x86::Instruction) -> Flow {
    let near = one.op0_kind() == OpKind::NearBranch64;
    let to = || (one.near_branch64() as i64).wrapping_sub(one.len() as i64);
    match one.flow_control() {
        FlowControl::Next | FlowControl::XbeginXabortXend => Flow::Next,
        FlowControl::ConditionalBranch if near => Flow::Branch(to(), condition(one.condition_code())),
        FlowControl::UnconditionalBranch if near => Flow::Jump(to()),
        FlowControl::Call => Flow::Call(near.then(to)),
        FlowControl::IndirectCall => Flow::Call(None),
        FlowControl::Return => Flow::Return,
        _ if one.mnemonic() == Mnemonic::Syscall => Flow::Call(None),
        _ => Flow::Elsewhere,
    }
}

/// Conditions are encoded in pairs: a test and its opposite.
fn condition(code: ConditionCode) -> Condition {
    let test = match (code as u8).wrapping_sub(1) / 2 {
        1 => Test::Below,
        2 => Test::Equal,
        3 => Test::BelowOrEqual,
        4 => Test::Negative,
        6 => Test::Less,
        7 => Test::LessOrEqual,
        _ => return Condition::Unknown,
    };
    Condition::Of(test, code as u8 % 2 == 1)
}

/// Operations that take more than a few cycles: division, roots, transcendental functions.
const LONG: &[Mnemonic] = {
    use Mnemonic::*;
    &[
        Div, Idiv, Divss, Divsd, Divps, Divpd, Sqrtss, Sqrtsd, Sqrtps, Sqrtpd, Vdivss, Vdivsd, Vdivps,
        Vdivpd, Vsqrtss, Vsqrtsd, Vsqrtps, Vsqrtpd, Fdiv, Fdivp, Fdivr, Fdivrp, Fsqrt, Fsin, Fcos, Fsincos,
        Fptan, Fpatan, F2xm1, Fyl2x,
    ]
};

/// Floating-point additions, subtractions and multiplications other than fused ones.
const FLOAT: &[Mnemonic] = {
    use Mnemonic::*;
    &[
        Addss, Addsd, Addps, Addpd, Subss, Subsd, Subps, Subpd, Mulss, Mulsd, Mulps, Mulpd, Vaddss, Vaddsd,
        Vaddps, Vaddpd, Vsubss, Vsubsd, Vsubps, Vsubpd, Vmulss, Vmulsd, Vmulps, Vmulpd, Fadd, Faddp, Fsub,
        Fsubp, Fmul, Fmulp,
    ]
};

fn kind(one: &iced_x86::Instruction, writes: bool) -> Kind {
    use Mnemonic as M;
    match one.mnemonic() {
        M::Pause | M::Tpause | M::Umwait => Kind::Spin,
        M::Syscall => Kind::System,
        M::Clflush | M::Clflushopt | M::Clwb => Kind::Flush,
        M::Mfence | M::Lfence | M::Sfence | M::Cpuid | M::Rdtscp | M::Serialize => Kind::Atomic,
        mnemonic if LONG.contains(&mnemonic) => Kind::Long,
        // An exchange with memory is always locked, with or without the lock prefix.
        mnemonic if writes && (one.has_lock_prefix() || mnemonic == M::Xchg) => Kind::Atomic,
        _ if is_of_floats(one) => Kind::Float,
        _ => Kind::Other,
    }
}

/// Whether an instruction adds or multiplies floating-point numbers.
fn is_of_floats(one: &iced_x86::Instruction) -> bool {
    FLOAT.contains(&one.mnemonic())
        || one.op0_register().is_vector_register() && {
            let name = one.mnemonic() as u32;
            // VFMADD, VFMSUB, VFNMADD and VFNMSUB are adjacent in the enumeration.
            (Mnemonic::Vfmadd132pd as u32..=Mnemonic::Vfnmsubss as u32).contains(&name)
        }
}

/// The number and width in bytes of a register, unless it is a high byte such as AH. For a vector register, only the first eight bytes are
/// known.
fn part(register: Register) -> Option<(u8, u8)> {
    if register.is_vector_register() {
        return Some((VECTORS + register.number() as u8, 8));
    }
    let high = matches!(register, Register::AH | Register::BH | Register::CH | Register::DH);
    Some((general(register).filter(|_| !high)?, register.size() as u8))
}

/// The value of an operand, reduced to at most this many bytes and optionally sign-extended.
fn source(one: &iced_x86::Instruction, at: u32, (most, signed): (u8, bool)) -> Option<Source> {
    match one.op_kind(at) {
        OpKind::Register => {
            let (number, bytes) = part(one.op_register(at))?;
            Some(Source::Register(Part { number, bytes: bytes.min(most), signed, shift: 0 }))
        }
        OpKind::Memory => {
            Some(Source::Loaded { bytes: one.memory_size().size().min(most.into()) as u8, signed })
        }
        _ => one.try_immediate(at).ok().map(Source::Constant),
    }
}

/// The destination in an instruction's first operand, and the size in bytes.
fn target(one: &iced_x86::Instruction) -> Option<(Target, u8)> {
    match one.op0_kind() {
        OpKind::Register => part(one.op0_register()).map(|(number, bytes)| (Target::Register(number), bytes)),
        OpKind::Memory if one.memory_size().size() <= 8 => {
            Some((Target::Stored, one.memory_size().size() as u8))
        }
        _ => None,
    }
}

/// Instructions that copy, extend or repeat a value. For vectors, only the first element counts.
const MOVES: &[Mnemonic] = {
    use Mnemonic::*;
    &[
        Mov, Movzx, Movsx, Movsxd, Movd, Movq, Vmovd, Vmovq, Movdqa, Movdqu, Movaps, Movups, Movapd, Movupd,
        Lddqu, Vmovdqa, Vmovdqu, Vmovaps, Vmovups, Vmovapd, Vmovupd, Vlddqu, Vmovdqa32, Vmovdqa64, Vmovdqu8,
        Vmovdqu16, Vmovdqu32, Vmovdqu64, Pmovsxdq, Vpmovsxdq, Pmovzxdq, Vpmovzxdq, Pmovzxwd, Vpmovzxwd,
        Pmovzxbd, Vpmovzxbd, Vpgatherdd, Vpgatherdq, Vpgatherqd, Vpgatherqq,
    ]
};

/// The operation by which an instruction computes its result; `None` if addresses are not computed with such operations. Vector operations
/// matter only for the indexes of gathers. Only the first element is computed, and only the bytes that a gather uses are correct.
fn operation(one: &iced_x86::Instruction) -> Option<Operation> {
    use Mnemonic as M;
    let nothing = Source::Constant(0);
    // A mask may leave the first element unchanged. A gather is assumed to load its first element.
    (!one.has_op_mask() || one.is_vsib()).then_some(())?;
    // The number of bytes used from the source, and whether they are sign-extended.
    let of = match one.mnemonic() {
        M::Movsx | M::Movsxd => (8, true),
        M::Pmovsxdq | M::Vpmovsxdq => (4, true),
        M::Pmovzxdq | M::Vpmovzxdq | M::Psrld | M::Vpsrld => (4, false),
        M::Pmovzxwd | M::Vpmovzxwd => (2, false),
        M::Pmovzxbd | M::Vpmovzxbd => (1, false),
        _ => (8, false),
    };
    let (to, bytes) = match one.mnemonic() {
        M::Cdqe => (Target::Register(RAX), 8),
        M::Push => (Target::Register(RSP), 8),
        M::Cmp | M::Test => (Target::Nothing, target(one)?.1),
        _ => target(one)?,
    };
    let first = || source(one, 0, (8, false));
    // If there are three operands, the first is only a target.
    let before_last = || source(one, one.op_count().checked_sub(2)?, (of.0, false));
    // The last operand of some gathers is a mask.
    let last = || source(one, if one.is_vsib() { 1 } else { one.op_count().checked_sub(1)? }, of);
    let (op, a, b) = match one.mnemonic() {
        M::Vpbroadcastd | M::Vpbroadcastq => (Op::Take, nothing, last()?),
        mnemonic if MOVES.contains(&mnemonic) => (Op::Take, nothing, last()?),
        M::Lea => (Op::Take, nothing, Source::Address(operand(one)?)),
        M::Inc => (Op::Add, first()?, Source::Constant(1)),
        M::Dec => (Op::Sub, first()?, Source::Constant(1)),
        M::Neg => (Op::Sub, nothing, first()?),
        M::Not => (Op::Xor, first()?, Source::Constant(u64::MAX)),
        M::Cdqe => {
            (Op::Take, nothing, Source::Register(Part { bytes: 4, signed: true, ..Part::full(RAX, 0) }))
        }
        M::Push => (Op::Push, nothing, source(one, 0, (8, true))?),
        M::Pop => (Op::Pop, nothing, nothing),
        other => {
            let op = match other {
                M::Add | M::Xadd | M::Paddd | M::Vpaddd | M::Paddq | M::Vpaddq => Op::Add,
                M::Sub | M::Cmp => Op::Sub,
                M::And | M::Test | M::Pand | M::Vpand | M::Vpandd | M::Vpandq => Op::And,
                M::Or => Op::Or,
                M::Xor | M::Pxor | M::Vpxor | M::Vpxord | M::Vpxorq => Op::Xor,
                M::Shl | M::Sal | M::Shlx | M::Pslld | M::Vpslld | M::Psllq | M::Vpsllq => Op::Left,
                M::Shr | M::Shrx | M::Psrld | M::Vpsrld | M::Psrlq | M::Vpsrlq => Op::Right,
                M::Sar | M::Sarx => Op::RightSigned,
                M::Pmulld | M::Vpmulld => Op::Multiply,
                M::Imul if one.op_count() > 1 => Op::Multiply,
                _ if is_conditional_move(one) => Op::Select(condition(one.condition_code())),
                _ => return None,
            };
            (op, before_last()?, last()?)
        }
    };
    Some(Operation { op, a, b, to, bytes })
}

fn is_conditional_move(one: &iced_x86::Instruction) -> bool {
    one.condition_code() != ConditionCode::None
        && one.op_count() == 2
        && one.op0_kind() == OpKind::Register
        && one.flow_control() == FlowControl::Next
}
