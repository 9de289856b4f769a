//! Placement checks determine which CPUs are close to each other. They take a few milliseconds each, and run between and
//! within all other measurements. A hypervisor may place vCPUs on one core or in different packages, and may move them
//! every second.

mod rounds;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use os::mapping::{Mapping, Page, base_page};
use record::shape::{Contended, Look, Looks};
use record::{Coverage, CpuList, Handover, Machine, Summary, significant, text};

use crate::measurements::core_to_core::mailbox::ping_pong;
use crate::thread_group::{self, Member};
use crate::watch::ns_since;
use rounds::{Round, disjoint, ordered, pairs_of, partner, rounds_of};

/// Rounds per block, with two hand-overs each. A block takes 1 µs on one core and 20 µs between packages; the fastest block counts.
const ROUNDS: u64 = 50;
/// Blocks per pair.
const BLOCKS: u64 = 4;
/// Warm-up rounds, until the line has arrived.
const WARM_UP: u64 = 5;
/// Time for which one side waits for the other side, which may not be running: a hundred times the time that a pair takes.
const WAIT: Duration = Duration::from_micros(400);
/// If there are few rounds, their waits may add up to this time: each wait may then exceed [`WAIT`], so that a pair is not lost if one of
/// its threads is late.
const WAIT_OF_ALL: Duration = Duration::from_millis(4);
/// Maximum number of rounds of the tournament. With more CPUs, only a sample of the pairs is measured, with the same
/// number of pairs for each CPU, followed by the suspicious pairs found in the sample.
const MOST_ROUNDS: usize = 127;
/// Maximum number of differences examined: the most frequent differences between the two CPU numbers of near pairs in a sample. The second
/// constant limits the number of CPUs in such pairs.
const MOST_STEPS: usize = 3;
const MOST_SUSPECTS: usize = 24;
/// Suspicious pairs added to a sample, per CPU.
const MOST_ADDED: usize = 4;
/// Distance between lines in the page from which all CPUs load. Adjacent 64-byte lines are fetched in pairs.
const LINE: usize = 128;
/// Number of times that each CPU loads the lines; the minimum latency is used.
const LOADS: usize = 3;

/// Maximum time of a hand-over, ns, that suggests a shared core, regardless of the other pairs' times.
const NEAR_NS: f64 = 15.0;
/// A hand-over below this share of the median may also be on the same core: a hand-over by stores takes 22 to 26 ns within an Ice Lake
/// core, and 43 to 66 ns between cores.
const NEAR: f64 = 0.55;
/// Such a hand-over must also be below this multiple of the fastest one.
const AS_NEAR: f64 = 1.5;
/// If there are at most this many pairs, all of them are tested for a shared core.
const FEW_PAIRS: usize = 6;
/// Maximum number of tests for shared cores per placement check. Each test covers several disjoint pairs at the same time.
const MOST_BATCHES: usize = 3;
/// Time for which a loop runs by itself or together with the other loop: long compared with the time to read the clock,
/// short compared with a hypervisor's time slice.
const WINDOW: Duration = Duration::from_micros(60);
/// Number of repetitions of three windows (one CPU, the other, both), after one warm-up window.
const TURNS: u32 = 3;
/// Numbers tested between two clock readings: about 1 µs of divisions. Siblings share the divider, so two of these
/// loops on one core take nearly twice as long.
const NUMBERS: (u64, u64) = (100_003, 100_035);

/// Maximum share of a run's elapsed time for placement checks.
const MOST_COST: f64 = 0.015;
/// Minimum time between two placement checks.
pub(crate) const APART: Duration = Duration::from_millis(400);
/// Minimum time between two placement checks while a machine in use is observed, and maximum share of one CPU's time for these checks.
const APART_BESIDE: Duration = Duration::from_secs(10);
const MOST_BESIDE: f64 = 0.0004;
/// CPUs with at least this utilization are not idle.
const IDLE: f64 = 0.2;
/// Time for threads to start, during which they spin.
const LEAD: Duration = Duration::from_micros(300);
/// The additional time per thread.
const LEAD_EACH: Duration = Duration::from_micros(30);
/// Maximum number of saved placement checks while a machine in use is observed.
const MOST_KEPT: usize = 120;

