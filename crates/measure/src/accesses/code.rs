//! Decodes the instructions around an address in another process and determines what the instruction there waits for.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Instant;

use super::instruction::{Flow, Instruction, Kind, Memory, Op, Order, Part, Registers, Source};
use super::{aarch64, x86_64};

/// Bytes of code read before and after an address.
const BEFORE: u64 = 256;
const BEHIND: u64 = 768;
/// Maximum number of instructions examined before and after the address.
const MOST_BEFORE: usize = 48;
const MOST: usize = 160;

/// The instruction set of this build, and therefore of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Set {
    X86,
    Arm,
}

impl Default for Set {
    fn default() -> Self {
        if cfg!(target_arch = "aarch64") { Set::Arm } else { Set::X86 }
    }
}

impl Set {
    fn decode(self, bytes: &[u8]) -> Option<Instruction> {
        match self {
            Set::X86 => x86_64::decode(bytes),
            Set::Arm => aarch64::decode(bytes),
        }
    }

    /// The number of the stack pointer.
    pub(super) fn stack(self) -> u8 {
        if self == Set::X86 { 4 } else { 31 }
    }

    /// Registers that a function may change.
    pub(super) fn lost_in_calls(self) -> Registers {
        if self == Set::X86 { x86_64::lost_in_calls() } else { aarch64::lost_in_calls() }
    }
}

/// A piece of a process's code.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Code {
    pub(super) set: Set,
    start: u64,
    bytes: Box<[u8]>,
}

impl Code {
    pub(super) fn new(set: Set, start: u64, bytes: &[u8]) -> Self {
        Self { set, start, bytes: bytes.into() }
    }

    /// Reads the code around an address in the memory of a process. The page at the address has just been executed. The
    /// page before or after it is read only if it is in memory, because waiting for a disk would delay that process.
    pub(super) fn read(pages: &Pages, ip: u64) -> Option<Self> {
        let page = os::mapping::base_page();
        let first = ip - ip % page;
        // The address may be any number, because it may be a value on a stack that only looks like a return address.
        let last = first.saturating_add(page);
        let start = ip.saturating_sub(BEFORE);
        let is_there = |at: u64| matches!(pages.at(at), Some(Mapped::Own | Mapped::Shared));
        let start = if start < first && !is_there(start) { first } else { start };
        let end = ip.saturating_add(BEHIND);
        let end = if end > last && !is_there(last) { last } else { end };
        let memory = File::open(format!("/proc/{}/mem", pages.pid)).ok()?;
        let mut bytes = vec![0; end.checked_sub(start)? as usize];
        let read = memory.read_at(&mut bytes, start).unwrap_or(0);
        bytes.truncate(read);
        Some(Self::new(Set::default(), start, &bytes))
    }

    /// The instruction at an address.
    pub(super) fn at(&self, address: u64) -> Option<Instruction> {
        let from = usize::try_from(address.checked_sub(self.start)?).ok()?;
        self.set.decode(self.bytes.get(from..)?)
    }

    /// The origin of a general register's value at the call that returns to this address.
    pub(super) fn origin(&self, address: u64, register: u8) -> Option<Origin> {
        Listing::of(self, address)?.origin(register)
    }

    /// The starts of the instructions before an address, in order. On x86, they are found by decoding from each byte:
    /// decoding from a wrong position soon resynchronizes, so the starts reached most often are the real ones.
    fn begins_before(&self, ip: u64) -> Vec<u64> {
        let Some(before) = ip.checked_sub(self.start).map(|before| before as usize) else {
            return Vec::new();
        };
        let length = |at: usize| match self.set {
            Set::X86 => x86_64::length(&self.bytes[at..]),
            Set::Arm => (at % aarch64::LENGTH == before % aarch64::LENGTH).then_some(aarch64::LENGTH),
        };
        let mut arrive = vec![1_u32; before + 1];
        let mut from: Vec<Option<(usize, u32)>> = vec![None; before + 1];
        for at in 0..before.min(self.bytes.len()) {
            let Some(next) = length(at).map(|length| at + length).filter(|next| *next <= before) else {
                continue;
            };
            let here = arrive[at];
            arrive[next] += here;
            if from[next].is_none_or(|(_, most)| here > most) {
                from[next] = Some((at, here));
            }
        }
        let mut all: Vec<u64> = std::iter::successors(from[before], |(at, _)| from[*at])
            .take(MOST_BEFORE)
            .map(|(at, _)| self.start + at as u64)
            .collect();
        all.reverse();
        all
    }
}

