//! Evaluates one sample: the load that the thread waited for, and its memory.

use std::time::Instant;

use super::ahead::{Ahead, Known};
use super::code::{Code, Load, Mapped, STRIDES, Site, Strides, Waits};
use super::instruction::{Order, Registers};
use crate::counters::Sample;

/// Prefetchers follow strides of up to half a 4 KiB page (Intel, 64-ia-32 Optimization Reference Manual, "Data
/// Prefetching"): if successive addresses of a load are closer together than this, they are prefetched.
const STRIDE: u64 = 2048;
/// Maximum number of instructions emulated for a sample, and for a sample from which the strides of a load are learned.
const MOST: u32 = 192;
const MOST_LEARNING: u32 = 1024;
/// Maximum extent of a function's stack below and above the stack pointer, bytes.
const STACK_BELOW: u64 = 256;
const STACK_ABOVE: u64 = 16 << 10;
/// A load that continues in short strides for this many iterations accesses memory in order. Shorter runs, such as the
/// keys of a tree node, may be at any address.
const RUN: u32 = 64;
/// The same limit in bytes: a load that covers this distance in short strides also accesses memory in order.
const RUN_BYTES: u64 = 512;

/// A sample.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) at: Instant,
    /// The time of the sample on the kernel's clock, ns.
    pub(super) time: u64,
    pub(super) pid: i32,
    pub(super) tid: i32,
    pub(super) cpu: u32,
    pub(super) decoded: bool,
    pub(super) spins: bool,
    /// The address of the load that the thread waits for.
    pub(super) load: Option<u64>,
    /// Whether the memory accessed by that load is unknown.
    pub(super) hidden: bool,
    /// Whether the memory accessed by that load was flushed from the caches.
    pub(super) flushed: bool,
    pub(super) waits: Waits,
    /// Whether the accessed memory is on another node than the sampled CPU.
    pub(super) remote: bool,
    /// The memory of the awaited load, and of the sampled instruction.
    pub(super) touches: [Option<Touch>; 2],
}

/// A memory operand of an instruction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Touch {
    /// The address of the instruction.
    pub(super) place: u64,
    pub(super) address: u64,
    pub(super) atomic: bool,
    pub(super) writes: bool,
    pub(super) sequential: bool,
    /// Whether other processes share that memory.
    pub(super) shared: bool,
    /// The file and the position in it, if the memory is a shared mapping.
    pub(super) in_file: Option<(u64, u64)>,
    /// The weight of this sample if its memory is accessed in order.
    pub(super) weight: f64,
}

/// Bytes of a cache line.
const LINE: u64 = 64;

/// The weight of a sample at a load of this many bytes that walks memory in strides of this length (negative if
/// backwards). A program that waits for memory waits at its first access to each line. A compute-bound program is
/// sampled equally often at all elements of a line, so its weights add up to zero.
fn weight(address: u64, bytes: u8, stride: i64) -> f64 {
    let length = stride.unsigned_abs();
    // An element may cross a line boundary. In the forward direction, its last byte is the first to reach the new line; in the backward
    // direction, its first byte is.
    let is_first = match stride {
        0.. => address.wrapping_add(bytes.into()).wrapping_sub(1) % LINE < length,
        _ => address % LINE >= LINE.saturating_sub(length),
    };
    match is_first {
        false if (1..LINE).contains(&length) => -(length as f64) / (LINE - length) as f64,
        _ => 1.0,
    }
}