/// A line that two CPUs hand over, with no other data near it.
#[derive(Default)]
#[repr(align(128))]
struct Line(AtomicU64);

/// Runs placement checks and saves their results.
pub struct Looker {
    began: Instant,
    spent: Duration,
    last: Option<Instant>,
    /// The planned duration of the run.
    planned: Duration,
    /// Whether the run consists of a single measurement.
    pub(crate) is_alone: bool,
    /// The number of online CPUs of the machine; the maximum if unknown.
    online: u32,
    /// Whether a due check was omitted because other processes ran on all CPUs.
    is_crowded: bool,
    rounds: Vec<Round>,
    /// The index of each pair, which applies both to the pairs of the placement checks and to `lines`.
    at: BTreeMap<(usize, usize), usize>,
    lines: Vec<Line>,
    /// The page from which all CPUs load, with a cycle through all its lines, if lines can be flushed.
    page: Option<Mapping>,
    /// Pairs of siblings in Linux's topology, given by the positions of their CPUs.
    siblings: Vec<(usize, usize)>,
    looks: Looks,
    /// Whether other processes must not be disturbed.
    is_beside: bool,
}

impl Looker {
    /// For use while other processes run: checks rarely, only while the CPUs are idle, and spins briefly.
    pub fn beside(machine: &Machine, cpus: &CpuList) -> Option<Self> {
        Some(Self { is_beside: true, ..Self::new(machine, cpus)? })
    }

    /// Prepares placement checks of these CPUs; `None` if there is only one.
    pub fn new(machine: &Machine, cpus: &CpuList) -> Option<Self> {
        let cpus: Vec<u32> = cpus.iter().collect();
        if cpus.len() < 2 {
            return None;
        }
        let all = rounds_of(cpus.len());
        let most = all.min(MOST_ROUNDS);
        let of_round = |at| (0..cpus.len()).map(|one| partner(at * all / most, one, cpus.len())).collect();
        let rounds: Vec<Round> = (0..most).map(of_round).collect();
        let pairs = rounds.iter().flat_map(pairs_of).collect::<BTreeSet<(usize, usize)>>();
        let at: BTreeMap<(usize, usize), usize> =
            pairs.into_iter().enumerate().map(|(at, pair)| (pair, at)).collect();
        let core: Vec<Option<u32>> =
            cpus.iter().map(|cpu| machine.cpu(*cpu).and_then(|cpu| cpu.core)).collect();
        let every = (0..core.len()).flat_map(|a| (a + 1..core.len()).map(move |b| (a, b)));
        let siblings = every.filter(|(a, b)| core[*a].is_some() && core[*a] == core[*b]).collect();
        let pairs = (most < all).then(|| at.keys().map(|(a, b)| (*a as u32, *b as u32)).collect());
        let lines = std::iter::repeat_with(Line::default).take(at.len()).collect();
        Some(Self {
            began: Instant::now(),
            spent: Duration::ZERO,
            last: None,
            planned: Duration::ZERO,
            is_alone: false,
            online: machine.counts.cpus_online.unwrap_or(u32::MAX),
            is_crowded: false,
            rounds,
            at,
            lines,
            page: kernels::flush::available().then(make_page).flatten(),
            siblings,
            looks: Looks { cpus, pairs, looks: Vec::new() },
            is_beside: false,
        })
    }

    /// Runs a placement check while other processes run, if a check is due and the recent utilization `used` of the CPUs allows it;
    /// returns the saved checks.
    pub fn look_beside(&mut self, used: f64) -> Option<&Looks> {
        let all = self.spent.as_secs_f64() * self.looks.cpus.len() as f64;
        let is_due = self.last.is_none_or(|last| last.elapsed() >= APART_BESIDE)
            && all <= MOST_BESIDE * (self.began.elapsed() + APART_BESIDE).as_secs_f64();
        if used > IDLE || !is_due {
            return None;
        }
        self.keep_look(false);
        self.looks.looks.drain(..self.len().saturating_sub(MOST_KEPT));
        Some(&self.looks)
    }

