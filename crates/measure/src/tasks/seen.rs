//! Observations of threads, summed over samples.

use std::collections::{BTreeMap, HashMap};

use record::command_run::{LockWaits, Looks, ThreadWaits, Waits};

use super::calls::Waiting;
use super::program::Program;
use super::thread::Thread;

/// A waiting thread in one sample.
#[derive(Debug)]
pub(super) struct Sleeper {
    pub(super) pid: i32,
    pub(super) tid: i32,
    pub(super) state: char,
    /// Whether the thread had been on a CPU since the previous sample.
    pub(super) again: bool,
}

/// Observations of the threads.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// Number of samples, and number of threads that ran or were ready in them.
    pub looks: Looks,
    /// For idle samples, in which no thread ran or was ready: the cause that blocked the threads, with the number of such samples.
    pub waiting: BTreeMap<Waiting, u64>,
    /// Wait reasons of threads, in all samples.
    pub waits: BTreeMap<Waiting, Waits>,
    /// Lock waits of the process whose threads waited longest for locks.
    pub locks: Option<LockWaits>,
    /// The observed threads; the threads with the most CPU time come first.
    pub threads: Vec<Thread>,
    /// Threads not sampled this time: at their last sample, they were waiting and had not run since the sample before it.
    pub resting: usize,
    /// Maximum number of threads in one sample.
    pub most_threads: usize,
    /// Whether there were more threads than the limit.
    pub too_many: bool,
}

impl Seen {
    /// Adds a sample with this many active threads.
    pub(super) fn add_look(&mut self, active: u64) {
        self.looks.all += 1;
        self.looks.active += active;
        self.looks.most_active = self.looks.most_active.max(active);
        self.looks.idle += u64::from(active == 0);
    }

    /// Determines and counts the wait reason of each thread, and passes it to `hear`. Each thread is given with its CPU time so far, ns.
    /// Returns the reason that holds up the work.
    pub(super) fn ask(
        &mut self,
        sleepers: impl Iterator<Item = (Sleeper, u64)>,
        programs: &mut HashMap<i32, Program>,
        mut hear: impl FnMut((i32, i32), Waiting),
    ) -> Option<Waiting> {
        let mut reasons: Vec<(Waiting, u64)> = Vec::new();
        for (Sleeper { pid, tid, state, again }, had) in sleepers {
            let program = programs.entry(pid).or_insert_with(|| Program::of_process(pid));
            let Some(waiting) = program.find_reason(pid, tid, state) else {
                self.looks.unread += 1;
                continue;
            };
            let waits = self.waits.entry(waiting).or_default();
            waits.threads += 1;
            waits.again += u64::from(again);
            hear((pid, tid), waiting);
            reasons.push((waiting, had));
        }
        decisive(&reasons)
    }

    /// Attributes waits in unidentified calls to sync calls, disks or servers, whichever were identified in more samples. `syncs`
    /// is the number of additional samples of sync calls. Calls can be unidentified because on a busy machine, a woken thread leaves its
    /// call before the call can be read.
    pub(super) fn name_uninterruptible(&mut self, syncs: u64) {
        let syncs = |what: &Waiting| if *what == Waiting::Fsync { syncs } else { 0 };
        let looks = |what: &Waiting| self.waits.get(what).map_or(0, |waits| waits.threads) + syncs(what);
        let all = [Waiting::Server, Waiting::Disk, Waiting::Fsync].into_iter();
        let what = all.filter(|what| looks(what) > 0).max_by_key(looks).unwrap_or(Waiting::Disk);
        if let Some(held) = self.waiting.remove(&Waiting::Uninterruptible) {
            *self.waiting.entry(what).or_default() += held;
        }
        if let Some(waits) = self.waits.remove(&Waiting::Uninterruptible) {
            let all = self.waits.entry(what).or_default();
            all.threads += waits.threads;
            all.again += waits.again;
        }
    }
}

