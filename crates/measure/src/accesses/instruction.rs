//! What is known of an instruction, whatever the machine.

/// An instruction: how long it is, and what memory it names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Instruction {
    /// In bytes.
    pub(super) length: usize,
    pub(super) kind: Kind,
    /// The memory that it reads or writes, where that is known.
    pub(super) operand: Option<Operand>,
    /// Whether it names memory by a vector of addresses, which are not sampled.
    pub(super) hidden: bool,
    /// Whether it writes there.
    pub(super) writes: bool,
    /// The register that it makes greater or less by a constant.
    pub(super) steps: Option<u8>,
    /// The general register that it sets, and to what.
    pub(super) sets: Option<(u8, Result)>,
    /// Where it may jump to, from its end.
    pub(super) jump: Option<i64>,
}

/// What an instruction leaves in a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Result {
    /// What it read from memory.
    Loaded,
    /// A sum of registers, shifted, and a constant.
    Sum(Operand),
    Other,
}

/// What it does, as far as that matters here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    /// Anything else.
    #[default]
    Other,
    /// Goes through memory in order: string instructions.
    Sequential,
    /// Reads or writes a whole vector.
    Vector,
    /// Reads and writes at once, so that no other CPU comes between.
    Atomic,
    /// Waits a little: what loops do that spin.
    Spin,
    /// What follows is not executed after it.
    End,
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
    /// The address, with these registers at an instruction that ends at `end`.
    pub(super) fn address(&self, registers: &[u64], end: u64) -> Option<u64> {
        let register = |name: u8| registers.get(usize::from(name)).copied();
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

    /// The same address, with this put in place of a register; `None` where that is no address any more.
    pub(super) fn with(&self, register: u8, sum: &Operand) -> Option<Operand> {
        let is_base = self.base == Place::Register(register);
        let shift = self.index.filter(|(index, _)| *index == register).map(|(_, shift)| shift);
        match shift {
            None if !is_base => Some(*self),
            // Only an index can be shifted.
            Some(shift) if !is_base && sum.base == Place::Nothing && sum.offset == 0 => {
                // The code of any program: shifts may add up to more than a register has.
                let index = sum.index.map(|(own, more)| (own, shift.saturating_add(more)));
                let is_left = |(_, shift): (u8, u8)| u32::from(shift) < u64::BITS;
                if !index.is_none_or(is_left) {
                    return None;
                }
                Some(Operand { index, ..*self })
            }
            None => {
                let offset = self.offset.wrapping_add(sum.offset);
                match (self.index, sum.index, sum.base) {
                    (None, index, base) | (index, None, base) => Some(Operand { base, index, offset }),
                    (Some((other, 0)), index, Place::Nothing) => {
                        Some(Operand { base: Place::Register(other), index, offset })
                    }
                    _ => None,
                }
            }
            Some(_) => None,
        }
    }

    /// Whether the address is another once this register is.
    pub(super) fn moves_with(&self, register: u8) -> bool {
        self.base == Place::Register(register) || self.index.is_some_and(|(index, _)| index == register)
    }
}