    fn keep_look(&mut self, busy: bool) {
        let look = if self.is_beside { self.look(busy) } else { os::with_fifo(1, |_| self.look(busy)) };
        self.spent += Duration::from_secs_f64(look.took_ms / 1e3);
        self.last = Some(Instant::now());
        self.looks.looks.push(look);
    }

    /// Runs `work` on all of these CPUs at the same time.
    fn run<T: Send>(&self, cpus: &[u32], work: impl Fn(Member) -> T + Sync) -> Vec<Option<T>> {
        thread_group::run_after(LEAD + LEAD_EACH * cpus.len() as u32, cpus, work)
    }

    /// Whether other processes would interrupt a placement check: they run on all CPUs of the machine, and the check may not run at a
    /// higher priority (SCHED_FIFO).
    fn would_be_interrupted(&self) -> bool {
        let loads = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        !os::with_fifo(1, |is_first| is_first) && os::procfs::running(&loads) > Some(self.online)
    }

    /// Adds to the planned duration of the run, which begins with a placement check. `is_alone`: whether the run consists of a single
    /// measurement.
    pub fn plan(&mut self, seconds: f64, is_alone: bool) {
        self.is_alone = is_alone;
        self.planned += Duration::from_secs_f64(seconds.clamp(0.0, 1e6));
    }

    /// The placement checks, if there were any.
    pub fn into_looks(self) -> Option<Looks> {
        Some(self.looks).filter(|looks| !looks.looks.is_empty())
    }

    /// The coverage entry if the checks show no placement.
    pub(crate) fn report(&self) -> Option<Coverage> {
        let is_conclusive = |look: &Look| !look.interrupted && self.looks.is_answered(look);
        let why = match self.is_crowded {
            _ if !self.is_empty() => text!("CPUs did not run at the same time in any placement check"),
            true => text!("no placement check: other processes ran on all CPUs"),
            false => text!("no placement check: the run was too short"),
        };
        (!self.looks.looks.iter().any(is_conclusive)).then(|| Coverage::skipped("placement", why))
    }

    /// The number of placement checks.
    pub fn len(&self) -> usize {
        self.looks.looks.len()
    }

    /// Whether no placement checks were made.
    pub fn is_empty(&self) -> bool {
        self.looks.looks.is_empty()
    }

    /// Runs a placement check, unless the last one is too recent or the checks would exceed their share of the time.
    pub fn look_when_due(&mut self, busy: bool) {
        let elapsed = self.began.elapsed();
        let (next, of) = match self.len() as u32 {
            // On an idle machine, a placement check takes about half of its maximum duration.
            0 => (longest(self.looks.cpus.len()) / 2, elapsed.max(self.planned)),
            n => (self.spent / n, elapsed),
        };
        let is_due = self.last.is_none_or(|last| last.elapsed() >= APART)
            && (self.spent + next).as_secs_f64() <= MOST_COST * of.as_secs_f64();
        let is_crowded = is_due && self.would_be_interrupted();
        self.is_crowded |= is_crowded;
        if is_due && !is_crowded {
            self.keep_look(busy);
        }
    }

    /// Runs a placement check now, during which all CPUs spin.
    pub fn look(&mut self, busy: bool) -> Look {
        let began = Instant::now();
        let at_seconds = significant(began.duration_since(self.began).as_secs_f64(), 5);
        let line_ns = vec![None; self.lines.len()];
        let mut look = Look { at_seconds, busy, line_ns, ..Look::default() };
        let page = self.page.as_ref().map(|page| page.start() as usize);
        self.meet(&self.rounds, page, &mut look);
        look.interrupted = !self.looks.is_answered(&look);
        if !look.interrupted {
            let more = self.add_suspicious(&look);
            look.line_ns.resize(self.lines.len(), None);
            if !more.is_empty() {
                self.meet(&more, None, &mut look);
                self.rounds.extend(more);
            }
            self.contend(&mut look);
        }
        look.took_ms = significant(began.elapsed().as_secs_f64() * 1e3, 4);
        look
    }