/// A thread with less than this part of another thread's CPU time does none of the work.
const HARDLY: u64 = 100;
/// If no thread has used more CPU time than this, ns, the program is idle, and each of its threads counts.
const IDLE_NS: u64 = 20_000_000;

/// The reason that holds up the work, from the reason and the CPU time of each thread: the first one in order of precedence, without those
/// of threads that hardly ever run, such as threads for housekeeping or administration.
fn decisive(reasons: &[(Waiting, u64)]) -> Option<Waiting> {
    let most = reasons.iter().map(|(_, had)| *had).max().filter(|had| *had > IDLE_NS).unwrap_or(0);
    let works =
        |(waiting, had): &&(Waiting, u64)| *waiting <= Waiting::Faults || had.saturating_mul(HARDLY) >= most;
    reasons.iter().filter(works).map(|(waiting, _)| *waiting).min()
}

/// Wait reasons of threads in all samples, by the names that the reasons have in records. `locks` contains the lock waits of the process
/// whose threads waited longest for locks.
pub fn thread_waits<'a>(all: impl IntoIterator<Item = &'a Seen>, locks: Option<LockWaits>) -> ThreadWaits {
    let mut waits = ThreadWaits::new();
    for (what, seen) in all.into_iter().flat_map(|seen| &seen.waits) {
        let all = waits.entry(what.word().to_owned()).or_default();
        all.threads += seen.threads;
        all.again += seen.again;
    }
    if locks.is_some() {
        waits.entry(Waiting::Lock.word().to_owned()).or_default().locks = locks;
    }
    waits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_whose_call_was_not_seen_is_what_the_other_looks_show() {
        let named = |waits: &[(Waiting, u64)], syncs: u64| {
            let mut seen = Seen::default();
            for (what, threads) in waits {
                seen.waiting.insert(*what, *threads);
                seen.waits.insert(*what, Waits { threads: *threads, again: 1, locks: None });
            }
            seen.name_uninterruptible(syncs);
            let all: u64 = waits.iter().map(|(_, threads)| threads).sum();
            assert_eq!(seen.waiting.values().sum::<u64>(), all);
            seen.waits.into_iter().map(|(what, waits)| (what, waits.threads)).collect::<Vec<_>>()
        };
        let unseen = Waiting::Uninterruptible;
        assert_eq!(named(&[(unseen, 9), (Waiting::Fsync, 12)], 0), [(Waiting::Fsync, 21)]);
        assert_eq!(named(&[(unseen, 2)], 11), [(Waiting::Fsync, 2)], "found in the call after it was ready");
        assert_eq!(named(&[(unseen, 2)], 0), [(Waiting::Disk, 2)]);
        assert_eq!(named(&[(unseen, 2), (Waiting::Server, 9)], 0), [(Waiting::Server, 11)]);
        let mostly_reads = [(Waiting::Disk, 30), (unseen, 4), (Waiting::Fsync, 1)];
        assert_eq!(named(&mostly_reads, 0), [(Waiting::Disk, 34), (Waiting::Fsync, 1)]);
    }

    #[test]
    fn a_thread_that_hardly_runs_does_not_name_the_wait() {
        use Waiting::{Disk, Events, Lock, Network, Sleep, Timed};
        let ms = |ms: u64| ms * 1_000_000;
        for (reasons, expected) in [
            // A worker that sleeps beside a thread in accept(), and an idle server with a thread for housekeeping.
            (&[(Sleep, ms(500)), (Network, 0)][..], Sleep),
            (&[(Sleep, ms(3)), (Events, 0)], Events),
            // The workers of a pool wait for the thread that receives.
            (&[(Lock, ms(900)), (Lock, ms(800)), (Network, ms(40))], Network),
            (&[(Timed, ms(900)), (Lock, ms(2)), (Events, 0)], Timed),
            (&[(Lock, ms(900)), (Disk, 0)], Disk),
        ] {
            assert_eq!(decisive(reasons), Some(expected), "{reasons:?}");
        }
        assert_eq!(decisive(&[]), None);
    }
}
