//! The driver, which times the ping-pong of each pair of CPUs, one pair after the other, and sends commands to its
//! partner through a mailbox.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use record::{Handover, Mark};

use super::mailbox::{END, LOOK_AT_CLOCK, MOVE, MOVED, Mailbox, PING_PONG, WAITED};
use super::mailbox::{LINES, LINES_APART, lines, ping_pong};
use super::pages::Pages;
use crate::watch::{involuntary_switches, look_at_clock, ns_since};
use os::mapping::base_page;
use os::pin::Pinned;

/// Maximum number of rounds on a line.
const MOST_ROUNDS: u64 = 4_096;

/// The share of each home node's time used for warming up.
const WARM_SHARE: f64 = 0.25;

/// Approximate duration of a reading of the core clock on each side.
const LOOK: Duration = Duration::from_micros(40);

/// Maximum difference between two clock readings at which the clock counts as unchanged.
const CLOCK_MOVED: f64 = 0.01;

/// If the partner does not answer for this multiple of a pair's limit, it is considered lost: other tasks occupy its
/// CPU.
const LOST: u32 = 12;

/// The measuring time and limits of a pair.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    /// Time for a pair, over all home nodes and both methods.
    pub slot: Duration,
    /// Maximum number of samples per home node and method.
    pub most: usize,
    /// Time after which a pair is abandoned if one side does not run.
    pub limit: Duration,
    /// The minimum work.
    pub least: Least,
}

/// The minimum work on a pair if both sides run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Least {
    /// Minimum number of samples.
    pub samples: usize,
    /// Rounds on each line per sample.
    pub rounds: u64,
    /// Untimed rounds on each line, until the line has arrived and both sides are in their loops.
    pub untimed: u64,
    /// Rounds on each line of a trial sample, which only determines the duration of a round. 0 for no trial and no
    /// warm-up: every sample then has the minimum number of rounds.
    pub trial: u64,
}

impl Least {
    /// On hardware: the minimum number of samples for a 95 % CI, plus a few. The number of rounds per sample is
    /// reduced to the minimum only if a hand-over takes hundreds of nanoseconds, to fit two methods on two home nodes into one pair's time.
    pub(crate) const REAL: Self = Self { samples: 9, rounds: 2, untimed: 2, trial: 4 };

    /// On an emulated machine, two CPUs may be two threads that alternate on one host CPU. Each hand-over then takes a
    /// time slice of the host, and results are meaningless.
    pub(crate) const EMULATED: Self = Self { samples: 1, rounds: 1, untimed: 1, trial: 0 };
}

/// The results of a pair with its line on one home node, for one hand-over method.
#[derive(Clone, Debug)]
pub(crate) struct Figures {
    /// The hand-over method.
    pub handover: Handover,
    /// The requested node.
    pub home: Option<u32>,
    /// The node of the page, or the reason why it is unknown.
    pub lies_on: Result<u32, record::Text>,
    /// One-way latency, ns.
    pub samples: Vec<f64>,
    /// The disturbances of each sample.
    pub marks: Vec<Vec<Mark>>,
    /// Rounds per sample on each of the [`LINES`] lines.
    pub rounds: u64,
}

/// The reason why a pair has no results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failed {
    /// A thread could not be pinned to this CPU.
    Pin(u32),
    /// One side did not run within the limit.
    NoAnswer,
    /// The partner does not respond: no further pairs are possible.
    Lost,
    /// No memory could be allocated.
    Memory(String),
}

/// The timing thread. Its pages must stay mapped until the partner has ended.
pub(crate) struct Driver<'a> {
    mailbox: &'a Mailbox,
    number: u64,
    pinned: Option<(u32, Pinned)>,
    partner_cpu: Option<u32>,
    /// Whether unsuccessful waits without a context switch are attributed to a hypervisor.
    hypervisor: bool,
    lost: Duration,
}

impl Drop for Driver<'_> {
    fn drop(&mut self) {
        // Only the kind of the command is written, because a partner that no longer responds may be about to read the
        // other fields.
        let command = &self.mailbox.command;
        command.cancelled.store(u64::MAX, Ordering::Release);
        command.kind.store(END, Ordering::Relaxed);
        command.number.store(self.number + 1, Ordering::Release);
    }
}

impl<'a> Driver<'a> {
    /// A driver that communicates with its partner through the mailbox; `limit` is the time limit for a pair. Dropping the driver ends the
    /// partner.
    pub(crate) fn new(mailbox: &'a Mailbox, hypervisor: bool, limit: Duration) -> Self {
        Self { mailbox, number: 0, pinned: None, partner_cpu: None, hypervisor, lost: LOST * limit }
    }

    fn ask(&mut self, kind: u64, line: u64, first: u64, rounds: u64) {
        let command = &self.mailbox.command;
        command.kind.store(kind, Ordering::Relaxed);
        command.line.store(line, Ordering::Relaxed);
        command.first.store(first, Ordering::Relaxed);
        command.rounds.store(rounds, Ordering::Relaxed);
        self.number += 1;
        command.number.store(self.number, Ordering::Release);
    }

