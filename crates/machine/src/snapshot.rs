//! The state of a machine at one point in time, as recorded in the conditions of a measurement.

use std::collections::BTreeMap;

use os::procfs::{Stat, USER_HZ, count_of, running};
use record::Snapshot;
use record::conditions::HugePages;

use crate::cgroups::{Cgroups, Version};
use crate::clocks::{self, Policies};
use crate::text;
use crate::{Root, sensors};

/// Names of the times in `/proc/stat` (proc(5)).
const TIMES: [&str; 8] = ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"];
const MM: &str = "/sys/kernel/mm";

/// Reads the complete current state.
pub(crate) fn read(root: &Root, policies: &Policies) -> Snapshot {
    let word = |path: &str| root.text(path).as_deref().and_then(text::name);
    let boost = clocks::boost(root);
    let clocksource = "/sys/devices/system/clocksource/clocksource0";
    let available = root.text(&format!("{clocksource}/available_clocksource")).unwrap_or_default();
    let loadavg = root.text("/proc/loadavg").unwrap_or_default();
    let cpu_seconds = cpu_seconds(&root.text("/proc/stat").unwrap_or_default());
    let meminfo = root.text("/proc/meminfo").unwrap_or_default();
    let kib = |key: &str| text::bytes_field(&meminfo, key);
    let areas = |column: usize| -> Option<u64> {
        let swaps = root.text("/proc/swaps")?;
        let areas = swaps.lines().filter(|area| area.starts_with('/'));
        areas
            .map(|area| Some(u64::from(area.split_whitespace().nth(column)?.parse::<u32>().ok()?) << 10))
            .sum()
    };
    let swap_bytes = kib("SwapTotal").or_else(|| areas(2));
    let swap_used = swap_bytes.zip(kib("SwapFree")).map(|(all, free)| all.saturating_sub(free));
    let own = root.text("/proc/self/stat").as_deref().and_then(Stat::parse);
    let heat = sensors::throttling(root, &root.numbered("/sys/devices/system/cpu", "cpu"));
    // If a core is too hot, its package is, too.
    let heats = |of: &str| {
        heat.iter()
            .filter_map(|(at, heat)| heat.times.filter(|_| at.starts_with(of)))
            .reduce(u64::saturating_add)
    };
    let throttled = quota_throttled(root);
    Snapshot {
        clocks: clocks::settings(root, policies),
        boost: boost.as_ref().map(|(on, _)| *on),
        boost_source: boost.map(|(_, file)| file),
        smt: smt(root),
        clocksource: word(&format!("{clocksource}/current_clocksource")),
        clocksources: available.split_ascii_whitespace().take(32).filter_map(text::name).collect(),
        thp: chosen(root, &format!("{MM}/transparent_hugepage/enabled")),
        thp_defrag: chosen(root, &format!("{MM}/transparent_hugepage/defrag")),
        huge_pages: huge_pages(root),
        numa_balancing: root.number("/proc/sys/kernel/numa_balancing"),
        aslr: root.number("/proc/sys/kernel/randomize_va_space"),
        perf_event_paranoid: root.number("/proc/sys/kernel/perf_event_paranoid"),
        ksm: root.number(&format!("{MM}/ksm/run")),
        zone_reclaim: root.number("/proc/sys/vm/zone_reclaim_mode"),
        load: load(&loadavg),
        running: running(&loadavg),
        pressure: pressure(root),
        steal_share: steal_share(&cpu_seconds),
        cpu_seconds,
        own_cpu_seconds: own.as_ref().map(own_cpu_seconds),
        own_nice: own.as_ref().map(|own| own.nice).filter(|nice| (-20..=19).contains(nice)),
        own_policy: own.as_ref().and_then(Stat::policy_name).map(str::to_owned),
        own_cpu_weight: own_cpu_weight(root),
        // Measurements fill this field.
        own_ready_seconds: None,
        memory_available_bytes: kib("MemAvailable"),
        swap_used_bytes: swap_used.or_else(|| areas(3)),
        swap_bytes,
        swapped_pages: swapped_pages(&root.text("/proc/vmstat").unwrap_or_default()),
        temperatures: sensors::temperatures(root),
        throttled: heats("core").max(heats("package")),
        memory_errors: sensors::memory_errors(root),
        quota_throttled: throttled.map(|(throttled, _)| throttled),
        quota_periods: throttled.and_then(|(_, periods)| periods),
        clock_holders: crate::clock_holders::read(root, &heat),
        power_supply: sensors::power_supply(root),
        uptime_seconds: seconds(
            root.text("/proc/uptime").unwrap_or_default().split(' ').next().unwrap_or(""),
        ),
    }
}

