//! Selected processes, observed together with the whole machine: the data of `linespeed stat -p`, interval by interval.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use machine::Root;
use measure::accesses::Hierarchy;
use measure::command::{self, AttachError, Attached, Job, Watching};
use measure::tasks::Effort;
use os::Stop;
use record::live::Thread;
use record::phrase::visible;
use record::{Label, Measurement, detail, metrics};

use crate::selection::{Selection, SelectionError};

/// Maximum number of threads listed in an interval.
const MOST_NAMED: usize = 8;

/// Observed processes; the processes of a cgroup are searched for again in each interval.
#[derive(Debug)]
pub struct Service {
    selection: Selection,
    watching: Watching,
}

/// Why processes cannot be observed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServiceError {
    /// The processes are not found.
    #[error("{0}")]
    Selection(SelectionError),
    /// A selected process cannot be observed.
    #[error("{0}")]
    Attach(AttachError),
}

/// The activity of the selected processes in an interval.
#[derive(Clone, Debug, Default)]
pub(crate) struct Done {
    /// The same measurements as for a command that ran for this long.
    pub(crate) measurements: Vec<Measurement>,
    /// The threads with the most CPU time.
    pub(crate) threads: Vec<Thread>,
    /// Number of processes started by the specified processes.
    below: u64,
    /// Threads that were observed.
    seen: u64,
}

impl Service {
    /// Finds the processes.
    pub fn new(selection: Selection, root: &Root) -> Result<Self, ServiceError> {
        let mut service = Self { selection, watching: Watching::new(Vec::new(), Effort::BESIDE) };
        service.refresh(root)?;
        Ok(service)
    }

    /// The PIDs of the processes.
    pub(crate) fn pids(&self) -> Vec<i32> {
        self.watching.processes().map(|one| one.pid).collect()
    }

    /// From now on, samples the waits of the processes' threads, including waits in user mode.
    pub(crate) fn sample(&mut self, known: Hierarchy) {
        self.watching.sample(known);
    }

