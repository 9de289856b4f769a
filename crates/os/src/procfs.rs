//! Parses the files in /proc and in control groups that describe processes, CPUs and waiting. Callers open the files
//! themselves, so that files of a captured tree can be parsed as well.

use std::collections::BTreeMap;
use std::path::Path;

/// Ticks per second of the times in /proc, guaranteed to user space on every architecture (proc(5)).
pub const USER_HZ: f64 = 100.0;
/// The length of a tick, ns.
pub const TICK_NS: u64 = 10_000_000;

/// The numeric entries of a directory: processes in /proc, threads in /proc/PID/task. Empty if the directory cannot be
/// read.
pub fn numbers(folder: impl AsRef<Path>) -> impl Iterator<Item = i32> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// The contents of `/proc/PID/stat`, or of the stat file of a thread (proc_pid_stat(5)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    /// The process's name as stored by the kernel: at most 15 arbitrary bytes.
    pub name: String,
    /// R running or ready, S waiting, D waiting for a disk, T stopped, t stopped by a debugger, Z and X ended.
    pub state: char,
    /// The PID of the parent process.
    pub parent: i32,
    /// The ID of the process group.
    pub group: i32,
    /// Page faults without and with I/O.
    pub faults: (u64, u64),
    /// CPU time in user mode and in the kernel, ticks.
    pub ticks: (u64, u64),
    /// The CPU time of children that ended and were reaped.
    pub ended_ticks: (u64, u64),
    /// The nice value.
    pub nice: i32,
    /// The number of threads in the process.
    pub threads: u64,
    /// The start time, in ticks since boot. PID and start time together identify a process uniquely.
    pub started: u64,
    /// The CPU on which the process last ran.
    pub cpu: Option<u32>,
    /// The scheduling policy (sched(7)).
    pub policy: u64,
    /// The real-time priority: 1 to 99, or 0 without one.
    pub priority: u64,
}

/// Scheduling policies by their numbers (sched(7); 7 since Linux 6.12).
const POLICIES: [&str; 8] = ["other", "fifo", "rr", "batch", "", "idle", "deadline", "ext"];

impl Stat {
    /// Reads the data of the process with this PID.
    pub fn read(pid: i32) -> Option<Self> {
        Self::read_file(&format!("/proc/{pid}/stat"))
    }

    /// Like [`Self::read`], but only with the CPU time of the first thread: the kernel needs a millisecond to sum the CPU times of 15,000
    /// threads.
    pub fn read_first_thread(pid: i32) -> Option<Self> {
        Self::read_file(&format!("/proc/{pid}/task/{pid}/stat"))
    }

    fn read_file(path: &str) -> Option<Self> {
        Self::parse(&String::from_utf8_lossy(&std::fs::read(path).ok()?))
    }

    /// Parses the file's text.
    pub fn parse(stat: &str) -> Option<Self> {
        // A name may contain any characters, including parentheses and line breaks; it ends at the last parenthesis.
        let (head, rest) = stat.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        // Fields are numbered as in the manual, where the first one after the name is the third.
        let field = |number: usize| fields.get(number - 3).copied();
        let number = |number: usize| field(number)?.parse::<u64>().ok();
        Some(Self {
            name: head.split_once('(')?.1.to_owned(),
            state: field(3)?.chars().next()?,
            parent: field(4)?.parse().ok()?,
            group: field(5)?.parse().ok()?,
            faults: (number(10)?, number(12)?),
            ticks: (number(14)?, number(15)?),
            ended_ticks: (number(16)?, number(17)?),
            nice: field(19)?.parse().ok()?,
            threads: number(20)?,
            started: number(22)?,
            cpu: number(39).and_then(|cpu| u32::try_from(cpu).ok()),
            policy: number(41).unwrap_or(0),
            priority: number(40).unwrap_or(0),
        })
    }

    /// The name of the scheduling policy, in lower case.
    pub fn policy_name(&self) -> Option<&'static str> {
        POLICIES.get(usize::try_from(self.policy).ok()?).copied().filter(|name| !name.is_empty())
    }

    /// CPU time of all threads of the process, ticks.
    pub fn all_ticks(&self) -> u64 {
        self.ticks.0.saturating_add(self.ticks.1)
    }

    /// CPU time used since `before` (an earlier state of the same process, if any), in user mode and in the kernel,
    /// seconds.
    pub fn seconds_since(&self, before: Option<&Self>) -> (f64, f64) {
        let (user, system) =
            before.filter(|before| before.started == self.started).map_or((0, 0), |before| before.ticks);
        let seconds = |now: u64, before: u64| now.saturating_sub(before) as f64 / USER_HZ;
        (seconds(self.ticks.0, user), seconds(self.ticks.1, system))
    }

    /// Whether all threads of the process have ended. The state field describes only the first thread, and other threads can outlive that
    /// thread.
    pub fn has_ended(&self) -> bool {
        self.state == 'X' || self.state == 'Z' && self.threads <= 1
    }
}

