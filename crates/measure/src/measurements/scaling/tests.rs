use super::*;
use crate::context::tests::Silent;
use crate::workloads::incidents::Incidents;
use crate::workloads::{Definition, WrongResult};
use machine::Root;
use os::Stop;
use record::Label;
use record::{Snapshot, Template, Unavailable, machine::Cpu};

/// A machine with `cpus` CPUs, `siblings` CPUs per core and `nodes` nodes; the numbers of siblings are far apart.
fn made(cpus: u32, siblings: u32, nodes: u32) -> Machine {
    let mut machine = Machine::default();
    let cores = cpus / siblings;
    for id in 0..cpus {
        let core = id % cores;
        machine.cpus.push(Cpu {
            id,
            online: true,
            allowed: true,
            core: Some(core),
            package: Some(core * nodes / cores),
            node: Some(core * nodes / cores),
            ..Cpu::default()
        });
    }
    machine
}

fn named(machine: &Machine) -> Vec<Step> {
    steps(machine, &machine.allowed_cpus(), Depth::Named)
}

#[test]
fn the_same_cpus_are_measured_once_whatever_order_leads_to_them() {
    let machine = made(104, 2, 2);
    let steps = named(&machine);
    let all = steps.last().unwrap();
    assert_eq!((all.cpus.len(), all.orders.len()), (104, 4));
    let mut sets: Vec<BTreeSet<u32>> = steps.iter().map(|s| s.cpus.iter().copied().collect()).collect();
    let count = sets.len();
    sets.sort();
    sets.dedup();
    assert_eq!(sets.len(), count);
    // Every order begins with one CPU and ends with all CPUs.
    for order in fill_order::FILL_ORDERS {
        let threads: Vec<usize> =
            steps.iter().filter(|s| s.orders.contains(&order)).map(|s| s.cpus.len()).collect();
        assert_eq!((threads.first(), threads.last()), (Some(&1), Some(&104)), "{order:?}");
        assert!(threads.windows(2).all(|pair| pair[0] < pair[1]), "{order:?} twice: {threads:?}");
    }
}

#[test]
fn two_siblings_are_two_threads_on_one_core_only_when_they_come_first() {
    let machine = made(8, 2, 1);
    let two: Vec<(Vec<u32>, Vec<FillOrder>)> =
        named(&machine).into_iter().filter(|s| s.cpus.len() == 2).map(|s| (s.cpus, s.orders)).collect();
    let cores = (vec![0, 1], vec![FillOrder::CoresFirst]);
    assert_eq!(two, [cores, (vec![0, 4], vec![FillOrder::SiblingsFirst])]);
}

#[test]
fn a_normal_run_takes_few_steps_and_the_ends() {
    for machine in [made(2, 1, 1), made(104, 2, 2), made(512, 2, 2), made(16, 4, 4)] {
        let cpus = machine.allowed_cpus();
        let steps = steps(&machine, &cpus, Depth::Normal);
        assert!(steps.len() <= FEW_STEPS, "{} steps", steps.len());
        assert_eq!(steps.first().map(|s| s.cpus.len()), Some(1));
        assert_eq!(steps.last().map(|s| s.cpus.len()), Some(cpus.len()));
    }
}

#[test]
fn budgets_hold_on_2_128_and_512_cpus() {
    let all = |machine: &Machine, depth| {
        let cpus = machine.allowed_cpus();
        ["workloads", "scaling", "smt-yield"]
            .into_iter()
            .filter_map(crate::list::find)
            .map(|m| m.budget(machine, &cpus, depth).seconds)
            .sum::<f64>()
    };
    let (small, middle, large) = (made(2, 1, 1), made(128, 2, 2), made(512, 2, 2));
    assert!(SCALING.budget(&middle, &middle.allowed_cpus(), Depth::Named).seconds < 60.0);
    assert!(all(&small, Depth::Normal) <= 4.0, "{}", all(&small, Depth::Normal));
    assert!(all(&large, Depth::Normal) <= 6.0, "{}", all(&large, Depth::Normal));
    assert!(all(&large, Depth::Quick) <= 0.5, "{}", all(&large, Depth::Quick));
}

#[test]
fn slices_fit_the_time_and_are_never_too_short_to_tell() {
    let machine = made(128, 2, 2);
    let steps = named(&machine);
    let length = slice_seconds(&steps, VISITS, 20.0);
    assert!(length * (steps.len() * VISITS * SLICES) as f64 <= 20.0);
    assert_eq!(slice_seconds(&steps, VISITS, 0.0), 5e-3);
}

/// Runs `work` with a context of this machine's first two CPUs.
fn here(depth: Depth, stop: &Stop, work: impl FnOnce(&mut Context)) {
    let found = machine::inspect(&Root::live());
    let cpus: CpuList = found.machine.allowed_cpus().iter().take(2).collect();
    let (snapshot, mut silent) = (Snapshot::default(), Silent);
    work(&mut Context::new(&found.machine, &snapshot, depth, cpus, stop, &mut silent));
}

