//! Busy processes on this machine, by their CPU time during a wait.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use os::child::processes;
use os::procfs::{USER_HZ, find_ticks};
use serde::Serialize;

/// A process that used CPU time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Task {
    /// The process's PID.
    pub pid: i32,
    /// The process's name in the kernel, at most 15 bytes.
    pub name: String,
    /// The process's user.
    pub user: String,
    /// The number of CPUs used; 0.5 means half a CPU.
    pub cpus: f64,
}

/// The load during a wait.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Load {
    /// Duration of the wait, seconds.
    pub seconds: f64,
    /// Busy CPUs; absent if the kernel does not report them.
    pub cpus: Option<f64>,
    /// Processes that used CPU time, busiest first.
    pub tasks: Vec<Task>,
}

impl Load {
    /// The number of CPUs used by each user, highest first.
    pub fn users(&self) -> Vec<(&str, f64)> {
        let mut all: BTreeMap<&str, f64> = BTreeMap::new();
        for task in &self.tasks {
            *all.entry(&task.user).or_default() += task.cpus;
        }
        let mut all: Vec<(&str, f64)> = all.into_iter().collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1));
        all
    }

    /// Busy CPUs not accounted for by the listed processes: CPU time of short-lived or invisible processes.
    pub fn unseen(&self) -> f64 {
        let seen: f64 = self.tasks.iter().map(|task| task.cpus).sum();
        self.cpus.map_or(0.0, |cpus| (cpus - seen).max(0.0))
    }
}

/// Reads all processes twice, with a sleep of this length in between.
pub fn sample_load(time: Duration) -> Load {
    let from = Instant::now();
    let (before, busy_before) = (processes(), busy_ticks());
    std::thread::sleep(time);
    let (after, busy_after) = (processes(), busy_ticks());
    let seconds = from.elapsed().as_secs_f64();
    let me = std::process::id() as i32;
    let passwd = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let mut tasks = Vec::new();
    for (pid, line) in after.into_iter().filter(|(pid, _)| *pid != me) {
        // A new process has used all of its CPU time since the first read. A process with a reused PID also counts as new.
        let (in_user, in_kernel) = line.seconds_since(before.get(&pid));
        if in_user + in_kernel > 0.0 {
            let user = std::fs::metadata(format!("/proc/{pid}")).ok();
            let name = |uid| os::name_of(uid, &passwd).map_or_else(|| format!("user {uid}"), str::to_owned);
            let user = user.map_or_else(|| "?".to_owned(), |data| name(data.uid()));
            tasks.push(Task { pid, name: line.name, user, cpus: (in_user + in_kernel) / seconds });
        }
    }
    tasks.sort_by(|a, b| b.cpus.total_cmp(&a.cpus).then(a.pid.cmp(&b.pid)));
    let cpus = |ticks: u64| ticks as f64 / USER_HZ / seconds;
    let busy = busy_before.zip(busy_after).map(|(before, after)| cpus(after.saturating_sub(before)));
    Load { seconds, cpus: busy, tasks }
}

/// Ticks used on all CPUs of this machine: all except idle, I/O wait and steal.
fn busy_ticks() -> Option<u64> {
    Some(find_ticks(&std::fs::read_to_string("/proc/stat").ok()?, "cpu")?.busy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_spins_is_named_with_what_he_takes() {
        let mut child = std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let pid = child.id() as i32;
        let mut found = None;
        // With a lot of other work on the machine, it may not get a tick immediately.
        for _ in 0..20 {
            let load = sample_load(Duration::from_millis(200));
            found = load.tasks.iter().find(|task| task.pid == pid).cloned();
            if found.is_some() {
                assert!(load.seconds >= 0.2 && load.cpus.is_some_and(|cpus| cpus > 0.0), "{load:?}");
                assert!(load.users().iter().any(|(user, cpus)| !user.is_empty() && *cpus > 0.0));
                break;
            }
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let task = found.expect("a process that never sleeps was not found");
        assert!(task.name == "sh" || task.name == "dash", "{task:?}");
        assert!(task.cpus > 0.0);
    }

    #[test]
    fn work_that_is_nobodys_is_what_is_left() {
        let task = |user: &str, cpus| Task { pid: 1, name: "a".to_owned(), user: user.to_owned(), cpus };
        let tasks = vec![task("ann", 0.5), task("bob", 0.75), task("ann", 0.5)];
        let load = Load { seconds: 0.3, cpus: Some(2.0), tasks };
        assert_eq!(load.users(), [("ann", 1.0), ("bob", 0.75)]);
        assert!((load.unseen() - 0.25).abs() < 1e-9);
        assert_eq!(Load { cpus: Some(1.0), ..load }.unseen(), 0.0);
    }
}
