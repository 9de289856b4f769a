//! Measures the machine's power when idle and under known work on all CPUs. The results are a reference for the machine's power in
//! production: a package that is busy but uses little power is stalled.

use std::time::{Duration, Instant};

use machine::Root;
use machine::sensors::{EnergyCounter, energy_between, energy_counters};
use record::{Label, Labels, Measurement, Template, Unavailable, detail, metrics};

use crate::budget::Budget;
use crate::context::{Context, Halt};
use crate::measure::Measure;
use crate::repeat::{judged, there_and_back};
use crate::workloads;
use crate::workloads::incidents::Incidents;
use crate::workloads::session::{array_bytes, array_seconds, make_arrays};
use crate::workloads::worker_pool::{TimeBudget, WorkerPool};

const NAME: &str = "power-draw";
/// The kinds of work during which power is read: some keep the execution units busy, others mostly wait for memory.
const WORK: [&str; 4] = ["flops", "cpu-bound", "memory-bound", "triad"];
const IDLE: &str = "idle";
/// Maximum half-width of the 95 % CI; a power result with a wider interval is too noisy.
const TARGET: f64 = 0.05;

const NONE: Template = Template::new("power-no-sensor", "no RAPL package domain and no power meter");
const REFUSED: Template = Template::new("power-root-only", "only root may read the energy counters");
const AS_ROOT: Template = Template::new("power-as-root", "sudo linespeed run power-draw");

pub(crate) const POWER: Measure = Measure {
    name: NAME,
    metrics: &[metrics::POWER_PACKAGE],
    obstacle: |_, _, _| Meter::find(&Root::live()).err().map(|why| why.into_impossible(NAME)),
    budget: |machine, _, depth| {
        let (_, rounds, each) = Meter::find(&Root::live()).map_or(("", 0, 0.0), |meter| meter.terms());
        let seconds = rounds as f64 * each * (WORK.len() + 1) as f64;
        match depth.pick_named(0.0, 0.5, 1.0, 1.0) * seconds {
            0.0 => Budget::NONE,
            seconds => Budget { seconds: seconds + array_seconds(depth), bytes: array_bytes(machine, depth) },
        }
    },
    uses_arrays: true,
    run: |context| run(context, &Root::live()),
};

/// The meter.
#[derive(Debug, PartialEq)]
enum Meter {
    /// Energy counters of the packages.
    Packages(Vec<EnergyCounter>),
    /// The power meter of the whole machine, µW, averaged over about a second by the chip that measures it.
    Machine(String),
}

impl Meter {
    fn find(root: &Root) -> Result<Self, Unavailable> {
        let packages = energy_counters(root);
        let refused = packages.iter().any(|package| package.uj.is_none());
        if !packages.is_empty() && !refused {
            return Ok(Meter::Packages(packages));
        }
        let chips = root.numbered("/sys/class/hwmon", "hwmon");
        let mut meters = chips.iter().map(|chip| format!("/sys/class/hwmon/hwmon{chip}"));
        // ACPI's meter of the whole machine (Documentation/hwmon/acpi_power_meter.rst).
        let meter =
            meters.find(|folder| root.text(&format!("{folder}/name")).as_deref() == Some("power_meter"));
        match meter
            .map(|folder| format!("{folder}/power1_average"))
            .filter(|file| root.number::<u64>(file).is_some())
        {
            Some(file) => Ok(Meter::Machine(file)),
            None if refused => Err(Unavailable::new(REFUSED).with_remedy(AS_ROOT)),
            None => Err(Unavailable::new(NONE)),
        }
    }

    /// The scope of a reading, the number of rounds, and the seconds per reading. Each round covers the idle machine and all kinds of work. RAPL updates every
    /// millisecond, and six readings suffice for a 95 % CI. A power meter shows an average over time, so each reading includes a second for
    /// the meter to settle.
    fn terms(&self) -> (&'static str, usize, f64) {
        match self {
            Meter::Packages(_) => ("packages", 6, 0.1),
            Meter::Machine(_) => ("machine", 1, 3.0),
        }
    }

