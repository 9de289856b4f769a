//! Counters of cores and memory controllers, if this process may open them; they continue counting between readings.

use std::fs::File;
use std::time::Instant;

use machine::Root;
use measure::counters::{Carried, CpuCounters, CpuReading, Uncore};
use record::live::{Cores, Interval, Traffic};
use record::phrase::visible;
use record::{Coverage, CpuList, Unavailable, text};

use crate::pace::Pace;

/// Maximum number of CPUs whose counters are read: reading the counter of another CPU interrupts that CPU.
const MOST_CPUS: usize = 48;
/// Maximum number of file descriptors needed: about nine events per CPU, once for the machine and once for a
/// cgroup, and the events of memory controllers.
const DESCRIPTORS: u64 = 2 * 9 * MOST_CPUS as u64 + 600;
/// The share of one CPU that may be used for reading each kind of counter.
const SHARE: f64 = 0.0003;

/// The name used in the coverage.
const CORES: &str = "IPC and top-down";
const CORES_OF_GROUP: &str = "IPC and top-down of the cgroup";
const TRAFFIC: &str = "memory traffic";

/// Counters of some CPUs.
#[derive(Debug)]
struct OfCpus {
    counters: CpuCounters,
    before: CpuReading,
    shown: Option<Cores>,
    pace: Pace,
}

/// Counters of memory controllers, with their counts at the last reading and the traffic that is displayed.
#[derive(Debug)]
struct OfMemory {
    counters: Uncore,
    before: Carried,
    at: Instant,
    shown: Option<Traffic>,
    pace: Pace,
}

/// All counters.
#[derive(Debug, Default)]
pub(crate) struct Hardware {
    machine: Option<OfCpus>,
    /// Counters of the observed cgroup, with its directory.
    group: Option<(String, Option<OfCpus>)>,
    traffic: Option<OfMemory>,
}

impl OfCpus {
    fn open(cpus: &CpuList, cgroup: Option<&File>) -> Result<Self, Unavailable> {
        let counters = CpuCounters::open(chosen(cpus), cgroup)?;
        let before = counters.read();
        Ok(Self { counters, before, shown: None, pace: Pace::new(SHARE) })
    }

    fn read(&mut self, must: bool) -> Option<Cores> {
        let Self { counters, before, shown, pace } = self;
        pace.run(must, || {
            let now = counters.read();
            *shown = now.since(before).cores();
            *before = now;
        });
        shown.clone()
    }
}

/// An evenly spaced subset of these CPUs.
fn chosen(cpus: &CpuList) -> impl Iterator<Item = u32> + '_ {
    cpus.iter().step_by(cpus.len().div_ceil(MOST_CPUS).max(1))
}

impl Hardware {
    /// Opens the available counters, and reports the others.
    pub(crate) fn open(root: &Root, cpus: &CpuList) -> (Self, Vec<Coverage>) {
        let (mut all, mut coverage) = (Self::default(), Vec::new());
        if root.is_live() {
            // If the limit of open files cannot be raised far enough, opening the counters fails, and that failure is reported.
            os::raise_file_limit(DESCRIPTORS);
            match OfCpus::open(cpus, None) {
                Ok(counters) => {
                    all.machine = Some(counters);
                    let counted = chosen(cpus).count();
                    coverage.push(if counted < cpus.len() {
                        let reason = text!("counted on {counted} of {cpus} CPUs", counted, cpus = cpus.len());
                        Coverage::degraded(CORES, reason)
                    } else {
                        Coverage::measured(CORES)
                    });
                }
                Err(why) => coverage.push(why.into_impossible(CORES)),
            }
        }
        match if root.is_live() { Uncore::open(root) } else { Err(text!(NOT_LIVE).into()) } {
            Ok(counters) => {
                coverage.push(if counters.is_doubtful() {
                    let reason = text!(
                        "from {source}, which does not count all memory traffic",
                        source = counters.source()
                    );
                    Coverage::degraded(TRAFFIC, reason)
                } else {
                    Coverage::measured(TRAFFIC)
                });
                let (before, at, pace) = (counters.read(), Instant::now(), Pace::new(SHARE));
                all.traffic = Some(OfMemory { counters, before, at, shown: None, pace });
            }
            Err(why) => coverage.push(why.into_impossible(TRAFFIC)),
        }
        (all, coverage)
    }

    /// From now on, also counts the tasks of this cgroup separately. `folder` is its directory in the hierarchy that the kernel
    /// uses for counting; `None` if that hierarchy is not mounted. Returns a coverage line if there is something new to report.
    pub(crate) fn count_group(
        &mut self,
        root: &Root,
        folder: Option<String>,
        cpus: &CpuList,
    ) -> Option<Coverage> {
        // Without counters of entire CPUs, a cgroup cannot be counted either; the reason has already been reported.
        self.machine.as_ref()?;
        let Some(folder) = folder else {
            let reason = text!("no perf_event cgroup hierarchy is mounted");
            return Some(Coverage::impossible(CORES_OF_GROUP, reason));
        };
        if self.group.as_ref().is_some_and(|(known, _)| *known == folder) {
            return None;
        }
        let path = root.path().join(folder.trim_start_matches('/'));
        let refused = |error: std::io::Error| {
            text!("{folder} cannot be opened: {error}", folder = visible(&path), error).into()
        };
        let opened = File::open(&path).map_err(refused).and_then(|file| OfCpus::open(cpus, Some(&file)));
        let (counters, line) = match opened {
            Ok(counters) => (Some(counters), Coverage::measured(CORES_OF_GROUP)),
            Err(why) => (None, why.into_impossible(CORES_OF_GROUP)),
        };
        self.group = Some((folder, counters));
        Some(line)
    }

    /// Adds the counts to an interval; `last` means that no interval follows.
    pub(crate) fn read_into(&mut self, interval: &mut Interval, last: bool) {
        interval.cores = self.machine.as_mut().and_then(|counters| counters.read(last));
        let group = self.group.as_mut().and_then(|(_, counters)| counters.as_mut());
        interval.cores_of_group = group.and_then(|counters| counters.read(last));
        let Some(OfMemory { counters, before, at, shown, pace }) = &mut self.traffic else { return };
        pace.run(last, || {
            let (now, read) = (Instant::now(), counters.read());
            let seconds = (now - std::mem::replace(at, now)).as_secs_f64().max(1e-9);
            *shown = counters.between(before, &read, seconds);
            *before = read;
        });
        interval.traffic = shown.clone();
    }
}

const NOT_LIVE: record::Template =
    record::Template::new("live-not-this-machine", "the tree is not from the running machine");
