//! Observes a slice: measures the core's clock right before and right after the slice, and counts the events that
//! disturbed the thread.

use kernels::chain;

use super::{Disturbed, Pass, Ticks};
use measure::interrupts::Interrupts;
use measure::tasks::migrations;
use measure::watch;
use os::procfs::USER_HZ;

/// Duration of one reading of the core's clock, seconds. It is long compared with a reading of the cycle counter (30
/// ns) but short compared with a timer tick.
const LOOK: f64 = 100e-6;
/// Number of readings. The fastest reading counts, so that an interruption does not look like a slow clock.
const LOOKS: usize = 4;
/// Time that an idle core needs to reach its full clock again.
const WAKING: f64 = 500e-6;

/// Observes slices run by the calling thread.
#[derive(Debug)]
pub struct Observer {
    ticks: Ticks,
    counts: Option<CpuCounts>,
}

/// The event counts of one CPU.
#[derive(Debug)]
pub(crate) struct CpuCounts {
    cpu: u32,
    /// Interrupts and softirqs.
    files: [Option<Interrupts>; 2],
}

impl CpuCounts {
    pub(crate) fn of(cpu: u32) -> Self {
        Self { cpu, files: [Interrupts::of_cpu(cpu), Interrupts::softirqs_of_cpu(cpu)] }
    }

    /// Interrupts, softirqs and stolen ticks so far.
    pub(crate) fn read(&mut self) -> [Option<u64>; 3] {
        let read = |file: &mut Option<Interrupts>| file.as_mut().and_then(Interrupts::read);
        let [interrupts, softirqs] = self.files.each_mut().map(read);
        [interrupts, softirqs, watch::steal_ticks(self.cpu)]
    }
}

/// The increase of each count; `None` if the count is unknown or has decreased.
pub(crate) fn grown<const N: usize>(before: [Option<u64>; N], after: [Option<u64>; N]) -> [Option<u64>; N] {
    std::array::from_fn(|at| after[at]?.checked_sub(before[at]?))
}

/// The event counts at one point in time: interrupts, softirqs and stolen ticks of the CPU, then involuntary and
/// voluntary context switches of the thread, and migrations.
type Counts = [Option<u64>; 6];

impl Observer {
    /// An observer with `ticks` as its clock.
    pub fn new(ticks: Ticks) -> Self {
        Self { ticks, counts: None }
    }

    /// Runs `work` on the calling thread and observes it. The caller must add the results of `work` to the returned
    /// pass.
    pub fn observe<T>(&mut self, work: impl FnOnce() -> T) -> (T, Pass) {
        self.wake();
        let cpu_from = os::current_cpu();
        let before = self.read_counts(cpu_from);
        let clock_before = self.clock();
        let from = self.ticks.now();
        let result = work();
        let seconds = self.ticks.since(from);
        // The CPU at the end of the slice. It is read before the second clock reading, during which the thread may
        // migrate.
        let cpu_to = os::current_cpu();
        let clock_after = self.clock();
        let after = self.read_counts(cpu_from);
        let clock = (clock_before + clock_after) / 2.0;
        let pass = Pass {
            seconds,
            clock,
            clock_moved: (clock_after - clock_before).abs() / clock,
            cpu_from,
            cpu_to,
            disturbed: between(before, after, cpu_from, cpu_to),
            ..Pass::default()
        };
        (result, pass)
    }

    /// Keeps the core busy until it reaches its full clock, because the thread has been asleep.
    fn wake(&self) {
        let from = self.ticks.now();
        while self.ticks.since(from) < WAKING {
            (chain::ADD.run)(1_000);
        }
    }

    /// The core's current clock, Hz: the fastest of several readings.
    fn clock(&self) -> f64 {
        let operations = u64::from(chain::ADD.work.operations);
        // A first, rough reading only determines the number of iterations.
        let rough = watch::look_at_clock();
        let iterations = ((LOOK * rough) as u64 / operations).max(1);
        let fastest = self.ticks.fastest(LOOKS, || (chain::ADD.run)(iterations));
        (iterations * operations) as f64 / fastest
    }

    fn read_counts(&mut self, cpu: Option<u32>) -> Counts {
        if let Some(cpu) = cpu
            && self.counts.as_ref().is_none_or(|counts| counts.cpu != cpu)
        {
            self.counts = Some(CpuCounts::of(cpu));
        }
        let of_cpu = self.counts.as_mut().filter(|_| cpu.is_some()).map_or([None; 3], CpuCounts::read);
        let [interrupts, softirqs, stolen] = of_cpu;
        let (involuntary, voluntary) = os::switches().unzip();
        let migrations = cpu.and_then(|_| migrations("/proc/thread-self"));
        [interrupts, softirqs, stolen, involuntary, voluntary, migrations]
    }
}

/// The events between two readings of the counts. The thread was on `cpu_from` at the first reading, and on `cpu_to` at
/// the second.
fn between(before: Counts, after: Counts, cpu_from: Option<u32>, cpu_to: Option<u32>) -> Disturbed {
    let [interrupts, softirqs, stolen, involuntary, voluntary, migrations] = grown(before, after);
    let moved = u64::from(cpu_from.is_some() && cpu_to.is_some() && cpu_from != cpu_to);
    let migrations = match migrations {
        Some(counted) => Some(counted.max(moved)),
        // Without the scheduler's count of migrations, it is unknown whether a thread that was on the same CPU at both
        // readings ran on another CPU in between.
        None => (moved > 0).then_some(moved),
    };
    // A CPU's counts mean little for a thread that ran on another CPU part of the time.
    let here = migrations.unwrap_or(0) == 0;
    Disturbed {
        interrupts: interrupts.filter(|_| here),
        softirqs: softirqs.filter(|_| here),
        involuntary,
        voluntary,
        migrations,
        stolen: stolen.filter(|_| here).map(|ticks| ticks as f64 / USER_HZ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_portion_waited_for_is_seen() {
        let mut observer = Observer::new(Ticks::calibrate());
        let (said, observation) = observer.observe(|| {
            std::thread::sleep(std::time::Duration::from_millis(5));
            7
        });
        assert_eq!(said, 7);
        assert!(observation.seconds >= 0.0049, "{observation:?}");
        assert!(
            observation.disturbed.voluntary.is_none_or(|count| count >= 1),
            "a sleep is a switch: {observation:?}"
        );
        assert!(observation.clock > 1e7 && observation.clock_moved >= 0.0, "{observation:?}");
    }

    #[test]
    fn a_cpus_counts_are_not_those_of_a_thread_that_left_it() {
        let look = |count| [Some(count), None, None, None, None, Some(0)];
        let stayed = between(look(10), look(14), Some(1), Some(1));
        assert_eq!((stayed.interrupts, stayed.migrations), (Some(4), Some(0)));
        let moved = between(look(10), look(14), Some(1), Some(0));
        assert_eq!((moved.interrupts, moved.migrations), (None, Some(1)));
        let uncounted = [Some(10), None, None, None, None, None];
        assert_eq!(between(uncounted, uncounted, Some(1), Some(1)).migrations, None);
    }
}
