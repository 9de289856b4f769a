//! Observes a machine, interval by interval.

use std::time::{Duration, Instant};

use machine::Root;
use measure::tasks::{Effort, Sampler, thread_waits};
use os::Stop;
use record::live::{Interval, Sensors};
use record::machine::Node;
use record::{Coverage, CpuList, Measurement, Summary};

use crate::beside;
use crate::coverage::{self, Found};
use crate::hardware::Hardware;
use crate::kept_files::KeptFiles;
use crate::look::Look;
use crate::pace::Pace;
use crate::probes::Probes;
use crate::processes::{Files, Processes};
use crate::selection::Selection;
use crate::service::{self, Service};
use crate::sources::sensors::Heat;
use crate::sources::{counts, numa, quota};
use measure::accesses::{Accesses, Hierarchy};

/// The time between two samples within an interval.
const BETWEEN: Duration = Duration::from_millis(100);
/// The memory probe runs at every other sample: five readings per second, with 256 loads each.
const MEMORY_EVERY: u64 = 2;
/// The share of one CPU that each of the following may use: the scan of all processes at the end of an interval, threads, schedstat,
/// sensors, numa_maps, and the process scans within an interval (which find short-lived processes and select the processes to sample).
const SHARES: [f64; 6] = [0.001, 0.0007, 0.0003, 0.0003, 0.0002, 0.0002];
/// The number of processes whose threads are sampled.
const WATCHED: usize = 4;
/// How often to look for new cgroups with a quota.
const FIND_GROUPS: Duration = Duration::from_secs(60);

/// The state of an observation.
#[derive(Debug)]
pub struct Watch {
    root: Root,
    cpus: CpuList,
    /// The nodes, if there are several.
    nodes: Vec<Node>,
    own: i32,
    before: Look,
    probes: Probes,
    /// Threads of the busiest processes.
    threads: Sampler,
    /// Open files: those of all processes, `/proc/loadavg`, and the sources of the counters of each interval.
    files: Files,
    loadavg: KeptFiles,
    looked: KeptFiles,
    /// All processes at the end of the last interval and, in `scan`, at the last scan since then.
    processes: (Instant, Processes),
    scan: Option<(Instant, Processes)>,
    delay: Option<(Instant, u64)>,
    groups: (Instant, Vec<String>),
    heat: (Instant, Heat),
    sensors: Sensors,
    hardware: Hardware,
    accesses: Accesses,
    /// The share of the observed processes' pages that are on other nodes than their threads.
    held: Option<f64>,
    paces: [Pace; 6],
    own_ns: f64,
}

/// Maximum number of processes per interval whose samples are analyzed separately, and the minimum share of all CPUs that each must use.
/// Analyzing one process takes as long as analyzing all of them together.
const SAMPLED: usize = 3;
const WORTH_SAMPLES: f64 = 0.1;

impl Watch {
    /// Begins observing: counting starts here. `known` is the machine described by `root`.
    pub fn begin(root: Root, known: Hierarchy) -> (Self, Vec<Coverage>) {
        let machine = known.machine;
        let cpus = online(&root).unwrap_or_else(|| machine.allowed_cpus());
        let groups = quota::find_groups(&root);
        let nodes = if machine.nodes.len() > 1 { machine.nodes.clone() } else { Vec::new() };
        let (hardware, counted) = Hardware::open(&root, &cpus);
        let accesses = Accesses::open(&root, known, &cpus);
        let sampled = accesses.coverage();
        let mut looked = KeptFiles::default();
        let before = Look::now(&root, &mut looked, &cpus, &ids(&nodes), &groups);
        let probes = if root.is_live() {
            Probes::new(&machine.nodes, &machine.allowed_cpus())
        } else {
            Probes::default()
        };
        let mut files = Files::with_room();
        let watch = Self {
            own: std::process::id() as i32,
            processes: (Instant::now(), Processes::look(&root, &mut files, &Processes::default())),
            files,
            loadavg: KeptFiles::default(),
            looked,
            scan: None,
            delay: run_queue_delay(&root),
            groups: (Instant::now(), groups),
            heat: (Instant::now(), Heat::look(&root, &cpus)),
            sensors: Sensors::default(),
            paces: SHARES.map(Pace::new),
            hardware,
            accesses,
            held: None,
            nodes,
            own_ns: os::process_cpu_ns().unwrap_or(0.0),
            threads: Sampler::of_processes(&[], Effort::BUSIEST),
            root,
            cpus,
            before,
            probes,
        };
        let found = Found {
            look: &watch.before,
            heat: &watch.heat.1,
            cpu: watch.cpus.iter().next().unwrap_or(0),
            probed: watch.probes.hears_memory(),
            delay: watch.delay.is_some(),
        };
        let mut coverage = coverage::of(&watch.root, &found);
        coverage.extend(counted.into_iter().chain(sampled));
        (watch, coverage)
    }

