//! Starts copies of a command together and waits for them: one run of a step or of a layout.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::time::Duration;

use machine::Root;
use os::Stop;
use os::child::{Child, Ended, Exit, Input, Memory, Output, Process, Spec, Usage, wait_all};
use os::procfs::{CpuTicks, USER_HZ, ticks_of_each};
use record::text::Value;
use record::{CpuList, Mark, text};

use crate::failure::{Failed, Trouble, check_stop, last_words};
use crate::recipes::score::MOST_OUTPUT;
use crate::recipes::template::{Template, Values, fill_all};

/// Bytes of output that are saved for a command without a score: only the end, which is shown if the command fails.
const LAST_OUTPUT: usize = 8 << 10;

/// Share of the free memory that all copies together may use.
const MEMORY_SHARE: f64 = 0.9;

/// Open files per copy: gate, report, outputs, exit notification, counters.
const FILES_A_COPY: u64 = 10;

/// Options for running the copies.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Rounds, each with one run of each alternative.
    pub rounds: usize,
    /// The time limit of a run.
    pub timeout: Option<Duration>,
    /// Free memory in bytes; `None` if unknown.
    pub memory: Option<u64>,
    /// Environment variables of each process in addition to the inherited ones.
    pub environment: Vec<(OsString, OsString)>,
}

/// One copy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlacedCopy {
    /// The CPUs to which the copy is pinned; `None` if it may use all CPUs that this process may use.
    pub cpus: Option<CpuList>,
    /// The nodes of the copy's memory, and whether memory is interleaved over them; `None` for the kernel's default
    /// policy.
    pub memory: Option<(CpuList, bool)>,
    /// The values for the placeholders in the command.
    pub values: Values,
}

/// Receives notifications of events during a run.
pub trait RunObserver {
    /// The command has exited and left these processes behind; linespeed waits for them.
    fn left(&mut self, names: &[String]);
}

/// The names of at most a few processes, without duplicates.
fn name_processes(processes: &[Process]) -> Vec<String> {
    let names: BTreeSet<String> = processes.iter().map(|process| process.name.clone()).collect();
    names.into_iter().take(4).collect()
}

/// Raises the open-file limit of this process for this many copies, as far as allowed.
pub fn raise_file_limit(copies: usize) {
    os::raise_file_limit(copies as u64 * FILES_A_COPY);
}

/// Fails if the copies would need more than the available memory, given the memory use of one copy.
pub(crate) fn check_memory(copies: usize, each: u64, free: Option<u64>) -> Result<(), Trouble> {
    let needed = each.saturating_mul(copies as u64);
    let lacking = free.filter(|free| copies > 1 && needed as f64 > *free as f64 * MEMORY_SHARE);
    let Some(free) = lacking else { return Ok(()) };
    let [needed, each, free] = [needed, each, free].map(Value::Bytes);
    Err(Trouble::NoRoom(text!("{copies} copies require {needed} ({each} each); {free} is free")))
}

/// Starts all copies; each copy then waits at its gate. The complete output is saved only if it will be `read`, because reading it slows
/// down the measured work.
pub(crate) fn start_copies(
    command: &[Template],
    environment: &BTreeMap<String, Template>,
    copies: &[PlacedCopy],
    read: bool,
    options: &RunOptions,
    stop: &Stop,
) -> Result<Vec<Child>, Trouble> {
    let start = |copy: &PlacedCopy| {
        check_stop(stop)?;
        let argv = fill_all(command, &copy.values);
        let mut env = options.environment.clone();
        env.extend(environment.iter().map(|(name, value)| (name.into(), value.fill(&copy.values))));
        let spec = Spec {
            cpus: copy.cpus.as_ref(),
            memory: copy.memory.as_ref().map(|(nodes, interleave)| Memory { nodes, interleave: *interleave }),
            stdin: Input::Null,
            stdout: if read { Output::Capture { limit: MOST_OUTPUT } } else { Output::Null },
            stderr: Output::Capture { limit: if read { MOST_OUTPUT } else { LAST_OUTPUT } },
            env: &env,
            own_group: true,
            gate: true,
            ..Spec::new(&argv)
        };
        Child::spawn(&spec).map_err(Trouble::CannotStart)
    };
    copies.iter().map(start).collect()
}

/// The result of copies that have all exited on their own.
pub(crate) struct CopiesRun {
    /// Wall time of each copy, seconds.
    pub seconds: Vec<f64>,
    /// The standard output and standard error of each copy.
    pub outputs: Vec<(String, String)>,
    /// Resource usage of all copies; memory is that of the largest process.
    pub usage: Usage,
    /// Names of processes that the copies left behind. linespeed waited for these processes.
    pub left: Vec<String>,
    /// The failure of the first failed copy.
    pub failed: Option<Failed>,
    before: Incidents,
    after: Incidents,
}