/// The `schedstat` of a process or thread: its time on a CPU in ns, the time for which it was ready to run in ns, and
/// the number of times that it was scheduled (Documentation/scheduler/sched-stats.rst).
pub fn schedstat(text: &str) -> Option<(u64, u64, u64)> {
    let mut numbers = text.split_ascii_whitespace().map(|field| field.parse::<u64>().ok());
    Some((numbers.next()??, numbers.next()??, numbers.next().flatten().unwrap_or(0)))
}

/// Ticks of one CPU, or of all CPUs, in /proc/stat (proc_stat(5)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTicks {
    /// Ticks in user mode, including nice and guest time.
    pub user: u64,
    /// Ticks in the kernel, on behalf of processes.
    pub system: u64,
    /// Idle ticks.
    pub idle: u64,
    /// Idle ticks while a task that last ran on this CPU waits for a disk.
    pub iowait: u64,
    /// Ticks in interrupts.
    pub irq: u64,
    /// Ticks in softirqs.
    pub softirq: u64,
    /// Steal time, if the kernel reports it.
    pub stolen: Option<u64>,
}

impl CpuTicks {
    /// The busy ticks on this machine: all ticks except idle, I/O wait and steal.
    pub fn busy(&self) -> u64 {
        [self.system, self.irq, self.softirq].into_iter().fold(self.user, u64::saturating_add)
    }

    /// Parses a line `cpu0 1 2 3 …`.
    pub fn parse(line: &str) -> Option<Self> {
        let ticks: Vec<u64> =
            line.split_ascii_whitespace().skip(1).map_while(|word| word.parse().ok()).collect();
        // user, nice, system, idle, iowait, irq, softirq, steal; the following guest times are already included in user and nice.
        let &[user, nice, system, idle, ref rest @ ..] = &ticks[..] else { return None };
        let at = |index: usize| rest.get(index).copied();
        let [iowait, irq, softirq] = [0, 1, 2].map(|index| at(index).unwrap_or(0));
        Some(Self { user: user.saturating_add(nice), system, idle, iowait, irq, softirq, stolen: at(3) })
    }
}

/// The ticks of `cpu` (the sum over all CPUs), `cpu0`, `cpu1`….
pub fn find_ticks(stat: &str, name: &str) -> Option<CpuTicks> {
    let named = |line: &&str| line.split_ascii_whitespace().next() == Some(name);
    CpuTicks::parse(stat.lines().find(named)?)
}

/// The ticks of each online CPU.
pub fn ticks_of_each(stat: &str) -> BTreeMap<u32, CpuTicks> {
    let each = stat.lines().filter_map(|line| {
        let cpu = line.strip_prefix("cpu")?.split_ascii_whitespace().next()?;
        let cpu = cpu.parse().ok().filter(|_| !line.starts_with("cpu "))?;
        Some((cpu, CpuTicks::parse(line)?))
    });
    each.collect()
}

/// The number of runnable tasks: the number before the slash in `1/234` in `/proc/loadavg`.
pub fn running(loadavg: &str) -> Option<u32> {
    loadavg.split(' ').nth(3)?.split_once('/')?.0.parse().ok()
}

/// The time for which some task waited, µs since boot, from the line `some … total=`
/// (Documentation/accounting/psi.rst).
pub fn some_waited_us(pressure: &str) -> Option<u64> {
    let line = pressure.lines().find(|line| line.starts_with("some "))?;
    line.split_ascii_whitespace().find_map(|field| field.strip_prefix("total="))?.parse().ok()
}

/// The number after a name, in lines of the form `name number`: vmstat, numastat, a control group's cpu.stat.
pub fn count_of(text: &str, name: &str) -> Option<u64> {
    let mut words = text.lines().map(str::split_ascii_whitespace);
    words.find_map(|mut words| (words.next()? == name).then(|| words.next()?.parse().ok())?)
}

