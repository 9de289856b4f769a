//! /proc/stat: CPU times, interrupts, switches, new processes, running threads, and threads that wait for a disk (proc_stat(5)).

use std::collections::BTreeMap;

use os::procfs::{CpuTicks, USER_HZ, find_ticks, ticks_of_each};
use record::live::CpuTimes;

/// Kinds of softirqs in the order of the `softirq` line (linux/include/linux/interrupt.h), by the names used for rates.
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

/// One reading.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Stat {
    /// The times of all CPUs, including offline CPUs.
    all: CpuTicks,
    /// The times of each online CPU.
    pub(crate) each: BTreeMap<u32, CpuTicks>,
    /// Numbers of events since boot, by the names of the rates.
    pub(crate) counts: Vec<(&'static str, u64)>,
    pub(crate) running: Option<u64>,
    pub(crate) blocked: Option<u64>,
}

impl Stat {
    /// Parses the text of /proc/stat; `None` if the line for all CPUs is missing.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut stat = Self { all: find_ticks(text, "cpu")?, each: ticks_of_each(text), ..Self::default() };
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
                _ => {}
            }
        }
        Some(stat)
    }
}

/// The increase between two readings. A field that went backwards, as iowait may (proc_stat(5)), counts as unchanged. If CPUs went
/// offline or online, only the increase of the other CPUs counts, because the sum includes offline CPUs with times from another clock,
/// and the times of a CPU may restart.
pub(crate) fn grown(before: &Stat, after: &Stat) -> CpuTimes {
    let steady = before.each.keys().eq(after.each.keys())
        && before.each.values().zip(after.each.values()).all(|(before, after)| after.idle >= before.idle);
    if steady {
        return between(&before.all, &after.all);
    }
    let mut sum = CpuTimes::default();
    for (cpu, after) in &after.each {
        if let Some(before) = before.each.get(cpu) {
            sum += between(before, after);
        }
    }
    sum
}

fn between(before: &CpuTicks, after: &CpuTicks) -> CpuTimes {
    let of = |field: fn(&CpuTicks) -> u64| field(after).saturating_sub(field(before)) as f64 / USER_HZ;
    CpuTimes {
        user: of(|t| t.user),
        system: of(|t| t.system),
        irq: of(|t| t.irq),
        softirq: of(|t| t.softirq),
        iowait: of(|t| t.iowait),
        idle: of(|t| t.idle),
        steal: of(|t| t.stolen.unwrap_or(0)),
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
        assert_eq!((stat.each.len(), stat.running, stat.blocked), (2, Some(3), Some(1)));
        let times = CpuTimes {
            user: 1.2,
            system: 0.3,
            irq: 0.06,
            softirq: 0.07,
            iowait: 5.0,
            idle: 40.0,
            steal: 0.8,
        };
        assert_eq!(grown(&Stat::default(), &stat), CpuTimes::default());
        let none = Stat { all: CpuTicks::default(), ..stat.clone() };
        assert_eq!(grown(&none, &stat), times);
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
        let at = |user: u64, iowait: u64| {
            Stat::parse(&format!("cpu {user} 0 0 0 {iowait}\ncpu0 {user} 0 0 0 {iowait}\n")).unwrap()
        };
        assert_eq!(grown(&at(100, 400), &at(200, 300)), CpuTimes { user: 1.0, ..CpuTimes::default() });
    }

    #[test]
    fn a_cpu_that_goes_off_or_on_takes_nothing_from_the_others() {
        // One second on two CPUs, one of them idle; the sum counts offline CPUs in a different way.
        let both = |at: u64, idle: u64| format!("cpu0 {at} 0 0 0\ncpu1 0 0 0 {idle}\n");
        let stat = |all: &str, each: &str| Stat::parse(&format!("{all}\n{each}")).unwrap();
        let start = stat("cpu 1000 0 0 90000", &both(1000, 90_000));
        let second = stat("cpu 1100 0 0 90100", &both(1100, 90_100));
        assert_eq!(grown(&start, &second), CpuTimes { user: 1.0, idle: 1.0, ..CpuTimes::default() });
        let off = stat("cpu 1100 0 0 500", "cpu0 1100 0 0 0\n");
        assert_eq!(grown(&start, &off), CpuTimes { user: 1.0, ..CpuTimes::default() });
        assert_eq!(off.each.len(), 1);
        let on = stat("cpu 1200 0 0 90100", &both(1200, 90_100));
        assert_eq!(grown(&off, &on), CpuTimes { user: 1.0, ..CpuTimes::default() });
        // The CPU went offline and online between two readings, so its idle time restarted.
        let again = stat("cpu 1100 0 0 7", &both(1100, 7));
        assert_eq!(grown(&start, &again), CpuTimes { user: 1.0, ..CpuTimes::default() });
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(cpu|intr|softirq| |[0-9]{1,25}|\n){0,60}") {
            let stat = Stat::parse(&format!("cpu {text}")).or(Stat::parse(&text)).unwrap_or_default();
            let _ = (grown(&Stat::default(), &stat), grown(&stat, &Stat::default()));
        }
    }
}