/// Evaluates a sample. `page` returns the state of the process's page at an address, and `value` returns the value at an address.
pub(super) fn see(
    sample: &Sample,
    site: &mut Site,
    at: Instant,
    mut page: impl FnMut(u64) -> Option<Mapped>,
    mut value: impl FnMut(u64, u8) -> Option<u64>,
    elsewhere: &mut dyn FnMut(u64) -> Option<Code>,
) -> Seen {
    let stack = register(sample, site.stack()).unwrap_or(0);
    // Whether an address is on the stack: it must be relative to the stack pointer or frame pointer and close to the
    // stack pointer, because other memory may directly follow a thread's stack.
    let frames = Registers::of(site.stack()).and(Registers::of(site.frame()));
    let is_near = |load: &Load, address: u64| {
        let of_frame = load.memory.at.is_some_and(|at| at.registers().meets(frames));
        of_frame && (stack.saturating_sub(STACK_BELOW)..stack.saturating_add(STACK_ABOVE)).contains(&address)
    };
    let Site { code, load, own, last_now, .. } = site;
    let mut find = |load: &mut Load| {
        let known = |address: u64, bytes: u8| match sample.on_stack(stack, address, bytes) {
            Some(there) => Some((there, true)),
            None => value(address, bytes).map(|now| (now, false)),
        };
        let found = addresses(sample, code.as_ref()?, load, known, elsewhere)?;
        let there = page(found.address);
        let sequential = match (load.memory.order, load.strides.is_short()) {
            (Order::Sequential, _) => true,
            // Vectors are assumed to be parts of arrays, unless a loop shows otherwise.
            (Order::Vector, short) => short != Some(false),
            (Order::Unknown, short) => short == Some(true),
        };
        let Strides { length, .. } = load.strides;
        let of_sample = found.address.wrapping_add_signed(if found.is_had { 0 } else { -length });
        let touch = Touch {
            place: load.at,
            address: found.address,
            atomic: load.atomic,
            writes: load.memory.writes,
            sequential,
            shared: there == Some(Mapped::Shared),
            in_file: None,
            weight: weight(of_sample, load.memory.bytes, length),
        };
        Some((touch, there.is_some(), found))
    };
    let mut hidden = false;
    let awaited = load.as_mut().and_then(|load| match find(load) {
        Some((touch, ..)) if is_near(load, touch.address) => None,
        // An address computed from possibly overwritten registers only counts if memory is mapped there.
        Some((touch, there, found)) if there || found.is_had => {
            // Memory read now yields the same address for all samples evaluated at the same time, so a repeated address counts as unknown.
            let again = found.is_now && *last_now == Some((at, found.address));
            *last_now = found.is_now.then_some((at, found.address));
            hidden = again;
            (!again).then_some(touch)
        }
        _ => {
            hidden = true;
            None
        }
    });
    let own = own.as_mut().filter(|own| own.memory.at.is_some()).and_then(|own| {
        let (mut touch, _, found) = find(own)?;
        // If the instruction waits for another load, the surrounding loop does not indicate the order.
        touch.sequential |= own.memory.order == Order::Vector;
        (found.is_had && !is_near(own, touch.address)).then_some(touch)
    });
    // A sequential sum waits for the previous sum and hardly for its loads, unless the waits are at the beginning of lines.
    let sums = site.chained && site.load.is_some_and(|load| load.strides.steps()) && !hidden;
    let is_within = site.load.is_some_and(|load| (1..LINE).contains(&load.strides.length.unsigned_abs()));
    let (load, waits) = if sums { (None, Waits::Float) } else { (site.load.map(|load| load.at), site.waits) };
    Seen {
        at,
        time: sample.time,
        pid: sample.pid,
        tid: sample.tid,
        cpu: sample.cpu,
        decoded: site.code.is_some(),
        spins: site.spins,
        load,
        hidden,
        remote: false,
        flushed: site.flushes && (site.load.is_some() || site.waits == Waits::Atomic),
        waits,
        touches: if sums && !is_within { [None; 2] } else { [awaited, own] },
    }
}

fn register(sample: &Sample, number: u8) -> Option<u64> {
    sample.registers.get(usize::from(number)).copied()
}

/// An address of a load.
#[derive(Clone, Copy)]
struct Found {
    address: u64,
    /// Whether the address is that of the sampled access. Otherwise, it is the next address, used when the thread
    /// reaches the load again.
    is_had: bool,
    /// Whether the address was computed from memory that was read now.
    is_now: bool,
}

/// The address of a load. Some loads are also checked for short strides.
fn addresses(
    sample: &Sample,
    code: &Code,
    load: &mut Load,
    mut value: impl FnMut(u64, u8) -> Option<Known>,
    elsewhere: &mut dyn FnMut(u64) -> Option<Code>,
) -> Option<Found> {
    let had = load.intact.then(|| load.memory.at?.address(|n| register(sample, n), load.end)).flatten();
    let had = had.map(|address| Found { address, is_had: true, is_now: false });
    if had.is_some() && !load.strides.are_open() {
        return had;
    }
    load.strides.searches = load.strides.searches.saturating_add(1);
    let mut next = next_address(sample, (code, elsewhere), load, had, false, &mut value);
    // Unoptimized code calls a function for each element of an array.
    if load.strides.all() == 0 && load.strides.searches <= STRIDES {
        next = next.or(next_address(sample, (code, elsewhere), load, had, true, &mut value));
    }
    had.or(next).or_else(|| again(sample, (code, elsewhere), load, value))
}