/// A load that an instruction waits for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Load {
    /// The start and the end of the load instruction.
    pub(super) at: u64,
    pub(super) end: u64,
    pub(super) memory: Memory,
    /// The registers that the load sets.
    pub(super) sets: Registers,
    /// Whether the registers that form the load's address are unchanged since the load.
    pub(super) intact: bool,
    pub(super) atomic: bool,
    /// Instructions before the load at which recomputing the address may start, nearest first, with the registers set from there to the
    /// sampled instruction.
    pub(super) replays: [Option<(u64, Registers)>; 4],
    /// Strides between successive addresses of the load.
    pub(super) strides: Strides,
}

/// The reason why the instruction at a code location waits, if not for a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Waits {
    /// There is no known reason.
    #[default]
    Computes,
    /// Division or square root.
    Long,
    /// Floating-point addition or multiplication.
    Float,
    /// An atomic instruction or a fence.
    Atomic,
    /// The instruction fetch or the jump, if the instruction is at a jump target and waits for nothing else.
    Jump,
}

/// The origin of a register's value at a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    Constant(u64),
    /// The value of a register at the beginning of the function.
    Argument(u8),
    /// A value on the stack, at this distance from the stack pointer at the call.
    Slot(i64),
}

/// Number of samples of a code location from which its load's strides are learned.
pub(super) const STRIDES: u32 = 4;
/// Maximum number of searches; if the strides are still unknown after that, no further searches are made.
const SEARCHES: u32 = 16;

/// The numbers of samples in which a load continued in short strides for a long time, briefly, or not at all.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Strides {
    pub(super) short: u32,
    pub(super) part: u32,
    pub(super) other: u32,
    /// The last short stride, bytes; backwards if negative.
    pub(super) length: i64,
    /// Number of searches so far.
    pub(super) searches: u32,
}

impl Strides {
    pub(super) fn is_short(self) -> Option<bool> {
        (self.all() > 0).then_some(self.short > self.part + self.other)
    }

    /// Whether the strides are short, regardless of how long they continued.
    pub(super) fn steps(self) -> bool {
        self.short + self.part > self.other
    }

    /// Whether searching further samples is worthwhile.
    pub(super) fn are_open(self) -> bool {
        self.all() < STRIDES && self.searches <= SEARCHES
    }

    pub(super) fn all(self) -> u32 {
        self.short + self.part + self.other
    }
}

/// A code location in a program.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Site {
    /// The code around it; `None` if it could not be read.
    pub(super) code: Option<Code>,
    /// The load that the instruction waits for.
    pub(super) load: Option<Load>,
    /// The instruction's own memory operand, if it differs from that of the load.
    pub(super) own: Option<Load>,
    /// The reason why the instruction waits, if it does not wait for a load.
    pub(super) waits: Waits,
    /// Whether the instruction also waits for dependent floating-point operations.
    pub(super) chained: bool,
    /// Whether the instruction is in a loop that waits for another thread.
    pub(super) spins: bool,
    /// Whether the surrounding instructions flush lines from the caches.
    pub(super) flushes: bool,
    /// Whether a system call precedes the instruction, and, on x86, the origin of the number of that call.
    pub(super) calls: bool,
    pub(super) number: Option<Origin>,
    /// Whether the instruction has a memory operand.
    pub(super) names_memory: bool,
    /// The time at which the load's address was last computed from current memory content, and that address.
    pub(super) last_now: Option<(Instant, u64)>,
}

impl Site {
    /// Reads the code at this address from the memory of a process.
    pub(super) fn read(pages: &Pages, ip: u64) -> Self {
        Code::read(pages, ip).map_or_else(Self::default, |code| Self::of(code, ip))
    }

