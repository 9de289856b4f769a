//! The times of CPUs in /proc/stat (proc_stat(5)).

use std::collections::BTreeMap;

/// Ticks a second, on every architecture here, by promise to user space.
pub(crate) const USER_HZ: f64 = 100.0;

/// Ticks of one CPU, or of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CpuTicks {
    /// Those that somebody on this machine had: all but idle, waiting for a disk, and stolen.
    pub busy: u64,
    /// Those that the hypervisor took, where the kernel tells.
    pub stolen: Option<u64>,
}

impl CpuTicks {
    fn parse(line: &str) -> Option<Self> {
        let ticks: Vec<u64> =
            line.split_ascii_whitespace().skip(1).map_while(|word| word.parse().ok()).collect();
        // user, nice, system, idle, iowait, irq, softirq, steal.
        let &[user, nice, system, _, ref rest @ ..] = &ticks[..] else { return None };
        let interrupts = rest.iter().skip(1).take(2);
        let busy = interrupts.fold(user, |sum, ticks| sum.saturating_add(*ticks));
        Some(Self { busy: busy.saturating_add(nice).saturating_add(system), stolen: rest.get(3).copied() })
    }
}

/// The ticks of `cpu` (all together), `cpu0`, `cpu1`….
pub(crate) fn find_ticks(stat: &str, name: &str) -> Option<CpuTicks> {
    let named = |line: &&str| line.split_ascii_whitespace().next() == Some(name);
    CpuTicks::parse(stat.lines().find(named)?)
}

/// The stolen ticks of each CPU.
pub(crate) fn stolen_ticks(stat: &str) -> BTreeMap<u32, u64> {
    let each = stat.lines().filter_map(|line| {
        let cpu = line.strip_prefix("cpu")?.split_ascii_whitespace().next()?;
        let cpu = cpu.parse().ok().filter(|_| !line.starts_with("cpu "))?;
        Some((cpu, CpuTicks::parse(line)?.stolen?))
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn idle_and_stolen_time_is_nobodys_work() {
        let busy = |stat| find_ticks(stat, "cpu").map(|ticks| (ticks.busy, ticks.stolen));
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
        assert_eq!(stolen_ticks(stat), BTreeMap::from([(1, 11), (11, 12)]));
        assert_eq!(find_ticks(stat, "cpu1").and_then(|ticks| ticks.stolen), Some(11));
        assert_eq!(find_ticks(stat, "cpu2"), None);
        assert_eq!(find_ticks("cpu1 1 2", "cpu1"), None);
    }

    proptest! {
        #[test]
        fn no_stat_panics(text in "[ -~\n]{0,300}") {
            let _ = (stolen_ticks(&text), find_ticks(&format!("cpu {text}"), "cpu"));
        }
    }
}