    /// The answer to the last command.
    fn answer(&self) -> Result<u64, Failed> {
        let answer = &self.mailbox.answer;
        let from = Instant::now();
        loop {
            for _ in 0..1_000 {
                if answer.number.load(Ordering::Acquire) == self.number {
                    return Ok(answer.value.load(Ordering::Relaxed));
                }
            }
            if from.elapsed() > self.lost {
                return Err(Failed::Lost);
            }
        }
    }

    /// Moves both threads to their CPUs.
    fn go(&mut self, from: u32, to: u32) -> Result<(), Failed> {
        let partner_moves = self.partner_cpu != Some(to);
        if partner_moves {
            // The partner is moved first, because it may be on the driver's next CPU.
            self.ask(MOVE, 0, to.into(), 0);
        }
        if self.pinned.as_ref().is_none_or(|(cpu, _)| *cpu != from) {
            drop(self.pinned.take());
            self.pinned = Pinned::to(from).ok().map(|pin| (from, pin));
        }
        if partner_moves {
            self.partner_cpu = (self.answer()? == 1).then_some(to);
        }
        if self.pinned.is_none() {
            return Err(Failed::Pin(from));
        }
        if self.partner_cpu.is_none() {
            return Err(Failed::Pin(to));
        }
        Ok(())
    }

    /// The clocks of both sides, at the same time.
    fn clocks(&mut self) -> Result<(f64, f64), Failed> {
        self.ask(LOOK_AT_CLOCK, 0, 0, 0);
        Ok((look_at_clock(), f64::from_bits(self.answer()?)))
    }

    /// Waits while the two clocks rise: until two successive readings agree on both sides, or `limit` has passed.
    pub(crate) fn warm_up(&mut self, from: u32, to: u32, limit: Duration) -> Result<(), Failed> {
        self.go(from, to)?;
        let end = Instant::now() + limit;
        let mut before = self.clocks()?;
        while Instant::now() < end {
            let now = self.clocks()?;
            if !moved(before, now) {
                break;
            }
            before = now;
        }
        Ok(())
    }

    /// The results of a pair: one for each home node with available pages and each hand-over method.
    pub(crate) fn pair(
        &mut self,
        from: u32,
        to: u32,
        homes: &mut [&mut Pages],
        terms: Terms,
    ) -> Result<Vec<Figures>, Failed> {
        let began = Instant::now();
        self.go(from, to)?;
        // The time for moving counts as part of the pair's time, but after a slow move, there must still be enough time to measure.
        let left = terms.slot.saturating_sub(began.elapsed()).max(terms.slot / 3);
        let each = left.saturating_sub(2 * LOOK) / homes.len().max(1) as u32;
        let mut all = Vec::with_capacity(homes.len() * Handover::ALL.len());
        let mut before = None;
        for pages in homes.iter_mut() {
            all.extend(self.home(pages, each, began + terms.limit, terms, &mut before)?);
        }
        let after = self.clocks()?;
        if before.is_some_and(|before| moved(before, after)) {
            for figures in &mut all {
                figures.marks.iter_mut().for_each(|marks| marks.push(Mark::ClockMoved));
            }
        }
        Ok(all)
    }

