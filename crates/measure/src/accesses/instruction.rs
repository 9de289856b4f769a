//! The properties of an instruction, on any architecture: its memory operand, the registers that it reads and sets, and
//! its result if addresses may depend on it.

/// The number of the first vector register. Lower numbers are general-purpose registers, numbered as in the encoding of instructions.
pub(super) const VECTORS: u8 = 32;

/// A set of registers: bit n stands for the register with number n, and bit 64 for the flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Registers(u128);

impl Registers {
    /// The flags.
    pub(super) const FLAGS: Self = Self(1 << 64);

    /// One register; empty for a number that is not a register.
    pub(super) fn of(number: u8) -> Self {
        Self(if number < 64 { 1 << number } else { 0 })
    }

    /// One vector register.
    pub(super) fn vector(number: u8) -> Self {
        Self::of(VECTORS.saturating_add(number))
    }

    /// The registers in either set.
    pub(super) fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The registers that are not in the other set.
    pub(super) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether the sets have a register in common.
    pub(super) fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether the set is empty.
    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl FromIterator<Registers> for Registers {
    fn from_iter<T: IntoIterator<Item = Registers>>(all: T) -> Self {
        all.into_iter().fold(Self::default(), Self::and)
    }
}

/// A field of `bits` bits that begins at bit `low`.
pub(super) fn field(word: u32, low: u32, bits: u32) -> u32 {
    (word >> low) & ((1 << bits) - 1)
}

/// Whether this bit is set.
pub(super) fn bit(word: u32, at: u32) -> bool {
    field(word, at, 1) == 1
}

/// A field as a signed number.
pub(super) fn signed(word: u32, low: u32, bits: u32) -> i64 {
    let value = i64::from(field(word, low, bits));
    if value >> (bits - 1) == 1 { value - (1 << bits) } else { value }
}

/// An instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Instruction {
    /// Length of the instruction, bytes.
    pub(super) length: usize,
    pub(super) flow: Flow,
    pub(super) kind: Kind,
    /// The memory that the instruction reads or writes.
    pub(super) memory: Option<Memory>,
    pub(super) reads: Registers,
    pub(super) sets: Registers,
    /// The operation and target of the instruction; `None` if the result is unknown.
    pub(super) does: Option<Operation>,
    /// A register to which the instruction also adds a constant, in addition to using the register as an address.
    pub(super) moves: Option<(u8, i64)>,
}

/// The next instruction executed. Distances are counted from the end of the current one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Flow {
    /// The following instruction.
    #[default]
    Next,
    Jump(i64),
    Branch(i64, Condition),
    /// A call: first the function, if known, and then the following instruction.
    Call(Option<i64>),
    Return,
    /// The next instruction is unknown.
    Elsewhere,
}

/// The condition under which a branch is taken, from the flags of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    Unknown,
    /// This test if `true`, or its opposite if `false`.
    Of(Test, bool),
    /// Whether this many low bytes of a general register are zero.
    Zero(u8, u8, bool),
}

/// The result of a comparison of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Test {
    Equal,
    /// Unsigned comparison.
    Below,
    BelowOrEqual,
    /// Signed comparison.
    Less,
    LessOrEqual,
    Negative,
}

/// The reason why an instruction is slow; only reasons that matter here are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    #[default]
    Other,
    /// Division or square root: ten cycles or more, not pipelined.
    Long,
    /// Floating-point arithmetic: three to five cycles.
    Float,
    /// An atomic read-modify-write, or a fence that waits until all earlier accesses are visible to all CPUs.
    Atomic,
    /// Flushes a cache line.
    Flush,
    /// A short pause, as in spin loops.
    Spin,
    /// A system call.
    System,
}

/// A memory operand of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Memory {
    /// The operand's address; `None` if it depends on something that is not sampled, such as a segment or part of a register.
    pub(super) at: Option<Operand>,
    pub(super) bytes: u8,
    pub(super) reads: bool,
    pub(super) writes: bool,
    /// Whether the instruction itself accesses memory sequentially, or accesses an entire vector.
    pub(super) order: Order,
}

