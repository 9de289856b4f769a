//! What is known of an instruction, whatever the machine: what memory it names, which registers it reads and sets, and, as far as
//! addresses are made by it, what it leaves in them.

/// Registers, a bit each: general ones from bit 0 on, as instructions number them, vectors from bit 32 on, flags at bit 64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Registers(u128);

impl Registers {
    /// The flags.
    pub(super) const FLAGS: Self = Self(1 << 64);

    /// One general register; none of a number that no register has.
    pub(super) fn general(number: u8) -> Self {
        Self(if number < 32 { 1 << number } else { 0 })
    }

    /// One vector.
    pub(super) fn vector(number: u8) -> Self {
        Self(if number < 32 { 1 << (32 + number) } else { 0 })
    }

    /// Those of both.
    pub(super) fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Those that the other has not.
    pub(super) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether both have one in common.
    pub(super) fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether there is none.
    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl FromIterator<Registers> for Registers {
    fn from_iter<T: IntoIterator<Item = Registers>>(all: T) -> Self {
        all.into_iter().fold(Self::default(), Self::and)
    }
}

/// An instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Instruction {
    /// In bytes.
    pub(super) length: usize,
    pub(super) flow: Flow,
    pub(super) kind: Kind,
    /// The memory that it reads or writes.
    pub(super) memory: Option<Memory>,
    pub(super) reads: Registers,
    pub(super) sets: Registers,
    /// What it leaves where; `None` where that is not known: what it sets is unknown then.
    pub(super) does: Option<Operation>,
    /// A register that it moves by a constant besides, after it has named memory by it.
    pub(super) moves: Option<(u8, i64)>,
}

/// What is executed after it. Distances are counted from its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Flow {
    /// What follows.
    #[default]
    Next,
    Jump(i64),
    Branch(i64, Condition),
    /// A function, which may be known, and what follows afterwards.
    Call(Option<i64>),
    Return,
    /// Not known.
    Elsewhere,
}

/// When a branch is taken, by the flags that a comparison left; `Unknown` where that is not told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    Unknown,
    /// That, or its opposite.
    Of(Test, bool),
    /// A general register is zero, or is not, in so many bytes.
    Zero(u8, u8, bool),
}

/// What a comparison of two numbers showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Test {
    Equal,
    /// Without a sign.
    Below,
    BelowOrEqual,
    /// With a sign.
    Less,
    LessOrEqual,
    Negative,
}

/// What it takes its time for, as far as that matters here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    #[default]
    Other,
    /// Divides, or takes a root: ten cycles and more, one after the other.
    Long,
    /// Computes with floating-point numbers: three to five cycles.
    Float,
    /// Reads and writes at once, so that no other CPU comes between; or waits until all before it is seen by all.
    Atomic,
    /// Takes a line out of the caches.
    Flush,
    /// Waits a little: what loops do that spin.
    Spin,
    /// Calls the kernel.
    System,
}

/// Memory that an instruction names, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Memory {
    /// Where; `None` where what it is counted from is not sampled: a segment, a vector of addresses.
    pub(super) at: Option<Operand>,
    pub(super) bytes: u8,
    pub(super) reads: bool,
    pub(super) writes: bool,
    /// Whether it goes through memory by itself, or a whole vector of it.
    pub(super) order: Order,
}

/// What an instruction alone says of the order in which memory is gone through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Order {
    #[default]
    Unknown,
    /// String instructions.
    Sequential,
    /// Vectors are mostly of arrays.
    Vector,
}

/// What it leaves: `a op b` in `to`, cut to so many bytes.
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
    /// `b` alone.
    Take,
    Add,
    Sub,
    And,
    /// a and not b.
    Clear,
    Or,
    Xor,
    Left,
    Right,
    /// With the sign.
    RightSigned,
    Multiply,
    /// `b` where a branch with that condition were taken, else `a`.
    Select(Condition),
    /// Puts `b` on the stack.
    Push,
    /// Takes what is on the stack.
    Pop,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Constant(u64),
    /// So many of its bytes, with their sign or without, shifted to the left by so much afterwards.
    Register {
        number: u8,
        bytes: u8,
        signed: bool,
        shift: u8,
    },
    /// What the instruction's memory holds.
    Loaded {
        bytes: u8,
        signed: bool,
    },
    /// An address itself.
    Address(Operand),
}

impl Source {
    /// A whole register of so many bytes.
    pub(super) fn register(number: u8, bytes: u8) -> Self {
        Self::Register { number, bytes, signed: false, shift: 0 }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// Four bytes and more fill the register, less leave its rest.
    Register(u8),
    Stored,
    /// The flags alone.
    Nothing,
}

/// An address: base + index × 2^shift + offset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Operand {
    pub(super) base: Place,
    /// A register and its shift.
    pub(super) index: Option<(u8, u8)>,
    pub(super) offset: i64,
}

/// What an address is counted from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Place {
    #[default]
    Nothing,
    Register(u8),
    /// The instruction's end.
    Next,
}

impl Operand {
    /// The address, with these registers at an instruction that ends at `end`; `None` where one of them is not known.
    pub(super) fn address(&self, register: impl Fn(u8) -> Option<u64>, end: u64) -> Option<u64> {
        let base = match self.base {
            Place::Nothing => 0,
            Place::Register(name) => register(name)?,
            Place::Next => end,
        };
        let index = match self.index {
            Some((name, shift)) => register(name)?.wrapping_shl(shift.into()),
            None => 0,
        };
        Some(base.wrapping_add(index).wrapping_add_signed(self.offset))
    }

    /// The registers that it is made of.
    pub(super) fn registers(&self) -> Registers {
        let base = match self.base {
            Place::Register(number) => Registers::general(number),
            _ => Registers::default(),
        };
        base.and(self.index.map(|(number, _)| Registers::general(number)).unwrap_or_default())
    }
}
