//! /proc/stat: what the CPUs did, interrupts, switches, new processes, threads that run and that wait for a disk (proc_stat(5)).

use record::live::CpuTimes;

/// Ticks a second of the times there, on every architecture, by promise to user space.
const USER_HZ: f64 = 100.0;
/// Kinds of softirqs in the order of the line (linux/include/linux/interrupt.h), as rates name them.
const SOFTIRQS: [&str; 10] = [
    "softirqs-hi",
    "softirqs-timer",
    "softirqs-net-tx",
    "softirqs-net-rx",
    "softirqs-block",
    "softirqs-irq-poll",
    "softirqs-tasklet",
    "softirqs-sched",
    "softirqs-hrtimer",
    "softirqs-rcu",
];

/// One look at it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Stat {
    pub(crate) times: CpuTimes,
    /// CPUs that have a line: those online.
    pub(crate) cpus: u64,
    /// Events since boot, by the names that rates have.
    pub(crate) counts: Vec<(&'static str, u64)>,
    pub(crate) running: Option<u64>,
    pub(crate) blocked: Option<u64>,
}

impl Stat {
    /// Reads its text; `None` without a line of all CPUs.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut stat =
            Self { times: times(text.lines().find(|line| line.starts_with("cpu "))?)?, ..Self::default() };
        for line in text.lines() {
            let Some((name, rest)) = line.split_once(' ') else { continue };
            let first = || rest.split(' ').next()?.parse::<u64>().ok();
            match name {
                "intr" => stat.counts.extend(first().map(|count| ("interrupts", count))),
                "ctxt" => stat.counts.extend(first().map(|count| ("context-switches", count))),
                "processes" => stat.counts.extend(first().map(|count| ("forks", count))),
                "softirq" => {
                    stat.counts.extend(first().map(|count| ("softirqs", count)));
                    let kinds = rest.split(' ').skip(1).map_while(|count| count.parse::<u64>().ok());
                    stat.counts.extend(SOFTIRQS.into_iter().zip(kinds));
                }
                "procs_running" => stat.running = first(),
                "procs_blocked" => stat.blocked = first(),
                _ => stat.cpus += u64::from(name.strip_prefix("cpu").is_some_and(|cpu| !cpu.is_empty())),
            }
        }
        Some(stat)
    }
}

fn times(line: &str) -> Option<CpuTimes> {
    let ticks: Vec<f64> = line
        .split_ascii_whitespace()
        .skip(1)
        .map_while(|word| word.parse::<u64>().ok())
        .map(|ticks| ticks as f64 / USER_HZ)
        .collect();
    // Guests' time (fields 9 and 10) is in user and nice too.
    let &[user, nice, system, idle, ref rest @ ..] = &ticks[..] else { return None };
    let at = |index: usize| rest.get(index).copied().unwrap_or(0.0);
    Some(CpuTimes {
        user: user + nice,
        system,
        idle,
        iowait: at(0),
        irq: at(1),
        softirq: at(2),
        steal: at(3),
    })
}

/// What grew between two looks. A field that went backwards, as iowait does when a CPU goes off (proc_stat(5)), did not
/// grow.
pub(crate) fn grown(before: &CpuTimes, after: &CpuTimes) -> CpuTimes {
    let of = |field: fn(&CpuTimes) -> f64| (field(after) - field(before)).max(0.0);
    CpuTimes {
        user: of(|t| t.user),
        system: of(|t| t.system),
        irq: of(|t| t.irq),
        softirq: of(|t| t.softirq),
        iowait: of(|t| t.iowait),
        idle: of(|t| t.idle),
        steal: of(|t| t.steal),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const STAT: &str = "cpu  100 20 30 4000 500 6 7 80 9 10\ncpu0 50 10 15 2000 250 3 3 40 4 5\ncpu3 50 10 15 2000 250 3 4 40 5 \
                        5\nintr 900 0 1\nctxt 5000\nbtime 1795503891\nprocesses 77\nprocs_running 3\nprocs_blocked 1\nsoftirq 60 1 2 \
                        3 40 5 0 2 3 0 4\n";

    #[test]
    fn fields_are_those_of_the_manual() {
        let stat = Stat::parse(STAT).unwrap();
        assert_eq!((stat.cpus, stat.running, stat.blocked), (2, Some(3), Some(1)));
        let times = CpuTimes {
            user: 1.2,
            system: 0.3,
            irq: 0.06,
            softirq: 0.07,
            iowait: 5.0,
            idle: 40.0,
            steal: 0.8,
        };
        assert_eq!(stat.times, times);
        let count =
            |name: &str| stat.counts.iter().find(|(other, _)| *other == name).map(|(_, count)| *count);
        assert_eq!(
            (count("interrupts"), count("context-switches"), count("forks")),
            (Some(900), Some(5000), Some(77))
        );
        assert_eq!(
            (count("softirqs"), count("softirqs-net-rx"), count("softirqs-rcu")),
            (Some(60), Some(40), Some(4))
        );
        assert_eq!(Stat::parse("cpu0 1 2 3 4\n"), None);
    }

    #[test]
    fn time_that_goes_backwards_did_not_pass() {
        let later = CpuTimes { user: 2.0, iowait: 3.0, ..CpuTimes::default() };
        let before = CpuTimes { user: 1.0, iowait: 4.0, ..CpuTimes::default() };
        assert_eq!(grown(&before, &later), CpuTimes { user: 1.0, ..CpuTimes::default() });
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(cpu|intr|softirq| |[0-9]{1,25}|\n){0,60}") {
            let _ = Stat::parse(&text);
            let _ = Stat::parse(&format!("cpu {text}"));
        }
    }
}