/// The order of memory accesses, if a single instruction indicates it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Order {
    #[default]
    Unknown,
    /// String instructions.
    Sequential,
    /// A vector access. Vectors are usually parts of arrays.
    Vector,
}

/// The result of an instruction: `a op b` in `to`, truncated to this many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Operation {
    pub(super) op: Op,
    pub(super) a: Source,
    pub(super) b: Source,
    pub(super) to: Target,
    pub(super) bytes: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    /// The result is `b`.
    Take,
    Add,
    Sub,
    And,
    /// `a` and not `b`.
    Clear,
    Or,
    Xor,
    Left,
    Right,
    /// Arithmetic right shift.
    RightSigned,
    Multiply,
    /// `b` if a branch with that condition would be taken, otherwise `a`.
    Select(Condition),
    /// Pushes `b` onto the stack.
    Push,
    /// Pops the top of the stack.
    Pop,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Constant(u64),
    Register(Part),
    /// The content of the instruction's memory operand.
    Loaded {
        bytes: u8,
        signed: bool,
    },
    /// An address itself.
    Address(Operand),
}

impl Source {
    /// A full register of this many bytes.
    pub(super) fn register(number: u8, bytes: u8) -> Self {
        Self::Register(Part { bytes, ..Part::full(number, 0) })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// Four bytes or more set the full register; smaller writes leave the rest unchanged.
    Register(u8),
    Stored,
    /// Only the flags.
    Nothing,
}

/// A register, reduced to this many low bytes, optionally sign-extended, then shifted left. The low bytes of a vector register are its first
/// element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) number: u8,
    pub(super) bytes: u8,
    pub(super) signed: bool,
    pub(super) shift: u8,
}

impl Part {
    /// A full register, shifted left.
    pub(super) fn full(number: u8, shift: u8) -> Self {
        Self { number, bytes: 8, signed: false, shift }
    }

    /// The value, with these registers; `None` if the register is unknown.
    pub(super) fn value(self, register: impl Fn(u8) -> Option<u64>) -> Option<u64> {
        Some(extend(register(self.number)?, self.bytes, self.signed).wrapping_shl(self.shift.into()))
    }
}

/// The bits of this many low bytes.
pub(super) fn mask(bytes: u8) -> u64 {
    if bytes >= 8 { u64::MAX } else { (1 << (8 * bytes)) - 1 }
}

/// The lowest bytes of a number.
pub(super) fn cut(value: u64, bytes: u8) -> u64 {
    value & mask(bytes)
}

/// The highest bit of a number of this many bytes.
pub(super) fn sign(value: u64, bytes: u8) -> bool {
    value >> (8 * bytes.clamp(1, 8) - 1) & 1 == 1
}

/// The lowest bytes of a number, optionally sign-extended.
pub(super) fn extend(value: u64, bytes: u8, signed: bool) -> u64 {
    let value = cut(value, bytes);
    if signed && sign(value, bytes) { value | !mask(bytes) } else { value }
}

/// An address: base + index + offset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Operand {
    pub(super) base: Place,
    pub(super) index: Option<Part>,
    pub(super) offset: i64,
}

/// The base of an address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Place {
    #[default]
    Nothing,
    Register(u8),
    /// The end of the instruction.
    Next,
}

impl Operand {
    /// The address, with these registers at an instruction that ends at `end`; `None` if one of them is unknown.
    pub(super) fn address(&self, register: impl Fn(u8) -> Option<u64>, end: u64) -> Option<u64> {
        let base = match self.base {
            Place::Nothing => 0,
            Place::Register(name) => register(name)?,
            Place::Next => end,
        };
        let index = match self.index {
            Some(index) => index.value(register)?,
            None => 0,
        };
        Some(base.wrapping_add(index).wrapping_add_signed(self.offset))
    }

    /// The registers used in the address.
    pub(super) fn registers(&self) -> Registers {
        let base = match self.base {
            Place::Register(number) => Registers::of(number),
            _ => Registers::default(),
        };
        base.and(self.index.map(|index| Registers::of(index.number)).unwrap_or_default())
    }
}