    /// Lets the pairs of these rounds hand over lines, and then lets each CPU load from the page.
    fn meet(&self, rounds: &[Round], page: Option<usize>, look: &mut Look) {
        let n = self.looks.cpus.len();
        self.lines.iter().for_each(|line| line.0.store(0, Ordering::Relaxed));
        let turn = AtomicUsize::new(0);
        // The order of the CPUs changes from one placement check to the next: if a CPU does not run, the CPUs after it have no result.
        let first = self.len() % n;
        let wait = wait_of(rounds.len());
        let seen = self.run(&self.looks.cpus, |member| {
            member.wait();
            let mut times = Vec::with_capacity(rounds.len());
            let until = member.start + wait * rounds.len() as u32;
            for round in rounds.iter().take_while(|_| member.pinned && Instant::now() < until) {
                let Some(other) = round[member.index] else { continue };
                let Some(at) = self.at.get(&ordered(member.index, other)).copied() else { continue };
                let limit = until.min(Instant::now() + wait);
                let time = hand_over(&self.lines[at], member.index < other, limit);
                if member.index < other {
                    times.push((at, time));
                }
            }
            let order = (member.index + n - first) % n;
            let limit = until.min(Instant::now()) + wait_for_loads(n);
            while page.is_some() && turn.load(Ordering::Acquire) < order && Instant::now() < limit {
                std::hint::spin_loop();
            }
            let in_turn = turn.load(Ordering::Acquire) == order;
            let load = page.filter(|_| in_turn && member.pinned).map(time_loads);
            turn.fetch_max(order + 1, Ordering::AcqRel);
            (times, load)
        });
        for (times, load) in seen.into_iter().map(Option::unwrap_or_default) {
            times.into_iter().for_each(|(at, time)| look.line_ns[at] = time.map(|ns| significant(ns, 3)));
            if page.is_some() {
                look.memory_ns.push(load.map(|ns| significant(ns, 3)));
            }
        }
    }

    /// Pairs that may be on one core, the nearest first.
    fn near(&self, look: &Look) -> Vec<(usize, usize)> {
        let known: Vec<f64> = look.line_ns.iter().flatten().copied().collect();
        let median = Summary::from_samples(&known).median;
        let least = known.iter().copied().fold(f64::INFINITY, f64::min);
        let is_near = |ns: f64| ns < NEAR_NS || ns < NEAR * median && ns < AS_NEAR * least;
        let timed = self.at.iter().filter_map(|(pair, at)| Some((look.line_ns[*at]?, *pair)));
        let mut near: Vec<(f64, (usize, usize))> = timed.filter(|(ns, _)| is_near(*ns)).collect();
        near.sort_by(|a, b| a.0.total_cmp(&b.0));
        near.into_iter().map(|(_, pair)| pair).collect()
    }

    /// Adds suspicious pairs to a sample: pairs with the same difference of CPU numbers as near pairs, and all pairs
    /// among the CPUs of near pairs. Returns the rounds in which they are measured.
    fn add_suspicious(&mut self, look: &Look) -> Vec<Round> {
        let n = self.looks.cpus.len();
        let sampled = self.looks.pairs.as_ref().map_or(usize::MAX, Vec::len);
        let room = (MOST_ADDED * n + n * MOST_ROUNDS / 2).saturating_sub(sampled);
        let near = if room > 0 { self.near(look) } else { Vec::new() };
        let mut steps: BTreeMap<usize, usize> = BTreeMap::new();
        near.iter().for_each(|(a, b)| *steps.entry(b - a).or_default() += 1);
        let mut steps: Vec<(usize, usize)> = steps.into_iter().map(|(step, times)| (times, step)).collect();
        steps.sort_by(|a, b| b.cmp(a));
        let alike =
            steps.iter().take(MOST_STEPS).flat_map(|(_, step)| (0..n - step).map(move |a| (a, a + step)));
        let suspects: BTreeSet<usize> = near.iter().flat_map(|(a, b)| [*a, *b]).take(MOST_SUSPECTS).collect();
        let among = suspects.iter().flat_map(|a| suspects.range(a + 1..).map(move |b| (*a, *b)));
        let new: BTreeSet<(usize, usize)> =
            alike.chain(among).filter(|pair| !self.at.contains_key(pair)).take(room).collect();
        for (a, b) in &new {
            self.at.insert((*a, *b), self.lines.len());
            self.lines.push(Line::default());
            self.looks.pairs.iter_mut().for_each(|pairs| pairs.push((*a as u32, *b as u32)));
            self.looks.looks.iter_mut().for_each(|look| look.line_ns.push(None));
        }
        let mut rounds = Vec::new();
        let mut left: Vec<(usize, usize)> = new.into_iter().collect();
        while !left.is_empty() {
            let mut round = vec![None; n];
            let (now, later) = disjoint(left);
            now.into_iter().for_each(|(a, b)| (round[a], round[b]) = (Some(b), Some(a)));
            rounds.push(round);
            left = later;
        }
        rounds
    }