    /// The names of processes selected by PID, as reported by the kernel, without duplicates.
    pub fn names(&self, root: &Root) -> Vec<String> {
        let Selection::Processes(pids) = &self.selection else { return Vec::new() };
        let mut names: Vec<String> = Vec::new();
        for pid in pids {
            let name = root.text(&format!("/proc/{pid}/comm")).unwrap_or_default();
            let name = visible(Path::new(name.trim_end_matches('\n')));
            if !name.is_empty() && !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// The selection of observed processes.
    pub fn selection(&self) -> &Selection {
        &self.selection
    }

    /// Searches for the processes again, because processes start and exit. Processes that exited after they were listed
    /// are dropped.
    pub fn refresh(&mut self, root: &Root) -> Result<(), ServiceError> {
        let pids = self.selection.find(root).map_err(ServiceError::Selection)?;
        // Usually nothing has changed: a cgroup may have thousands of processes, but few of them start or exit in an interval.
        if !pids.is_empty() && self.watching.present().map(|one| one.pid).eq(pids.iter().copied()) {
            return Ok(());
        }
        let known: BTreeMap<i32, Attached> =
            self.watching.present().map(|one| (one.pid, one.clone())).collect();
        let first = self.watching.processes().next().is_none();
        let by_number = matches!(self.selection, Selection::Processes(_));
        let mut all = Vec::new();
        for pid in pids {
            match known.get(&pid).cloned().map_or_else(|| Attached::find(pid), Ok) {
                Ok(one) => all.push(one),
                Err(error) if by_number && first => return Err(ServiceError::Attach(error)),
                Err(_) => {}
            }
        }
        self.watching.set(all);
        Ok(())
    }

    /// Observes the processes for this long, or until all have exited or a stop is requested.
    pub(crate) fn watch(&mut self, length: Duration, stop: &Stop) -> Done {
        let run = self.watching.watch(Some(length), stop);
        let argv: Vec<OsString> =
            self.watching.processes().flat_map(|one| one.argv.first().cloned()).collect();
        let cpus = self.watching.processes().map(|one| one.cpus.len()).max().unwrap_or(1).max(1);
        let wall = run.ended.wall.as_secs_f64();
        let threads = run.seen.threads.iter().take(MOST_NAMED).map(|thread| Thread {
            pid: thread.pid,
            tid: thread.tid,
            name: visible(Path::new(&thread.name)),
            cpu: thread.on_cpu_ns as f64 / 1e9,
            runnable: thread.runnable_ns as f64 / 1e9,
            // The readings of a thread begin and end at slightly different times from the interval.
            blocked: (thread.blocked_ns as f64 / 1e9).min(wall),
            state: thread.state.to_string(),
        });
        let threads = threads.collect();
        let job = Job { argv: &argv, cpus: None, env: &[], events: false, samples: None, guard: None };
        let figures = command::figures(&[run], &job, cpus);
        let by_number = matches!(self.selection, Selection::Processes(_));
        let seen = figures.measurements.iter().find_map(|m| m.detail.get(detail::THREADS_SEEN));
        let below = seen.filter(|_| by_number).map_or(0, |seen| seen.below);
        let seen = seen.map_or(0, |seen| seen.seen.max(seen.most));
        Done { measurements: figures.measurements, threads, below, seen }
    }

    /// The number of processes selected by PID, if all of them have exited and nothing is left to observe; otherwise 0.
    /// It is always 0 for a unit or a container, which may restart.
    pub fn ended(&self) -> u64 {
        match &self.selection {
            Selection::Processes(pids) if !self.watching.is_one_there() => pids.len() as u64,
            _ => 0,
        }
    }
}

/// The CPU time and the waits of the processes, from their counts in an interval of this many seconds.
pub(crate) fn times(done: &Done, seconds: f64) -> record::live::Service {
    let measurements = &done.measurements;
    let states = measurements.iter().filter(|m| m.metric == metrics::WORKLOAD_CPU_TIME);
    let of_all = states.filter(|m| m.labels.get(Label::Thread).is_none());
    let states = of_all.filter_map(|m| Some((m.labels.word(Label::State)?.to_owned(), m.value())));
    let time = measurements.iter().find(|m| m.metric == metrics::WORKLOAD_TIME);
    record::live::Service {
        seconds: time.map_or(seconds, Measurement::value),
        states: states.collect(),
        waits: time.and_then(|time| time.detail.get(detail::WAITS)).unwrap_or_default(),
        looks: time.and_then(|time| time.detail.get(detail::LOOKS)).unwrap_or_default(),
        sampled: time.and_then(|time| time.detail.get(detail::SAMPLED)),
        below: done.below,
        threads: done.seen,
        ended: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_watched_by_its_number_until_it_ends() {
        let mut child = std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let (root, pid) = (Root::live(), child.id() as i32);
        let mut service = Service::new(Selection::Processes(vec![pid]), &root).unwrap();
        let mut done = service.watch(Duration::from_millis(600), &Stop::new());
        for _ in 0..50 {
            if done.threads.iter().any(|thread| thread.cpu > 0.0) {
                break;
            }
            done = service.watch(Duration::from_millis(600), &Stop::new());
        }
        assert!(done.threads.iter().any(|thread| thread.tid == pid && thread.cpu > 0.0), "{done:?}");
        assert_eq!((service.ended(), service.names(&root)), (0, vec!["sh".to_owned()]));
        assert!(done.threads.iter().all(|thread| thread.blocked <= times(&done, 0.6).seconds), "{done:?}");
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(service.ended(), 1);
        let gone = Service::new(Selection::Processes(vec![pid]), &root).unwrap_err();
        assert_eq!(gone, ServiceError::Attach(AttachError::Ended(pid)));
    }
}