    /// Observes for this long, or until a stop request. `last` means that no interval follows, so expensive sources are
    /// read now.
    pub fn watch(&mut self, length: Duration, last: bool, stop: &Stop) -> Interval {
        let until = Instant::now() + length;
        let (mut next, mut runnable, mut samples) = (Instant::now(), Vec::new(), 0u64);
        loop {
            next = (next + BETWEEN).min(until);
            std::thread::sleep(next.saturating_duration_since(Instant::now()));
            if self.root.is_live() {
                self.probes.listen(Instant::now().saturating_duration_since(next));
                if samples % MEMORY_EVERY == 0 {
                    self.probes.hear_memory();
                }
                samples += 1;
                // The buffers are read often, because the records of thousands of process starts per second would fill them.
                self.accesses.take();
            }
            runnable.extend(self.loadavg.text(&self.root, 0, "/proc/loadavg").as_deref().and_then(running));
            self.find_busiest(5, false);
            let Self { threads, paces, .. } = self;
            paces[1].run(false, || threads.tick());
            let now = Instant::now();
            // If sampling is more than one sampling interval late, the samples that were due in the meantime are skipped.
            next = next.max(now.checked_sub(BETWEEN).unwrap_or(now));
            if now >= until || stop.signal().is_some() {
                break;
            }
        }
        let mut interval = self.finish(last || stop.signal().is_some());
        interval.runnable =
            (!runnable.is_empty()).then(|| runnable.iter().sum::<f64>() / runnable.len() as f64);
        interval
    }

    /// Samples the threads of these processes if sampling whole CPUs is not permitted.
    pub fn sample_service(&self, service: Option<&mut Service>, known: Hierarchy) {
        if let (Some(service), false) = (service, self.accesses.are_of_all()) {
            service.sample(known);
        }
    }

    /// From now on, also counts the selected cgroup, unit or container separately; returns a coverage line if there is a new one.
    pub fn count_group(&mut self, service: Option<&Service>) -> Option<Coverage> {
        let selection = service?.selection();
        if matches!(selection, Selection::Processes(_)) {
            return None;
        }
        self.hardware.count_group(&self.root, selection.counted_folder(&self.root), &self.cpus)
    }

    /// Like [`Self::watch`], but for selected processes: with their threads instead of the machine's processes, and results like those of a
    /// command that ran for this long.
    pub fn watch_beside(
        &mut self,
        service: Option<&mut Service>,
        (length, last): (Duration, bool),
        stop: &Stop,
    ) -> (Interval, Option<Vec<Measurement>>) {
        let Some(service) = service else { return (self.watch(length, last, stop), None) };
        // After a restart, a container may have another cgroup.
        self.count_group(Some(&*service));
        let (mut interval, done) = std::thread::scope(|scope| {
            let beside = std::thread::Builder::new().spawn_scoped(scope, || service.watch(length, stop)).ok();
            let interval = self.watch(length, last, stop);
            (interval, beside.and_then(|thread| thread.join().ok()))
        });
        let done = done.unwrap_or_default();
        let mut times = service::times(&done, interval.seconds);
        let mut pids = service.pids();
        pids.extend(done.threads.iter().map(|thread| thread.pid));
        times.sampled = self.accesses.of_interval(length, Some(&pids)).or(times.sampled);
        interval.service = Some(times);
        interval.threads = done.threads;
        if !self.nodes.is_empty() {
            let Self { root, nodes, held, paces, .. } = &mut *self;
            paces[4].run(last, || *held = numa::held(root, &service.pids(), nodes));
            if let Some(held) = self.held {
                interval.remote.get_or_insert_default().held = Some(held);
            }
        }
        (interval, Some(done.measurements))
    }