/// The state of the kernel's SMT control. If the kernel has no such control: whether SMT is active.
fn smt(root: &Root) -> Option<String> {
    let file = |name: &str| root.text(&format!("/sys/devices/system/cpu/smt/{name}"));
    let active = || ["off", "on"].get(file("active")?.parse::<usize>().ok()?).copied();
    file("control").as_deref().and_then(text::name).or_else(|| active().map(str::to_owned))
}

/// The word in brackets in a file that lists all choices: `always [madvise] never`.
fn chosen(root: &Root, path: &str) -> Option<String> {
    let text = root.text(path)?;
    let (_, rest) = text.split_once('[')?;
    text::name(rest.split_once(']')?.0)
}

/// A valid number of seconds.
fn seconds(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|seconds| seconds.is_finite() && *seconds >= 0.0)
}

/// Reserved huge pages of each size that the kernel supports, smallest first.
fn huge_pages(root: &Root) -> Vec<HugePages> {
    let folder = format!("{MM}/hugepages");
    let size = |name: &String| -> Option<HugePages> {
        let kib: u64 = name.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse().ok()?;
        Some(HugePages {
            page_bytes: kib.checked_mul(1024)?,
            total: root.number(&format!("{folder}/{name}/nr_hugepages"))?,
            free: root.number(&format!("{folder}/{name}/free_hugepages")).unwrap_or(0),
        })
    };
    let mut sizes: Vec<HugePages> = root.list(&folder).iter().take(32).filter_map(size).collect();
    sizes.sort_by_key(|pages| pages.page_bytes);
    sizes
}

/// The three averages of `/proc/loadavg`.
fn load(loadavg: &str) -> Option<[f64; 3]> {
    let mut averages = loadavg.split(' ').map(seconds);
    Some([averages.next()??, averages.next()??, averages.next()??])
}

/// For each resource, the share of the last 10 s in which some task waited for it and, for memory, in which all tasks waited
/// (Documentation/accounting/psi.rst).
fn pressure(root: &Root) -> BTreeMap<String, f64> {
    ["cpu", "memory", "memory_full", "io"]
        .into_iter()
        .filter_map(|name| {
            let (resource, waiting) = name.split_once('_').unwrap_or((name, "some"));
            let text = root.text(&format!("/proc/pressure/{resource}"))?;
            let line = text.lines().find_map(|line| line.strip_prefix(waiting))?;
            let percent = line.split(' ').find_map(|word| word.strip_prefix("avg10="))?;
            let percent = seconds(percent).filter(|percent| *percent <= 100.0)?;
            // The kernel reports percentages with two decimals, which are four decimals of a share.
            Some((name.to_owned(), (percent * 100.0).round() / 10_000.0))
        })
        .collect()
}

/// CPU time by kind in seconds, from the first line of `/proc/stat`.
fn cpu_seconds(stat: &str) -> BTreeMap<String, f64> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu ")).unwrap_or("");
    let ticks = line.split_ascii_whitespace().map_while(|word| word.parse::<u64>().ok());
    TIMES.iter().zip(ticks).map(|(name, ticks)| ((*name).to_owned(), ticks as f64 / USER_HZ)).collect()
}

/// User and system time of a process and its ended children, in seconds.
fn own_cpu_seconds(own: &Stat) -> f64 {
    [own.all_ticks(), own.ended_ticks.0, own.ended_ticks.1].into_iter().fold(0, u64::saturating_add) as f64
        / USER_HZ
}

/// The lowest CPU weight of this process's cgroup and its ancestors, as a share of the default.
fn own_cpu_weight(root: &Root) -> Option<f64> {
    let cgroups = Cgroups::read(root);
    let weight = |(version, folder): (Version, &str)| {
        let (file, default) = match version {
            Version::V1 => ("cpu.shares", 1024.0),
            Version::V2 => ("cpu.weight", 100.0),
        };
        Some(f64::from(root.number::<u32>(&format!("{folder}/{file}"))?) / default)
    };
    cgroups.folders("cpu").filter_map(weight).min_by(f64::total_cmp)
}

/// Steal time as a share of all CPU time since boot.
fn steal_share(cpu_seconds: &BTreeMap<String, f64>) -> Option<f64> {
    let all: f64 = cpu_seconds.values().sum();
    let steal = *cpu_seconds.get("steal")?;
    (all > 0.0).then(|| steal / all)
}

/// Pages swapped in and out since boot.
fn swapped_pages(vmstat: &str) -> Option<(u64, u64)> {
    Some((count_of(vmstat, "pswpin")?, count_of(vmstat, "pswpout")?))
}

