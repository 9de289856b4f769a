//! Measures the memory bandwidth used by other tasks on the same CPUs: the same loop executes in short runs,
//! alternately at normal and at real-time priority. Real-time priority keeps other tasks off the CPUs during the run.
//! The ratio of the two bandwidths shows the effect of both the CPU time and the memory traffic of the other tasks.
//!
//! If real-time priorities are refused, the highest scheduling weight (nice -20) is used instead, provided that the
//! threads then have the CPUs to themselves. The weight has no effect on tasks in other cgroups.

use std::io;
use std::time::Instant;

use kernels::stream::{Op, Stores, Stream};
use record::{Measurement, detail};
use record::{Summary, text};

use super::walk::{Group, SLICES, mean_rate, run, walk};
use crate::arrays::{Part, widest_stream};
use crate::common_interval::{self, WorkLog};
use crate::context::{Context, Halt};
use crate::repeat::there_and_back;
use crate::thread_group;

/// A thread that gets less than this share of its CPU's time is assumed to share the CPU with other tasks.
const ALONE: f64 = 0.97;

/// Duration of the check for other tasks, seconds: several scheduler time slices.
const LOOK: f64 = 0.02;

/// Duration of a run at normal priority, seconds: many scheduler time slices of a few milliseconds each.
const BESIDE: (f64, f64, f64) = (0.035, 0.06, 0.1);

/// Duration of a run without other tasks on the CPUs, seconds: too short for these tasks to be noticeably delayed.
const ALONE_SECONDS: f64 = 0.015;

/// Duration of a run at the highest weight, seconds. Other tasks still run at times, so the run must be long compared
/// with a tick.
const WEIGHED_SECONDS: f64 = 0.06;

/// Number of rounds. With nine or more, the 95 % CI of the median excludes the worst round.
const ROUNDS: (usize, usize, usize) = (9, 12, 24);

/// The lowest real-time priority: above all ordinary tasks, below most real-time tasks.
const PRIORITY: i32 = 1;

/// The share of the bandwidth used by other tasks.
pub(super) struct Taken {
    threads: usize,
    op: Op,
    stores: Stores,
    share: Summary,
    /// Iterations per second without other tasks: the median of the rounds.
    alone: f64,
}

impl Taken {
    /// Whether this was measured with the given loop and number of threads.
    pub(crate) fn is_with(&self, threads: usize, stream: &Stream) -> bool {
        (self.threads, self.op, self.stores) == (threads, stream.op, stream.stores)
    }

    /// Adds the details to the measurement. `bytes` is the number of bytes that each iteration of its loop moves.
    pub(crate) fn add_details(&self, bytes: f64, m: &mut Measurement) {
        let (low, high) = self.share.interval.unwrap_or((self.share.min, self.share.max));
        m.detail.set(detail::TAKEN_BY_OTHERS, self.share.median);
        m.detail.set(detail::TAKEN_BY_OTHERS_LOW, low);
        m.detail.set(detail::TAKEN_BY_OTHERS_HIGH, high);
        m.detail.set(detail::TAKEN_BY_OTHERS_ROUNDS, self.share.n);
        m.detail.set(detail::ALONE_BYTES_PER_SECOND, self.alone * bytes);
    }
}

