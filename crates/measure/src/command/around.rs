//! What the machine did while a command ran: time stolen, quota, pressure, what other programs used.

use std::sync::OnceLock;
use std::time::Instant;

use machine::Root;
use machine::cgroups::Cgroups;
use record::command_run::Around;

use crate::proc_stat::{USER_HZ, find_ticks};

/// One look.
#[derive(Clone, Debug)]
pub(crate) struct Look {
    at: Instant,
    stolen: Option<f64>,
    busy: Option<f64>,
    throttled: Option<f64>,
    pressure: [Option<f64>; 3],
}

impl Look {
    /// Looks now.
    pub(crate) fn now() -> Self {
        let root = Root::live();
        let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
        let ticks = find_ticks(&stat, "cpu");
        let seconds = |ticks: u64| ticks as f64 / USER_HZ;
        let pressure = ["cpu", "io", "memory"]
            .map(|what| root.text(&format!("/proc/pressure/{what}")).and_then(|text| pressure_in(&text)));
        let throttled = quota_files().iter().filter_map(|file| throttled_in(&root.text(file)?));
        Self {
            at: Instant::now(),
            stolen: ticks.and_then(|ticks| ticks.stolen).map(seconds),
            busy: ticks.map(|ticks| seconds(ticks.busy)),
            throttled: throttled.reduce(f64::max),
            pressure,
        }
    }

    /// What happened from this look to now.
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

/// The `cpu.stat` files of our cgroup and those above it: a quota of any of them holds us.
fn quota_files() -> &'static [String] {
    static FILES: OnceLock<Vec<String>> = OnceLock::new();
    FILES.get_or_init(|| {
        let root = Root::live();
        let groups = Cgroups::read(&root);
        let files = groups.folders("cpu").map(|(_, folder)| format!("{folder}/cpu.stat"));
        files.filter(|file| root.exists(file)).collect()
    })
}

/// Seconds for which some task waited, of the line `some … total=MICROSECONDS`.
fn pressure_in(text: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.starts_with("some "))?;
    let total = line.split_whitespace().find_map(|field| field.strip_prefix("total="))?;
    Some(total.parse::<u64>().ok()? as f64 / 1e6)
}

/// Seconds throttled: `throttled_usec` of version 2, `throttled_time` (ns) of version 1.
fn throttled_in(stat: &str) -> Option<f64> {
    let value = |name: &str| {
        let mut words = stat.lines().map(|line| line.split_whitespace());
        words.find_map(|mut words| (words.next()? == name).then(|| words.next()?.parse::<u64>().ok())?)
    };
    value("throttled_usec")
        .map(|us| us as f64 / 1e6)
        .or_else(|| value("throttled_time").map(|ns| ns as f64 / 1e9))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn kernels_files_read_as_they_are_documented() {
        let pressure = "some avg10=0.00 avg60=0.00 avg300=0.00 total=2500000\nfull avg10=0.00 total=7\n";
        assert_eq!(pressure_in(pressure), Some(2.5));
        assert_eq!(throttled_in("nr_periods 5\nnr_throttled 2\nthrottled_usec 1500000\n"), Some(1.5));
        assert_eq!(throttled_in("nr_periods 5\nnr_throttled 2\nthrottled_time 1500000000\n"), Some(1.5));
        assert_eq!(throttled_in("usage_usec 5\n"), None);
    }

    proptest! {
        #[test]
        fn no_file_panics(text in "\\PC{0,80}") {
            let text = format!("some total={text}\nthrottled_usec {text}");
            let _ = (pressure_in(&text), throttled_in(&text));
        }
    }
}
