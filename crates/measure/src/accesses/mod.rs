//! What programs wait for at their instructions, without a counter: the kernel's timer interrupts each CPU now and then, and the
//! instruction that it finds is, by the share of its time, the one that the core waits at. Its registers tell which memory it names:
//! how much of it is gone through, in which order, and which lines several threads write.
//!
//! Cores take an interrupt between two instructions: what they waited at has just ended, or begins anew afterwards. So both are looked
//! at, the one that is next and the one before it.

mod aarch64;
mod caches;
mod code;
mod instruction;
mod spread;
mod x86_64;

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::time::{Duration, Instant};

use crate::counters::{Noted, Sample, Sampler};
use machine::Root;
use record::live::Sampled;
use record::{Coverage, CpuList, Machine, text};

use caches::{Caches, Set};
use code::{Access, Mapped, Site};

/// Between two samples of a CPU, ns: 29 a second, no divisor of a tick's rate.
const PERIOD: u64 = 34_300_000;
/// The same where a command is watched: 199 a second.
const OFTEN: u64 = 5_030_000;
/// Samples a second of all CPUs together.
const MOST_A_SECOND: u64 = 2000;
/// For how long a sample counts where the interval is shorter.
const KEPT: Duration = Duration::from_secs(10);
/// Samples that are kept: of more, each second one is left out, until they are few again.
const MOST_KEPT: usize = 8192;
/// Places in programs that are known.
const MOST_SITES: usize = 65_536;
/// Threads that are followed at a time.
const MOST_THREADS: usize = 64;
/// New ones that are read at a time, of programs that are everywhere: each takes some microseconds.
const NEW_SITES: usize = 100;

const WHAT: &str = "memory access samples";

/// A sample, and the memory that its two instructions name.
#[derive(Clone, Debug)]
struct Seen {
    at: Instant,
    /// The same to the ns, by the kernel's clock.
    time: u64,
    pid: i32,
    tid: i32,
    cpu: u32,
    ip: u64,
    read: bool,
    spins: bool,
    /// Whether it names memory whose address cannot be told.
    hidden: bool,
    touches: [Option<Touch>; 2],
}

/// Memory that an instruction names.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Touch {
    address: u64,
    atomic: bool,
    writes: bool,
    sequential: bool,
    /// Whether other processes have that memory, too.
    shared: bool,
}

/// The samples, as they come.
#[derive(Debug, Default)]
pub struct Accesses {
    sampler: Option<Sampler>,
    sites: HashMap<(i32, u64), Site>,
    /// Of a process, by the numbers of some 2 MiB, what memory it has there.
    mapped: HashMap<(i32, u64), Mapped>,
    /// Since when both are known.
    read_at: Option<Instant>,
    seen: VecDeque<Seen>,
    /// One of 2^this is kept.
    thinned: u32,
    came: u64,
    caches: Caches,
    /// The threads that are sampled, where whole CPUs may not be.
    threads: Option<BTreeSet<i32>>,
    /// Why none, or not all that is wanted.
    coverage: Option<Coverage>,
}

impl Accesses {
    /// Begins to sample all CPUs often, for some seconds; where that is not allowed, the threads that are followed.
    pub(crate) fn of_a_while(machine: &Machine) -> Self {
        let all = Self::of_cpus(machine, &machine.allowed_cpus(), OFTEN);
        if all.sampler.is_some() { all } else { all.of_followed(OFTEN) }
    }

    /// The same of the threads that are followed alone, as often as all CPUs of a machine that is watched.
    pub fn of_threads(machine: &Machine) -> Self {
        Self { caches: Caches::of(machine), ..Self::default() }.of_followed(PERIOD)
    }

    /// Begins to sample, where that is allowed.
    pub fn open(root: &Root, machine: &Machine, cpus: &CpuList) -> Self {
        if root.is_live() { Self::of_cpus(machine, cpus, PERIOD) } else { Self::default() }
    }

    fn of_followed(self, period: u64) -> Self {
        Self { sampler: Some(Sampler::of_none(period)), threads: Some(BTreeSet::new()), ..self }
    }

