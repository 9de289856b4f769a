//! Shows the waits of programs, instruction by instruction, without hardware counters. The kernel's timer interrupts
//! each CPU periodically, and an instruction is interrupted in proportion to the time that the core waits at it. The
//! registers show which memory is accessed: its size, the access order, and the lines that several threads write.
//!
//! Processing of a sample: `code.rs` reads the surrounding instructions and finds the awaited load, `ahead.rs` emulates
//! a few instructions if the load's address was overwritten, `sighting.rs` combines both, and `judge.rs` evaluates many
//! samples.

mod aarch64;
mod ahead;
mod caches;
mod code;
mod instruction;
mod judge;
mod kernel;
mod shared;
mod sighting;
mod spread;
mod x86_64;

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::time::{Duration, Instant};

use crate::counters::{Noted, Sampler};
use crate::tasks::thread::list_threads;
use machine::Root;
use record::command_run::CurvePoint;
use record::diagnosis::BoundKind::{self, MemoryMapping, PageFaults, PathLookups, ProcessCreation};
use record::live::{KernelTime, Sampled, Share};
use record::{Coverage, CpuList, Machine, text};

use caches::Caches;
use code::{Code, Pages, Site};
use judge::judge;
use shared::SharedMapping;
use sighting::{Seen, see};

/// Time between two samples of a CPU, ns: 29 samples per second, which is not a divisor of any timer tick rate.
const PERIOD: u64 = 34_300_000;
/// Time between two samples while a command is observed, ns: 199 samples per second.
const OFTEN: u64 = 5_030_000;
/// Maximum number of samples per second, over all CPUs.
const MOST_A_SECOND: u64 = 2000;
/// Minimum time for which samples are retained.
const KEPT: Duration = Duration::from_secs(10);
/// Maximum number of saved samples: if there are more, every other one is dropped.
const MOST_KEPT: usize = 8192;
/// Maximum number of known code locations.
const MOST_SITES: usize = 8192;
/// Time for which a process's shared mappings are assumed to stay the same, because reading them delays the process.
const SHARED_KEPT: Duration = Duration::from_secs(1);
/// Maximum number of processes with a known parent, and maximum number of steps up the process tree.
const MOST_PARENTS: usize = 65_536;
const MOST_STEPS: usize = 64;
/// Maximum number of other processes evaluated separately.
const MOST_OTHERS: usize = 3;
/// Maximum number of threads sampled at a time.
const MOST_THREADS: usize = 64;
/// Maximum number of new code locations read at a time, because each costs some microseconds.
const NEW_SITES: usize = 100;

/// Time between two reads of the kernel's data, short enough that no ring buffer fills up.
pub(crate) const TAKE: Duration = Duration::from_millis(50);

const WHAT: &str = "memory access samples";

/// The data on the machine's caches and memory with which samples are evaluated.
#[derive(Clone, Copy, Debug)]
pub struct Hierarchy<'a> {
    /// The machine, with its advertised caches.
    pub machine: &'a Machine,
    /// The machine's latency curve, if measured, which shows the real sizes of the caches.
    pub curve: &'a [CurvePoint],
}

/// A sample in the kernel, and what the thread did there.
#[derive(Clone, Debug)]
struct InKernel {
    at: Instant,
    pid: i32,
    kind: Option<BoundKind>,
}

/// Samples in chronological order.
#[derive(Debug, Default)]
pub struct Accesses {
    sampler: Option<Sampler>,
    sites: HashMap<(i32, u64), Site>,
    /// A process's code at addresses outside the code around a sample, such as those of called functions and return addresses.
    codes: HashMap<(i32, u64), Option<Code>>,
    /// Each process's shared mappings, and the time at which they were read.
    shared: HashMap<i32, (Instant, Vec<SharedMapping>)>,
    /// The time at which code was read.
    read_at: Option<Instant>,
    seen: VecDeque<Seen>,
    in_kernel: VecDeque<InKernel>,
    /// The last kind of kernel work that starting processes do not do, by the place of its instruction in a page.
    known_kinds: HashMap<u64, BoundKind>,
    /// The parent of a process that started during sampling.
    parents: HashMap<i32, i32>,
    /// One in 2^`thinned` samples is saved.
    thinned: u32,
    came: u64,
    /// Times at which the kernel dropped samples for lack of buffer space, and the number of samples dropped each time.
    lost: VecDeque<(Instant, u64)>,
    caches: Caches,
    /// The node of each CPU; empty with one node.
    nodes: HashMap<u32, u32>,
    /// The sampled threads; `None` if whole CPUs are sampled.
    threads: Option<BTreeSet<i32>>,
    /// The reason why sampling is impossible or incomplete.
    coverage: Option<Coverage>,
}

