//! The times of CPUs in /proc/stat (proc_stat(5)).

use std::collections::BTreeMap;

/// Ticks a second, on every architecture here, by promise to user space.
pub const USER_HZ: f64 = 100.0;

/// Ticks of one CPU, or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTicks {
    /// In user mode, nice time and guests' included.
    pub user: u64,
    /// In the kernel, for processes.
    pub system: u64,
    /// Idle.
    pub idle: u64,
    /// Idle while a task that ran there last waits for a disk.
    pub iowait: u64,
    /// In interrupts.
    pub irq: u64,
    /// In softirqs.
    pub softirq: u64,
    /// Those that the hypervisor took, where the kernel tells.
    pub stolen: Option<u64>,
}

impl CpuTicks {
    /// Those that somebody on this machine had: all but idle, waiting for a disk, and stolen.
    pub fn busy(&self) -> u64 {
        [self.system, self.irq, self.softirq].into_iter().fold(self.user, u64::saturating_add)
    }

    /// Of a line `cpu0 1 2 3 …`.
    pub fn parse(line: &str) -> Option<Self> {
        let ticks: Vec<u64> =
            line.split_ascii_whitespace().skip(1).map_while(|word| word.parse().ok()).collect();
        // user, nice, system, idle, iowait, irq, softirq, steal; guests' time, which follows, is in user and nice, too.
        let &[user, nice, system, idle, ref rest @ ..] = &ticks[..] else { return None };
        let at = |index: usize| rest.get(index).copied();
        let [iowait, irq, softirq] = [0, 1, 2].map(|index| at(index).unwrap_or(0));
        Some(Self { user: user.saturating_add(nice), system, idle, iowait, irq, softirq, stolen: at(3) })
    }
}

/// The ticks of `cpu` (all together), `cpu0`, `cpu1`….
pub fn find_ticks(stat: &str, name: &str) -> Option<CpuTicks> {
    let named = |line: &&str| line.split_ascii_whitespace().next() == Some(name);
    CpuTicks::parse(stat.lines().find(named)?)
}

/// The ticks of each CPU that is online.
pub fn ticks_of_each(stat: &str) -> BTreeMap<u32, CpuTicks> {
    let each = stat.lines().filter_map(|line| {
        let cpu = line.strip_prefix("cpu")?.split_ascii_whitespace().next()?;
        let cpu = cpu.parse().ok().filter(|_| !line.starts_with("cpu "))?;
        Some((cpu, CpuTicks::parse(line)?))
    });
    each.collect()
}

/// The stolen ticks of each CPU.
pub(crate) fn stolen_ticks(stat: &str) -> BTreeMap<u32, u64> {
    ticks_of_each(stat).into_iter().filter_map(|(cpu, ticks)| Some((cpu, ticks.stolen?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
