//! A number that every process of a run inherits and cannot lose accidentally. Programs started with an empty
//! environment, in a new session, or by sudo keep it.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The limits that store the number, each with its line in /proc/PID/limits: file locks and resident memory. Linux
/// stores them, and children inherit them, but Linux has not enforced them since 2.4 (getrlimit(2)). If a program sets one
/// of them, the other remains.
const LIMITS: [(Resource, &str); 2] =
    [(Resource::Locks, "Max file locks"), (Resource::Rss, "Max resident set")];

/// The smallest number used: as a limit, it is effectively unlimited.
const LEAST: u64 = 1 << 62;

/// The environment variable that identifies all processes of a run, including daemonized ones.
pub(super) const VARIABLE: &str = "LINESPEED_RUN";

/// The identity of a run of this process, and the callback for processes that the run left behind.
pub(super) struct KnownRun {
    pub(super) token: String,
    pub(super) mark: Option<Mark>,
    /// Sends a PID to the guard.
    pub(super) tell: Option<Box<dyn Fn(i32) + Send>>,
    /// Processes already sent, by PID and start time.
    pub(super) known: HashSet<(i32, u64)>,
}

/// Maximum number of PIDs sent to a guard: its pipe has room for them even if the guard does not read.
const MOST_KNOWN: usize = 8192;

/// The runs of this process.
static RUNS: Mutex<Vec<KnownRun>> = Mutex::new(Vec::new());

pub(super) fn runs() -> MutexGuard<'static, Vec<KnownRun>> {
    RUNS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reports to the guards which processes this process has adopted. If this process is killed, init adopts them, and processes that have
/// lost both the environment variable and the limit can no longer be identified.
pub(super) fn tell_adopted(found: &[(i32, u64)]) {
    for run in runs().iter_mut() {
        let Some(tell) = &run.tell else { continue };
        for process in found {
            if run.known.len() < MOST_KNOWN && run.known.insert(*process) {
                tell(process.0);
            }
        }
    }
}

/// Whether a process belongs to a run of this process; always true if there is no run.
pub(super) fn is_of_a_run(pid: i32) -> bool {
    let runs = runs();
    runs.is_empty() || runs.iter().any(|run| is_of_run(pid, &run.token, run.mark))
}

/// Whether a process has this token in its environment, or this mark.
pub(super) fn is_of_run(pid: i32, token: &str, mark: Option<Mark>) -> bool {
    let wanted = format!("{VARIABLE}={token}");
    let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let limits = std::fs::read_to_string(format!("/proc/{pid}/limits")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|entry| entry == wanted.as_bytes())
        || mark.is_some_and(|mark| mark.is_in(&limits))
}

/// A number stored in soft limits that Linux does not enforce.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    number: u64,
    before: [Rlimit; 2],
}

/// The current time, used as a number that is unique among concurrent runs.
pub(super) fn clock_ns() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos())
}

impl Mark {
    /// The mark of this run. A limit that was lowered before cannot store a mark; `None` if both limits were lowered.
    pub(crate) fn new() -> Option<Self> {
        let number = LEAST | (clock_ns() as u64 & (LEAST - 1));
        let before = LIMITS.map(|(limit, _)| getrlimit(limit));
        before
            .iter()
            .any(|before| before.maximum.is_none_or(|most| most >= number))
            .then_some(Self { number, before })
    }

    /// Marks this process and all processes that it starts from now on.
    pub(crate) fn set(&self) {
        set(&self.before.map(|before| Rlimit { current: Some(self.number), ..before }));
    }

    /// Restores this process's limits.
    pub(crate) fn put_back(&self) {
        set(&self.before);
    }

    /// Whether a process has this mark, according to its /proc/PID/limits.
    pub(crate) fn is_in(&self, limits: &str) -> bool {
        let holds = |text: &str| {
            let number = text.split_whitespace().next()?;
            (number.parse() == Ok(self.number)).then_some(())
        };
        let held = |line: &str| LIMITS.iter().find_map(|(_, name)| holds(line.strip_prefix(name)?));
        limits.lines().any(|line| held(line).is_some())
    }
}

/// If setting one limit fails, the other limit and the environment still identify the run.
fn set(limits: &[Rlimit; 2]) {
    for ((limit, _), value) in LIMITS.iter().zip(limits) {
        let _ = setrlimit(*limit, *value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_process_without_environment_in_its_own_session_is_known() {
        let mark = Mark::new().unwrap();
        mark.set();
        let limits = Command::new("env").args(["-i", "setsid", "cat", "/proc/self/limits"]).output().unwrap();
        mark.put_back();
        let limits = String::from_utf8(limits.stdout).unwrap();
        assert!(mark.is_in(&limits), "{limits}");
        assert!(!Mark { number: mark.number + 1, ..mark }.is_in(&limits));
        for (at, (_, name)) in LIMITS.iter().enumerate() {
            let one: String =
                limits.lines().filter(|line| !line.starts_with(name)).collect::<Vec<_>>().join("\n");
            assert!(mark.is_in(&one), "without limit {at}: {one}");
        }
        let ours = std::fs::read_to_string("/proc/self/limits").unwrap();
        assert!(!mark.is_in(&ours), "{ours}");
    }
}