impl Accesses {
    /// Starts frequent sampling of all CPUs for some seconds, or of the followed threads if that is not allowed.
    pub(crate) fn of_a_while(known: Hierarchy) -> Self {
        let all = Self::of_cpus(known, &known.machine.allowed_cpus(), OFTEN);
        if all.sampler.is_some() { all } else { all.of_followed(OFTEN) }
    }

    /// Like `of_a_while`, but only for the followed threads, at the rate used for observing a whole machine.
    pub fn of_threads(known: Hierarchy) -> Self {
        Self::of_machine(known).of_followed(PERIOD)
    }

    /// Samples these processes for this long and returns the waits of each; `None` if a process could not be sampled.
    pub fn sample(known: Hierarchy, pids: &[i32], length: Duration) -> Vec<Option<Sampled>> {
        let (mut all, until) = (Self::of_a_while(known), Instant::now() + length);
        while Instant::now() < until {
            all.follow(pids.iter().flat_map(|pid| list_threads(*pid)));
            std::thread::sleep(TAKE);
            all.take();
        }
        pids.iter().map(|pid| all.of_process(*pid)).collect()
    }

    /// Starts sampling, if permitted.
    pub fn open(root: &Root, known: Hierarchy, cpus: &CpuList) -> Self {
        if root.is_live() { Self::of_cpus(known, cpus, PERIOD) } else { Self::default() }
    }

    fn of_machine(Hierarchy { machine, curve }: Hierarchy) -> Self {
        let nodes: HashMap<u32, u32> =
            machine.cpus.iter().filter_map(|cpu| Some((cpu.id, cpu.node?))).collect();
        let several = nodes.values().collect::<BTreeSet<_>>().len() > 1;
        let nodes = if several { nodes } else { HashMap::new() };
        Self { caches: Caches::of(machine, curve), nodes, ..Self::default() }
    }

    fn of_followed(self, period: u64) -> Self {
        Self { sampler: Some(Sampler::of_none(period)), threads: Some(BTreeSet::new()), ..self }
    }

    fn of_cpus(known: Hierarchy, cpus: &CpuList, period: u64) -> Self {
        let mut all = Self::of_machine(known);
        let kernel = &known.machine.kernel;
        // CPUs that are kept free of interrupts are not sampled.
        let quiet = |cpu: u32| kernel.isolated.contains(cpu) || kernel.nohz_full.contains(cpu);
        let sampled: Vec<u32> = cpus.iter().filter(|cpu| !quiet(*cpu)).collect();
        let period = period.max(sampled.len() as u64 * 1_000_000_000 / MOST_A_SECOND);
        all.coverage = Some(match Sampler::of_cpus(sampled.iter().copied(), period) {
            Ok(sampler) => {
                all.sampler = Some(sampler);
                if sampled.len() < cpus.len() {
                    let reason = text!("isolated and nohz_full CPUs are skipped to avoid interrupting them");
                    Coverage::degraded(WHAT, reason)
                } else {
                    Coverage::measured(WHAT)
                }
            }
            Err(why) => why.into_impossible(WHAT),
        });
        all
    }

    /// Reports which CPUs or threads can be sampled, and the reasons for omissions.
    pub fn coverage(&self) -> Option<Coverage> {
        self.coverage.clone()
    }

    /// Whether all CPUs are sampled.
    pub fn are_of_all(&self) -> bool {
        self.sampler.is_some() && self.threads.is_none()
    }

    /// Also samples these threads, unless whole CPUs are sampled.
    pub(crate) fn follow(&mut self, tids: impl Iterator<Item = i32>) {
        let (Some(threads), Some(sampler)) = (&mut self.threads, &mut self.sampler) else { return };
        let there: BTreeSet<i32> = tids.collect();
        // Remove ended threads to make room for others.
        threads.retain(|tid| there.contains(tid));
        sampler.keep_threads(&there);
        for tid in &there {
            if threads.len() == MOST_THREADS && there.len() > MOST_THREADS {
                let reason = text!(
                    "only {sampled} of {threads} threads were sampled",
                    sampled = threads.len(),
                    threads = there.len()
                );
                self.coverage = Some(Coverage::degraded(WHAT, reason).with_remedy("run as root"));
                break;
            }
            if threads.insert(*tid) {
                self.coverage = match sampler.add_thread(*tid) {
                    Ok(()) => Some(Coverage::measured(WHAT)),
                    // Sampling may fail for some threads, because they have ended or a resource limit is reached. Sampling the others is
                    // sufficient.
                    Err(_) if !sampler.is_empty() => continue,
                    Err(why) => Some(why.into_impossible(WHAT)),
                };
            }
        }
    }