    /// Creates the location from this code.
    pub(super) fn of(code: Code, ip: u64) -> Self {
        let Some(listing) = Listing::of(&code, ip) else { return Self::default() };
        let (mut load, waits) = listing.attribute();
        load.iter_mut().for_each(|load| load.replays = listing.replays(load.at));
        let calls = listing.is_call_before();
        let own = listing.load(listing.here, true).filter(|own| load.is_none_or(|load| load.at != own.at));
        Self {
            load,
            own,
            waits,
            chained: listing.is_chained(),
            spins: listing.spins(),
            flushes: listing.flushes(),
            calls,
            number: if calls { listing.origin(x86_64::RAX) } else { None },
            names_memory: listing.all[listing.here].1.memory.is_some(),
            code: Some(code),
            ..Self::default()
        }
    }

    /// The number of the frame pointer.
    pub(super) fn frame(&self) -> u8 {
        if self.code.as_ref().map_or(Set::default(), |code| code.set) == Set::X86 { 5 } else { 29 }
    }

    /// The number of the stack pointer.
    pub(super) fn stack(&self) -> u8 {
        self.code.as_ref().map_or(Set::default(), |code| code.set).stack()
    }
}

/// The instructions around a code location, in memory order.
struct Listing {
    all: Vec<(u64, Instruction)>,
    /// The index of the instruction at the code location.
    here: usize,
    stack: Registers,
    lost: Registers,
}

/// Maximum number of instructions searched backwards for an input.
const BACK: usize = 24;
/// Maximum number of instructions between a load and the waiting instruction, if they only move the loaded value.
const LINKS: usize = 2;
/// The same limit for a branch. It is higher because a branch may depend on a comparison of vectors, which consists of several
/// instructions: compare, extract a mask, test it.
const LINKS_OF_BRANCH: usize = 4;
/// Maximum length of a spin loop, instructions.
const SPIN: usize = 14;

impl Listing {
    /// `None` if the instruction at `ip` cannot be read.
    fn of(code: &Code, ip: u64) -> Option<Self> {
        let mut all: Vec<(u64, Instruction)> =
            code.begins_before(ip).into_iter().map_while(|at| Some((at, code.at(at)?))).collect();
        let here = all.len();
        let mut at = ip;
        while all.len() < here + MOST
            && let Some(one) = code.at(at)
        {
            all.push((at, one));
            at = at.checked_add(one.length as u64)?;
        }
        let stack = Registers::of(code.set.stack());
        (all.len() > here).then(|| Self { all, here, stack, lost: code.set.lost_in_calls() })
    }

    fn end(&self, number: usize) -> u64 {
        let (at, one) = &self.all[number];
        at.wrapping_add(one.length as u64)
    }

    /// The jump target of an instruction.
    fn target(&self, number: usize) -> Option<u64> {
        match self.all[number].1.flow {
            Flow::Jump(by) | Flow::Branch(by, _) => Some(self.end(number).wrapping_add_signed(by)),
            _ => None,
        }
    }

    /// The most likely predecessor of an instruction: the end of a loop that begins with it, otherwise the preceding
    /// instruction, otherwise an instruction that jumps to it.
    fn before(&self, number: usize) -> Option<usize> {
        let at = self.all[number].0;
        let jumps =
            |numbers: std::ops::Range<usize>| numbers.into_iter().find(|from| self.target(*from) == Some(at));
        let falls = || {
            let before = number.checked_sub(1)?;
            // Padding after a jump is not executed.
            let does = |one: &Instruction| !one.sets.is_empty() || one.memory.is_some();
            let is_padding =
                |one: &Instruction| one.flow == Flow::Next && one.kind == Kind::Other && !does(one);
            let last = (0..number).rev().find(|number| !is_padding(&self.all[*number].1))?;
            let goes_on = !matches!(self.all[last].1.flow, Flow::Jump(_) | Flow::Return | Flow::Elsewhere);
            goes_on.then_some(before)
        };
        jumps(number..self.all.len()).or_else(falls).or_else(|| jumps(0..number))
    }

