//! Selects the threads to sample. If there are few threads, every sample covers all of them. Otherwise, each sample
//! covers the threads that ran recently and a few of the others.

use std::collections::HashSet;

/// The PID and TID of a thread.
pub(super) type Key = (i32, i32);

/// Share of a sample reserved for threads that ran recently.
const RAN_LATELY: (usize, usize) = (3, 4);
/// Number of other threads checked per sample, as a multiple of the remaining places in the sample. More threads than
/// places can be checked, because reading one file is enough to detect that a thread has not run.
const CHEAPER: usize = 4;

/// Threads that are sampled in turns.
#[derive(Debug, Default)]
pub(super) struct Turns {
    listed: Vec<Key>,
    /// The index of the first thread that has not had a turn yet.
    at: usize,
    are_many: bool,
    ran: HashSet<Key>,
    /// All threads in the order of their turns.
    queue: Vec<Key>,
}

impl Turns {
    /// All threads in the last list.
    pub(super) fn listed(&self) -> &[Key] {
        &self.listed
    }

    /// Whether there are more threads than one sample covers.
    pub(super) fn are_many(&self) -> bool {
        self.are_many
    }

    /// Whether all threads have been sampled since they were listed, so that a new list is due.
    pub(super) fn are_over(&self) -> bool {
        !self.are_many || self.at >= self.listed.len()
    }

    /// Requests a new list before the next sample.
    pub(super) fn begin_anew(&mut self) {
        self.at = self.listed.len();
    }

    /// Starts with all of these threads; one sample covers at most `most` of them.
    pub(super) fn begin(&mut self, listed: Vec<Key>, most: usize) {
        self.are_many = listed.len() > most;
        (self.listed, self.at) = (listed, 0);
        if self.are_many {
            let there: HashSet<&Key> = self.listed.iter().collect();
            self.ran.retain(|key| there.contains(key));
        } else {
            self.ran.clear();
        }
        self.queue.clear();
    }

    /// Records whether a thread ran since the previous sample.
    pub(super) fn note(&mut self, key: Key, ran: bool) {
        if ran {
            self.ran.insert(key);
        } else {
            self.ran.remove(&key);
        }
    }

    /// The threads for the next sample: the threads that ran recently, and some or all of the others.
    pub(super) fn next(&mut self, most: usize, all: bool) -> (Vec<Key>, Vec<Key>) {
        let most_ran = most * RAN_LATELY.0 / RAN_LATELY.1;
        if self.queue.len() < most_ran.min(self.ran.len()) {
            let waiting: HashSet<Key> = self.queue.iter().copied().collect();
            let mut again: Vec<Key> = self.ran.iter().filter(|key| !waiting.contains(key)).copied().collect();
            again.sort_unstable();
            // Threads are taken from the end of the queue.
            self.queue.splice(0..0, again);
        }
        let ran = self.queue.split_off(self.queue.len().saturating_sub(most_ran));
        let from = if all { 0 } else { self.at };
        let until = if all { usize::MAX } else { from + (most - most_ran) * CHEAPER }.min(self.listed.len());
        let others = self.listed.get(from..until).unwrap_or_default();
        let others = others.iter().filter(|key| !self.ran.contains(key)).copied().collect();
        self.at = until;
        (ran, others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_have_their_turn_and_those_that_run_more_often() {
        let mut turns = Turns::default();
        assert!(turns.are_over());
        let all: Vec<Key> = (0..1000).map(|tid| (1, tid)).collect();
        turns.begin(all.clone(), 4096);
        assert!(!turns.are_many() && turns.are_over());
        turns.begin(all.clone(), 16);
        assert!(turns.are_many() && !turns.are_over());
        turns.note((1, 999), true);
        let (mut others, mut looks) = (HashSet::new(), 0);
        while !turns.are_over() {
            let (ran, some) = turns.next(16, false);
            assert_eq!(ran, [(1, 999)]);
            assert!(some.len() <= 16);
            others.extend(some);
            looks += 1;
        }
        assert_eq!((others.len(), looks), (999, 63));
        // If more threads run than one sample covers, each thread gets a turn within several samples.
        all.iter().for_each(|key| turns.note(*key, true));
        turns.begin(all, 16);
        let mut ran = HashSet::new();
        (0..84).for_each(|_| ran.extend(turns.next(16, false).0));
        assert_eq!(ran.len(), 1000);
        turns.begin((0..100).map(|tid| (2, tid)).collect(), 16);
        assert_eq!((turns.next(16, false).1.len(), turns.next(16, true).1.len()), (16, 100));
        turns.begin(vec![(1, 1)], 16);
        assert!(turns.ran.is_empty() && !turns.are_many());
    }
}
