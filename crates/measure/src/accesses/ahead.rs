//! Predicts a thread's next steps from its registers and memory by emulating a few instructions of its code until it
//! reaches a load again. The load's next address represents the accessed memory just as well as the address at the time
//! of the sample.

use super::code::{Code, Set};
use super::instruction::{
    Condition, Flow, Instruction, Op, Operation, Registers, Source, Target, Test, cut, extend, mask, sign,
};

/// Maximum number of values read from the thread's memory for one sample.
const MOST_READ: usize = 96;

/// Maximum numbers of other functions whose code is read for one sample: normally, and if all calls are followed.
const MOST_FETCHED: u32 = 3;
const MOST_CALLED: u32 = 64;
/// Maximum distance from the start of a called function to the target instruction, bytes, for which the function is assumed to contain it.
const FUNCTION: u64 = 512;
/// The number of AArch64's link register.
const LINK: usize = 30;
/// Number of registers; of vector registers, only the first element is known.
const NUMBERS: usize = 64;

/// The result of a comparison.
#[derive(Clone, Copy, Debug, Default)]
struct Flags {
    zero: bool,
    negative: bool,
    overflow: bool,
    /// The first operand was lower (unsigned).
    below: bool,
}

/// A value from a thread's memory, and whether it is from the time of the sample. If not, it was read now.
pub(super) type Known = (u64, bool);

/// A value stored at an address.
#[derive(Clone, Copy)]
struct Stored {
    at: u64,
    bytes: u8,
    value: Option<u64>,
    is_now: bool,
}

/// An emulated thread. `read` reads a given number of bytes of its memory if that is possible without blocking.
pub(super) struct Ahead<'a, R> {
    code: &'a Code,
    /// The code of another function that the thread has reached, and the callback that reads such code.
    other: Option<Code>,
    elsewhere: &'a mut dyn FnMut(u64) -> Option<Code>,
    fetched: u32,
    /// The target instruction; functions that contain it are followed.
    wanted: u64,
    at: u64,
    registers: [Option<u64>; NUMBERS],
    flags: Option<Flags>,
    stored: Vec<Stored>,
    /// `of_now`: the registers computed from memory that was read now rather than at the time of the sample. `is_now`:
    /// whether the last value was read now.
    of_now: Registers,
    is_now: bool,
    /// Registers computed from the last loaded value.
    of_load: Registers,
    read: R,
    reads: usize,
    /// Whether forward branches with an unknown condition are taken.
    pub(super) forward: bool,
    /// Whether every called function is followed. Otherwise, only functions with the target instruction are followed,
    /// and other calls clobber registers.
    pub(super) calls: bool,
}

/// An executed instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// The address of the instruction.
    pub(super) at: u64,
    /// The address of the instruction's memory operand, if known.
    pub(super) address: Option<u64>,
    /// Whether the operand's address was computed from memory that was read now.
    pub(super) is_now: bool,
    /// Whether the instruction reads memory at an address computed from a previously loaded value.
    pub(super) follows: bool,
}

impl<'a, R: FnMut(u64, u8) -> Option<Known>> Ahead<'a, R> {
    /// Starts before the instruction at `at`, with these registers; `of_load` contains the registers that a load has just set.
    pub(super) fn new(
        (code, elsewhere): (&'a Code, &'a mut dyn FnMut(u64) -> Option<Code>),
        (at, wanted): (u64, u64),
        registers: &[u64],
        of_load: Registers,
        read: R,
    ) -> Self {
        let mut own = [None; NUMBERS];
        own.iter_mut().zip(registers).for_each(|(own, value)| *own = Some(*value));
        Self {
            code,
            other: None,
            elsewhere,
            fetched: 0,
            wanted,
            at,
            registers: own,
            flags: None,
            stored: Vec::new(),
            of_load,
            of_now: Registers::default(),
            is_now: false,
            read,
            reads: 0,
            forward: false,
            calls: false,
        }
    }

    fn register(&self, number: u8) -> Option<u64> {
        self.registers.get(usize::from(number)).copied().flatten()
    }

    /// Executes the next instruction; `None` if it is unknown or the limit is reached.
    pub(super) fn step(&mut self) -> Option<Step> {
        let one = self.fetch()?;
        let at = self.at;
        let end = at.wrapping_add(one.length as u64);
        let operand = one.memory.and_then(|memory| memory.at);
        let address = operand.and_then(|operand| operand.address(|number| self.register(number), end));
        let follows = one.memory.is_some_and(|memory| memory.reads)
            && operand.is_some_and(|operand| operand.registers().meets(self.of_load));
        let is_now = operand.is_some_and(|operand| operand.registers().meets(self.of_now));
        self.is_now = false;
        let taken = self.flow(&one, end)?;
        let of_base = one.moves.and_then(|(number, _)| self.register(number));
        match one.does {
            Some(does) => self.compute(&one, &does, address, end),
            None => self.forget(&one, address),
        }
        if let Some((number, by)) = one.moves
            && let Some(register) = self.registers.get_mut(usize::from(number))
        {
            *register = of_base.map(|base| base.wrapping_add_signed(by));
        }
        let passed = |of: Registers, new: bool| match new || one.reads.meets(of) {
            true => of.and(one.sets.without(Registers::FLAGS)),
            false => of.without(one.sets),
        };
        self.of_load = passed(self.of_load, false);
        self.of_now = passed(self.of_now, self.is_now);
        self.at = match taken {
            Some(by) => end.wrapping_add_signed(by),
            None => end,
        };
        Some(Step { at, address, is_now, follows })
    }