/// Seconds for which a quota throttled a cgroup: `throttled_usec` in cgroup v2, `throttled_time` (ns) in cgroup v1.
pub fn throttled_seconds(stat: &str) -> Option<f64> {
    let (us, ns) = (count_of(stat, "throttled_usec"), count_of(stat, "throttled_time"));
    us.map(|us| us as f64 / 1e6).or(ns.map(|ns| ns as f64 / 1e9))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fields_are_those_of_the_manual_whatever_the_name_holds() {
        let rest: Vec<String> = (6..=52).map(|field| field.to_string()).collect();
        let line = format!("12 (a) S 1 (b)) R 7 9 {}", rest.join(" "));
        let stat = Stat::parse(&line).unwrap();
        assert_eq!((stat.name.as_str(), stat.state, stat.parent, stat.group), ("a) S 1 (b)", 'R', 7, 9));
        assert_eq!((stat.faults, stat.ticks, stat.ended_ticks), ((10, 12), (14, 15), (16, 17)));
        assert_eq!((stat.nice, stat.threads, stat.started), (19, 20, 22));
        assert_eq!((stat.cpu, stat.policy), (Some(39), 41));
        assert_eq!(Stat::parse("12 (a) S"), None);
        let later = Stat { ticks: (114, 15), ..stat.clone() };
        assert_eq!(later.seconds_since(Some(&stat)), (1.0, 0.0));
        // Another process with the same PID.
        assert_eq!(Stat { started: 23, ..later }.seconds_since(Some(&stat)), (1.14, 0.15));
        assert_eq!(schedstat("92327 60572 2\n"), Some((92327, 60572, 2)));
        assert_eq!(schedstat("92327"), None);
    }

    #[test]
    fn idle_and_stolen_time_is_nobodys_work() {
        let busy = |stat| find_ticks(stat, "cpu").map(|ticks| (ticks.busy(), ticks.stolen));
        assert_eq!(busy("cpu  100 10 50 9999 77 3 2 400 0 0\ncpu0 1"), Some((165, Some(400))));
        assert_eq!(busy("cpu  100 20 30 4000 500 6 7 80 9 10\ncpu0 1 1 1 1"), Some((163, Some(80))));
        assert_eq!(busy("cpu  100 10 50 9999"), Some((160, None)));
        assert_eq!(busy("cpu  100 ten"), None);
        assert_eq!(busy(""), None);
    }

    #[test]
    fn stolen_ticks_are_each_cpus_own() {
        let stat =
            "cpu  1 2 3 4 5 6 7 80 9 10\ncpu1 1 2 3 4 5 6 7 11 9 10\ncpu11 1 2 3 4 5 6 7 12 9 10\nintr 5\n";
        let each: Vec<_> = ticks_of_each(stat).into_iter().map(|(cpu, ticks)| (cpu, ticks.stolen)).collect();
        assert_eq!(each, [(1, Some(11)), (11, Some(12))]);
        assert_eq!(find_ticks(stat, "cpu1").and_then(|ticks| ticks.stolen), Some(11));
        assert_eq!(find_ticks(stat, "cpu2"), None);
        assert_eq!(find_ticks("cpu1 1 2", "cpu1"), None);
    }

    #[test]
    fn kernels_files_read_as_they_are_documented() {
        let pressure = "some avg10=0.00 avg60=0.00 avg300=0.00 total=2500000\nfull avg10=0.00 total=7\n";
        assert_eq!(some_waited_us(pressure), Some(2_500_000));
        assert_eq!(some_waited_us("full avg10=0.00 total=7\n"), None);
        assert_eq!(throttled_seconds("nr_periods 5\nnr_throttled 2\nthrottled_usec 1500000\n"), Some(1.5));
        assert_eq!(throttled_seconds("nr_periods 5\nnr_throttled 2\nthrottled_time 1500000000\n"), Some(1.5));
        assert_eq!(throttled_seconds("usage_usec 5\n"), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[ -~\n]{0,300}|\\PC{0,80}") {
            let _ = (Stat::parse(&text), Stat::parse(&format!("1 (x) R {text}")), schedstat(&text));
            let _ = (ticks_of_each(&text), find_ticks(&format!("cpu {text}"), "cpu"));
            let text = format!("some total={text}\nthrottled_usec {text}");
            let _ = (some_waited_us(&text), throttled_seconds(&text));
        }
    }
}