    /// The memory operand of an instruction, as an awaited load. `intact` means that its address can be computed from
    /// the registers at the code location.
    fn load(&self, number: usize, intact: bool) -> Option<Load> {
        let (at, one) = self.all[number];
        let memory = one.memory?;
        Some(Load {
            at,
            end: self.end(number),
            memory,
            sets: one.sets,
            intact,
            atomic: one.kind == Kind::Atomic,
            replays: [None; 4],
            strides: Strides::default(),
        })
    }

    /// Some of the instructions that are always executed before a load, each with all registers that are set between it and
    /// the code location. Unoptimized code computes each address from stack variables, which rarely change.
    fn replays(&self, load: u64) -> [Option<(u64, Registers)>; 4] {
        let of_load = self.all[..self.here].iter().position(|(at, _)| *at == load).unwrap_or(0);
        let is_target = |at: u64| (0..self.all.len()).any(|from| self.target(from) == Some(at));
        // Calls preserve the stack pointer.
        let sets = |number: usize| match self.all[number].1 {
            Instruction { flow: Flow::Call(_), sets, .. } => sets.and(self.lost).without(self.stack),
            one => one.sets,
        };
        let mut first = of_load;
        while let Some(before) = first.checked_sub(1)
            && matches!(self.all[before].1.flow, Flow::Next | Flow::Call(Some(_)))
            && !sets(before).meets(self.stack)
            && !is_target(self.all[first].0)
        {
            first = before;
        }
        [1, 2, 4, of_load - first].map(|back| {
            let from = of_load.checked_sub(back).filter(|from| (first..of_load).contains(from))?;
            let since = (from..self.here).map(sets).collect::<Registers>();
            (!since.meets(self.stack)).then_some((self.all[from].0, since))
        })
    }

    /// The reason why the instruction at the code location waits. Cores take an interrupt between two instructions: the
    /// previous instruction has just completed, and so have all instructions whose inputs were ready. The next
    /// instruction waits for its inputs, that is, for the last instruction that set one of them. If no load set them,
    /// but the previous instruction is a branch, the branch may have waited: a comparison with memory and its branch
    /// are one operation and complete together, and after a misprediction, nothing else is left to be interrupted
    /// (Intel, 64-ia-32 Optimization Reference Manual, "Macro-Fusion").
    fn attribute(&self) -> (Option<Load>, Waits) {
        let (load, waits) = self.attribute_inputs(self.here, LINKS);
        let is_branch = |before: &usize| matches!(self.all[*before].1.flow, Flow::Branch(..));
        let jumps = (0..self.all.len()).filter(|from| self.target(*from) == Some(self.all[self.here].0));
        let falls = self.here.checked_sub(1);
        let mut branches = self.before(self.here).into_iter().chain(falls).chain(jumps).filter(is_branch);
        let load_of = |at| self.attribute_inputs(at, LINKS_OF_BRANCH).0.filter(|load| !load.atomic);
        (load.or_else(|| branches.find_map(load_of).filter(|_| waits == Waits::Jump)), waits)
    }

    /// Why an instruction waits for its inputs: a load, directly or through at most `most` other instructions, or another reason.
    fn attribute_inputs(&self, at: usize, most: usize) -> (Option<Load>, Waits) {
        let mut needed = self.all[at].1.reads.without(self.stack);
        // Registers set since the examined instruction. Addresses that use them can no longer be computed.
        let mut since = Registers::default();
        let (mut number, mut links, mut first) = (at, 0, None);
        let mut long = Waits::Computes;
        for back in 0..BACK {
            let Some(before) = self.before(number) else { break };
            number = before;
            let (_, one) = &self.all[number];
            if matches!(one.flow, Flow::Call(_)) {
                since = since.and(self.lost);
                needed = needed.without(self.lost);
            }
            since = since.and(one.sets);
            let reads = one.memory.filter(|memory| memory.reads);
            let moved = |memory: Memory| memory.at.is_some_and(|at| at.registers().meets(since));
            // After string instructions, the registers point just past the last access.
            let intact = || !reads.is_some_and(|memory| memory.order != Order::Sequential && moved(memory));
            // A store that finds the store buffer full delays subsequent instructions.
            if back == 0 && (one.kind == Kind::Atomic || one.memory.is_some()) {
                first = self.load(number, intact());
                if one.kind == Kind::Atomic {
                    return (first, Waits::Atomic);
                }
            }
            if !one.sets.meets(needed) {
                continue;
            }
            if reads.is_some() {
                return (self.load(number, intact()), Waits::Computes);
            }
            match one.kind {
                Kind::Long => long = Waits::Long,
                Kind::Float if long == Waits::Computes => long = Waits::Float,
                _ => {}
            }
            links += 1;
            if links > most || long == Waits::Long {
                break;
            }
            needed = needed.without(one.sets).and(one.reads.without(self.stack));
            if needed.is_empty() {
                break;
            }
        }
        let waits = if long == Waits::Computes && self.is_jumped_to() { Waits::Jump } else { long };
        (first, waits)
    }

