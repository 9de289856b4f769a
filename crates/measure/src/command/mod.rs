//! Measures a command: attaches counters before its first instruction, samples its threads while it runs, and records
//! how the machine affects it.
//!
//! Commands that run for only a few milliseconds have almost no overhead, because sampling of /proc begins after 20 ms.

mod around;
mod attach;
mod records;
mod shared_input;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::time::{Duration, Instant};

use record::command_run::Around;
use record::live::Sampled;
use record::{Coverage, CpuList, Text};

use crate::accesses::{Accesses, Hierarchy, TAKE};
use crate::counters::{Counters, Reading, Set, Target, availability};
use os::Stop;
use os::child::{Child, Ended, Exit, Guard, Input, Output, Process, SpawnError, Spec, Watcher, wait_all};
use os::pin;

use crate::tasks::{Had, Sampler, Seen};
use around::Look;
pub use attach::{AttachError, Attached, Watching, watch};
pub use records::{Figures, figures};
pub use shared_input::SharedInput;

/// A command to run.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// The program and its arguments.
    pub argv: &'a [OsString],
    /// The CPUs on which it may run; `None` for all CPUs that this process may use.
    pub cpus: Option<&'a CpuList>,
    /// Environment variables to add or change.
    pub env: &'a [(OsString, OsString)],
    /// Whether counters of software events are opened even without a PMU. Like those of perf, they count exactly, from
    /// the program's start on. Otherwise, the accounting in /proc and of `wait4` is used, because enabling the first
    /// event costs ten milliseconds or more in the kernel.
    pub events: bool,
    /// The machine's caches and memory. If given, and if allowed, the command's waits in user mode are also sampled
    /// from the first observation on.
    pub samples: Option<Hierarchy<'a>>,
    /// The guard, started while the command is prepared, before its program starts.
    pub guard: Option<&'a Guard>,
}