    fn of_cpus(machine: &Machine, cpus: &CpuList, period: u64) -> Self {
        let mut all = Self { caches: Caches::of(machine), ..Self::default() };
        let kernel = &machine.kernel;
        // CPUs that are kept free of interrupts stay so.
        let quiet = |cpu: u32| kernel.isolated.contains(cpu) || kernel.nohz_full.contains(cpu);
        let sampled: Vec<u32> = cpus.iter().filter(|cpu| !quiet(*cpu)).collect();
        let period = period.max(sampled.len() as u64 * 1_000_000_000 / MOST_A_SECOND);
        all.coverage = Some(match Sampler::of_cpus(sampled.iter().copied(), period) {
            Ok(sampler) => {
                all.sampler = Some(sampler);
                if sampled.len() < cpus.len() {
                    let reason = text!("isolated and nohz_full CPUs are not interrupted");
                    Coverage::degraded(WHAT, reason)
                } else {
                    Coverage::measured(WHAT)
                }
            }
            Err(why) => why.into_impossible(WHAT),
        });
        all
    }

    /// What can be sampled, and why no more.
    pub fn coverage(&self) -> Option<Coverage> {
        self.coverage.clone()
    }

    /// Whether all CPUs are sampled.
    pub fn are_of_all(&self) -> bool {
        self.sampler.is_some() && self.threads.is_none()
    }

    /// Samples these threads, too, where it samples threads.
    pub(crate) fn follow(&mut self, tids: impl Iterator<Item = i32>) {
        let (Some(threads), Some(sampler)) = (&mut self.threads, &mut self.sampler) else { return };
        let there: BTreeSet<i32> = tids.collect();
        // Those that have ended make room for others.
        threads.retain(|tid| there.contains(tid));
        sampler.keep_threads(&there);
        for tid in &there {
            if threads.len() == MOST_THREADS && there.len() > MOST_THREADS {
                let reason = text!(
                    "of {sampled} of {threads} threads",
                    sampled = threads.len(),
                    threads = there.len()
                );
                self.coverage = Some(Coverage::degraded(WHAT, reason).with_remedy("run as root"));
                break;
            }
            if threads.insert(*tid) {
                self.coverage = match sampler.add_thread(*tid) {
                    Ok(()) => Some(Coverage::measured(WHAT)),
                    // Of some that end meanwhile, or are one too many, the others tell.
                    Err(_) if !sampler.is_empty() => continue,
                    Err(why) => Some(why.into_impossible(WHAT)),
                };
            }
        }
    }

    /// Takes what the kernel has written.
    pub fn take(&mut self) {
        let Self { sampler: Some(sampler), sites, mapped, seen, thinned, came, .. } = self else { return };
        let (now, own, mut new) = (Instant::now(), std::process::id() as i32, 0);
        // Code and memory of a process change, and its number may be another's.
        if self.read_at.is_none_or(|at| at.elapsed() > KEPT) || sites.len().max(mapped.len()) >= MOST_SITES {
            self.read_at = Some(now);
            sites.clear();
            mapped.clear();
        }
        sampler.take(|event| {
            let sample = match event {
                Noted::Sample(sample) => sample,
                Noted::Exec(of) => {
                    sites.retain(|(pid, _), _| *pid != of);
                    mapped.retain(|(pid, _), _| *pid != of);
                    return;
                }
            };
            *came += 1;
            // A process without a number is of another namespace.
            if sample.pid <= 0 || sample.pid == own || *came % (1 << *thinned) != 0 {
                return;
            }
            let place = (sample.pid, sample.ip);
            if !sites.contains_key(&place) && new < NEW_SITES {
                new += 1;
                sites.insert(place, Site::read(sample.pid, sample.ip));
            }
            let none = Site::default();
            let memory = |address: u64| {
                let place = (sample.pid, address >> 21);
                if let Some(known) = mapped.get(&place) {
                    return Some(*known);
                }
                code::mapped(sample.pid, address).inspect(|there| _ = mapped.insert(place, *there))
            };
            seen.push_back(see(&sample, sites.get(&place).unwrap_or(&none), now, memory));
            if seen.len() >= MOST_KEPT {
                let mut keep = false;
                seen.retain(|_| {
                    keep = !keep;
                    keep
                });
                *thinned += 1;
            }
        });
    }

    /// What the samples of an interval of this length say, or of a longer time where it is short; of these processes, or of all.
    pub fn of_interval(&mut self, length: Duration, pids: Option<&[i32]>) -> Option<Sampled> {
        self.sampler.as_ref()?;
        self.take();
        let kept = KEPT.max(length);
        while self.seen.front().is_some_and(|first| first.at.elapsed() > kept) {
            self.seen.pop_front();
        }
        if self.seen.len() < MOST_KEPT / 4 {
            self.thinned = self.thinned.saturating_sub(1);
        }
        let of = |one: &Seen| pids.is_none_or(|pids| pids.contains(&one.pid));
        Some(judge(self.seen.make_contiguous(), of, &self.caches))
    }