    /// Reads the kernel's data.
    pub fn take(&mut self) {
        let Self {
            sampler: Some(sampler),
            sites,
            codes,
            shared,
            seen,
            in_kernel,
            known_kinds,
            parents,
            thinned,
            came,
            lost,
            nodes,
            ..
        } = self
        else {
            return;
        };
        let (now, own, mut new) = (Instant::now(), std::process::id() as i32, 0);
        // The code of a process changes, and its PID may be reused.
        if self.read_at.is_none_or(|at| at.elapsed() > KEPT) || sites.len().max(codes.len()) >= MOST_SITES {
            self.read_at = Some(now);
            sites.clear();
            codes.clear();
            known_kinds.clear();
        }
        shared.retain(|_, (at, _)| at.elapsed() < SHARED_KEPT);
        if parents.len() >= MOST_PARENTS {
            parents.clear();
        }
        let mut pages: Option<Pages> = None;
        sampler.take(|event| {
            let sample = match event {
                Noted::Sample(sample) => sample,
                Noted::Exec(of) => {
                    sites.retain(|(pid, _), _| *pid != of);
                    codes.retain(|(pid, _), _| *pid != of);
                    shared.remove(&of);
                    return;
                }
                Noted::Fork(child, parent) => {
                    if child != parent {
                        parents.insert(child, parent);
                    }
                    return;
                }
                Noted::Lost(count) => return lost.push_back((now, count)),
            };
            *came += 1;
            // A process without a PID in this PID namespace belongs to another one.
            if sample.pid <= 0 || sample.pid == own || *came % (1 << *thinned) != 0 {
                return;
            }
            let pages = match &mut pages {
                Some(pages) if pages.pid() == sample.pid => pages,
                other => other.insert(Pages::of(sample.pid)),
            };
            let place = (sample.pid, sample.ip);
            if !sites.contains_key(&place) && new < NEW_SITES {
                new += 1;
                sites.insert(place, Site::read(pages, sample.ip));
            }
            let mut none = Site::default();
            let site = sites.get_mut(&place).unwrap_or(&mut none);
            let mut elsewhere = |address: u64| {
                codes.entry((sample.pid, address)).or_insert_with(|| Code::read(pages, address)).clone()
            };
            if sample.in_kernel {
                // The link is enough here: reading more about the file takes longer, and may wait for a server.
                let link = |file| {
                    let link = std::fs::read_link(format!("/proc/{}/fd/{file}", sample.pid)).ok()?;
                    Some(link.to_string_lossy().into_owned())
                };
                // A process that started in the meantime and exited before its code was read did little except start and exit, unless
                // other processes do something else at the same instruction of a library, which is at the same place in its page.
                let at = sample.ip % 4096;
                let kind = match site.code.is_none() && parents.contains_key(&sample.pid) {
                    true => Some(known_kinds.get(&at).cloned().unwrap_or(ProcessCreation)),
                    false => kernel::kind(site, &sample, link, elsewhere),
                };
                let is_of_start =
                    matches!(kind, Some(ProcessCreation | PageFaults | MemoryMapping | PathLookups));
                let is_known = !is_of_start && parents.contains_key(&sample.pid);
                known_kinds.extend(kind.clone().filter(|_| is_known).map(|kind| (at, kind)));
                in_kernel.push_back(InKernel { at: now, pid: sample.pid, kind });
            } else {
                let value = |address, bytes| pages.value(address, bytes);
                let mut one = see(&sample, site, now, |address| pages.at(address), value, &mut elsewhere);
                if let (Some(own), Some(touch)) = (nodes.get(&one.cpu), one.touches.iter().flatten().next()) {
                    one.remote = os::node_of_page(one.pid, touch.address).is_some_and(|node| node != *own);
                }
                for touch in one.touches.iter_mut().flatten().filter(|touch| touch.shared) {
                    let read = || (now, SharedMapping::of_process(one.pid));
                    let (_, known) = shared.entry(one.pid).or_insert_with(read);
                    touch.in_file = known.iter().find_map(|of| of.place(touch.address));
                }
                seen.push_back(one);
            }
            if seen.len() + in_kernel.len() >= MOST_KEPT {
                let mut keep = false;
                let mut half = || {
                    keep = !keep;
                    keep
                };
                seen.retain(|_| half());
                in_kernel.retain(|_| half());
                *thinned += 1;
            }
        });
    }

