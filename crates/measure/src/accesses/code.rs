//! The instructions around an address of another process.

use std::fs::File;
use std::os::unix::fs::FileExt;

use super::instruction::{Instruction, Kind, Operand, Place, Result};
use super::{aarch64, x86_64};

/// Bytes of code that are read before and behind an address.
const BEFORE: usize = 96;
const BEHIND: usize = 320;
/// Instructions of a loop that are looked at.
const MOST: usize = 96;

/// What stands at a place in a program.
#[derive(Clone, Debug, Default)]
pub(super) struct Site {
    /// Whether it could be read.
    pub(super) read: bool,
    /// The memory that the instruction before it names, and that at it.
    pub(super) before: Option<Access>,
    pub(super) next: Option<Access>,
    /// Whether one of both waits in a loop.
    pub(super) spins: bool,
    /// Whether one of both names memory by what is not sampled.
    pub(super) hidden: bool,
}

/// Memory that an instruction names, and how.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Access {
    pub(super) operand: Operand,
    /// The address of the instruction's end.
    pub(super) end: u64,
    pub(super) atomic: bool,
    pub(super) writes: bool,
    /// Whether it goes through memory in order.
    pub(super) sequential: bool,
}

/// The instruction set that this is compiled for is that of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Set {
    X86,
    Arm,
}

impl Set {
    const HERE: Set = if cfg!(target_arch = "aarch64") { Set::Arm } else { Set::X86 };

    fn decode(self, bytes: &[u8]) -> Option<Instruction> {
        match self {
            Set::X86 => x86_64::decode(bytes),
            Set::Arm => aarch64::decode(bytes),
        }
    }

    /// Whether an address is counted from the stack, which is near.
    fn is_of_stack(self, operand: &Operand) -> bool {
        let stack = if self == Set::X86 { 4 } else { 31 };
        operand.base == Place::Register(stack)
    }
}

impl Site {
    /// Reads what stands there in the memory of a process.
    pub(super) fn read(pid: i32, ip: u64) -> Self {
        let Ok(memory) = File::open(format!("/proc/{pid}/mem")) else { return Self::default() };
        // Its page has just run; to read the next could wait for a disk, and hold that process up.
        let in_page = ip % os::mapping::base_page();
        let before = in_page.min(BEFORE as u64);
        let behind = (os::mapping::base_page() - in_page).min(BEHIND as u64);
        let mut code = vec![0; (before + behind) as usize];
        let read = memory.read_at(&mut code, ip - before).unwrap_or(0);
        Self::of(Set::HERE, &code[..read], before as usize, ip)
    }

    /// Of these bytes, of which so many stand before the address.
    pub(super) fn of(set: Set, code: &[u8], before: usize, ip: u64) -> Self {
        let Some(next) = code.get(before..).and_then(|code| set.decode(code)) else { return Self::default() };
        let at = place_before(set, code, before);
        let last = at.and_then(|at| Some((at, set.decode(&code[at..])?)));
        // What has been done may have loaded a register of its own address: the next address of a list is known then.
        let again = last.map(|(at, last)| find_again(set, code, at, &last));
        let lost = last.is_some_and(|(_, last)| last.operand.is_some()) && again == Some(None);
        let last = last.map(|(at, last)| (at, Instruction { operand: again.flatten(), ..last }));
        let access = |(at, one): (usize, Instruction)| {
            let operand = one.operand.filter(|operand| !set.is_of_stack(operand))?;
            Some(Access {
                operand,
                end: ip.wrapping_sub(before as u64).wrapping_add((at + one.length) as u64),
                atomic: one.kind == Kind::Atomic,
                writes: one.writes,
                sequential: match (one.kind, steps(set, code, at, &operand)) {
                    (Kind::Sequential, _) | (_, Some(true)) => true,
                    // Vectors are of arrays, unless a loop shows that it goes elsewhere.
                    (Kind::Vector, None) => true,
                    _ => false,
                },
            })
        };
        Self {
            read: true,
            spins: next.kind == Kind::Spin || last.is_some_and(|(_, last)| last.kind == Kind::Spin),
            hidden: next.hidden || lost || last.is_some_and(|(_, last)| last.hidden),
            next: access((before, next)),
            before: last.filter(|(_, last)| last.kind != Kind::End).and_then(access),
        }
    }
}