    /// Tests pairs that may share a core.
    fn contend(&self, look: &mut Look) {
        let few = self.lines.len() <= FEW_PAIRS && !self.is_beside;
        let mut asked = if few { self.at.keys().copied().collect() } else { self.near(look) };
        // Siblings in Linux's topology are also tested occasionally.
        if self.len().is_multiple_of(4) {
            let known: BTreeSet<(usize, usize)> = asked.iter().copied().collect();
            asked.extend(self.siblings.iter().filter(|pair| !known.contains(pair)));
        }
        let mut tested = Vec::new();
        for _ in 0..MOST_BATCHES {
            let (batch, rest) = disjoint(asked);
            asked = rest;
            look.contended.extend(self.contend_at_once(&batch));
            tested.extend(batch);
        }
        look.interrupted = self.is_lost(look, &tested);
    }

    /// Whether the tests of these pairs were interrupted: most pairs have no result, or a pair whose hand-over is faster than
    /// [`NEAR_NS`] has none.
    fn is_lost(&self, look: &Look, tested: &[(usize, usize)]) -> bool {
        let cpus = |(a, b): &(usize, usize)| (self.looks.cpus[*a], self.looks.cpus[*b]);
        let is_seen = |pair| look.contended.iter().any(|one| one.pair == cpus(pair));
        let ns = |pair| self.at.get(pair).and_then(|at| look.line_ns[*at]).unwrap_or(f64::MAX);
        let is_near_lost = tested.iter().any(|pair| ns(pair) < NEAR_NS && !is_seen(pair));
        2 * look.contended.len() < tested.len() || is_near_lost
    }

    fn contend_at_once(&self, pairs: &[(usize, usize)]) -> Vec<Contended> {
        let cpus: Vec<u32> =
            pairs.iter().flat_map(|(a, b)| [self.looks.cpus[*a], self.looks.cpus[*b]]).collect();
        let rates = self.run(&cpus, compute_in_turns);
        let slowdowns = rates.chunks(2).zip(cpus.chunks(2)).filter_map(|(rates, cpus)| {
            let [Some(Some(one)), Some(Some(other))] = rates else { return None };
            let ratio = (one.0 / one.1 + other.0 / other.1) / 2.0;
            Some(Contended { pair: (cpus[0], cpus[1]), slowdown: significant(ratio, 3) })
        });
        slowdowns.collect()
    }
}

/// How long each side waits for the other in a round, if there are this many rounds.
fn wait_of(rounds: usize) -> Duration {
    WAIT.max(WAIT_OF_ALL / rounds.max(1) as u32)
}

/// Time for which a CPU waits for its turn to load.
fn wait_for_loads(cpus: usize) -> Duration {
    WAIT * (2 + cpus as u32 / 4)
}

/// Maximum duration of a placement check with this many CPUs, even if threads do not run: starting threads, rounds,
/// loads, and compute windows.
fn longest(cpus: usize) -> Duration {
    let rounds = rounds_of(cpus).min(MOST_ROUNDS);
    let starts = (LEAD + LEAD_EACH * cpus as u32) * (1 + MOST_BATCHES as u32);
    starts
        + wait_of(rounds) * rounds as u32
        + wait_for_loads(cpus)
        + WINDOW * (3 * TURNS + 1) * MOST_BATCHES as u32
}

