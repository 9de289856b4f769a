//! The machine's activity while a command ran: steal time, quota, pressure, CPU use of other processes.

use std::sync::OnceLock;
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
    throttled: Option<f64>,
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
        let throttled = quota_files().iter().filter_map(|file| throttled_seconds(&root.text(file)?));
        Self {
            at: Instant::now(),
            stolen: ticks.and_then(|ticks| ticks.stolen).map(seconds),
            busy: ticks.map(|ticks| seconds(ticks.busy())),
            throttled: throttled.reduce(f64::max),
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
            throttled_seconds: grown(self.throttled, now.throttled),
            pressure_cpu,
            pressure_io,
            pressure_memory,
        }
    }
}

/// The `cpu.stat` files of our cgroup and its ancestors. A quota of any of these cgroups limits us.
fn quota_files() -> &'static [String] {
    static FILES: OnceLock<Vec<String>> = OnceLock::new();
    FILES.get_or_init(|| {
        let root = Root::live();
        let groups = Cgroups::read(&root);
        let files = groups.folders("cpu").map(|(_, folder)| format!("{folder}/cpu.stat"));
        files.filter(|file| root.exists(file)).collect()
    })
}