    /// What all samples of these processes say that are kept; `None` without one.
    pub(crate) fn of_processes(&mut self, pids: &[i32]) -> Option<Sampled> {
        self.take();
        let of = |one: &Seen| pids.contains(&one.pid);
        let sampled = judge(self.seen.make_contiguous(), of, &self.caches);
        (sampled.samples > 0).then_some(sampled)
    }
}

/// What a sample saw; `memory`: what its process has at an address.
fn see(sample: &Sample, site: &Site, at: Instant, mut memory: impl FnMut(u64) -> Option<Mapped>) -> Seen {
    let mut touch = |access: &Option<Access>, done: bool| {
        let access = access.as_ref()?;
        let address = access.operand.address(&sample.registers, access.end)?;
        let Access { operand: _, end: _, atomic, writes, sequential } = *access;
        let there = memory(address);
        let shared = there == Some(Mapped::Shared);
        // What is done may have written over the registers of its own address.
        (!done || there.is_some()).then_some(Touch { address, atomic, writes, sequential, shared })
    };
    let touches = [touch(&site.before, true), touch(&site.next, false)];
    let lost = site.before.is_some() && touches[0].is_none();
    Seen {
        at,
        time: sample.time,
        pid: sample.pid,
        tid: sample.tid,
        cpu: sample.cpu,
        ip: sample.ip,
        read: site.read,
        spins: site.spins,
        hidden: site.hidden || lost,
        touches,
    }
}

/// Touches of one place from which on they are looked at apart from those of other places.
const OWN: usize = 16;
/// Whose memory is that several processes have: programs that one started have it at the same addresses.
const OF_SEVERAL: i32 = 0;

/// A touch and where in a program it was.
#[derive(Clone, Copy, Debug)]
struct Placed {
    /// The cache it goes through, whose memory it is, and which of the two instructions names it: both may name the same memory,
    /// which then is no sign of coming back to it.
    of: (usize, i32, usize),
    ip: u64,
    /// The number of its sample.
    number: usize,
    touch: Touch,
}

/// Whose memory a sample touches.
fn owner(one: &Seen, touch: &Touch) -> i32 {
    if touch.shared { OF_SEVERAL } else { one.pid }
}

/// Touches, by the numbers of their samples, of more memory than the caches have for it.
fn far(all: &[Seen], caches: &Caches) -> Vec<Option<Touch>> {
    let mut placed: Vec<Placed> = Vec::new();
    for (number, one) in all.iter().enumerate() {
        for (which, touch) in one.touches.iter().enumerate() {
            placed.extend(touch.map(|touch| Placed {
                of: (caches.of_cpu(one.cpu), owner(one, &touch), which),
                ip: one.ip,
                number,
                touch,
            }));
        }
    }
    placed.sort_by_key(|one| (one.of, one.ip));
    let mut far: Vec<Option<Touch>> = vec![None; all.len()];
    for of_cache in placed.chunk_by(|a, b| a.of.0 == b.of.0) {
        let mut parts: Vec<Vec<Placed>> = Vec::new();
        for of_one in of_cache.chunk_by(|a, b| a.of == b.of) {
            // What one place touches, and what all touch that have too few for themselves.
            let mut rest = Vec::new();
            for place in of_one.chunk_by(|a, b| a.ip == b.ip) {
                if place.len() < OWN { rest.extend_from_slice(place) } else { parts.push(place.to_vec()) }
            }
            parts.push(rest);
        }
        let sets: Vec<Set> = parts.iter_mut().map(set).collect();
        let cache = of_cache.first().map_or(0, |one| one.of.0);
        for (part, _) in parts.iter().zip(caches.overflown(cache, &sets)).filter(|(_, overflown)| *overflown)
        {
            part.iter().for_each(|one| far[one.number] = Some(one.touch));
        }
    }
    far
}