    /// Watts while `work` runs; `None` if a counter could not be read.
    fn watts(&self, root: &Root, work: impl FnOnce()) -> Option<f64> {
        match self {
            Meter::Packages(packages) => {
                let read = || packages.iter().map(|package| root.number::<u64>(&package.file));
                let (before, from) = (read().collect::<Option<Vec<_>>>()?, Instant::now());
                work();
                let (after, seconds) = (read().collect::<Option<Vec<_>>>()?, from.elapsed().as_secs_f64());
                let each = packages.iter().zip(before).zip(after);
                let used = each
                    .map(|((package, before), after)| energy_between(before, after, package.range) as f64);
                Some(used.sum::<f64>() / 1e6 / seconds)
            }
            Meter::Machine(file) => {
                work();
                root.number::<u64>(file).map(|microwatts| microwatts as f64 / 1e6)
            }
        }
    }
}

fn run(context: &mut Context, root: &Root) -> Result<(), Halt> {
    let meter = Meter::find(root).map_err(|why| why.reason)?;
    let cpus: Vec<u32> = context.cpus.iter().collect();
    let incidents = Incidents::new(Root::live(), context.machine.cpus.len());
    let mut pools: Vec<WorkerPool> = Vec::new();
    for workload in WORK.iter().filter_map(|name| workloads::find(name)) {
        let streams = workload.definition().streams;
        let arrays = if streams { make_arrays(context, NAME)? } else { None };
        if workload.usable().is_ok() && (arrays.is_some() || !streams) {
            let pool = WorkerPool::start(workload, context.machine, &cpus, arrays.as_ref());
            pools.push(pool.map_err(|why| why.reason)?);
        }
    }
    let (scope, rounds, _) = meter.terms();
    let readings = rounds * (pools.len() + 1);
    let seconds = context.seconds_left() / readings as f64;
    let mut watts: Vec<Vec<f64>> = vec![Vec::new(); pools.len() + 1];
    for round in 0..rounds {
        for (done, side) in there_and_back(round, pools.len() + 1).enumerate() {
            context.check()?;
            let work = || match pools.get(side) {
                Some(pool) => {
                    drop(pool.run_group(&cpus, TimeBudget::of_one(seconds), &incidents, context.stop));
                }
                None => std::thread::sleep(Duration::from_secs_f64(seconds)),
            };
            watts[side].extend(meter.watts(root, work));
            context.advance((round * (pools.len() + 1) + done + 1) as f64 / readings as f64);
        }
    }
    let names: Vec<&str> = pools.iter().map(|pool| pool.workload.name()).chain([IDLE]).collect();
    drop(pools);
    for (name, samples) in names.into_iter().zip(watts).filter(|(_, samples)| !samples.is_empty()) {
        let labels = Labels::new().with_label(Label::Workload, name).with_label(Label::Scope, scope);
        let m = Measurement::new(metrics::POWER_PACKAGE, labels, samples)
            .with_detail(detail::THREADS, cpus.len() as u64);
        context.push(judged(m, TARGET));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Depth;
    use crate::context::tests::Silent;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let tree = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = tree.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        tree
    }

    #[test]
    fn packages_are_added_up_over_a_wrap_and_parts_of_them_left_out() {
        const ENERGY: &str = "sys/class/powercap/intel-rapl:1/energy_uj";
        let tree = tree(&[
            ("sys/class/powercap/intel-rapl:0/name", "package-0\n"),
            ("sys/class/powercap/intel-rapl:0/energy_uj", "1000\n"),
            ("sys/class/powercap/intel-rapl:0:0/name", "core\n"),
            ("sys/class/powercap/intel-rapl:0:0/energy_uj", "77\n"),
            ("sys/class/powercap/intel-rapl-mmio:0/name", "package-0\n"),
            ("sys/class/powercap/intel-rapl-mmio:0/energy_uj", "1000\n"),
            ("sys/class/powercap/intel-rapl:1/name", "package-1\n"),
            (ENERGY, "262143000000\n"),
            ("sys/class/powercap/intel-rapl:1/max_energy_range_uj", "262143328850\n"),
        ]);
        let root = Root::captured(tree.path()).unwrap();
        let meter = Meter::find(&root).unwrap();
        assert!(matches!(&meter, Meter::Packages(packages) if packages.len() == 2), "{meter:?}");
        let from = Instant::now();
        let watts =
            meter.watts(&root, || std::fs::write(tree.path().join(ENERGY), "671150\n").unwrap()).unwrap();
        // The elapsed time includes the measured interval, so the power is at least one joule divided by the elapsed time.
        assert!(watts >= 1.0 / from.elapsed().as_secs_f64() && watts.is_finite(), "{watts}");
        assert_eq!(energy_between(262_143_000_000, 671_150, 262_143_328_850), 1_000_000);
    }

    #[test]
    fn every_kind_of_work_has_its_power_beside_idleness() {
        const ENERGY: &str = "sys/class/powercap/intel-rapl:0/energy_uj";
        let tree = tree(&[("sys/class/powercap/intel-rapl:0/name", "package-0\n"), (ENERGY, "0\n")]);
        let root = Root::captured(tree.path()).unwrap();
        let found = machine::inspect(&Root::live());
        let usable =
            WORK.iter().filter(|name| workloads::find(name).is_some_and(|work| work.usable().is_ok()));
        let names: Vec<&str> = usable.chain([&IDLE]).copied().collect();
        let has_all = |seconds: f64| {
            let (stop, mut silent) = (os::Stop::new(), Silent);
            let cpus = found.machine.allowed_cpus();
            let mut context =
                Context::new(&found.machine, &found.snapshot, Depth::Quick, cpus, &stop, &mut silent);
            context.begin(NAME, seconds);
            // A package with a constant ten watts.
            let (began, ended) = (Instant::now(), std::sync::atomic::AtomicBool::new(false));
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    let file = tree.path().join(ENERGY);
                    while !ended.load(std::sync::atomic::Ordering::Relaxed) {
                        let whole = tree.path().join("whole");
                        std::fs::write(&whole, format!("{}\n", began.elapsed().as_micros() * 10)).unwrap();
                        std::fs::rename(&whole, &file).unwrap();
                    }
                });
                let measured = run(&mut context, &root);
                ended.store(true, std::sync::atomic::Ordering::Relaxed);
                measured.unwrap();
            });
            let of = |name: &str| {
                context
                    .measurements
                    .iter()
                    .find(|m| m.labels.word(Label::Workload) == Some(name))
                    .map(Measurement::value)
            };
            names.iter().all(|name| of(name).is_some_and(|watts| watts > 0.0))
        };
        // If other programs keep the CPUs busy, the time may end before each kind of work has run.
        assert!([1.5, 6.0, 24.0].into_iter().any(has_all), "{names:?}");
    }

    #[test]
    fn a_meter_of_the_machine_stands_in_and_without_one_it_is_said_why() {
        let meter = tree(&[
            ("sys/class/hwmon/hwmon0/name", "coretemp"),
            ("sys/class/hwmon/hwmon1/name", "power_meter"),
            ("sys/class/hwmon/hwmon1/power1_average", "417000000"),
        ]);
        let root = Root::captured(meter.path()).unwrap();
        assert_eq!(Meter::find(&root).unwrap().watts(&root, || ()), Some(417.0));
        let refused = tree(&[("sys/class/powercap/intel-rapl:0/name", "package-0")]);
        assert!(Meter::find(&Root::captured(refused.path()).unwrap()).unwrap_err().reason.is(&REFUSED));
        let none = tree(&[("sys/class/hwmon/hwmon0/name", "coretemp")]);
        assert!(Meter::find(&Root::captured(none.path()).unwrap()).unwrap_err().reason.is(&NONE));
    }
}