#[test]
fn throughput_of_one_and_of_two_threads_with_its_ipc() {
    here(Depth::Normal, &Stop::new(), |context| {
        if context.cpus.len() < 2 {
            return;
        }
        context.begin("scaling", 60.0);
        // An earlier result of the same place is replaced by the one measured together with the others.
        let place = Labels::new()
            .with_label(Label::Workload, "primes")
            .with_label(Label::Threads, 1u32)
            .with_label(Label::Placement, "cores-first");
        context.push(record::Measurement::new("workload.throughput", place, vec![1e-3; 6]));
        run(context).unwrap();
        for name in NORMAL {
            let threads: Vec<u64> = context
                .measurements
                .iter()
                .filter(|m| m.metric == "workload.throughput" && m.labels.word(Label::Workload) == Some(name))
                .filter_map(|m| m.labels.count(Label::Threads))
                .collect();
            assert_eq!(threads, [1, 2], "{name}: {:?}", context.coverage);
        }
        assert!(context.measurements.iter().all(|m| m.value() > 2e-3), "the earlier result is still present");
        let ipc = context.measurements.iter().find(|m| m.metric == "core.ipc").unwrap();
        assert_eq!(ipc.labels.word(Label::Source), Some("declared"));
    });
}

/// Requests a stop in the middle of the second step.
struct Stopping(std::sync::Arc<Stop>);

struct Rounds(u32, std::sync::Arc<Stop>, bool);

impl Workload for Stopping {
    fn definition(&self) -> Definition {
        Definition::new("stopping", Template::new("work-stopping", "round"))
    }
    fn prepare(&self, _: &crate::workloads::Site) -> Result<Box<dyn crate::workloads::Worker>, Unavailable> {
        Ok(Box::new(Rounds(0, self.0.clone(), false)))
    }
}

impl crate::workloads::Worker for Rounds {
    fn join(&mut self, group: crate::workloads::Group) {
        self.2 = group.cpus.len() > 1;
    }
    fn round(&mut self) -> f64 {
        std::thread::sleep(Duration::from_micros(200));
        if self.2 {
            self.0 += 1;
        }
        if self.0 == 5 {
            self.1.ask(libc::SIGINT);
        }
        1.0
    }
    fn verify(&mut self) -> Result<(), WrongResult> {
        Ok(())
    }
}

#[test]
fn an_interrupted_run_keeps_the_steps_that_it_has() {
    let stop = std::sync::Arc::new(Stop::new());
    here(Depth::Named, &stop, |context| {
        if context.cpus.len() < 2 {
            return;
        }
        context.begin("scaling", 60.0);
        let steps = steps(context.machine, &context.cpus, Depth::Named);
        let incidents = Incidents::new(Root::live(), 2);
        let end = Instant::now() + Duration::from_secs(60);
        let turn = Turn { workload: &Stopping(stop.clone()), incidents: &incidents, end, pool: None };
        measure_steps(context, &turn, &steps).unwrap();
        let threads: Vec<Option<u64>> =
            context.measurements.iter().map(|m| m.labels.count(Label::Threads)).collect();
        assert_eq!(threads, [Some(1)], "only the first step is complete and must be kept");
        assert!(context.coverage.is_empty(), "an interruption must not be reported: {:?}", context.coverage);
        assert_eq!(context.check(), Err(Halt::Interrupted));
    });
}

#[test]
fn more_threads_than_memory_allows_are_left_out_with_the_reason() {
    struct Hungry(u64);
    impl Workload for Hungry {
        fn definition(&self) -> Definition {
            let work = Template::new("work-hungry", "meal");
            Definition { bytes: self.0, ..Definition::new("hungry", work) }
        }
        fn prepare(
            &self,
            _: &crate::workloads::Site,
        ) -> Result<Box<dyn crate::workloads::Worker>, Unavailable> {
            Err("not reached".into())
        }
    }
    here(Depth::Named, &Stop::new(), |context| {
        let step = |cpus: &[u32]| Step { cpus: cpus.to_vec(), orders: vec![FillOrder::CoresFirst] };
        let steps = [step(&[0]), step(&[1]), step(&[0, 1])];
        // On any machine, there is room for one thread but not for two, and not for another thread in addition to the first.
        let hungry = Hungry(context.memory_allowance() / 3 * 2);
        let left = affordable(context, &hungry, &steps);
        assert_eq!(left.len(), 1);
        let reason = context.coverage[0].reason.clone().unwrap();
        let value = |name| reason.value(name).cloned();
        assert_eq!(value("threads"), Some(1u32.into()), "{reason}");
        assert_eq!(
            (value("missing"), value("steps")),
            (Some(2u32.into()), Some("1 to 2".into())),
            "{reason}"
        );
    });
}
