//! A recording: `linespeed live --output`. However long the recording is, at most a few hundred moments are saved;
//! their sums are exact.

mod merge;

use serde::{Deserialize, Serialize};

use crate::JsonSchema;
use crate::command_run::Ceilings;
use crate::diagnosis::{Bound, BoundBy};
use crate::live::{Interval, Process, Thread};
use crate::text::Text;

/// Maximum number of saved moments; if there are more, adjacent moments are merged. A recording of one hour with one
/// interval per second has moments of eight seconds.
const MOST_MOMENTS: usize = 600;
/// Maximum number of processes and threads whose time is summed over the recording (those with the least time are left
/// out), and maximum number of processes per moment.
const MOST_SUMMED: usize = 64;
const MOST_OF_A_MOMENT: usize = 3;

/// A recording.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Watch {
    /// The observed processes: `pid 4711`, `unit nginx.service`; empty for the whole machine.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub of: String,
    /// Number of intervals.
    pub intervals: u64,
    /// Maximum number of intervals in a moment. It starts at 1 and is doubled each time there are too many moments.
    pub merged: u64,
    /// The total time of each verdict over all intervals, longest first.
    pub verdicts: Vec<Held>,
    /// The moments in chronological order.
    pub moments: Vec<Moment>,
    /// The processes with the most CPU time over the entire recording. Their times are sums over the intervals in which
    /// they were among the busiest.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<Process>,
    /// The threads of the selected processes with the most CPU time over the entire recording.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<Thread>,
    /// The ceilings on which the verdicts are based.
    pub ceilings: Ceilings,
    /// Latency that the memory probe measured at the start of the recording, ns; present only if no saved record contained the
    /// latency without load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calibrated_ns: Option<f64>,
}

/// The total time of a verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Held {
    /// The verdict.
    pub by: BoundBy,
    /// The total time with this verdict, s.
    pub seconds: f64,
}

/// The verdict on one interval, in words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Said {
    /// Start of the interval, s since the record's start.
    pub at: f64,
    /// The length of the interval, s.
    pub seconds: f64,
    /// The sentence.
    pub says: Text,
}

/// One interval of a recording, or several consecutive ones.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Moment {
    /// Start of the moment, s since the record's start.
    pub at: f64,
    /// Number of intervals.
    pub intervals: u64,
    /// The total time of each verdict, longest first; empty if the kernel reported too little.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub verdicts: Vec<Held>,
    /// The sentence for one of the intervals with the first verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<Said>,
    /// The machine's activity. For several intervals, times are added, and rates and readings averaged.
    pub interval: Interval,
}

impl Moment {
    /// The verdict with the longest total time.
    pub fn bound_by(&self) -> Option<&BoundBy> {
        self.verdicts.first().map(|held| &held.by)
    }
}

/// Adds up the time of each verdict and sorts the verdicts, longest first; verdicts with equal times keep their order.
pub fn add_verdicts(all: &mut Vec<Held>, more: &[Held]) {
    for held in more {
        match all.iter_mut().find(|one| one.by == held.by) {
            Some(one) => one.seconds += held.seconds,
            None => all.push(held.clone()),
        }
    }
    all.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
}

impl Watch {
    /// Adds the interval that began `at` seconds after the record's start.
    pub fn push(&mut self, at: f64, interval: &Interval, bound: Option<&Bound>) {
        let held = bound.map(|bound| Held { by: bound.by.clone(), seconds: interval.seconds });
        let verdicts: Vec<Held> = held.into_iter().collect();
        self.intervals += 1;
        add_verdicts(&mut self.verdicts, &verdicts);
        merge::add_processes(&mut self.processes, &interval.processes, MOST_SUMMED);
        merge::add_threads(&mut self.threads, &interval.threads, MOST_SUMMED);
        let mut interval = interval.clone();
        interval.processes.truncate(MOST_OF_A_MOMENT);
        // The sums over the entire recording include these threads, so a moment need not contain the states of single threads.
        interval.threads.clear();
        let said = bound.map(|bound| Said { at, seconds: interval.seconds, says: bound.says.clone() });
        self.take(Moment { at, intervals: 1, verdicts, said, interval });
    }

    fn take(&mut self, moment: Moment) {
        self.merged = self.merged.max(1);
        match self.moments.last_mut().filter(|last| last.intervals < self.merged) {
            Some(last) => last.join(moment),
            None => self.moments.push(moment),
        }
        if self.moments.len() > MOST_MOMENTS {
            self.merged *= 2;
            let before = std::mem::take(&mut self.moments);
            before.into_iter().for_each(|moment| match self.moments.last_mut() {
                Some(last) if last.intervals + moment.intervals <= self.merged => last.join(moment),
                _ => self.moments.push(moment),
            });
        }
    }

    /// The length of the recording, s.
    pub fn seconds(&self) -> f64 {
        self.moments.iter().map(|moment| moment.interval.seconds).sum()
    }

