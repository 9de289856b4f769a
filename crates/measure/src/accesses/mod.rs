//! What programs wait for at their instructions, without a counter: the kernel's timer interrupts each CPU now and then, and the
//! instruction that it finds is, by the share of its time, the one that the core waits at. Its registers tell which memory it names:
//! how much of it is gone through, in which order, and which lines several threads write.
//!
//! Cores take an interrupt between two instructions: what they waited at has just ended, or begins anew afterwards. So both are looked
//! at, the one that is next and the one before it.

mod aarch64;
mod code;
mod instruction;
mod spread;
mod x86_64;

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

use crate::counters::{Noted, Sample, Sampler};
use machine::Root;
use record::live::Sampled;
use record::{Coverage, CpuList, Machine, text};

use code::{Access, Site};

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
/// The last cache, where nobody says how large it is.
const USUAL_CACHE: u64 = 32 << 20;

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
}

/// The samples, as they come.
#[derive(Debug, Default)]
pub struct Accesses {
    sampler: Option<Sampler>,
    sites: HashMap<(i32, u64), Site>,
    /// Of a process, the numbers of some 2 MiB in which it has memory.
    mapped: HashSet<(i32, u64)>,
    /// Since when both are known.
    read_at: Option<Instant>,
    seen: VecDeque<Seen>,
    /// One of 2^this is kept.
    thinned: u32,
    came: u64,
    /// Of the last cache, bytes.
    cache: u64,
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
        let cache = cache_of(machine);
        Self { cache, ..Self::default() }.of_followed(PERIOD)
    }

    /// Begins to sample, where that is allowed.
    pub fn open(root: &Root, machine: &Machine, cpus: &CpuList) -> Self {
        if root.is_live() { Self::of_cpus(machine, cpus, PERIOD) } else { Self::default() }
    }

    fn of_followed(self, period: u64) -> Self {
        Self { sampler: Some(Sampler::of_none(period)), threads: Some(BTreeSet::new()), ..self }
    }

    fn of_cpus(machine: &Machine, cpus: &CpuList, period: u64) -> Self {
        let mut all = Self { cache: cache_of(machine), ..Self::default() };
        let kernel = &machine.kernel;
        // CPUs that are kept free of interrupts stay so.
        let quiet = |cpu: u32| kernel.isolated.contains(cpu) || kernel.nohz_full.contains(cpu);
        let sampled: Vec<u32> = cpus.iter().filter(|cpu| !quiet(*cpu)).collect();
        let period = period.max(sampled.len() as u64 * 1_000_000_000 / MOST_A_SECOND);
        all.coverage = Some(match Sampler::of_cpus(sampled.iter().copied(), period) {
            Ok(sampler) => {
                all.sampler = Some(sampler);
                if sampled.len() < cpus.len() {
                    let reason =
                        text!("live-isolated-not-sampled", "isolated and nohz_full CPUs are not interrupted");
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
                    "samples-of-some-threads",
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
                    mapped.retain(|(pid, _)| *pid != of);
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
            let is_mapped = |address: u64| {
                let place = (sample.pid, address >> 21);
                let is_mapped = mapped.contains(&place) || code::is_mapped(sample.pid, address);
                if is_mapped {
                    mapped.insert(place);
                }
                is_mapped
            };
            seen.push_back(see(&sample, sites.get(&place).unwrap_or(&none), now, is_mapped));
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
        let of = |one: &&Seen| pids.is_none_or(|pids| pids.contains(&one.pid));
        let all: Vec<&Seen> = self.seen.iter().filter(of).collect();
        Some(judge(&all, self.cache))
    }

    /// What all samples of these processes say that are kept; `None` without one.
    pub(crate) fn of_processes(&mut self, pids: &[i32]) -> Option<Sampled> {
        self.take();
        let all: Vec<&Seen> = self.seen.iter().filter(|one| pids.contains(&one.pid)).collect();
        (!all.is_empty()).then(|| judge(&all, self.cache))
    }
}

fn cache_of(machine: &Machine) -> u64 {
    Some(machine.last_level_bytes()).filter(|bytes| *bytes > 0).unwrap_or(USUAL_CACHE)
}

/// What a sample saw; `is_mapped`: whether its process has memory at an address.
fn see(sample: &Sample, site: &Site, at: Instant, mut is_mapped: impl FnMut(u64) -> bool) -> Seen {
    let mut touch = |access: &Option<Access>, done: bool| {
        let access = access.as_ref()?;
        let address = access.operand.address(&sample.registers, access.end)?;
        let Access { operand: _, end: _, atomic, writes, sequential } = *access;
        // What is done may have written over the registers of its own address.
        (!done || is_mapped(address)).then_some(Touch { address, atomic, writes, sequential })
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

/// A place in a program: of a process, an instruction and which of the two.
type Group = (i32, u64, usize);

/// Touches of one place from which on they are looked at apart from those of other places.
const OWN: usize = 16;

/// What samples say together; `cache`: bytes of the last cache.
fn judge(all: &[&Seen], cache: u64) -> Sampled {
    // What one place touches, and of each process what all places touch that have too few for themselves.
    let mut groups: HashMap<Group, Vec<(usize, Touch)>> = HashMap::new();
    for (number, one) in all.iter().enumerate() {
        for (which, touch) in one.touches.iter().enumerate() {
            if let Some(touch) = touch {
                groups.entry((one.pid, one.ip, which)).or_default().push((number, *touch));
            }
        }
    }
    // The two instructions of a sample may name the same memory, which then is no sign of coming back to it.
    let mut rest: HashMap<(i32, usize), Vec<(usize, Touch)>> = HashMap::new();
    let few: Vec<Group> = groups.iter().filter(|(_, of)| of.len() < OWN).map(|(group, _)| *group).collect();
    for group in few {
        rest.entry((group.0, group.2)).or_default().extend(groups.remove(&group).into_iter().flatten());
    }
    let mut far: Vec<Option<Touch>> = vec![None; all.len()];
    for touches in groups.into_values().chain(rest.into_values()) {
        let addresses: Vec<u64> = touches.iter().map(|(_, touch)| touch.address).collect();
        let (bytes, cold) = spread::of(&addresses);
        if bytes > FAR * cache as f64 {
            for ((number, touch), _) in touches.iter().zip(cold).filter(|(_, cold)| *cold) {
                far[*number] = Some(*touch);
            }
        }
    }
    let share = |count: usize| count as f64 / all.len().max(1) as f64;
    let of_far: Vec<Touch> = far.iter().flatten().copied().collect();
    let addresses: Vec<u64> = of_far.iter().map(|touch| touch.address).collect();
    let lines = shared_lines(all);
    let on_shared = |one: &&&Seen| {
        one.touches
            .iter()
            .flatten()
            .any(|touch| lines.get(&line(one.pid, touch)).is_some_and(Line::is_shared))
    };
    Sampled {
        samples: all.len() as u64,
        unread: all.iter().filter(|one| !one.read).count() as u64,
        far: share(of_far.len()),
        sequential: share(of_far.iter().filter(|touch| touch.sequential).count()),
        working_set: (!of_far.is_empty()).then(|| spread::of(&addresses).0),
        hidden: share(all.iter().zip(&far).filter(|(one, far)| one.hidden && far.is_none()).count()),
        shared: share(all.iter().filter(on_shared).count()),
        spinning: share(all.iter().filter(|one| one.spins).count()),
    }
}

/// Memory of which so much is gone through, of the last cache, does not fit it.
const FAR: f64 = 1.25;
/// Bytes of a line that cores take from each other, as a shift.
const LINE: u32 = 6;
/// Samples of a thread that are no chance.
const AGAIN: usize = 2;

/// How one thread touches a line.
#[derive(Clone, Copy, Debug)]
struct Toucher {
    count: usize,
    writes: bool,
    first: u64,
    last: u64,
}

/// Who touches a line, by thread, and on which CPUs.
#[derive(Debug, Default)]
struct Line {
    threads: HashMap<i32, Toucher>,
    cpus: BTreeSet<u32>,
}

impl Line {
    /// Whether several threads on several CPUs do in the same time, of which one writes. What one leaves another may have
    /// afterwards, as the stack of a thread that has ended.
    fn is_shared(&self) -> bool {
        let often: Vec<&Toucher> = self.threads.values().filter(|one| one.count >= AGAIN).collect();
        let meet = |a: &Toucher, b: &Toucher| a.first < b.last && b.first < a.last && (a.writes || b.writes);
        let pairs =
            || often.iter().enumerate().flat_map(|(at, a)| often[at + 1..].iter().map(move |b| (a, b)));
        self.cpus.len() >= 2 && pairs().any(|(a, b)| meet(a, b))
    }
}

fn line(pid: i32, touch: &Touch) -> (i32, u64) {
    (pid, touch.address >> LINE)
}

fn shared_lines(all: &[&Seen]) -> HashMap<(i32, u64), Line> {
    let mut lines: HashMap<(i32, u64), Line> = HashMap::new();
    for one in all {
        for touch in one.touches.iter().flatten() {
            let line = lines.entry(line(one.pid, touch)).or_default();
            let new = Toucher { count: 0, writes: false, first: one.time, last: one.time };
            let thread = line.threads.entry(one.tid).or_insert(new);
            thread.count += 1;
            thread.writes |= touch.writes || touch.atomic;
            (thread.first, thread.last) = (thread.first.min(one.time), thread.last.max(one.time));
            line.cpus.insert(one.cpu);
        }
    }
    lines
}

#[cfg(test)]
mod tests;