/// The memory of these touches, of which those are left that go through it.
fn set(touches: &mut Vec<Placed>) -> Set {
    let addresses: Vec<u64> = touches.iter().map(|one| one.touch.address).collect();
    let (bytes, cold) = spread::of(&addresses);
    let mut is_cold = cold.into_iter();
    touches.retain(|_| is_cold.next() == Some(true));
    let addresses = touches.iter().map(|one| one.touch.address).collect();
    Set::new(touches.first().map_or(OF_SEVERAL, |one| one.of.1), bytes, addresses)
}

/// What samples say of some of them, `of`; what the others touch takes its part of the caches.
fn judge(all: &[Seen], of: impl Fn(&Seen) -> bool, caches: &Caches) -> Sampled {
    let far = far(all, caches);
    let (all, far): (Vec<&Seen>, Vec<Option<Touch>>) = all.iter().zip(far).filter(|(one, _)| of(one)).unzip();
    let share = |count: usize| count as f64 / all.len().max(1) as f64;
    let of_far: Vec<(i32, Touch)> =
        all.iter().zip(&far).filter_map(|(one, touch)| Some((owner(one, &(*touch)?), (*touch)?))).collect();
    Sampled {
        samples: all.len() as u64,
        unread: all.iter().filter(|one| !one.read).count() as u64,
        far: share(of_far.len()),
        sequential: share(of_far.iter().filter(|(_, touch)| touch.sequential).count()),
        working_set: working_set(of_far),
        hidden: share(all.iter().zip(&far).filter(|(one, far)| one.hidden && far.is_none()).count()),
        shared: share(at_shared_lines(&all).into_iter().filter(|shared| *shared).count()),
        spinning: share(all.iter().filter(|one| one.spins).count()),
    }
}

/// Bytes that all touch together; `None` without a touch.
fn working_set(mut touches: Vec<(i32, Touch)>) -> Option<f64> {
    touches.sort_by_key(|(owner, _)| *owner);
    let of_one = |of: &[(i32, Touch)]| {
        let addresses: Vec<u64> = of.iter().map(|(_, touch)| touch.address).collect();
        spread::of(&addresses).0
    };
    (!touches.is_empty()).then(|| touches.chunk_by(|a, b| a.0 == b.0).map(of_one).sum())
}

/// Bytes of a line that cores take from each other, as a shift.
const LINE: u32 = 6;
/// Samples of a thread that are no chance.
const AGAIN: usize = 2;

/// A touch of a line, by the process that has it and the thread that touches it.
#[derive(Clone, Copy, Debug)]
struct OfLine {
    line: (i32, u64),
    tid: i32,
    time: u64,
    cpu: u32,
    writes: bool,
    /// The number of its sample.
    number: usize,
}

/// Which samples are at lines that several threads on several CPUs touch in the same time, of which one writes. What one leaves
/// another may have afterwards, as the stack of a thread that has ended.
fn at_shared_lines(all: &[&Seen]) -> Vec<bool> {
    let mut touches: Vec<OfLine> = Vec::new();
    for (number, one) in all.iter().enumerate() {
        touches.extend(one.touches.iter().flatten().map(|touch| OfLine {
            line: (one.pid, touch.address >> LINE),
            tid: one.tid,
            time: one.time,
            cpu: one.cpu,
            writes: touch.writes || touch.atomic,
            number,
        }));
    }
    touches.sort_unstable_by_key(|one| (one.line, one.tid, one.time));
    let mut shared = vec![false; all.len()];
    for line in touches.chunk_by(|a, b| a.line == b.line) {
        let threads: Vec<&[OfLine]> =
            line.chunk_by(|a, b| a.tid == b.tid).filter(|thread| thread.len() >= AGAIN).collect();
        let times = |thread: &[OfLine]| Some((thread.first()?.time, thread.last()?.time));
        let overlap = |a: &[OfLine], b: &[OfLine]| {
            let (Some(a), Some(b)) = (times(a), times(b)) else { return false };
            a.0 < b.1 && b.0 < a.1
        };
        let writes = |thread: &[OfLine]| thread.iter().any(|one| one.writes);
        let meet = |a: &[OfLine], b: &[OfLine]| overlap(a, b) && (writes(a) || writes(b));
        let several_cpus = line.iter().any(|one| line.first().is_some_and(|first| first.cpu != one.cpu));
        let met = || threads.iter().enumerate().any(|(at, a)| threads[at + 1..].iter().any(|b| meet(a, b)));
        if several_cpus && met() {
            line.iter().for_each(|one| shared[one.number] = true);
        }
    }
    shared
}

#[cfg(test)]
mod tests;