    /// The total length of the intervals with a verdict, s.
    pub fn judged_seconds(&self) -> f64 {
        self.verdicts.iter().map(|held| held.seconds).sum()
    }

    /// All moments merged into one; `None` if there are none.
    pub fn whole(&self) -> Option<Moment> {
        let mut all = self.moments.iter().cloned();
        let first = all.next()?;
        Some(all.fold(first, |mut sum, moment| {
            sum.join(moment);
            sum
        }))
    }
}

impl Moment {
    /// Merges the following moment into this one.
    pub fn join(&mut self, next: Moment) {
        let first = self.bound_by().cloned();
        let (here, there) = (self.longest(), next.longest());
        self.intervals += next.intervals;
        add_verdicts(&mut self.verdicts, &next.verdicts);
        // Keep the sentence for an interval with the verdict that has the longest total time.
        let of_next =
            self.bound_by() == next.bound_by() && (self.bound_by() != first.as_ref() || there > here);
        if of_next && next.said.is_some() {
            self.said = next.said;
        }
        merge::join(&mut self.interval, next.interval, MOST_OF_A_MOMENT);
    }

    fn longest(&self) -> f64 {
        self.verdicts.first().map_or(0.0, |held| held.seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::{CpuTimes, Probe};
    use crate::text;

    fn interval(user: f64, ns: f64) -> Interval {
        let times = CpuTimes { user, idle: 2.0 - user, ..CpuTimes::default() };
        let processes =
            vec![Process { pid: 7, name: "a".to_owned(), cpu: user, threads: 2, ..Process::default() }];
        let probe = Probe { latency_ns: [(0, ns)].into(), ..Probe::default() };
        let rates = [("forks".to_owned(), 10.0 * user)].into();
        Interval { seconds: 1.0, cpus: 2, times, probe: Some(probe), rates, processes, ..Interval::default() }
    }

    fn bound(by: BoundBy) -> Bound {
        Bound { by, kind: None, says: text!("x", "x"), evidence: Vec::new(), advice: Vec::new() }
    }

    /// A recording of a day with one interval per second: compute-bound, and memory-bound in every tenth second.
    fn day(seconds: u32) -> Watch {
        let mut watch = Watch::default();
        for second in 0..seconds {
            let by = if second % 10 == 0 { BoundBy::MemoryBandwidth } else { BoundBy::Cpu };
            watch.push(f64::from(second), &interval(1.0, 100.0 + f64::from(second % 10)), Some(&bound(by)));
        }
        watch
    }

    #[test]
    fn a_day_is_as_small_as_an_hour_and_adds_up_exactly() {
        for seconds in [599, 601, 3600, 86_400] {
            let watch = day(seconds);
            assert!(
                watch.moments.len() <= MOST_MOMENTS && watch.moments.len() > 290,
                "{}",
                watch.moments.len()
            );
            assert_eq!(watch.intervals, u64::from(seconds));
            assert_eq!(watch.moments.iter().map(|moment| moment.intervals).sum::<u64>(), watch.intervals);
            assert!((watch.seconds() - f64::from(seconds)).abs() < 1e-6);
            let memory = watch.verdicts.iter().find(|held| held.by == BoundBy::MemoryBandwidth).unwrap();
            assert_eq!(
                memory.seconds,
                f64::from(seconds).div_euclid(10.0) + f64::from(u8::from(seconds % 10 > 0))
            );
            assert_eq!(watch.processes[0].cpu, f64::from(seconds));
            let whole = watch.whole().unwrap();
            assert_eq!(
                (whole.interval.times.user, whole.bound_by()),
                (f64::from(seconds), Some(&BoundBy::Cpu))
            );
            assert!((whole.interval.rates["forks"] - 10.0).abs() < 1e-9);
            // Moments are in the order of the intervals.
            assert!(
                watch
                    .moments
                    .windows(2)
                    .all(|pair| pair[0].at + pair[0].interval.seconds <= pair[1].at + 1e-6)
            );
        }
    }

    #[test]
    fn a_moment_says_what_its_longest_verdict_says() {
        let said = |by, words: &str| Bound { says: Text::read(None, words.to_owned()), ..bound(by) };
        let mut watch = Watch { merged: 4, ..Watch::default() };
        for (at, (by, words)) in [(BoundBy::Idle, "idle"), (BoundBy::Cpu, "first"), (BoundBy::Cpu, "second")]
            .into_iter()
            .enumerate()
        {
            watch.push(at as f64, &interval(1.0, 100.0), Some(&said(by, words)));
        }
        let moment = &watch.moments[0];
        assert_eq!((watch.moments.len(), moment.bound_by()), (1, Some(&BoundBy::Cpu)));
        assert_eq!(moment.said.as_ref().unwrap().says.to_string(), "second");
    }
}