/// Runs one side of a pair; returns the one-way time in ns.
fn hand_over(line: &Line, begins: bool, limit: Instant) -> Option<f64> {
    let enough = || Instant::now() >= limit;
    let mut value = u64::from(!begins);
    let mut rounds = |rounds: u64| {
        // SAFETY: the line is aligned and outlives the group of threads; only the two sides of its pair access it,
        // atomically.
        let (done, _) = unsafe { ping_pong(Handover::Store, line.0.as_ptr(), value, rounds, enough) };
        value += 2 * done;
        (done == rounds).then_some(())
    };
    rounds(WARM_UP)?;
    let mut least: Option<f64> = None;
    for _ in 0..BLOCKS {
        let from = Instant::now();
        let done = rounds(ROUNDS);
        let ns = ns_since(from) / (2 * ROUNDS) as f64;
        if done.is_none() {
            break;
        }
        least = Some(least.map_or(ns, |least| least.min(ns)));
    }
    least
}

/// A page whose lines form a cycle in scattered order: each contains the address of the next.
fn make_page() -> Option<Mapping> {
    let mapping = Mapping::new(1, Page::Base).ok()?;
    let lines = base_page() as usize / LINE;
    // A step that is coprime to the number of lines visits all lines.
    let step = (lines * 5 / 8) | 1;
    for at in 0..lines {
        let line = |at: usize| mapping.start().wrapping_add(at % lines * LINE);
        // SAFETY: both lines are in the mapping's first page, which nothing else uses yet; the number of lines in a
        // page is a power of two.
        unsafe { line(at * step).cast::<*const u8>().write(line((at + 1) * step).cast_const()) };
    }
    Some(mapping)
}

/// Latency of a load from memory, ns, measured by a chase through the page at this address.
fn time_loads(page: usize) -> f64 {
    let page = page as *const u8;
    let lines = base_page() as usize / LINE;
    let time = |_| {
        // SAFETY: the page outlives the group of threads, is only read, and its lines are a cycle of addresses within
        // it. The page exists only if lines can be flushed.
        unsafe { kernels::evict::evict(page, base_page() as usize) };
        let from = Instant::now();
        // SAFETY: as above.
        std::hint::black_box(unsafe { kernels::chase::chase(page, lines as u64) });
        ns_since(from) / lines as f64
    };
    (0..LOADS).map(time).fold(f64::INFINITY, f64::min)
}

/// The best rates at which one member of a pair computes: by itself (the even member first), and while the other member also computes.
/// `None` if every window of one kind was disturbed.
fn compute_in_turns(member: Member) -> Option<(f64, f64)> {
    member.wait();
    let (mut alone, mut together) = (0.0f64, 0.0f64);
    for turn in 0..=3 * TURNS {
        let from = member.start + WINDOW * turn;
        let until = from + WINDOW;
        let part = turn.checked_sub(1).map_or(2, |turn| turn % 3);
        if part != 2 && part as usize != member.index % 2 {
            while Instant::now() < until {
                (0..64).for_each(|_| std::hint::spin_loop());
            }
            continue;
        }
        let began = Instant::now();
        let mut chunks = 0.0;
        let mut now = began;
        while now < until {
            std::hint::black_box(kernels::primes::count(NUMBERS.0, NUMBERS.1));
            chunks += 1.0;
            now = Instant::now();
        }
        // A window that started or ended late may overlap another window. The first window is a warm-up.
        if turn == 0 || chunks == 0.0 || began > from + WINDOW / 4 || now > until + WINDOW / 4 {
            continue;
        }
        let best = if part == 2 { &mut together } else { &mut alone };
        *best = best.max(chunks / now.duration_since(began).as_secs_f64());
    }
    (member.pinned && alone > 0.0 && together > 0.0).then_some((alone, together))
}

#[cfg(test)]
mod tests;
