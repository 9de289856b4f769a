//! /proc/vmstat and /proc/schedstat: the kernel's counts of memory events, and of the time that threads wait for a CPU.

use os::procfs::count_of;

/// Lines of /proc/vmstat from which rates are computed: the prefix of each line, and the name of the rate (linux/mm/vmstat.c).
const VMSTAT: [(&str, &str); 5] = [
    ("pgfault", "page-faults"),
    ("pgmajfault", "major-faults"),
    ("pgmigrate_success", "page-migrations"),
    ("pgscan_direct", "reclaimed-pages"),
    ("pswpin", "swapped-pages"),
];

/// Numbers of events since boot in /proc/vmstat, by the names of the rates.
pub(crate) fn vmstat(text: &str) -> Vec<(&'static str, u64)> {
    VMSTAT.into_iter().filter_map(|(name, rate)| Some((rate, count_of(text, name)?))).collect()
}

/// The total time for which threads were ready to run but had no CPU, over all CPUs, ns since boot. It is the eighth field of a CPU in
/// versions 15 to 17 of the format (Documentation/scheduler/sched-stats.rst); `None` in another version.
pub(crate) fn run_queue_delay(text: &str) -> Option<u64> {
    let version: u32 = text.lines().next()?.strip_prefix("version ")?.trim().parse().ok()?;
    if !(15..=17).contains(&version) {
        return None;
    }
    let cpus = text.lines().filter(|line| line.starts_with("cpu"));
    let delays: Option<Vec<u64>> =
        cpus.map(|line| line.split_ascii_whitespace().nth(8)?.parse::<u64>().ok()).collect();
    delays.filter(|all| !all.is_empty()).map(|all| all.into_iter().fold(0, u64::saturating_add))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn kernels_files_read_as_they_are_documented() {
        let text = "nr_free_pages 5\npgfault 700\npgmajfault 3\npgscan_direct 4\npgscan_direct_throttle 9\npswpin 1\n";
        let expected =
            [("page-faults", 700), ("major-faults", 3), ("reclaimed-pages", 4), ("swapped-pages", 1)];
        assert_eq!(vmstat(text), expected);
        let text = "version 15\ntimestamp 4295\ncpu0 0 0 10 5 6 3 700 1500 9\ndomain0 3 1 2\ncpu1 0 0 10 5 6 3 700 500 9\n";
        assert_eq!(run_queue_delay(text), Some(2000));
        assert_eq!(run_queue_delay("version 14\ncpu0 1 2 3 4 5 6 7 8 9 10 11 12\n"), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(version 15|cpu0|pgfault| |[0-9]{1,25}|\n){0,60}") {
            let _ = (vmstat(&text), run_queue_delay(&text));
        }
    }
}