/// One run of a command.
#[derive(Clone, Debug)]
pub struct Run {
    /// The command's exit, duration and resource usage.
    pub ended: Ended,
    /// Counter values of the command and everything that it started.
    pub reading: Reading,
    /// Events that could not be opened, and why. Opened but uncounted events are in the reading.
    pub refused: Vec<(&'static str, Text)>,
    /// Observations of the command's threads.
    pub seen: Seen,
    /// The machine's activity during the run; `None` if it was too short.
    pub around: Option<Around>,
    /// The core clock during the run, Hz, and the source of this value.
    pub clock: Option<(f64, &'static str)>,
    /// Whether the reported peak memory is the command's own. The kernel also counts the memory of linespeed, which the
    /// process used before its program started.
    pub rss_known: bool,
    /// Results of samples in user mode; `None` if none were taken.
    pub sampled: Option<Sampled>,
    /// Results for other processes active during the run, by PID, busiest first.
    pub others_sampled: Vec<(i32, Sampled)>,
    /// Whether samples could be taken; `None` if not tried.
    pub samples: Option<Coverage>,
    /// The observed processes that were already running; empty for a started command.
    pub attached: Vec<i32>,
    /// The observed processes that have ended.
    pub attached_ended: Vec<i32>,
}

impl Run {
    /// Records and returns the stop signal that ended this run. A terminal's Ctrl-C also reaches the command itself.
    pub fn note_signal(&mut self, stop: &Stop) -> Option<i32> {
        let signal = stop.signal()?;
        if [Exit::Signal(signal), Exit::Code(128 + signal)].contains(&self.ended.exit) {
            self.ended.exit = Exit::Stopped(signal);
        }
        Some(signal)
    }
}

/// Called with the processes that a command left running, while linespeed waits for them.
pub type Tell<'a> = &'a mut dyn FnMut(&[Process]);

/// Runs a command once, with our own input and outputs. A stop signal ends the command and everything that it started.
pub fn run(job: &Job, stop: &Stop, tell: Tell) -> Result<Run, SpawnError> {
    attended(job, Spec::new(job.argv), stop, tell).map(|(run, _)| run)
}

/// Like [`run`], for repeated runs. Input from a file is read from its beginning again; otherwise, the input is empty.
/// Output is discarded.
pub fn run_silent(job: &Job, input: &mut SharedInput, stop: &Stop, tell: Tell) -> Result<Run, SpawnError> {
    let stdin = if input.again() { Input::Inherit } else { Input::Null };
    let nowhere = Spec { stdin, stdout: Output::Null, stderr: Output::Null, ..Spec::new(job.argv) };
    attended(job, nowhere, stop, tell).map(|(run, _)| run)
}

/// Like [`run_silent`], but also captures up to this many bytes of standard error.
pub fn run_heard(
    job: &Job,
    input: &mut SharedInput,
    limit: usize,
    stop: &Stop,
    tell: Tell,
) -> Result<(Run, Vec<u8>), SpawnError> {
    let stdin = if input.again() { Input::Inherit } else { Input::Null };
    let stderr = Output::Capture { limit };
    attended(job, Spec { stdin, stdout: Output::Null, stderr, ..Spec::new(job.argv) }, stop, tell)
}

/// The run, and its standard error if captured.
fn attended(job: &Job, spec: Spec, stop: &Stop, tell: Tell) -> Result<(Run, Vec<u8>), SpawnError> {
    let mut opened = None;
    let mut child =
        Child::spawn_beside(&Spec { cpus: job.cpus, env: job.env, gate: true, ..spec }, &mut |pid| {
            job.guard.iter().for_each(|guard| guard.post());
            opened = count(pid, job.events);
        })?;
    let had = Had::read(child.pid(), child.pid());
    let sampler = Sampler::of_child(child.pid(), had);
    let mut watch = Watch {
        sampler,
        first: true,
        before: None,
        samples: job.samples,
        accesses: None,
        look_at: Instant::now(),
        tell,
    };
    child.release();
    child.started()?;
    let own_rss = os::child::own_peak_bytes();
    let ended = wait_all(&mut [&mut child], stop, None, &mut watch).pop();
    let (reading, refused) =
        opened.as_ref().map_or_else(Default::default, |counters| (counters.read(), refusals(counters)));
    let around = watch.before.as_ref().map(Look::until_now);
    let (seen, cpufreq) = watch.sampler.take();
    let samples = watch.accesses.as_ref().and_then(Accesses::coverage);
    let sampled = watch.accesses.as_mut().and_then(|accesses| accesses.of_processes(&pids_of(&seen)));
    let others_sampled =
        watch.accesses.as_mut().map(|accesses| accesses.of_others(&pids_of(&seen))).unwrap_or_default();
    let clock = clock(&reading, cpufreq, seen.looks.all);
    // Exactly one child was waited for, so there is a result.
    let mut ended = ended.unwrap_or_else(|| child.wait(stop, None));
    // Samples may miss a short-lived second thread. If more than one CPU was used, but only slightly more, this can be
    // due to the difference of the clocks.
    let hardly = ended.usage.user + ended.usage.system <= ended.wall.as_secs_f64() * 1.1;
    let threads = if hardly && seen.looks.all > 0 && seen.most_threads <= 1 { 1 } else { usize::MAX };
    leave_out(&had, &mut ended, threads.min(usable(job)));
    // The kernel counts used pages separately for each CPU, so the sum is inexact.
    let rss_known = ended.usage.max_rss_bytes > own_rss.saturating_add(own_rss / 8);
    let run = Run {
        ended,
        reading,
        refused,
        seen,
        around,
        clock,
        rss_known,
        sampled,
        others_sampled,
        samples,
        attached: Vec::new(),
        attached_ended: Vec::new(),
    };
    Ok((run, child.captured().1))
}

/// Counters of a child and everything that it starts, from the start of its program.
fn count(pid: i32, events: bool) -> Option<Counters> {
    let set = if availability().pmu { Set::Full } else { Set::Unaccounted };
    let target = Target::Process { pid, inherit: true, enable_on_exec: true };
    (set == Set::Full || events).then(|| Counters::open(target, set))
}

/// Subtracts the CPU time that a child used before its program started. The result is limited to the CPU time that this
/// many threads can use during the wall time, which starts with the program.
fn leave_out(had: &Had, ended: &mut Ended, at_once: usize) {
    let usage = &mut ended.usage;
    let used = usage.user + usage.system;
    let least = (used - had.on_cpu_ns as f64 / 1e9).max(0.0);
    let most = ended.wall.as_secs_f64() * at_once as f64;
    if used > 0.0 {
        let share = least.min(most) / used;
        usage.user *= share;
        usage.system *= share;
    }
    usage.voluntary_switches = usage.voluntary_switches.saturating_sub(had.switches.0);
    usage.involuntary_switches = usage.involuntary_switches.saturating_sub(had.switches.1);
    usage.minor_faults = usage.minor_faults.saturating_sub(had.faults.0);
    usage.major_faults = usage.major_faults.saturating_sub(had.faults.1);
}

/// CPUs on which a command may run.
fn usable(job: &Job) -> usize {
    job.cpus.map(CpuList::len).or_else(|| pin::allowed().map(|cpus| cpus.len())).unwrap_or(usize::MAX).max(1)
}

/// The reasons for missing events. If not even events of our own thread can be counted, the reasons for that are
/// returned instead.
fn refusals(counters: &Counters) -> Vec<(&'static str, Text)> {
    if counters.is_empty() {
        let own = Counters::open(Target::ThisThread, Set::Software);
        if own.is_empty() {
            return own.refused().to_vec();
        }
    }
    counters.refused().to_vec()
}

/// The clock from the best available source: the PMU, the kernel, or (for runs long enough to be sampled) a chain of adds right after the
/// end of the run. The chain shows the clock of linespeed's own core rather than that of the command's core.
fn clock(reading: &Reading, cpufreq: Option<f64>, samples: u64) -> Option<(f64, &'static str)> {
    if let Some((cycles, time)) = reading.get("cycles").zip(reading.get("task-clock"))
        && time.value > 0.0
        && !cycles.user_only
    {
        return Some((cycles.value / time.value * 1e9, "PMU cycles"));
    }
    if let Some(hz) = cpufreq {
        return Some((hz, "cpufreq"));
    }
    (samples > 0).then(|| (crate::watch::look_at_clock(), "after the run"))
}

struct Watch<'a> {
    sampler: Sampler,
    first: bool,
    /// The machine's counters when the command's threads were first sampled.
    before: Option<Look>,
    samples: Option<Hierarchy<'a>>,
    accesses: Option<Accesses>,
    /// Time of the next sample of the command's threads.
    look_at: Instant,
    tell: Tell<'a>,
}

/// The processes whose threads were sampled.
fn pids_of(seen: &Seen) -> Vec<i32> {
    let pids: BTreeSet<i32> = seen.threads.iter().map(|thread| thread.pid).collect();
    pids.into_iter().collect()
}

impl Watcher for Watch<'_> {
    fn tick(&mut self) -> Duration {
        if !std::mem::take(&mut self.first) && self.before.is_none() {
            self.before = Some(Look::now());
            self.accesses = self.samples.map(Accesses::of_a_while);
        }
        if Instant::now() >= self.look_at {
            self.look_at = Instant::now() + self.sampler.tick();
            if let Some(accesses) = &mut self.accesses {
                accesses.follow(self.sampler.tids());
            }
        }
        let next = self.look_at.saturating_duration_since(Instant::now());
        match &mut self.accesses {
            Some(accesses) => {
                accesses.take();
                next.min(TAKE)
            }
            None => next,
        }
    }

    fn exited(&mut self, pid: i32) {
        self.sampler.exited(pid);
    }

    fn left(&mut self, left: &[Process]) {
        (self.tell)(left);
    }
}

#[cfg(test)]
mod tests;