    /// The distance that the thread jumps after an instruction; `None` if unknown.
    fn flow(&mut self, one: &Instruction, end: u64) -> Option<Option<i64>> {
        match one.flow {
            Flow::Next => Some(None),
            Flow::Jump(by) => Some(Some(by)),
            Flow::Branch(by, condition) => {
                let taken = self.is(condition).unwrap_or(if by < 0 { true } else { self.forward });
                Some(taken.then_some(by))
            }
            Flow::Call(Some(by)) if self.is_wanted(end.wrapping_add_signed(by)) => {
                self.put_return(end);
                Some(Some(by))
            }
            Flow::Call(_) => {
                self.lose(self.code.set.lost_in_calls());
                Some(None)
            }
            Flow::Return => Some(Some(self.take_return()?.wrapping_sub(end) as i64)),
            Flow::Elsewhere => None,
        }
    }

    /// The next instruction; code of another function is read, up to the limit.
    fn fetch(&mut self) -> Option<Instruction> {
        let at = self.at;
        let known = self.code.at(at).or_else(|| self.other.as_ref()?.at(at));
        let most = if self.calls { MOST_CALLED } else { MOST_FETCHED };
        if known.is_some() || self.fetched >= most {
            return known;
        }
        self.fetched += 1;
        self.other = (self.elsewhere)(at);
        self.other.as_ref()?.at(at)
    }

    /// Whether a function that begins here is followed: all functions are followed, or it contains the target instruction.
    fn is_wanted(&self, begin: u64) -> bool {
        self.calls || self.wanted.checked_sub(begin).is_some_and(|far| far < FUNCTION)
    }

    /// Stores a function's return address on the stack or in X30.
    fn put_return(&mut self, end: u64) {
        let stack = self.code.set.stack();
        if self.code.set == Set::Arm {
            self.registers[LINK] = Some(end);
        } else if let Some(top) = self.register(stack).map(|top| top.wrapping_sub(8)) {
            self.registers[usize::from(stack)] = Some(top);
            self.stored.push(Stored { at: top, bytes: 8, value: Some(end), is_now: false });
        }
    }

    fn take_return(&mut self) -> Option<u64> {
        if self.code.set == Set::Arm {
            return self.registers[LINK];
        }
        let stack = self.code.set.stack();
        let top = self.register(stack)?;
        self.registers[usize::from(stack)] = Some(top.wrapping_add(8));
        let is_now = self.is_now;
        let back = self.load(top, 8);
        self.is_now = is_now;
        back
    }

    fn is(&self, condition: Condition) -> Option<bool> {
        match condition {
            Condition::Unknown => None,
            Condition::Zero(number, bytes, is) => Some((cut(self.register(number)?, bytes) == 0) == is),
            Condition::Of(test, is) => {
                let flags = self.flags?;
                let less = flags.negative != flags.overflow;
                let holds = match test {
                    Test::Equal => flags.zero,
                    Test::Below => flags.below,
                    Test::BelowOrEqual => flags.below || flags.zero,
                    Test::Less => less,
                    Test::LessOrEqual => less || flags.zero,
                    Test::Negative => flags.negative,
                };
                Some(holds == is)
            }
        }
    }

    /// Forgets the values of these registers.
    pub(super) fn lose(&mut self, lost: Registers) {
        for (number, value) in self.registers.iter_mut().enumerate() {
            if lost.meets(Registers::of(number as u8)) {
                *value = None;
            }
        }
        if lost.meets(Registers::FLAGS) {
            self.flags = None;
        }
    }

    /// Marks everything that an instruction with an unknown operation sets or stores as unknown.
    fn forget(&mut self, one: &Instruction, address: Option<u64>) {
        // The effects of calls and returns on the stack are known.
        let of_flow = matches!(one.flow, Flow::Call(_) | Flow::Return);
        let stack = if of_flow { Registers::of(self.code.set.stack()) } else { Registers::default() };
        self.lose(one.sets.without(stack));
        if let (Some(memory), Some(address)) = (one.memory.filter(|memory| memory.writes), address) {
            self.stored.push(Stored { at: address, bytes: memory.bytes, value: None, is_now: false });
        }
    }

