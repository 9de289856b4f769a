//! Which processes have the CPU time: /proc/PID/stat of each, held against the look before.

use std::collections::HashMap;
use std::path::Path;

use machine::Root;
use measure::proc_stat::USER_HZ;
use record::live::Process;
use record::phrase::visible;

use crate::kept_files::KeptFiles;

/// Processes that an interval names.
pub(crate) const MOST_NAMED: usize = 8;
/// Processes that are kept between two looks; more are not looked at.
const MOST_KEPT: usize = 200_000;
/// Processes that ended in an interval and are kept for its end.
const MOST_ENDED: usize = 1000;
/// Scheduling policies with a real-time priority (sched(7)): FIFO, round robin, deadline.
const REAL_TIME: [u64; 3] = [1, 2, 6];

/// One process at one look.
#[derive(Clone, Debug, PartialEq)]
struct Account {
    name: String,
    /// When it started, ticks since boot: with its number, what tells it from any other.
    started: u64,
    user: u64,
    system: u64,
    threads: u64,
    policy: u64,
}

/// All processes at one look.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Processes {
    there: HashMap<i32, Account>,
    /// What those had at the last look that have ended since the interval began.
    ended: Vec<(i32, Account)>,
}

impl Account {
    fn parse(stat: &str) -> Option<Self> {
        // A name may hold anything, parentheses and line breaks too: it ends at the last parenthesis.
        let (head, rest) = stat.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        // By its number in proc_pid_stat(5), where the first after the name is the third.
        let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
        Some(Self {
            name: visible(Path::new(head.split_once('(')?.1)),
            started: number(22)?,
            user: number(14)?,
            system: number(15)?,
            threads: number(20)?,
            policy: number(41).unwrap_or(0),
        })
    }
}

impl Processes {
    /// Looks at all processes that /proc shows.
    pub(crate) fn look(root: &Root, files: &mut KeptFiles) -> Self {
        let mut all = HashMap::new();
        let pids = std::fs::read_dir(root.path().join("proc")).into_iter().flatten().flatten();
        for pid in pids.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok()).take(MOST_KEPT) {
            let stat = files.text(root, pid, &format!("/proc/{pid}/stat"));
            if let Some(account) = stat.as_deref().and_then(Account::parse) {
                all.insert(pid, account);
            }
        }
        files.retain(|pid| all.contains_key(&pid));
        Self { there: all, ended: Vec::new() }
    }

    /// Takes over from the look before, of the same interval, what is no longer there.
    pub(crate) fn remember_ended(&mut self, mut before: Self) {
        self.ended = std::mem::take(&mut before.ended);
        let there = &self.there;
        let is_gone =
            |(pid, account): &(i32, Account)| there.get(pid).is_none_or(|now| now.started != account.started);
        let room = MOST_ENDED.saturating_sub(self.ended.len());
        self.ended.extend(before.there.into_iter().filter(is_gone).take(room));
    }

    /// Begins a new interval.
    pub(crate) fn forget_ended(&mut self) {
        self.ended.clear();
    }

    /// Those that had most CPU time from this look to `now`, the first first; of one that has ended what it had at the last look
    /// at it. `own` is left out.
    pub(crate) fn busiest_until(&self, now: &Self, own: i32) -> Vec<Process> {
        let mut all: Vec<Process> = Vec::new();
        let there = now.there.iter().map(|(pid, account)| (pid, account, false));
        let ended = now.ended.iter().map(|(pid, account)| (pid, account, true));
        for (pid, after, ended) in there.chain(ended).filter(|(pid, ..)| **pid != own) {
            // What was there before is told apart from a new process with its number; a new one has all its time from now.
            let before = self.there.get(pid).filter(|before| before.started == after.started);
            let of = |field: fn(&Account) -> u64| {
                field(after).saturating_sub(before.map_or(0, field)) as f64 / USER_HZ
            };
            let (user, system) = (of(|account| account.user), of(|account| account.system));
            if user + system > 0.0 {
                all.push(Process {
                    pid: *pid,
                    name: after.name.clone(),
                    cpu: user + system,
                    system,
                    threads: after.threads,
                    real_time: REAL_TIME.contains(&after.policy),
                    ended,
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
    use proptest::prelude::*;

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
        let look = |tree: &Tree| Processes::look(&tree.root(), &mut KeptFiles::default());
        let (before, now) = (look(&first), look(&second));
        let busiest = before.busiest_until(&now, 1);
        let seen: Vec<(i32, f64, f64, bool)> =
            busiest.iter().map(|one| (one.pid, one.cpu, one.system, one.real_time)).collect();
        assert_eq!(seen, [(10, 1.5, 0.5, false), (12, 0.4, 0.0, false), (11, 0.3, 0.0, true)]);
        assert_eq!((busiest[0].threads, busiest[2].name.as_str()), (4, "a) (b"));
        assert!(!busiest[1].name.contains('\u{1b}'));
        assert_eq!(before.busiest_until(&now, 10)[0].pid, 12);
    }

    #[test]
    fn what_ended_within_an_interval_is_named_with_what_it_had_at_the_last_look() {
        let look = |lines: &[(&str, String)]| {
            let tree = lines
                .iter()
                .fold(Tree::new(), |tree, (pid, stat)| tree.file(&format!("proc/{pid}/stat"), stat));
            Processes::look(&tree.root(), &mut KeptFiles::default())
        };
        let begin = look(&[("10", stat("cc1", 100, 0, 7, 0)), ("11", stat("idle", 5, 0, 8, 0))]);
        let middle = look(&[("10", stat("cc1", 190, 0, 7, 0)), ("12", stat("ld", 30, 0, 9, 0))]);
        let mut second = look(&[("10", stat("other", 20, 0, 50, 0))]);
        second.remember_ended(middle);
        let mut end = look(&[]);
        end.remember_ended(second);
        let busiest = begin.busiest_until(&end, 1);
        let seen: Vec<(i32, &str, f64, bool)> =
            busiest.iter().map(|one| (one.pid, one.name.as_str(), one.cpu, one.ended)).collect();
        assert_eq!(seen, [(10, "cc1", 0.9, true), (12, "ld", 0.3, true), (10, "other", 0.2, true)]);
        end.forget_ended();
        assert!(begin.busiest_until(&end, 1).is_empty());
    }

    proptest! {
        #[test]
        fn no_line_panics(text in "\\PC{0,80}") {
            let _ = (Account::parse(&text), Account::parse(&format!("1 (x) R {text}")));
        }
    }
}