    /// Whether a system call directly precedes the code location.
    fn is_call_before(&self) -> bool {
        self.here.checked_sub(1).is_some_and(|before| self.all[before].1.kind == Kind::System)
    }

    /// The origin of a general register's value at the call that directly precedes the code location.
    fn origin(&self, mut register: u8) -> Option<Origin> {
        let before = self.all.get(..self.here)?.split_last();
        let (_, before) = before.filter(|((_, call), _)| matches!(call.flow, Flow::Call(_)))?;
        let mut pushed = Some(0);
        for (_, one) in before.iter().rev().take(BACK) {
            let wanted = Registers::of(register);
            match one.flow {
                // This is the end of another function; the sampled one begins right after it.
                Flow::Return | Flow::Jump(_) | Flow::Elsewhere => return Some(Origin::Argument(register)),
                Flow::Call(_) if self.lost.meets(wanted) => return None,
                _ => {}
            }
            if one.sets.meets(self.stack) && !matches!(one.flow, Flow::Call(_)) {
                let is_push = one.does.is_some_and(|does| does.op == Op::Push);
                pushed = pushed.filter(|_| is_push).map(|bytes| bytes + 8);
            }
            if !one.sets.meets(wanted) {
                continue;
            }
            let does = one.does?;
            register = match (does.op, does.b) {
                (Op::Take, Source::Constant(value)) => return Some(Origin::Constant(value)),
                (Op::Xor, b) if does.a == b => return Some(Origin::Constant(0)),
                (Op::Take, Source::Register(Part { number, .. })) => number,
                (Op::Take, Source::Loaded { .. }) => {
                    let at = one.memory?.at?;
                    let of_stack = at.registers() == self.stack && at.index.is_none();
                    return pushed.filter(|_| of_stack).map(|bytes| Origin::Slot(at.offset + bytes));
                }
                _ => return None,
            };
        }
        None
    }

    /// Whether the operation also waits for the same operation in the previous iteration, as in a sum computed sequentially.
    fn is_chained(&self) -> bool {
        let of_floats = |number: usize| matches!(self.all[number].1.kind, Kind::Float | Kind::Long);
        [Some(self.here), self.before(self.here)].into_iter().flatten().any(|number| {
            let one = &self.all[number].1;
            of_floats(number) && one.sets.meets(one.reads) && self.adds_up(number)
        })
    }

    /// Whether no other instruction overwrites an operation's result, without using it, before the loop returns to the operation.
    fn adds_up(&self, of: usize) -> bool {
        let sum = self.all[of].1.sets;
        let mut number = of;
        for _ in 0..MOST_BEFORE {
            let Some(before) = self.before(number) else { return false };
            number = before;
            let one = &self.all[number].1;
            if number == of {
                return true;
            }
            if one.sets.meets(sum) && !one.reads.meets(sum) {
                return false;
            }
        }
        false
    }

    /// Whether the code location is a jump target or directly follows a branch.
    fn is_jumped_to(&self) -> bool {
        let at = self.all[self.here].0;
        let after_branch = self.here.checked_sub(1).map(|before| self.all[before].1.flow);
        after_branch.is_none_or(|flow| flow != Flow::Next)
            || (0..self.all.len()).any(|from| self.target(from) == Some(at))
    }