    fn compute(&mut self, one: &Instruction, does: &Operation, address: Option<u64>, end: u64) {
        let (stack, bytes) = (self.code.set.stack(), does.bytes);
        match does.op {
            Op::Push => {
                let value = self.value(does.b, address, end);
                let top = self.register(stack).map(|top| top.wrapping_sub(8));
                self.registers[usize::from(stack)] = top;
                let is_now = self.is_of_now(one);
                let of = |at| Stored { at, bytes: 8, value, is_now };
                return self.stored.extend(top.map(of));
            }
            Op::Pop => {
                let top = self.register(stack);
                let value = top.and_then(|top| self.load(top, 8));
                self.registers[usize::from(stack)] = top.map(|top| top.wrapping_add(8));
                return self.put(does.to, value, bytes, None);
            }
            _ => {}
        }
        let b = self.value(does.b, address, end);
        let a = if does.op == Op::Take { Some(0) } else { self.value(does.a, address, end) };
        let value = match does.op {
            Op::Select(condition) => match self.is(condition) {
                Some(true) => b,
                Some(false) => a,
                None => a.filter(|a| Some(*a) == b),
            },
            op => a.zip(b).map(|(a, b)| result(op, a, b, bytes)),
        };
        if one.sets.meets(Registers::FLAGS) {
            self.flags = a.zip(b).zip(value).map(|((a, b), value)| flags(does.op, a, b, value, bytes));
        }
        let target =
            if let Target::Register(number) = does.to { Registers::of(number) } else { Registers::FLAGS };
        self.lose(one.sets.without(target).without(Registers::FLAGS));
        let is_now = self.is_of_now(one);
        self.put(does.to, value, bytes, address.map(|at| (at, is_now)));
    }

    /// Whether the result of this instruction is computed from memory that was read now.
    fn is_of_now(&self, one: &Instruction) -> bool {
        self.is_now || one.reads.meets(self.of_now)
    }

    fn put(&mut self, to: Target, value: Option<u64>, bytes: u8, address: Option<(u64, bool)>) {
        match to {
            Target::Register(number) => {
                let old = self.register(number);
                let new = match bytes {
                    4.. => value.map(|value| cut(value, bytes)),
                    _ => old.zip(value).map(|(old, value)| old & !mask(bytes) | cut(value, bytes)),
                };
                if let Some(register) = self.registers.get_mut(usize::from(number)) {
                    *register = new;
                }
            }
            Target::Stored => {
                self.stored.extend(address.map(|(at, is_now)| Stored { at, bytes, value, is_now }));
            }
            Target::Nothing => {}
        }
    }

    fn value(&mut self, source: Source, address: Option<u64>, end: u64) -> Option<u64> {
        match source {
            Source::Constant(value) => Some(value),
            Source::Register(part) => part.value(|number| self.register(number)),
            Source::Loaded { bytes, signed } => Some(extend(self.load(address?, bytes)?, bytes, signed)),
            Source::Address(operand) => operand.address(|number| self.register(number), end),
        }
    }

    /// Whether the limit for reading the thread's memory is reached.
    pub(super) fn is_at_limit(&self) -> bool {
        self.reads >= MOST_READ
    }

    /// The content of memory: the emulated value stored there, or the thread's current value.
    fn load(&mut self, address: u64, bytes: u8) -> Option<u64> {
        let end = address.checked_add(bytes.into())?;
        let meets = |one: &&Stored| one.at < end && address < one.at.saturating_add(one.bytes.into());
        if let Some(one) = self.stored.iter().rev().find(meets) {
            self.is_now |= one.is_now;
            let whole = one.at == address && one.bytes >= bytes;
            return one.value.filter(|_| whole).map(|value| cut(value, bytes));
        }
        if self.is_at_limit() {
            return None;
        }
        let (value, at_sample) = (self.read)(address, bytes)?;
        // The sample already contains a copy of the stack.
        self.reads += usize::from(!at_sample);
        self.is_now |= !at_sample;
        Some(value)
    }
}

fn result(op: Op, a: u64, b: u64, bytes: u8) -> u64 {
    // Shift counts are taken modulo the operand width.
    let by = b & if bytes == 8 { 63 } else { 31 };
    let value = match op {
        Op::Take | Op::Select(_) | Op::Push | Op::Pop => b,
        Op::Add => a.wrapping_add(b),
        Op::Sub => a.wrapping_sub(b),
        Op::And => a & b,
        Op::Clear => a & !b,
        Op::Or => a | b,
        Op::Xor => a ^ b,
        Op::Left => a << by,
        Op::Right => cut(a, bytes) >> by,
        Op::RightSigned => ((extend(a, bytes, true) as i64) >> by) as u64,
        Op::Multiply => a.wrapping_mul(b),
    };
    cut(value, bytes)
}

fn flags(op: Op, a: u64, b: u64, value: u64, bytes: u8) -> Flags {
    let (a, b, value) = (cut(a, bytes), cut(b, bytes), cut(value, bytes));
    let (of_a, of_b, negative) = (sign(a, bytes), sign(b, bytes), sign(value, bytes));
    let (below, overflow) = match op {
        Op::Sub => (a < b, of_a != of_b && negative != of_a),
        Op::Add => (value < a, of_a == of_b && negative != of_a),
        _ => (false, false),
    };
    Flags { zero: value == 0, negative, overflow, below }
}