    /// Scans all processes if the limit allows it or if required. From then on, the threads of the busiest processes are sampled.
    fn find_busiest(&mut self, pace: usize, must: bool) {
        let before = self.scan.as_ref().unwrap_or(&self.processes);
        let Some(mut now) =
            self.paces[pace].run(must, || Processes::look(&self.root, &mut self.files, &before.1))
        else {
            return;
        };
        let own = self.own;
        let busiest = before.1.busiest_until(&now, |pid| pid == own);
        if !busiest.is_empty() {
            let watched: Vec<i32> = busiest.iter().take(WATCHED).map(|one| one.pid).collect();
            self.threads.look_at_only(&watched);
        }
        // Processes that exited before the first scan of an interval are not listed, because their CPU time in the interval is unknown.
        if let Some((_, before)) = self.scan.take() {
            now.remember_ended(before);
        }
        self.scan = Some((Instant::now(), now));
    }

    /// The activity since the end of the last interval.
    fn finish(&mut self, last: bool) -> Interval {
        if self.groups.0.elapsed() > FIND_GROUPS {
            self.groups = (Instant::now(), quota::find_groups(&self.root));
        }
        self.cpus = online(&self.root).unwrap_or_else(|| self.cpus.clone());
        let now = Look::now(&self.root, &mut self.looked, &self.cpus, &ids(&self.nodes), &self.groups.1);
        let mut interval = self.before.until(&now, &self.root);
        self.before = now;
        interval.probe = self.probes.take();
        let delay = self.paces[2].run(last, || run_queue_delay(&self.root)).flatten();
        if let (Some((then, before)), Some((now, after))) = (self.delay, delay)
            && let Some(ns) = after.checked_sub(before)
        {
            // The reading may cover more time than this interval, so only the interval's share of the delay is used.
            let share = interval.seconds / (now - then).as_secs_f64().max(interval.seconds);
            interval.run_queue_delay = Some(ns as f64 / 1e9 * share);
        }
        self.delay = delay.or(self.delay);
        // Reading the sensors of a large machine is expensive, and temperatures change slowly, so the values are reused until the next
        // reading.
        let Self { root, cpus, heat, sensors, paces, .. } = &mut *self;
        paces[3].run(last, || {
            let now = (Instant::now(), Heat::look(root, cpus));
            *sensors = heat.1.until(&now.1, root, (now.0 - heat.0).as_secs_f64());
            if interval.suspended.is_some() {
                // Energy counters may have restarted during the suspension, which looks like a wrap-around.
                sensors.watts = None;
            }
            *heat = now;
        });
        interval.sensors = self.sensors.clone();
        self.hardware.read_into(&mut interval, last);
        interval.sampled =
            self.accesses.of_interval(Duration::from_secs_f64(interval.seconds.max(0.0)), None);
        self.find_busiest(0, last);
        if let Some(now) = self.scan.take() {
            let own = self.own;
            interval.processes = self.processes.1.busiest_until(&now.1, |pid| pid == own);
            for (number, one) in interval.processes.iter_mut().enumerate() {
                one.within = beside::unit(&self.root, one.pid);
                let busy = one.cpu >= WORTH_SAMPLES * interval.seconds * interval.cpus as f64;
                let sampled = if number < SAMPLED && busy { self.accesses.of_process(one.pid) } else { None };
                one.sampled = sampled.map(Box::new);
            }
            interval.processes_seconds = Some((now.0 - self.processes.0).as_secs_f64());
            self.processes = now;
            self.processes.1.forget_ended();
        }
        let (seen, _) = self.threads.take();
        (interval.looks, interval.waits) = (seen.looks, thread_waits([&seen], seen.locks));
        let own_ns = os::process_cpu_ns().unwrap_or(0.0);
        interval.own_seconds = (own_ns - self.own_ns) / 1e9;
        self.own_ns = own_ns;
        interval
    }

