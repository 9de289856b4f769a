//! The machine's activity while a command ran: steal time, quota, pressure, CPU use of other processes.

use std::sync::LazyLock;
use std::time::Instant;

use machine::Root;
use machine::cgroups::Cgroups;
use os::procfs::{USER_HZ, find_ticks, some_waited_us, throttled_seconds};
use record::command_run::Around;

/// One reading of the machine's counters.
#[derive(Clone, Debug)]
pub(crate) struct Look {
    at: Instant,
    stolen: Option<f64>,
    busy: Option<f64>,
    throttled: Vec<Option<f64>>,
    pressure: [Option<f64>; 3],
}

impl Look {
    /// Reads the machine's counters now.
    pub(crate) fn now() -> Self {
        let root = Root::live();
        let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
        let ticks = find_ticks(&stat, "cpu");
        let seconds = |ticks: u64| ticks as f64 / USER_HZ;
        let pressure = ["cpu", "io", "memory"]
            .map(|what| Some(some_waited_us(&root.text(&format!("/proc/pressure/{what}"))?)? as f64 / 1e6));
        Self {
            at: Instant::now(),
            stolen: ticks.and_then(|ticks| ticks.stolen).map(seconds),
            busy: ticks.map(|ticks| seconds(ticks.busy())),
            throttled: throttled(&OWN_QUOTA_FILES),
            pressure,
        }
    }

    /// The activity since this reading.
    pub(crate) fn until_now(&self) -> Around {
        let now = Self::now();
        let wall = (now.at - self.at).as_secs_f64();
        let grown = |before: Option<f64>, after: Option<f64>| Some((after? - before?).max(0.0));
        let waited = |at: usize| grown(self.pressure[at], now.pressure[at]);
        let [pressure_cpu, pressure_io, pressure_memory] =
            [0, 1, 2].map(|at| waited(at).map(|seconds| (seconds / wall.max(1e-9)).min(1.0)));
        Around {
            seconds: Some(wall),
            stolen_seconds: grown(self.stolen, now.stolen),
            busy_seconds: grown(self.busy, now.busy),
            throttled_seconds: grown_most(&self.throttled, &now.throttled),
            pressure_cpu,
            pressure_io,
            pressure_memory,
        }
    }
}

static OWN_QUOTA_FILES: LazyLock<Vec<String>> = LazyLock::new(|| quota_files("self"));

/// The `cpu.stat` files of a process's cgroup and its ancestors. A quota of any of these cgroups limits the process.
pub(super) fn quota_files(process: &str) -> Vec<String> {
    let root = Root::live();
    let groups = Cgroups::of_process(&root, process);
    let files = groups.folders("cpu").map(|(_, folder)| format!("{folder}/cpu.stat"));
    files.filter(|file| root.exists(file)).collect()
}

/// The time for which each of these cgroups was throttled, s.
pub(super) fn throttled(files: &[String]) -> Vec<Option<f64>> {
    files.iter().map(|file| throttled_seconds(&Root::live().text(file)?)).collect()
}

/// The time for which cgroups were throttled between two readings, s: that of the one that was throttled longest.
pub(super) fn grown_most(before: &[Option<f64>], after: &[Option<f64>]) -> Option<f64> {
    let grown = |(before, after): (&Option<f64>, &Option<f64>)| Some(((*after)? - (*before)?).max(0.0));
    before.iter().zip(after).filter_map(grown).reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_is_that_of_the_process_and_of_the_cgroups_around_it() {
        assert_eq!(quota_files(&std::process::id().to_string()), *OWN_QUOTA_FILES);
        assert_eq!(quota_files("no process"), [""; 0]);
        let folder = tempfile::tempdir().unwrap();
        let files = ["500000", "1500000"].map(|us| {
            let file = folder.path().join(us).to_str().unwrap().to_owned();
            std::fs::write(&file, format!("nr_periods 5\nnr_throttled 2\nthrottled_usec {us}\n")).unwrap();
            file
        });
        assert_eq!(throttled(&files), [Some(0.5), Some(1.5)]);
        // The cgroup that was throttled longest is not the one that is throttled now.
        assert_eq!(grown_most(&[Some(0.0), Some(1.5)], &throttled(&files)), Some(0.5));
        assert_eq!(grown_most(&[None], &[Some(1.0)]), None);
    }
}