    /// The result of the samples from the last interval of this length (or from a longer time if the interval is
    /// short), for these processes or for all processes.
    pub fn of_interval(&mut self, length: Duration, pids: Option<&[i32]>) -> Option<Sampled> {
        self.sampler.as_ref()?;
        self.take();
        let kept = KEPT.max(length);
        while self.seen.front().is_some_and(|first| first.at.elapsed() > kept) {
            self.seen.pop_front();
        }
        self.lost.retain(|(at, _)| at.elapsed() <= kept);
        self.in_kernel.retain(|one| one.at.elapsed() <= kept);
        if self.seen.len() + self.in_kernel.len() < MOST_KEPT / 4 {
            self.thinned = self.thinned.saturating_sub(1);
        }
        Some(match pids {
            Some(pids) => self.judge(|pid, parents| is_below(pid, pids, parents)),
            None => self.judge(|_, _| true),
        })
    }

    /// The result of all retained samples of these processes; `None` if there are none.
    pub(crate) fn of_processes(&mut self, pids: &[i32]) -> Option<Sampled> {
        self.take();
        let sampled = self.judge(|pid, parents| is_below(pid, pids, parents));
        (sampled.samples > 0 || sampled.in_kernel > 0).then_some(sampled)
    }

    /// The result of the retained samples of one process; `None` if there are none.
    pub fn of_process(&mut self, pid: i32) -> Option<Sampled> {
        let sampled = self.judge(|of, _| of == pid);
        (sampled.samples > 0 || sampled.in_kernel > 0).then_some(sampled)
    }

    /// The results for each of the busiest processes, excluding the processes with these PIDs and their descendants.
    pub(crate) fn of_others(&mut self, pids: &[i32]) -> Vec<(i32, Sampled)> {
        let mut counts: HashMap<i32, u64> = HashMap::new();
        let all = self.seen.iter().map(|one| one.pid).chain(self.in_kernel.iter().map(|one| one.pid));
        all.for_each(|pid| *counts.entry(pid).or_default() += 1);
        let mut counts: Vec<(i32, u64)> =
            counts.into_iter().filter(|(pid, _)| !is_below(*pid, pids, &self.parents)).collect();
        counts.sort_by_key(|(pid, count)| (std::cmp::Reverse(*count), *pid));
        counts.truncate(MOST_OTHERS);
        counts.into_iter().map(|(of, _)| (of, self.judge(|pid, _| pid == of))).collect()
    }

    fn judge(&mut self, of: impl Fn(i32, &HashMap<i32, i32>) -> bool) -> Sampled {
        let parents = &self.parents;
        let of = |pid: i32| of(pid, parents);
        let lost = self.lost.iter().map(|(_, count)| count).sum();
        let sampled = judge(self.seen.make_contiguous(), |one| of(one.pid), lost, &self.caches);
        let mut kinds: Vec<(BoundKind, u64)> = Vec::new();
        let mut all = 0;
        for one in self.in_kernel.iter().filter(|one| of(one.pid)) {
            all += 1;
            let Some(kind) = &one.kind else { continue };
            match kinds.iter_mut().find(|(known, _)| known == kind) {
                Some((_, count)) => *count += 1,
                None => kinds.push((kind.clone(), 1)),
            }
        }
        kinds.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let untold = all - kinds.iter().map(|(_, count)| count).sum::<u64>();
        let kernel =
            kinds.into_iter().map(|(kind, count)| KernelTime { kind, share: Share::of(count, all, untold) });
        Sampled { in_kernel: all, kernel: kernel.collect(), ..sampled }
    }
}

/// Whether a process is one of these, or a descendant.
fn is_below(pid: i32, pids: &[i32], parents: &HashMap<i32, i32>) -> bool {
    let mut line = std::iter::successors(Some(pid), |pid| parents.get(pid).copied()).take(MOST_STEPS);
    line.any(|pid| pids.contains(&pid))
}

#[cfg(test)]
mod tests;