    /// Ends the current interval and begins a new one; returns the busy share of the CPUs in the ended interval.
    pub fn restart(&mut self) -> f64 {
        let interval = self.finish(true);
        interval.times.share(interval.times.busy())
    }

    /// Reads the probe directly: the current memory latency, ns, from this many readings.
    pub fn listen(&mut self, readings: usize, between: Duration, stop: &Stop) -> Option<f64> {
        for _ in 0..readings {
            if stop.signal().is_some() {
                break;
            }
            std::thread::sleep(between);
            self.probes.listen(Duration::ZERO);
            self.probes.hear_memory();
        }
        let all: Vec<f64> = self.probes.take()?.latency_ns.into_values().collect();
        (!all.is_empty()).then(|| Summary::from_samples(&all).median)
    }
}

fn ids(nodes: &[Node]) -> Vec<u32> {
    nodes.iter().map(|node| node.id).collect()
}

fn online(root: &Root) -> Option<CpuList> {
    root.cpu_list("/sys/devices/system/cpu/online")
}

fn run_queue_delay(root: &Root) -> Option<(Instant, u64)> {
    let delay = counts::run_queue_delay(&root.text("/proc/schedstat")?)?;
    Some((Instant::now(), delay))
}

/// Number of threads that run or are ready to run, except this one: the 3 in `0.00 0.01 0.05 3/512 4711`.
fn running(loadavg: &str) -> Option<f64> {
    os::procfs::running(loadavg).map(|running| f64::from(running.saturating_sub(1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::Tree;

    #[test]
    fn a_made_up_tree_is_watched_without_a_probe() {
        let tree = Tree::new()
            .file("proc/stat", "cpu  1 0 0 100 0 0 0 0 0 0\ncpu0 1 0 0 100 0 0 0 0 0 0\n")
            .file("proc/loadavg", "0.00 0.01 0.05 5/512 4711\n");
        let root = tree.root();
        let machine = machine::inspect(&root).machine;
        let (mut watch, coverage) = Watch::begin(root, Hierarchy { machine: &machine, curve: &[] });
        assert!(coverage.iter().any(|one| one.what == "memory probe"));
        let interval = watch.watch(Duration::from_millis(150), true, &Stop::new());
        assert_eq!((interval.runnable, interval.times.all(), interval.probe), (Some(4.0), 0.0, None));
        assert_eq!((running("0 0 0 0/5 1"), running("x")), (Some(0.0), None));
    }

    #[test]
    fn a_thread_that_computes_is_the_busiest_process_but_this_one() {
        let mut child = std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let root = Root::live();
        let machine = machine::inspect(&root).machine;
        let (mut watch, _) = Watch::begin(root, Hierarchy { machine: &machine, curve: &[] });
        let mut interval = watch.watch(Duration::from_millis(500), true, &Stop::new());
        let named = |interval: &Interval| interval.processes.iter().any(|one| one.pid == child.id() as i32);
        // On a machine full of other processes, it may not have received a tick yet.
        for _ in 0..100 {
            if named(&interval) {
                break;
            }
            interval = watch.watch(Duration::from_millis(500), true, &Stop::new());
        }
        assert!(named(&interval), "{interval:?}");
        child.kill().unwrap();
        child.wait().unwrap();
        let stop = Stop::new();
        stop.ask(2);
        assert!(watch.watch(Duration::from_secs(600), false, &stop).seconds < 100.0);
    }
}
