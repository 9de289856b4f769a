//! The CPU time of processes: /proc/PID/stat of each, compared with the previous scan.

use std::collections::HashMap;
use std::path::Path;

use machine::Root;
use os::procfs::{Stat, numbers};
use record::live::Process;
use record::phrase::visible;

use crate::kept_files::{KeptFiles, MOST_OPEN};

/// Maximum number of processes listed in an interval.
pub(crate) const MOST_NAMED: usize = 8;
/// Maximum number of processes stored between two scans; others are ignored.
const MOST_KEPT: usize = 200_000;
/// Maximum number of exited processes that are stored until the end of an interval.
const MOST_ENDED: usize = 1000;
/// Scheduling policies with a real-time priority (sched(7)): FIFO, round robin, deadline.
const REAL_TIME: [u64; 3] = [1, 2, 6];
/// After this many scans, the list of processes is read again even if no process seems to have started, because an existing
/// process may have become visible.
const LISTED_FOR: u32 = 30;

/// State that is stored between scans to make them cheap. Checking whether a process has run since the last scan takes a third of
/// the time needed to read its accounting. Listing all processes takes as long as reading the accounting of a third of them.
#[derive(Debug, Default)]
pub(crate) struct Files {
    /// `/proc/PID/stat`.
    accounts: KeptFiles,
    /// `/proc/PID/schedstat` of single-threaded processes. While this file is unchanged, the accounting is unchanged as well.
    turns: KeptFiles,
    /// The text of each schedstat file at the last scan.
    last_turns: HashMap<i32, String>,
    /// The processes in the last list, and the last PID that had been assigned when the list was read.
    listed: Vec<i32>,
    last_given: Option<String>,
    looks: u32,
}

impl Files {
    /// Raises the limit of open files, as far as permitted, so that these files can stay open.
    pub(crate) fn with_room() -> Self {
        os::raise_file_limit(2 * MOST_OPEN as u64);
        Self::default()
    }

    /// The listed processes, some of which may have ended.
    fn list(&mut self, root: &Root) -> &[i32] {
        // The 4711 of `0.00 0.01 0.05 3/512 4711`. It is read before the list, so that processes that start later count as
        // new.
        let loadavg = if root.is_live() { root.text("/proc/loadavg") } else { None };
        let given = loadavg.and_then(|text| Some(text.split_ascii_whitespace().nth(4)?.to_owned()));
        self.looks += 1;
        if given.is_none() || given != self.last_given || self.looks >= LISTED_FOR {
            self.listed = numbers(root.path().join("proc")).take(MOST_KEPT).collect();
            (self.last_given, self.looks) = (given, 0);
        }
        &self.listed
    }

    /// The accounting of a process until now; `before` is its accounting at the last scan.
    fn account(&mut self, root: &Root, pid: i32, before: Option<&Stat>) -> Option<Stat> {
        if let Some(before) = before.filter(|before| before.threads == 1)
            && let Some((turns, known)) = self.turns.kept_text(root, pid, &format!("/proc/{pid}/schedstat"))
        {
            // The comparison is valid only for a file that was open at the last scan and therefore belongs to the same process.
            if known && self.last_turns.get(&pid) == Some(&turns) {
                return Some(before.clone());
            }
            self.last_turns.insert(pid, turns);
        }
        Stat::parse(&self.accounts.text(root, pid, &format!("/proc/{pid}/stat"))?)
    }
}

/// All processes in one scan.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Processes {
    there: HashMap<i32, Stat>,
    /// The last accounting of each process that has exited since the interval began.
    ended: Vec<(i32, Stat)>,
}

impl Processes {
    /// Scans all processes visible in /proc; `before` is the last scan.
    pub(crate) fn look(root: &Root, files: &mut Files, before: &Self) -> Self {
        let mut all = HashMap::new();
        for pid in files.list(root).to_vec() {
            if let Some(account) = files.account(root, pid, before.there.get(&pid)) {
                all.insert(pid, account);
            }
        }
        files.accounts.retain(|pid| all.contains_key(&pid));
        files.turns.retain(|pid| all.contains_key(&pid));
        files.last_turns.retain(|pid, _| all.contains_key(pid));
        Self { there: all, ended: Vec::new() }
    }

