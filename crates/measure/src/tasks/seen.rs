//! What was seen of threads, summed over looks.

use std::collections::BTreeMap;

use record::command_run::LockWaits;

use super::calls::{Waiting, name_uninterruptible};
use super::thread::Thread;

/// Threads that waited for one thing, summed over looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// All of them.
    pub threads: u64,
    /// Those that had been on a CPU since the look before: they wait again and again, and not once for long.
    pub again: u64,
}

/// What was seen of the threads.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// Looks.
    pub samples: u64,
    /// Looks at which no thread ran or was ready to run.
    pub idle: u64,
    /// Threads that ran or were ready to run, summed over looks.
    pub active: u64,
    /// At idle looks: what held them all.
    pub waiting: BTreeMap<Waiting, u64>,
    /// At all looks: what threads waited for.
    pub waits: BTreeMap<Waiting, Waits>,
    /// Of the process whose threads waited longest for locks.
    pub locks: Option<LockWaits>,
    /// Waiting threads of which that may not be read, summed over looks.
    pub unread: u64,
    /// Threads that were seen, those with the most time on a CPU first.
    pub threads: Vec<Thread>,
    /// Threads that had no turn: when they had one last, they waited, and had not run since the one before.
    pub resting: usize,
    /// Most threads at one look.
    pub most_threads: usize,
    /// Most threads that ran or were ready to run, at one look.
    pub most_active: u64,
    /// Whether there were more threads than are looked at.
    pub too_many: bool,
}

impl Seen {
    /// Says what waits whose call was not seen were for, by those whose call was, and by `syncs`, other looks at calls to sync.
    pub(super) fn name_uninterruptible(&mut self, syncs: u64) {
        let looks = |what| self.waits.get(&what).map_or(0, |waits| waits.threads);
        let what = name_uninterruptible(looks(Waiting::Fsync) + syncs, looks(Waiting::Disk));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_whose_call_was_not_seen_is_what_the_other_looks_show() {
        let named = |waits: &[(Waiting, u64)], syncs: u64| {
            let mut seen = Seen::default();
            for (what, threads) in waits {
                seen.waiting.insert(*what, *threads);
                seen.waits.insert(*what, Waits { threads: *threads, again: 1 });
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
        let mostly_reads = [(Waiting::Disk, 30), (unseen, 4), (Waiting::Fsync, 1)];
        assert_eq!(named(&mostly_reads, 0), [(Waiting::Disk, 34), (Waiting::Fsync, 1)]);
    }
}
