//! Instructions of x86-64: their length, and what memory they name.

use iced_x86::{
    Decoder, DecoderOptions, FlowControl, InstructionInfoFactory, InstructionInfoOptions, Mnemonic, OpAccess,
    OpKind, Register,
};

use super::instruction::{Instruction, Kind, Operand, Place, Result};

const RAX: u8 = 0;
const RSI: u8 = 6;
const RDI: u8 = 7;

/// No instruction is longer.
pub(super) const LONGEST: usize = 15;

/// The first instruction of these bytes; `None` of what is none, or goes beyond their end.
pub(super) fn decode(bytes: &[u8]) -> Option<Instruction> {
    let bytes = &bytes[..bytes.len().min(LONGEST)];
    let one = Decoder::new(64, bytes, DecoderOptions::NONE).decode();
    if one.is_invalid() {
        return None;
    }
    let mut factory = InstructionInfoFactory::new();
    let uses = factory.info_options(&one, InstructionInfoOptions::NO_REGISTER_USAGE);
    let named = (0..one.op_count())
        .find(|at| one.op_kind(*at) == OpKind::Memory)
        .map(|at| uses.op_access(at))
        .filter(|access| *access != OpAccess::NoMemAccess);
    let is_vector =
        named.is_some() && (one.memory_size().is_packed() || (16..=64).contains(&one.memory_size().size()));
    let is_repeated = one.is_string_instruction() && (one.has_rep_prefix() || one.has_repne_prefix());
    let flow = one.flow_control();
    let jumps = matches!(flow, FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch)
        && one.op0_kind() == OpKind::NearBranch64;
    let kind = match (one.mnemonic(), flow) {
        (Mnemonic::Pause | Mnemonic::Tpause | Mnemonic::Umwait, _) => Kind::Spin,
        (_, FlowControl::Return | FlowControl::UnconditionalBranch | FlowControl::IndirectBranch) => {
            Kind::End
        }
        _ if is_repeated => Kind::Sequential,
        // What an exchange names is locked, with or without the prefix.
        (mnemonic, _) if named.is_some() && (one.has_lock_prefix() || mnemonic == Mnemonic::Xchg) => {
            Kind::Atomic
        }
        _ if is_vector => Kind::Vector,
        _ => Kind::Other,
    };
    let operand = if is_repeated {
        let from = one.op_kind(1) == OpKind::MemorySegRSI || one.op0_kind() == OpKind::MemorySegRSI;
        let base = Place::Register(if from { RSI } else { RDI });
        Some(Operand { base, ..Operand::default() })
    } else {
        named.and_then(|_| memory(&one))
    };
    Some(Instruction {
        length: one.len(),
        kind,
        operand,
        // The index of a gather or scatter is a vector, which is not sampled.
        hidden: named.is_some() && one.is_vsib(),
        writes: named.is_some_and(is_written) || is_repeated && one.op0_kind() == OpKind::MemoryESRDI,
        steps: steps(&one),
        sets: general(one.op0_register())
            .filter(|_| one.op0_kind() == OpKind::Register && is_written(uses.op0_access()))
            .map(|register| (register, result(&one, register)))
            .or(is_written_apart(one.mnemonic()).then_some((RAX, Result::Other))),
        jump: jumps.then(|| (one.near_branch64() as i64).wrapping_sub(one.len() as i64)),
    })
}

fn is_written(access: OpAccess) -> bool {
    use OpAccess::{CondWrite, ReadCondWrite, ReadWrite, Write};
    matches!(access, Write | CondWrite | ReadWrite | ReadCondWrite)
}

/// Whether it leaves its result in RAX, without naming it.
fn is_written_apart(mnemonic: Mnemonic) -> bool {
    matches!(mnemonic, Mnemonic::Mul | Mnemonic::Imul | Mnemonic::Div | Mnemonic::Idiv)
}

/// The number of a general register, whatever part of it is meant.
fn general(register: Register) -> Option<u8> {
    let full = register.full_register();
    full.is_gpr64().then(|| full.number() as u8)
}

/// The memory that its operand names; `None` where that is counted from what is not sampled: a segment, a vector, half a register.
fn memory(one: &iced_x86::Instruction) -> Option<Operand> {
    let (base, index) = (one.memory_base(), one.memory_index());
    let is_half = base.is_gpr32() || index.is_gpr32() || base == Register::EIP;
    if is_half || one.is_vsib() || matches!(one.segment_prefix(), Register::FS | Register::GS) {
        return None;
    }
    let offset = one.memory_displacement64() as i64;
    let (base, offset) = match base {
        Register::RIP => (Place::Next, offset.wrapping_sub(one.len() as i64)),
        base => (general(base).map_or(Place::Nothing, Place::Register), offset),
    };
    let index = general(index).map(|index| (index, one.memory_index_scale().trailing_zeros() as u8));
    Some(Operand { base, index, offset })
}

/// Whether its second operand is a constant.
fn has_constant(one: &iced_x86::Instruction) -> bool {
    one.op_count() == 2 && one.try_immediate(1).is_ok()
}

/// The register that it makes greater or less by a constant.
fn steps(one: &iced_x86::Instruction) -> Option<u8> {
    let own = general(one.op0_register()).filter(|_| one.op0_kind() == OpKind::Register)?;
    let is_own = |at: Operand| at.base == Place::Register(own) && at.index.is_none();
    let is = match one.mnemonic() {
        Mnemonic::Add | Mnemonic::Sub => has_constant(one),
        Mnemonic::Inc | Mnemonic::Dec => true,
        Mnemonic::Lea => memory(one).is_some_and(is_own),
        _ => false,
    };
    is.then_some(own)
}

/// What it leaves in the register that it sets.
fn result(one: &iced_x86::Instruction, register: u8) -> Result {
    let is_whole = one.op0_register().size() > 1;
    match one.mnemonic() {
        Mnemonic::Lea => memory(one).map_or(Result::Other, Result::Sum),
        Mnemonic::Mov | Mnemonic::Movzx | Mnemonic::Movsx | Mnemonic::Movsxd
            if is_whole && one.op1_kind() == OpKind::Memory =>
        {
            Result::Loaded
        }
        Mnemonic::Shl if has_constant(one) && one.immediate(1) < 64 => {
            let index = Some((register, one.immediate(1) as u8));
            Result::Sum(Operand { index, ..Operand::default() })
        }
        _ => Result::Other,
    }
}