/// The address of a load, recomputed from the instructions before it.
fn again(
    sample: &Sample,
    (code, elsewhere): (&Code, &mut dyn FnMut(u64) -> Option<Code>),
    load: &Load,
    mut value: impl FnMut(u64, u8) -> Option<Known>,
) -> Option<Found> {
    load.replays.into_iter().flatten().find_map(|(from, lost)| {
        let (begun, registers) = ((from, load.at), &sample.registers);
        let mut ahead =
            Ahead::new((code, &mut *elsewhere), begun, registers, Registers::default(), &mut value);
        ahead.lose(lost);
        ahead.calls = true;
        let mut steps = std::iter::from_fn(|| ahead.step()).take(MOST as usize);
        let step = steps.find(|step| step.at == load.at)?;
        Some(Found { address: step.address?, is_had: false, is_now: step.is_now })
    })
}

/// The address of a load when the thread reaches it again, by following either all functions that it calls or only
/// those that contain the load.
fn next_address<'a>(
    sample: &Sample,
    code: (&'a Code, &'a mut dyn FnMut(u64) -> Option<Code>),
    load: &mut Load,
    had: Option<Found>,
    calls: bool,
    value: impl FnMut(u64, u8) -> Option<Known>,
) -> Option<Found> {
    let mut ahead = Ahead::new(code, (sample.ip, load.at), &sample.registers, load.sets, value);
    let strides = &mut load.strides;
    ahead.calls = calls;
    let (mut last, mut first, mut follows) = (had.map(|had| had.address), None, None);
    let (mut parts, mut lost, mut covered) = (false, false, 0);
    let found = |address: u64, is_now: bool| Found { address, is_had: false, is_now };
    let (mut rounds, mut steps, mut last_round, learns) = (0, 0, 0, strides.are_open());
    let (most, far) = if learns { (RUN, MOST_LEARNING) } else { (1, MOST) };
    // If the end of the loop is unknown, its strides so far are assumed to continue.
    let (mut in_short, mut limit) = (None, None);
    while rounds < most
        && in_short != Some(false)
        && steps < far
        && let Some(step) = ahead.step()
    {
        steps += 1;
        // Beyond the limit, the thread may be emulated in the wrong loop.
        limit = limit.or_else(|| ahead.is_at_limit().then_some(steps));
        let of_step = step.address.map(|address| found(address, step.is_now));
        follows = follows.or(of_step.filter(|_| step.follows));
        if step.at != load.at {
            continue;
        }
        // A known address was followed by an unknown one, so short strides are only part of the pattern.
        if step.address.is_none() && in_short.is_some() {
            lost = !ahead.is_at_limit();
            break;
        }
        rounds += 1;
        last_round = steps;
        // A repeated address shows no direction.
        if let (Some(before), Some(now)) = (last, step.address)
            && before != now
        {
            let is_short = before.abs_diff(now) < STRIDE;
            // If the load continues elsewhere after some short strides, these are only part of the pattern.
            parts |= in_short == Some(true) && !is_short;
            if is_short {
                strides.length = now.wrapping_sub(before) as i64;
                covered += strides.length.unsigned_abs();
            }
            in_short = Some(is_short);
        }
        last = step.address.or(last);
        first = first.or(of_step);
    }
    if learns {
        // The load is still in the loop, or an unknown address ended the search.
        let seen = limit.unwrap_or(steps);
        let goes_on = covered >= RUN_BYTES
            || rounds >= most
            || (!lost
                && (steps >= far || ahead.is_at_limit())
                && seen.saturating_sub(last_round) <= 4 * (seen / rounds.max(1)));
        match in_short {
            Some(true) if goes_on => strides.short += 1,
            Some(false) if covered >= RUN_BYTES => strides.short += 1,
            Some(true) => strides.part += 1,
            Some(false) if parts => strides.part += 1,
            Some(false) => strides.other += 1,
            None => {}
        }
    }
    first.or(follows)
}