    /// The results of a pair on one home node: a trial, a warm-up, then samples, each on the next lines of the page.
    /// The hand-over methods alternate on the same lines, so that all other conditions are equal.
    fn home(
        &mut self,
        pages: &mut Pages,
        time: Duration,
        limit: Instant,
        terms: Terms,
        clocks: &mut Option<(f64, f64)>,
    ) -> Result<[Figures; 2], Failed> {
        let began = Instant::now();
        let Terms { most, least, .. } = terms;
        let (page, lies_on) = pages.fresh().map_err(|error| Failed::Memory(error.to_string()))?;
        // Completed rounds on each group of lines.
        let mut groups = vec![0u64; (base_page() as usize / (LINES * LINES_APART)).max(1)];
        let mut turn = 0;
        let mut sample = |driver: &mut Self, how: Handover, rounds: u64| {
            let group = turn / Handover::ALL.len() % groups.len();
            turn += 1;
            let start = page.wrapping_add(group * LINES * LINES_APART).cast::<u64>();
            let sample = driver.sample(how, start, groups[group], (least.untimed, rounds), limit)?;
            groups[group] += least.untimed + rounds;
            Ok::<_, Failed>(sample)
        };
        // The time after the warm-up is divided so that twice the minimum number of samples fits.
        let samples = 2 * least.samples * Handover::ALL.len();
        let sample_ns = time.as_nanos() as f64 * (1.0 - WARM_SHARE) / samples as f64;
        let mut trial = |how| {
            if least.trial == 0 {
                return Ok(least.rounds);
            }
            let round = sample(self, how, least.trial)?.one_way * 2.0 * LINES as f64;
            Ok(((sample_ns / round) as u64).clamp(least.rounds, MOST_ROUNDS))
        };
        let rounds = [trial(Handover::ALL[0])?, trial(Handover::ALL[1])?];
        let ways = || Handover::ALL.into_iter().zip(rounds);
        while least.trial > 0 && began.elapsed() < time.mul_f64(WARM_SHARE) {
            for (how, rounds) in ways() {
                sample(self, how, rounds)?;
            }
        }
        if clocks.is_none() {
            *clocks = Some(self.clocks()?);
        }
        let mut all = [0, 1].map(|way| Figures {
            handover: Handover::ALL[way],
            home: pages.home,
            lies_on: lies_on.clone(),
            samples: Vec::new(),
            marks: Vec::new(),
            rounds: rounds[way],
        });
        let fewest = |all: &[Figures; 2]| all.iter().map(|figures| figures.samples.len()).min().unwrap_or(0);
        'samples: while fewest(&all) < most {
            // A disturbed pair continues until it has the minimum number of samples, but does not exceed its limit.
            if began.elapsed() > time && fewest(&all) >= least.samples {
                break;
            }
            for (way, (how, rounds)) in ways().enumerate() {
                match sample(self, how, rounds) {
                    Ok(taken) => {
                        all[way].samples.push(taken.one_way);
                        all[way].marks.push(taken.marks);
                    }
                    Err(Failed::NoAnswer) if fewest(&all) > 0 => break 'samples,
                    Err(failed) => return Err(failed),
                }
            }
            if Instant::now() >= limit {
                break;
            }
        }
        Ok(all)
    }

    /// Takes one sample on the lines from `start`: first `untimed` rounds, then timed `rounds`. `done` is the number of rounds
    /// already completed on these lines.
    fn sample(
        &mut self,
        how: Handover,
        start: *mut u64,
        done: u64,
        (untimed, rounds): (u64, u64),
        limit: Instant,
    ) -> Result<Sample, Failed> {
        let before = involuntary_switches();
        let way = Handover::ALL.iter().position(|way| *way == how).unwrap_or(0) as u64;
        self.ask(PING_PONG + way, start as u64, 2 * done + 1, untimed + rounds);
        let out_of_time = || Instant::now() >= limit;
        let (mut ns, mut waited) = (0.0, false);
        for line in lines(start) {
            // SAFETY: the line is aligned and in a mapping that outlives the partner's answer; only the two sides
            // access it.
            let (lead, _) = unsafe { ping_pong(how, line, 2 * done, untimed, out_of_time) };
            let from = Instant::now();
            let (timed, in_vain) = if lead == untimed {
                // SAFETY: as above.
                unsafe { ping_pong(how, line, 2 * (done + untimed), rounds, out_of_time) }
            } else {
                (0, true)
            };
            ns += ns_since(from);
            waited |= in_vain;
            if timed < rounds {
                self.mailbox.command.cancelled.store(self.number, Ordering::Release);
                self.answer()?;
                return Err(Failed::NoAnswer);
            }
        }
        let answer = self.answer()?;
        let mut marks = Vec::new();
        let own = involuntary_switches().saturating_sub(before);
        let switched = own + (answer & !(MOVED | WAITED));
        if switched > 0 {
            marks.push(Mark::Switched);
        } else if (waited || answer & WAITED != 0) && self.hypervisor {
            // The kernel descheduled neither side, but one of them did not answer for a tenth of a millisecond.
            marks.push(Mark::Stolen);
        }
        let here = self.pinned.as_ref().map(|(cpu, _)| *cpu);
        if answer & MOVED != 0 || os::current_cpu().is_some_and(|cpu| Some(cpu) != here) {
            marks.push(Mark::Migrated);
        }
        // On each line, the measured time begins with the driver's store before the first timed round and ends with its last store, so the
        // total time covers exactly this many round trips.
        Ok(Sample { one_way: ns / (rounds * LINES as u64) as f64 / 2.0, marks })
    }
}

struct Sample {
    one_way: f64,
    marks: Vec<Mark>,
}

fn moved(before: (f64, f64), after: (f64, f64)) -> bool {
    let differs = |a: f64, b: f64| (b / a - 1.0).abs() > CLOCK_MOVED;
    differs(before.0, after.0) || differs(before.1, after.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partner_that_never_comes_costs_the_pair_its_limit_and_no_more() {
        let mailbox = Mailbox::default();
        let mut driver = Driver::new(&mailbox, false, Duration::from_millis(5));
        let mut pages = Pages::new(None).unwrap();
        let (page, _) = pages.fresh().unwrap();
        let limit = Instant::now() + Duration::from_millis(5);
        // There is no partner: neither the ping-pong nor its cancellation is answered.
        assert!(matches!(driver.sample(Handover::Cas, page.cast(), 0, (8, 50), limit), Err(Failed::Lost)));
    }
}