/// Number of periods in which a quota throttled this process's cgroup or one of its ancestors, and the total number of
/// periods: the maximum over all levels.
fn quota_throttled(root: &Root) -> Option<(u64, Option<u64>)> {
    let cgroups = Cgroups::read(root);
    let count = |folder: &str| {
        let text = root.text(&format!("{folder}/cpu.stat"))?;
        let throttled = count_of(&text, "nr_throttled")?;
        Some((throttled, count_of(&text, "nr_periods").filter(|periods| *periods >= throttled)))
    };
    cgroups.folders("cpu").filter_map(|(_, folder)| count(folder)).max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::Tree;
    use proptest::prelude::*;

    fn snapshot(tree: &Tree) -> Snapshot {
        let root = tree.root();
        read(&root, &clocks::policies(&root))
    }

    #[test]
    fn own_time_is_read_past_a_hostile_name() {
        let stat = "7 (a) (b 1 2) R 1 7 7 0 -1 4194304 90 0 0 0 150 50 20 30 20 0 3 0 9";
        assert_eq!(Stat::parse(stat).as_ref().map(own_cpu_seconds), Some(2.5));
        for bad in ["", "7 (a", "7 (a) R 1 7", "7 (a) R 1 7 7 0 -1 4194304 90 0 0 0 150 -5 20 30"] {
            assert_eq!(Stat::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn own_priority_is_read_with_the_lowest_weight_on_the_way_up() {
        let stat = |nice: i32, policy: u32| {
            format!("7 (a) (b) R 1 7 7 0 -1 0 0 0 0 0 1 1 0 0 35 {nice} {} {policy} 0", ["0"; 21].join(" "))
        };
        let tree = |stat: &str| {
            Tree::new()
                .file("proc/self/stat", stat)
                .file("proc/self/cgroup", "0::/batch.slice/job\n")
                .file("proc/self/mountinfo", "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
                .file("sys/fs/cgroup/batch.slice/cpu.weight", "20\n")
                .file("sys/fs/cgroup/batch.slice/job/cpu.weight", "100\n")
        };
        let state = snapshot(&tree(&stat(15, 3)));
        assert_eq!((state.own_nice, state.own_policy.as_deref()), (Some(15), Some("batch")));
        assert_eq!(state.own_cpu_weight, Some(0.2));
        let state = snapshot(&tree(&stat(-20, 4)));
        assert_eq!((state.own_nice, state.own_policy), (Some(-20), None));
        assert_eq!(snapshot(&tree(&stat(99, 900))).own_nice, None);
        let nothing = snapshot(&Tree::new());
        assert_eq!((nothing.own_nice, nothing.own_policy, nothing.own_cpu_weight), (None, None, None));
    }

    #[test]
    fn heat_of_a_core_is_not_counted_again_for_its_package() {
        let counts = [("core_throttle_count", "211\n"), ("package_throttle_count", "41233\n")];
        let tree = Tree::new().files("sys/devices/system/cpu/cpu5/thermal_throttle", &counts);
        assert_eq!(snapshot(&tree).throttled, Some(41_233));
        assert_eq!(snapshot(&Tree::new()).throttled, None);
    }

    #[test]
    fn swap_areas_stand_in_for_the_sizes_of_memory() {
        let swap = |areas: &str| {
            let state = snapshot(
                &Tree::new().file("proc/swaps", format!("Filename Type Size Used Priority\n{areas}")),
            );
            (state.swap_bytes, state.swap_used_bytes)
        };
        assert_eq!(swap(""), (Some(0), Some(0)));
        assert_eq!(
            swap("/dev/dm-1 partition 800 200 -2\n/swap file 80 20 -3\n"),
            (Some(880 << 10), Some(220 << 10))
        );
        assert_eq!(swap("/swap file a lot\n"), (None, None));
        let huge = format!("/swap file {} 1 -3\n", u64::MAX);
        assert_eq!(swap(&huge.repeat(3)), (None, Some(3 << 10)));
    }

    #[test]
    fn the_state_of_a_busy_machine_is_reported() {
        let tree = Tree::new()
            .file("proc/loadavg", "3.50 2.25 1.00 4/512 12345\n")
            .file("proc/stat", "cpu  1000 0 500 8000 100 0 100 300 50 0\ncpu0 1 2 3\n")
            .file(
                "proc/meminfo",
                "MemTotal: 16384 kB\nMemAvailable:    8192 kB\nSwapTotal: 4096 kB\nSwapFree: 1024 kB\n",
            )
            .file("proc/vmstat", "nr_free_pages 7\npswpin 12\npswpout 34\n")
            .file("proc/uptime", "1234.56 99.0\n")
            .file("proc/pressure/cpu", "some avg10=12.50 avg60=1.0 avg300=0.1 total=5\nfull avg10=0.0\n")
            .file("proc/pressure/memory", "some avg10=30.10 total=5\nfull avg10=2.00 total=1\n")
            .file("proc/sys/kernel/randomize_va_space", "2\n")
            .file("proc/sys/kernel/perf_event_paranoid", "-1\n")
            .file("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n")
            .file("sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages", "1\n")
            .file("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "512\n")
            .file("sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "500\n")
            .file("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n")
            .file("sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc hpet acpi_pm \n")
            .file("sys/devices/system/cpu/smt/control", "notsupported\n");
        let state = snapshot(&tree);
        assert_eq!(state.load, Some([3.5, 2.25, 1.0]));
        assert_eq!(state.running, Some(4));
        assert_eq!(state.cpu_seconds["user"], 10.0);
        assert_eq!(state.cpu_seconds["steal"], 3.0);
        assert_eq!(state.steal_share, Some(0.03));
        assert_eq!(state.memory_available_bytes, Some(8 << 20));
        assert_eq!((state.swap_bytes, state.swap_used_bytes), (Some(4 << 20), Some(3 << 20)));
        assert_eq!(state.swapped_pages, Some((12, 34)));
        assert_eq!(state.uptime_seconds, Some(1234.56));
        let pressure = ["cpu", "memory", "memory_full"].map(|name| state.pressure.get(name).copied());
        assert_eq!(pressure, [Some(0.125), Some(0.301), Some(0.02)]);
        assert_eq!(state.pressure.len(), 3);
        assert_eq!(state.perf_event_paranoid, Some(-1));
        assert_eq!(state.thp.as_deref(), Some("madvise"));
        assert_eq!(state.huge_pages[0], HugePages { page_bytes: 2 << 20, total: 512, free: 500 });
        assert_eq!(state.huge_pages[1].page_bytes, 1 << 30);
        assert_eq!(state.clocksources, ["tsc", "hpet", "acpi_pm"]);
        assert_eq!(state.smt.as_deref(), Some("notsupported"));
    }

    #[test]
    fn what_the_kernel_does_not_tell_is_absent_and_not_zero() {
        assert_eq!(snapshot(&Tree::new()), Snapshot::default());
        // No steal column before Linux 2.6.11.
        let old = Tree::new().file("proc/stat", "cpu  1 2 3 4\n");
        assert_eq!(snapshot(&old).steal_share, None);
    }

    #[test]
    fn a_quota_is_seen_in_either_version_and_above() {
        let second = Tree::new()
            .file("proc/self/cgroup", "0::/a/b\n")
            .file("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
            .file("sys/fs/cgroup/a/cpu.stat", "usage_usec 1\nnr_periods 9\nnr_throttled 7\n")
            .file("sys/fs/cgroup/a/b/cpu.stat", "nr_throttled 2\n");
        assert_eq!(snapshot(&second).quota_throttled, Some(7));
        let first = Tree::new()
            .file("proc/self/cgroup", "5:memory:/x\n4:cpu,cpuacct:/docker/1\n0::/\n")
            .file(
                "proc/self/mountinfo",
                "31 24 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n",
            )
            .file("sys/fs/cgroup/cpu,cpuacct/docker/1/cpu.stat", "nr_periods 3\nnr_throttled 1\n");
        assert_eq!(snapshot(&first).quota_throttled, Some(1));
    }

    proptest! {
        // Each case writes a tree, so fewer than the usual 256 cases run.
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn no_contents_panic(texts in proptest::collection::vec("[0-9. /:cpu\n]{0,40}|\\PC{0,40}", 7)) {
            let tree = Tree::new()
                .file("proc/loadavg", &texts[0])
                .file("proc/stat", format!("cpu  {}", texts[1]))
                .file("proc/meminfo", format!("SwapTotal: {}", texts[2]))
                .file("proc/self/cgroup", &texts[3])
                .file("proc/uptime", &texts[4])
                .file("proc/pressure/cpu", format!("some avg10={}", texts[5]))
                .file("proc/vmstat", format!("pswpin {}", texts[6]));
            let state = snapshot(&tree);
            prop_assert!(state.steal_share.is_none_or(|share| (0.0..=1.0).contains(&share)));
            prop_assert!(state.pressure.values().all(|share| (0.0..=1.0).contains(share)));
        }
    }
}