/// Where the instruction begins that ends at `end`. Those of x86 are found by beginning at each byte before it: whatever is decoded from
/// a wrong place soon falls into step, so that the one at which most arrive is it.
fn place_before(set: Set, code: &[u8], end: usize) -> Option<usize> {
    if set == Set::Arm {
        return end.checked_sub(aarch64::LENGTH);
    }
    let after: Vec<Option<usize>> =
        (0..end).map(|at| set.decode(&code[at..end]).map(|one| at + one.length)).collect();
    let mut arrivals = vec![0_usize; end];
    // The first bytes alone: near the end too few instructions follow for falling into step.
    for begin in 0..end.saturating_sub(2 * x86_64::LONGEST).max(1).min(end) {
        let mut at = begin;
        while let Some(next) = after[at] {
            if next == end {
                arrivals[at] += 1;
            }
            if next >= end {
                break;
            }
            at = next;
        }
    }
    let (most, count) = arrivals.iter().enumerate().max_by_key(|(_, count)| **count)?;
    (*count > 0).then_some(most)
}

/// The memory that an instruction names, by the registers after it. Where it has loaded one of those, it is the memory that it names
/// when the loop around it comes back to it; `None` where that cannot be told.
fn find_again(set: Set, code: &[u8], at: usize, one: &Instruction) -> Option<Operand> {
    let operand = one.operand?;
    let Some((register, Result::Loaded)) = one.sets.filter(|(register, _)| operand.moves_with(*register))
    else {
        return Some(operand);
    };
    // What the register is made of, from what was loaded.
    let loaded = Operand { base: Place::Register(register), ..Operand::default() };
    let mut made = Some(loaded);
    let comes_back = walk_loop(set, code, at, |here, passed| {
        match passed.sets {
            Some((to, result)) if here != at && to == register => {
                made = match result {
                    Result::Sum(sum) => made.and_then(|made| sum.with(register, &as_index(made))),
                    _ => None,
                }
            }
            _ => {}
        }
        false
    });
    match comes_back {
        // A list that is followed without a loop in sight.
        None => Some(operand),
        Some(_) if made == Some(loaded) => Some(operand),
        Some(_) => operand.with(register, &as_index(made?)),
    }
}

/// A register alone, so that it can be shifted.
fn as_index(sum: Operand) -> Operand {
    match (sum.base, sum.index, sum.offset) {
        (Place::Register(register), None, 0) => {
            Operand { base: Place::Nothing, index: Some((register, 0)), offset: 0 }
        }
        _ => sum,
    }
}

/// Whether a register of this address is made greater or less by a constant in the loop around it; `None` where no loop is seen.
fn steps(set: Set, code: &[u8], at: usize, operand: &Operand) -> Option<bool> {
    walk_loop(set, code, at, |_, one| one.steps.is_some_and(|register| operand.moves_with(register)))
}

/// Passes the instructions of the loop around one, in their order from it on: until the next jump backwards, and from where that
/// leads to. True where one of them is what is looked for, `None` where no loop is seen.
fn walk_loop(
    set: Set,
    code: &[u8],
    at: usize,
    mut is_it: impl FnMut(usize, &Instruction) -> bool,
) -> Option<bool> {
    let (mut here, mut gone_back) = (at, false);
    for _ in 0..MOST {
        let one = code.get(here..).and_then(|code| set.decode(code))?;
        let end = here + one.length;
        if gone_back && end > at {
            return Some(is_it(here, &one));
        }
        if is_it(here, &one) {
            return Some(true);
        }
        match one.jump.and_then(|jump| end.checked_add_signed(isize::try_from(jump).ok()?)) {
            Some(target) if target <= at && !gone_back => (here, gone_back) = (target, true),
            _ if one.kind == Kind::End => return None,
            _ => here = end,
        }
    }
    None
}

/// Memory that a process has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mapped {
    /// It alone.
    Own,
    /// Others, too.
    Shared,
}

/// What memory a process has at an address, by the page tables: nothing is touched, which could wait for whoever serves that page.
/// `None` where it has none, or this user may not know.
pub(super) fn mapped(pid: i32, address: u64) -> Option<Mapped> {
    /// A page is there, or in swap; it is mapped once (admin-guide/mm/pagemap.rst).
    const THERE: u64 = 1 << 63 | 1 << 62;
    const PRESENT: u64 = 1 << 63;
    const EXCLUSIVE: u64 = 1 << 56;
    let (mut entry, at) = ([0; 8], (address / os::mapping::base_page()).checked_mul(8)?);
    let tables = File::open(format!("/proc/{pid}/pagemap")).ok()?;
    tables.read_exact_at(&mut entry, at).ok()?;
    let entry = u64::from_ne_bytes(entry);
    let shared = entry & PRESENT != 0 && entry & EXCLUSIVE == 0;
    (entry & THERE != 0).then_some(if shared { Mapped::Shared } else { Mapped::Own })
}