    /// The CPU time of a process so far.
    pub(crate) fn account(&self, pid: i32) -> Option<&Stat> {
        self.there.get(&pid)
    }

    /// Copies the exited processes from the previous scan of the same interval.
    pub(crate) fn remember_ended(&mut self, mut before: Self) {
        self.ended = std::mem::take(&mut before.ended);
        let there = &self.there;
        let is_gone =
            |(pid, account): &(i32, Stat)| there.get(pid).is_none_or(|now| now.started != account.started);
        let room = MOST_ENDED.saturating_sub(self.ended.len());
        self.ended.extend(before.there.into_iter().filter(is_gone).take(room));
    }

    /// Begins a new interval.
    pub(crate) fn forget_ended(&mut self) {
        self.ended.clear();
    }

    /// The processes with the most CPU time from this scan to `now`, busiest first. For a process that has exited, the CPU
    /// time up to its last scan counts. `is_own` selects processes to omit.
    pub(crate) fn busiest_until(&self, now: &Self, is_own: impl Fn(i32) -> bool) -> Vec<Process> {
        let mut all: Vec<Process> = Vec::new();
        let of_manual = |policy: &str| format!("SCHED_{}", policy.to_uppercase());
        let there = now.there.iter().map(|(pid, account)| (pid, account, false));
        let ended = now.ended.iter().map(|(pid, account)| (pid, account, true));
        for (pid, after, ended) in there.chain(ended).filter(|(pid, ..)| !is_own(**pid)) {
            // A new process may have the PID of an earlier one. All CPU time of a new process counts.
            let (user, system) = after.seconds_since(self.there.get(pid));
            if user + system > 0.0 {
                all.push(Process {
                    pid: *pid,
                    name: visible(Path::new(&after.name)),
                    cpu: user + system,
                    system,
                    threads: after.threads,
                    real_time: REAL_TIME.contains(&after.policy),
                    class: after.policy_name().filter(|name| *name != "other").map(of_manual),
                    priority: Some(after.priority).filter(|_| REAL_TIME.contains(&after.policy)),
                    nice: Some(after.nice).filter(|nice| *nice != 0),
                    ended,
                    ..Process::default()
                });
            }
        }
        all.sort_by(|a, b| b.cpu.total_cmp(&a.cpu).then(a.pid.cmp(&b.pid)));
        all.truncate(MOST_NAMED);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::Tree;

    /// A line of /proc/PID/stat.
    fn stat(name: &str, user: u64, system: u64, started: u64, policy: u64) -> String {
        let mut fields: Vec<String> = (3..=52).map(|_| "0".to_owned()).collect();
        fields[0] = "S".to_owned();
        for (field, value) in [(14, user), (15, system), (20, 4), (22, started), (41, policy)] {
            fields[field - 3] = value.to_string();
        }
        format!("7 ({name}) {}\n", fields.join(" "))
    }

    #[test]
    fn the_busiest_is_first_and_a_number_that_another_has_now_is_another() {
        let first = Tree::new()
            .file("proc/10/stat", &stat("mysqld", 1000, 500, 7, 0))
            .file("proc/11/stat", &stat("a) (b", 5000, 0, 8, 0))
            .file("proc/12/stat", &stat("old", 9000, 0, 9, 0))
            .file("proc/13/stat", &stat("idle", 9000, 0, 9, 0));
        let second = Tree::new()
            .file("proc/10/stat", &stat("mysqld", 1100, 550, 7, 0))
            .file("proc/11/stat", &stat("a) (b", 5030, 0, 8, 1))
            .file("proc/12/stat", &stat("\u{1b}[2Jnew", 40, 0, 99, 0))
            .file("proc/13/stat", &stat("idle", 9000, 0, 9, 0))
            .file("proc/self/stat", "x");
        let look = |tree: &Tree| Processes::look(&tree.root(), &mut Files::default(), &Processes::default());
        let (before, now) = (look(&first), look(&second));
        let busiest = before.busiest_until(&now, |pid| pid == 1);
        let seen: Vec<(i32, f64, f64, bool)> =
            busiest.iter().map(|one| (one.pid, one.cpu, one.system, one.real_time)).collect();
        assert_eq!(seen, [(10, 1.5, 0.5, false), (12, 0.4, 0.0, false), (11, 0.3, 0.0, true)]);
        assert_eq!((busiest[0].threads, busiest[2].name.as_str()), (4, "a) (b"));
        assert!(!busiest[1].name.contains('\u{1b}'));
        assert_eq!(before.busiest_until(&now, |pid| pid == 10)[0].pid, 12);
    }

    #[test]
    fn what_ended_within_an_interval_is_named_with_what_it_had_at_the_last_look() {
        let look = |lines: &[(&str, String)]| {
            let tree = lines
                .iter()
                .fold(Tree::new(), |tree, (pid, stat)| tree.file(&format!("proc/{pid}/stat"), stat));
            Processes::look(&tree.root(), &mut Files::default(), &Processes::default())
        };
        let begin = look(&[("10", stat("cc1", 100, 0, 7, 0)), ("11", stat("idle", 5, 0, 8, 0))]);
        let middle = look(&[("10", stat("cc1", 190, 0, 7, 0)), ("12", stat("ld", 30, 0, 9, 0))]);
        let mut second = look(&[("10", stat("other", 20, 0, 50, 0))]);
        second.remember_ended(middle);
        let mut end = look(&[]);
        end.remember_ended(second);
        let busiest = begin.busiest_until(&end, |pid| pid == 1);
        let seen: Vec<(i32, &str, f64, bool)> =
            busiest.iter().map(|one| (one.pid, one.name.as_str(), one.cpu, one.ended)).collect();
        assert_eq!(seen, [(10, "cc1", 0.9, true), (12, "ld", 0.3, true), (10, "other", 0.2, true)]);
        end.forget_ended();
        assert!(begin.busiest_until(&end, |pid| pid == 1).is_empty());
    }

    #[test]
    fn who_slept_is_not_read_anew_and_who_ran_is() {
        let child = |command: &str| std::process::Command::new("sh").args(["-c", command]).spawn().unwrap();
        let mut children = [child("exec sleep 60"), child("while :; do :; done")];
        let (root, mut files, mut last) = (Root::live(), Files::with_room(), Processes::default());
        let pids = children.each_ref().map(|child| child.id() as i32);
        let account = |looked: &Processes, pid: i32| looked.there.get(&pid).cloned();
        let (mut slept, mut ran) = (false, false);
        for _ in 0..400 {
            std::thread::sleep(std::time::Duration::from_millis(20));
            let now = Processes::look(&root, &mut files, &last);
            slept |=
                files.last_turns.contains_key(&pids[0]) && account(&now, pids[0]) == account(&last, pids[0]);
            ran |= account(&now, pids[1])
                .zip(account(&last, pids[1]))
                .is_some_and(|(now, then)| now.ticks.0 > then.ticks.0);
            last = now;
            if slept && ran {
                break;
            }
        }
        for child in &mut children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert!(slept && ran && account(&last, pids[0]).is_some_and(|account| account.name == "sleep"));
        let now = Processes::look(&root, &mut files, &last);
        assert!(pids.iter().all(|pid| account(&now, *pid).is_none() && !files.last_turns.contains_key(pid)));
        // A new process is listed.
        let mut new = child("exec sleep 60");
        assert!(account(&Processes::look(&root, &mut files, &now), new.id() as i32).is_some());
        new.kill().unwrap();
        new.wait().unwrap();
    }
}