/// Measures, with triad and regular stores, the share of a group's bandwidth that other tasks use, if any run on its CPUs.
pub(super) fn measure_taken(
    context: &mut Context,
    group: Option<&Group>,
    parts: &[Part],
) -> Result<Option<Taken>, Halt> {
    let (Some(group), Some(stream)) = (group, widest_stream(Op::Triad)) else { return Ok(None) };
    // A thread also loses CPU time to throttling by a CPU quota, which is not caused by other tasks and does not affect real-time threads.
    let quota = context.machine.limits.cpu_quota.is_some_and(|cpus| cpus < group.cpus.len() as f64);
    if quota || !is_shared(group, parts, stream) {
        return Ok(None);
    }
    let Some(means) = find_means(context, group, parts, stream) else { return Ok(None) };
    let beside_seconds = context.depth.pick(BESIDE.0, BESIDE.1, BESIDE.2);
    let (mut shares, mut alones) = (Vec::new(), Vec::new());
    for round in 0..context.depth.pick(ROUNDS.0, ROUNDS.1, ROUNDS.2) {
        context.check()?;
        let [mut beside, mut alone] = [None; 2];
        for turn in there_and_back(round, 2) {
            match turn {
                0 => beside = mean_rate(&run(group, parts, stream, beside_seconds).0),
                _ => alone = run_alone(means, group, parts, stream).ok().flatten(),
            }
        }
        shares.extend(beside.zip(alone).map(|(beside, alone)| 1.0 - beside / alone));
        alones.extend(alone);
    }
    let share = Summary::from_samples(&shares);
    let alone = Summary::from_samples(&alones).median;
    let reported = share.interval.is_some() && share.median.is_finite();
    if !reported {
        let why = text!("other processes ran in too many of the reserved time slices");
        context.degrade("bandwidth taken", why);
    }
    let (threads, op, stores) = (group.cpus.len(), stream.op, stream.stores);
    Ok(reported.then_some(Taken { threads, op, stores, share, alone }))
}

/// The method for keeping other tasks off the CPUs.
#[derive(Clone, Copy)]
enum Means {
    /// A real-time priority.
    Priority,
    /// The highest scheduling weight that an ordinary thread can have.
    Weight,
}

/// Tries the methods and returns the first one that works here. If none works, the coverage reports the reason.
fn find_means(context: &mut Context, group: &Group, parts: &[Part], stream: &Stream) -> Option<Means> {
    let why = match run_alone(Means::Priority, group, parts, stream) {
        Ok(_) => return Some(Means::Priority),
        Err(why) => why,
    };
    if let Ok(Some(_)) = run_alone(Means::Weight, group, parts, stream) {
        return Some(Means::Weight);
    }
    let reason = text!(
        "bandwidth lost to other processes was not measured, because SCHED_FIFO is not permitted: {why}"
    );
    context.degrade_with_remedy("bandwidth taken", reason, os::fifo_remedy());
    None
}

/// Whether any thread of the group has to share its CPU.
fn is_shared(group: &Group, parts: &[Part], stream: &Stream) -> bool {
    let had = thread_group::run(&group.cpus, |member| {
        member.wait();
        time_on_cpu(|| walk(group, parts, stream, LOOK, member)).1
    });
    had.into_iter().flatten().flatten().any(|share| share < ALONE)
}

/// Iterations per second of all threads without other tasks on their CPUs; `None` if they never ran together, or still
/// had to share their CPUs.
fn run_alone(means: Means, group: &Group, parts: &[Part], stream: &Stream) -> io::Result<Option<f64>> {
    let logs = thread_group::run(&group.cpus, |member| -> io::Result<Option<WorkLog>> {
        // The priority is set before the start, and the thread then sleeps until the start, because the thread that
        // starts the others also needs a CPU.
        let seconds = match means {
            Means::Priority => os::set_fifo(PRIORITY).map(|()| ALONE_SECONDS)?,
            Means::Weight => os::set_highest_weight().map(|()| WEIGHED_SECONDS)?,
        };
        std::thread::sleep(member.start.saturating_duration_since(Instant::now()));
        let (log, share) = time_on_cpu(|| walk(group, parts, stream, seconds, member));
        let had = matches!(means, Means::Priority) || share.is_some_and(|share| share >= ALONE);
        Ok(had.then_some(log))
    });
    let mut all = Vec::with_capacity(logs.len());
    for log in logs {
        let Some(log) = log.transpose()?.flatten() else { return Ok(None) };
        all.push(log);
    }
    Ok(mean_rate(&common_interval::rates(&all, SLICES)))
}

/// The result of `work`, and the share of its time for which the calling thread was on a CPU.
fn time_on_cpu<T>(work: impl FnOnce() -> T) -> (T, Option<f64>) {
    let (from, cpu) = (Instant::now(), os::thread_cpu_ns());
    let result = work();
    let passed = from.elapsed().as_nanos() as f64;
    (result, os::thread_cpu_ns().zip(cpu).map(|(now, then)| (now - then) / passed))
}