    /// The loop around the code location, ending with the location itself; `None` if there is no short loop.
    fn round(&self) -> Option<Vec<&Instruction>> {
        let mut all = Vec::new();
        let mut number = self.here;
        for _ in 0..SPIN {
            number = self.before(number)?;
            all.push(&self.all[number].1);
            if number == self.here {
                return Some(all);
            }
        }
        None
    }

    /// Whether the load is in a loop that changes nothing but the values that it loads, and therefore waits until
    /// another thread writes them.
    fn spins(&self) -> bool {
        let Some(round) = self.round() else { return self.all[self.here].1.kind == Kind::Spin };
        let set: Registers = round.iter().map(|one| one.sets).collect();
        let is_still = |one: &&Instruction| {
            let moves = one.memory.and_then(|memory| memory.at).is_some_and(|at| at.registers().meets(set));
            // An atomic addition always changes memory, but an exchange may leave it unchanged.
            let may_fail = one.kind == Kind::Atomic && one.does.is_none();
            let stores = one.memory.is_some_and(|memory| memory.writes) && !may_fail;
            let counts = one.memory.is_none() && one.sets.without(Registers::FLAGS).meets(one.reads);
            !moves && !stores && !counts && !matches!(one.flow, Flow::Call(_))
        };
        let looks = round.iter().any(|one| one.memory.is_some_and(|memory| memory.reads));
        round.iter().any(|one| one.kind == Kind::Spin) || (looks && round.iter().all(is_still))
    }

    /// Whether nearby instructions flush lines from the caches.
    fn flushes(&self) -> bool {
        let near = self.here.saturating_sub(SPIN)..(self.here + SPIN).min(self.all.len());
        self.all[near].iter().any(|(_, one)| one.kind == Kind::Flush)
    }
}

/// The state of a page of memory in a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mapped {
    /// The page is private.
    Own,
    /// The page is shared with other processes.
    Shared,
    /// The page is swapped out.
    Away,
}

/// The memory of a process, read without accessing absent pages, which could block.
pub(super) struct Pages {
    pid: i32,
    tables: Option<File>,
}

impl Pages {
    pub(super) fn of(pid: i32) -> Self {
        Self { pid, tables: File::open(format!("/proc/{pid}/pagemap")).ok() }
    }

    pub(super) fn pid(&self) -> i32 {
        self.pid
    }

    /// The state of the process's page at an address, according to the page tables (admin-guide/mm/pagemap.rst). `None` if there
    /// is no page, or if this user may not read the page tables.
    pub(super) fn at(&self, address: u64) -> Option<Mapped> {
        const PRESENT: u64 = 1 << 63;
        const SWAPPED: u64 = 1 << 62;
        const EXCLUSIVE: u64 = 1 << 56;
        let (mut entry, at) = ([0; 8], (address / os::mapping::base_page()).checked_mul(8)?);
        self.tables.as_ref()?.read_exact_at(&mut entry, at).ok()?;
        match u64::from_ne_bytes(entry) {
            entry if entry & PRESENT != 0 && entry & EXCLUSIVE != 0 => Some(Mapped::Own),
            entry if entry & PRESENT != 0 => Some(Mapped::Shared),
            entry if entry & SWAPPED != 0 => Some(Mapped::Away),
            _ => None,
        }
    }

    /// Reads a number of this many bytes (at most eight). The system call refuses device memory, where reads may have
    /// side effects.
    pub(super) fn value(&self, address: u64, bytes: u8) -> Option<u64> {
        if bytes > 8 || !matches!(self.at(address)?, Mapped::Own | Mapped::Shared) {
            return None;
        }
        let (mut value, bytes) = ([0_u8; 8], usize::from(bytes));
        let local = libc::iovec { iov_base: value.as_mut_ptr().cast(), iov_len: bytes };
        let remote = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: bytes };
        // SAFETY: the kernel writes at most `bytes` bytes into a live array of eight. The other address belongs to the
        // other process.
        let read = unsafe { libc::process_vm_readv(self.pid, &local, 1, &remote, 1, 0) };
        (read == bytes as isize).then(|| u64::from_le_bytes(value))
    }
}
