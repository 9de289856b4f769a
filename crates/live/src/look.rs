//! One reading of a machine's counters, and the increase between two readings.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use machine::Root;
use os::procfs::some_waited_us;
use record::CpuList;
use record::live::Interval;

use crate::kept_files::KeptFiles;
use crate::sources::clock::Clocks;
use crate::sources::counts;
use crate::sources::cpu_times::{Stat, grown};
use crate::sources::numa::Pages;
use crate::sources::quota::Quotas;

/// Kinds of pressure, named after their files.
const PRESSURE: [&str; 3] = ["cpu", "io", "memory"];

/// Shorter suspensions are ignored, because the two clocks that show them are not read simultaneously.
const SLEEP: Duration = Duration::from_millis(500);

/// Counters since boot.
#[derive(Debug)]
pub(crate) struct Look {
    at: Instant,
    /// Total time that the machine has been suspended since boot.
    suspended: Duration,
    stat: Option<Stat>,
    vmstat: Vec<(&'static str, u64)>,
    /// Page counters, which are read if there are several nodes.
    pages: Option<Pages>,
    pub(crate) pressure: [Option<u64>; 3],
    clocks: Clocks,
    quotas: Quotas,
}

impl Look {
    /// Reads all counters now; `nodes` are the machine's nodes, `groups` the directories of cgroups with a quota, and
    /// `files` the files kept open for these readings.
    pub(crate) fn now(
        root: &Root,
        files: &mut KeptFiles,
        cpus: &CpuList,
        nodes: &[u32],
        groups: &[String],
    ) -> Self {
        let mut text = |key: i32, path: &str| files.text(root, key, path);
        let vmstat = text(0, "/proc/vmstat").unwrap_or_default();
        let stat = text(1, "/proc/stat");
        let [cpu, io, memory] = PRESSURE;
        let pressure =
            [(2, cpu), (3, io), (4, memory)].map(|(key, what)| text(key, &format!("/proc/pressure/{what}")));
        Self {
            at: Instant::now(),
            suspended: os::suspended(),
            stat: stat.as_deref().and_then(Stat::parse),
            pages: (nodes.len() > 1).then(|| Pages::look(&vmstat, root, nodes)),
            vmstat: counts::vmstat(&vmstat),
            pressure: pressure.map(|text| some_waited_us(&text?)),
            clocks: Clocks::look(root, cpus),
            quotas: Quotas::look(root, groups.iter().map(String::as_str)),
        }
    }

    /// Whether the clock is available from a source other than the probe.
    pub(crate) fn tells_the_clock(&self) -> bool {
        self.clocks.is_shown()
    }

    /// The other sources in /proc, by their names in the coverage, and whether each is available.
    pub(crate) fn shown(&self) -> impl Iterator<Item = (&'static str, bool)> {
        let all = [
            ("CPU times", Some(self.stat.is_some())),
            ("vmstat", Some(!self.vmstat.is_empty())),
            ("remote pages", self.pages.map(|pages| pages.is_shown())),
        ];
        all.into_iter().filter_map(|(name, shown)| Some((name, shown?)))
    }

    /// The activity from this reading to `now`.
    pub(crate) fn until(&self, now: &Self, root: &Root) -> Interval {
        // The duration is measured with a clock that, like the kernel's counts, stops while the machine is suspended.
        let seconds = (now.at - self.at).as_secs_f64().max(1e-9);
        let suspended = now.suspended.saturating_sub(self.suspended);
        let none = Stat::default();
        let (before, after) = (self.stat.as_ref().unwrap_or(&none), now.stat.as_ref().unwrap_or(&none));
        let mut rates = BTreeMap::new();
        for (all_before, all_after) in [(&before.counts, &after.counts), (&self.vmstat, &now.vmstat)] {
            for (name, count) in all_after {
                let was = all_before.iter().find(|(other, _)| other == name).map(|(_, count)| *count);
                // A decreasing count belongs to a different object, or has wrapped around.
                if let Some(events) = was.and_then(|was| count.checked_sub(was)) {
                    rates.insert((*name).to_owned(), events as f64 / seconds);
                }
            }
        }
        let pressure =
            PRESSURE.iter().zip(self.pressure.iter().zip(&now.pressure)).filter_map(|(name, both)| {
                let waited = (*both.1)?.checked_sub((*both.0)?)? as f64 / 1e6;
                Some(((*name).to_owned(), (waited / seconds).min(1.0)))
            });
        Interval {
            seconds,
            suspended: (suspended >= SLEEP).then_some(suspended.as_secs_f64()),
            cpus: after.each.len() as u64,
            times: grown(before, after),
            blocked: after.blocked.map(|blocked| blocked as f64),
            pressure: pressure.collect(),
            rates,
            clock: self.clocks.until(&now.clocks, root),
            remote: self.pages.zip(now.pages).and_then(|(before, now)| before.until(&now)),
            throttled: self.quotas.until(&now.quotas),
            ..Interval::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::Tree;

    #[test]
    fn what_grew_is_a_rate_and_what_went_backwards_is_none() {
        let tree = |busy: u64, switches: u64, faults: u64| {
            Tree::new()
                .file(
                    "proc/stat",
                    &format!(
                        "cpu  {busy} 0 0 100 0 0 0 0 0 0\ncpu0 {busy} 0 0 100 0 0 0 0 0 0\nctxt {switches}\n"
                    ),
                )
                .file("proc/vmstat", &format!("pgfault {faults}\n"))
                .file("proc/pressure/cpu", &format!("some avg10=0 total={}\n", busy * 1000))
        };
        let cpus: CpuList = "0".parse().unwrap();
        let (first, second) = (tree(100, 5000, 700), tree(300, 9000, 600));
        let mut before = Look::now(&first.root(), &mut KeptFiles::default(), &cpus, &[], &[]);
        let now = Look::now(&second.root(), &mut KeptFiles::default(), &cpus, &[], &[]);
        before.at = now.at - Duration::from_secs(2);
        let interval = before.until(&now, &second.root());
        assert_eq!((interval.seconds, interval.cpus, interval.times.user), (2.0, 1, 2.0));
        assert_eq!(interval.rates.get("context-switches"), Some(&2000.0));
        assert_eq!(interval.rates.get("page-faults"), None);
        assert_eq!(interval.pressure.get("cpu"), Some(&0.1));
        assert_eq!(interval.suspended, None);
        // The machine was suspended for an hour: the counts are those of the two seconds in which it was awake.
        before.suspended = now.suspended.saturating_sub(Duration::from_secs(3600));
        let slept = Look { suspended: before.suspended + Duration::from_secs(3600), ..now };
        let interval = before.until(&slept, &second.root());
        assert_eq!((interval.seconds, interval.suspended), (2.0, Some(3600.0)));
        assert_eq!(interval.rates.get("context-switches"), Some(&2000.0));
        let none = Tree::new();
        let nothing = Look::now(&none.root(), &mut KeptFiles::default(), &cpus, &[], &[]);
        assert_eq!(nothing.shown().collect::<Vec<_>>(), [("CPU times", false), ("vmstat", false)]);
        assert!(nothing.pressure == [None; 3] && slept.pressure != [None; 3]);
        assert_eq!(nothing.until(&nothing, &none.root()).times.all(), 0.0);
    }
}