/// Opens the gates of all copies, and waits for the copies to exit.
pub(crate) fn wait_for_copies(
    copies: &mut [Child],
    options: &RunOptions,
    stop: &Stop,
    observer: &mut dyn RunObserver,
) -> Result<CopiesRun, Trouble> {
    let root = Root::live();
    let before = Incidents::read(&root);
    copies.iter_mut().for_each(Child::release);
    let mut waited: Vec<&mut Child> = copies.iter_mut().collect();
    let mut tell = |left: &[Process]| observer.left(&name_processes(left));
    let ended = wait_all(&mut waited, stop, options.timeout, &mut tell);
    let after = Incidents::read(&root);
    check_stop(stop)?;
    for copy in &mut *copies {
        copy.started().map_err(Trouble::CannotStart)?;
    }
    if ended.iter().any(|ended| ended.exit == Exit::TimedOut) {
        return Err(Trouble::TimedOut(options.timeout.unwrap_or_default().as_secs_f64()));
    }
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let captured = copies.iter_mut().map(Child::captured);
    let outputs: Vec<(String, String)> = captured.map(|(out, err)| (text(out), text(err))).collect();
    let mut usage = Usage::default();
    ended.iter().for_each(|ended| usage.add(&ended.usage));
    let left: Vec<Process> = ended.iter().flat_map(|ended| ended.left.clone()).collect();
    Ok(CopiesRun {
        seconds: ended.iter().map(|ended| ended.wall.as_secs_f64().max(1e-9)).collect(),
        failed: find_failure(&ended, &outputs),
        outputs,
        usage,
        left: name_processes(&left),
        before,
        after,
    })
}

impl CopiesRun {
    /// Seconds until the last copy exited.
    pub(crate) fn wall(&self) -> f64 {
        self.seconds.iter().copied().fold(0.0, f64::max)
    }

    /// Events on `cpus` during the run. A service also used `beside` seconds of CPU time on these CPUs.
    pub(crate) fn marks(&self, cpus: &[u32], beside: f64) -> Vec<Mark> {
        let used = self.usage.user + self.usage.system + beside;
        self.before.marks_until(&self.after, cpus, used, self.wall())
    }
}

/// The failure of the first failed copy; `None` if none failed.
fn find_failure(ended: &[Ended], outputs: &[(String, String)]) -> Option<Failed> {
    let failed = |ended: &&Ended| ended.exit != Exit::Code(0);
    let first = ended.iter().position(|ended| failed(&ended))?;
    let (out, err) = &outputs[first];
    Some(Failed {
        exit: ended[first].exit,
        program: None,
        copies: (ended.iter().filter(failed).count(), ended.len()),
        last_output: last_words(if err.trim().is_empty() { out } else { err }),
    })
}

/// Maximum share of the CPUs' time that other processes may use before the run is marked. Housekeeping threads remain
/// below this share.
const OTHERS: f64 = 0.01;

/// Differences of fewer ticks than this between counts in /proc/stat are insignificant, because the counts have a resolution of one tick.
const TICKS: f64 = 3.0;

/// The counts at one point in time.
#[derive(Debug)]
pub(crate) struct Incidents {
    /// The counts by CPU.
    ticks: BTreeMap<u32, CpuTicks>,
    throttled: Option<u64>,
    quota: Option<u64>,
}

impl Incidents {
    /// Reads the current counts.
    pub(crate) fn read(root: &Root) -> Self {
        let snapshot = machine::snapshot(root);
        let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
        Self { ticks: ticks_of_each(&stat), throttled: snapshot.throttled, quota: snapshot.quota_throttled }
    }

    /// Events on `cpus` between these counts and `after`, while the commands used `cpu_seconds` of CPU time.
    pub(crate) fn marks_until(
        &self,
        after: &Incidents,
        cpus: &[u32],
        cpu_seconds: f64,
        wall: f64,
    ) -> Vec<Mark> {
        let (mut busy, mut stolen) = (0u64, 0u64);
        for cpu in cpus {
            if let (Some(before), Some(after)) = (self.ticks.get(cpu), after.ticks.get(cpu)) {
                busy += after.busy().saturating_sub(before.busy());
                stolen += after.stolen.unwrap_or(0).saturating_sub(before.stolen.unwrap_or(0));
            }
        }
        let allowed = OTHERS * wall * cpus.len() as f64 * USER_HZ + TICKS * cpus.len() as f64;
        let more = |before: Option<u64>, after: Option<u64>| before.zip(after).is_some_and(|(a, b)| b > a);
        let found = [
            // The other processes include our own waiting threads, but these hardly run.
            (Mark::Switched, busy as f64 - cpu_seconds * USER_HZ > allowed),
            (Mark::Stolen, stolen as f64 > allowed),
            (Mark::Throttled, more(self.throttled, after.throttled)),
            (Mark::Quota, more(self.quota, after.quota)),
        ];
        found.into_iter().filter(|(_, is_found)| *is_found).map(|(mark, _)| mark).collect()
    }
}

#[cfg(test)]
mod incident_tests {
    use super::*;

    fn at(stat: &str, quota: u64) -> Incidents {
        Incidents { ticks: ticks_of_each(stat), throttled: Some(0), quota: Some(quota) }
    }

    #[test]
    fn what_others_took_on_the_steps_cpus_marks_it() {
        let before =
            at("cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 100 0 0 50 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0 0 0\n", 1);
        let after =
            at("cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 200 0 0 50 0 0 0 0 0 0\ncpu1 90 0 0 0 0 0 0 40 0 0\n", 2);
        let wall = 100.0 / USER_HZ;
        // CPU 0 executed only the commands.
        assert_eq!(before.marks_until(&before, &[0], 0.0, wall), []);
        assert_eq!(before.marks_until(&after, &[0], wall, wall), [Mark::Quota]);
        let both = before.marks_until(&after, &[0, 1], wall, wall);
        assert_eq!(both, [Mark::Switched, Mark::Stolen, Mark::Quota]);
    }
}
