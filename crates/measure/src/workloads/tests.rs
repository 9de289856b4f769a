use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use machine::Root;
use record::{CpuList, Label, Labels, Machine, Mark, Snapshot, Template, Unavailable, detail};

use super::figures::Seen;
use super::incidents::Incidents;
use super::worker_pool::{GroupRun, SliceLength, TimeBudget, WorkerPool};
use super::*;
use crate::budget::Depth;
use crate::context::{Context, tests::Silent};
use crate::workloads::array_pool::ArrayPool;
use crate::{array_setup, arrays};
use os::Stop;

/// A workload whose rounds are short spins, with errors injected by tests.
#[derive(Default)]
struct MadeUp {
    /// The worker with this number (in order of preparation) ends its first round only after the others have done six rounds.
    waits: Option<usize>,
    /// The worker with this number panics in its third round.
    panics: Option<usize>,
    /// The worker with this number computes incorrect results.
    wrong: Option<usize>,
    made: AtomicUsize,
    rounds: Arc<AtomicUsize>,
    died: Arc<AtomicBool>,
}

struct Spinner {
    rounds: u32,
    waits: bool,
    panics: bool,
    wrong: bool,
    of_others: Arc<AtomicUsize>,
    died: Arc<AtomicBool>,
}

impl Workload for MadeUp {
    fn definition(&self) -> Definition {
        Definition::new("made-up", Template::new("work-made-up", "spin"))
    }

    fn prepare(&self, _: &Site) -> Result<Box<dyn Worker>, Unavailable> {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(Spinner {
            rounds: 0,
            waits: self.waits == Some(number),
            panics: self.panics == Some(number),
            wrong: self.wrong == Some(number),
            of_others: self.rounds.clone(),
            died: self.died.clone(),
        }))
    }
}

impl Worker for Spinner {
    fn round(&mut self) -> f64 {
        self.rounds += 1;
        if self.panics && self.rounds == 3 {
            self.died.store(true, Ordering::Relaxed);
            panic!("expected by this test");
        }
        let from = Instant::now();
        let ready = || !self.waits || self.of_others.load(Ordering::Relaxed) >= 6;
        while from.elapsed() < Duration::from_micros(100) || (!ready() && from.elapsed().as_secs() < 5) {
            std::hint::spin_loop();
        }
        if !self.waits {
            self.of_others.fetch_add(1, Ordering::Relaxed);
        }
        1.0
    }

    fn verify(&mut self) -> Result<(), WrongResult> {
        if self.wrong { Err(WrongResult("2 + 2 came out as 5".into())) } else { Ok(()) }
    }
}

/// The current machine, as far as workers need it.
fn here() -> (Machine, Vec<u32>) {
    let machine = machine::inspect(&Root::live()).machine;
    let cpus: Vec<u32> = machine.allowed_cpus().iter().take(2).collect();
    (machine, cpus)
}

fn budget(seconds: f64, slices: usize) -> TimeBudget {
    TimeBudget {
        length: SliceLength::Seconds(seconds),
        least: slices,
        most: slices,
        deadline: Instant::now(),
        counted: None,
    }
}

fn visit(workload: &dyn Workload, seconds: f64, slices: usize, stop: &Stop) -> (GroupRun, Vec<u32>) {
    let (machine, cpus) = here();
    let workers = WorkerPool::start(workload, &machine, &cpus, None).unwrap();
    let incidents = Incidents::new(Root::live(), cpus.len());
    (workers.run_group(&cpus, budget(seconds, slices), &incidents, stop), cpus)
}

fn with_context(work: impl FnOnce(&mut Context)) {
    let (machine, cpus) = here();
    let (snapshot, stop, mut silent) = (Snapshot::default(), Stop::new(), Silent);
    let cpus: CpuList = cpus.into_iter().collect();
    work(&mut Context::new(&machine, &snapshot, Depth::Quick, cpus, &stop, &mut silent));
}

#[test]
fn names_are_unique_and_the_widest_vectors_are_called_flops() {
    let names: Vec<&str> = all().iter().map(|workload| workload.name()).collect();
    for (index, name) in names.iter().enumerate() {
        assert!(!names[..index].contains(name), "{name} twice");
    }
    assert!(find("flops").is_some_and(|flops| flops.usable().is_ok()), "{names:?}");
    assert!(find("nope").is_none());
}

#[test]
fn every_workload_that_can_run_here_computes_right() {
    let (_, cpus) = here();
    let pool = {
        let mut pool = None;
        with_context(|context| {
            let two = array_setup::prepare(context, "test", 0.0).unwrap();
            let arrays = array_setup::with_third(context, two).unwrap();
            let all: Vec<u32> = context.cpus.iter().collect();
            pool = Some(Arc::new(ArrayPool::new(context.machine, &all, &arrays)));
        });
        pool.unwrap()
    };
    for workload in all().into_iter().filter(|workload| workload.usable().is_ok()) {
        let site = Site { cpu: cpus[0], pool: Some(pool.clone()) };
        let mut worker = workload.prepare(&site).unwrap();
        worker.join(Group { cpus: &cpus, index: 0 });
        for _ in 0..3 {
            assert!(worker.round() > 0.0, "{} does no work", workload.name());
        }
        assert_eq!(worker.verify(), Ok(()), "{}", workload.name());
    }
}

#[test]
fn a_triad_that_is_wrong_in_one_element_is_noticed() {
    with_context(|context| {
        let two = array_setup::prepare(context, "test", 0.0).unwrap();
        let arrays = array_setup::with_third(context, two).unwrap();
        let cpus: Vec<u32> = context.cpus.iter().collect();
        let pool = Arc::new(ArrayPool::new(context.machine, &cpus, &arrays));
        let mut worker = triad::Triad.prepare(&Site { cpu: cpus[0], pool: Some(pool.clone()) }).unwrap();
        worker.join(Group { cpus: &cpus, index: 0 });
        worker.round();
        assert_eq!(worker.verify(), Ok(()));
        // SAFETY: the address is within the first chunk of an array that no thread uses now.
        unsafe {
            *pool.part(pool.share(Group { cpus: &cpus, index: 0 })[0]).unwrap().array(0, 0).add(1_000) = 7.5
        };
        assert_eq!(worker.verify().unwrap_err().0.value("sum"), Some(&"7.5".into()));
    });
}

#[test]
fn loops_have_a_plausible_ipc_without_a_counter() {
    let stop = Stop::new();
    for name in ["nop", "cpu-bound", "primes"] {
        // If other tasks keep the CPUs busy, there may be no time in which all workers ran.
        let visits = (0..50).map(|_| visit(find(name).unwrap(), 0.01, 5, &stop).0);
        let visit = visits.into_iter().find(|visit| !visit.slices.is_empty());
        let visit = visit.unwrap_or_else(|| panic!("{name}: no slice in which all workers ran"));
        // If other tasks ran, the clock of a slice may have been misread.
        let mut ipc: Vec<f64> = visit.slices.iter().map(|slice| slice.ipc.unwrap()).collect();
        ipc.sort_by(f64::total_cmp);
        // These tests run under emulation for aarch64, which removes nops.
        let most = if cfg!(target_arch = "aarch64") { f64::MAX } else { 12.0 };
        let middle = ipc[ipc.len() / 2];
        assert!(middle > 0.0 && middle < most, "{name}: {ipc:?}");
    }
}

#[test]
fn who_is_done_early_works_on_until_the_last_is_done() {
    let (machine, cpus) = here();
    if cpus.len() < 2 {
        return;
    }
    // The share is one round; the waiting worker completes it only if the other worker continues to six rounds.
    let workload = MadeUp { waits: Some(0), ..MadeUp::default() };
    let workers = WorkerPool::start(&workload, &machine, &cpus, None).unwrap();
    let incidents = Incidents::new(Root::live(), cpus.len());
    let budget = TimeBudget { length: SliceLength::Work(1.0), ..budget(0.0, 1) };
    workers.run_group(&cpus, budget, &incidents, &Stop::new());
    assert!(workload.rounds.load(Ordering::Relaxed) >= 6);
}

#[test]
fn a_thread_that_dies_costs_the_step_and_hangs_nobody() {
    // If other tasks keep its CPU busy, the time may be over before the worker's third round.
    let tried = (0..50).map(|_| {
        let workload = MadeUp { panics: Some(0), ..MadeUp::default() };
        let (visit, cpus) = visit(&workload, 0.005, 4, &Stop::new());
        (workload, visit, cpus)
    });
    let dies = tried.into_iter().find(|(workload, ..)| workload.died.load(Ordering::Relaxed));
    let (workload, visit, cpus) = dies.expect("the worker never reached its third round");
    assert_eq!((visit.lost, visit.slices.len()), (1, 0));
    with_context(|context| {
        let mut seen = Seen::new(&workload, cpus, None);
        seen.add(visit);
        assert!(!seen.passes_checks(context, "scaling"));
        assert!(context.coverage[0].why().contains("1 of"));
    });
}

#[test]
fn a_signal_ends_a_visit_in_the_middle_of_a_slice_and_keeps_what_was_whole() {
    let stop = Stop::new();
    let (machine, cpus) = here();
    let workload = MadeUp::default();
    let workers = WorkerPool::start(&workload, &machine, &cpus[..1], None).unwrap();
    let incidents = Incidents::new(Root::live(), 1);
    // Without the signal, the slices would take a minute.
    let visit = std::thread::scope(|scope| {
        scope.spawn(|| {
            while workload.rounds.load(Ordering::Relaxed) < 1_000 {
                std::thread::sleep(Duration::from_millis(1));
            }
            stop.ask(libc::SIGINT);
        });
        workers.run_group(&cpus[..1], budget(0.02, 3_000), &incidents, &stop)
    });
    assert!(visit.slices.len() < 3_000);
    assert!(!visit.slices.is_empty(), "complete slices before the signal are lost");
}

#[test]
fn a_wrong_result_withholds_the_figure_and_is_said_loudly() {
    let workload = MadeUp { wrong: Some(0), ..MadeUp::default() };
    let (visit, cpus) = visit(&workload, 0.002, 2, &Stop::new());
    assert_eq!(visit.wrong.len(), 1);
    with_context(|context| {
        let mut seen = Seen::new(&workload, cpus, None);
        seen.add(visit);
        assert!(!seen.passes_checks(context, "workloads"));
        let entry = &context.coverage[0];
        assert_eq!(entry.what, "workloads made-up");
        let reason = entry.why();
        assert!(
            reason.contains("COMPUTES WRONG RESULTS") && reason.contains("2 + 2 came out as 5"),
            "{reason}"
        );
        assert!(entry.remedy.is_some());
    });
}

#[test]
fn passes_are_timed_whole() {
    let workload = MadeUp::default();
    let (machine, cpus) = here();
    let workers = WorkerPool::start(&workload, &machine, &cpus[..1], None).unwrap();
    let incidents = Incidents::new(Root::live(), 1);
    let budget = TimeBudget { length: SliceLength::Work(30.0), ..budget(0.0, 3) };
    let visit = workers.run_group(&cpus[..1], budget, &incidents, &Stop::new());
    assert_eq!(visit.slices.len(), 3);
    for slice in &visit.slices {
        // Exactly 30 rounds, divided by their time.
        assert_eq!(slice.done, 30.0, "{slice:?}");
    }
}

#[test]
fn marks_and_clock_come_with_the_figure() {
    let workload = MadeUp::default();
    let (machine, cpus) = here();
    let workers = WorkerPool::start(&workload, &machine, &cpus[..1], None).unwrap();
    let mut visit =
        workers.run_group(&cpus[..1], budget(0.002, 2), &Incidents::new(Root::live(), 1), &Stop::new());
    let last = visit.slices.len() - 1;
    visit.slices[last].marks.insert(Mark::Throttled);
    let mut seen = Seen::new(&workload, cpus, None);
    seen.add(visit);
    let m = seen.throughput(&Machine::default(), Labels::new().with_label(Label::Workload, "made-up"));
    assert!(m.marks.iter().any(|mark| mark.sample as usize == last && mark.mark == Mark::Throttled));
    assert_eq!(m.detail.get(detail::WORK).unwrap(), "spin");
    assert!(m.detail.get(detail::CLOCK_HZ).unwrap() > 0.0);
}

/// Two nodes of two CPUs each.
fn two_nodes() -> Machine {
    let mut machine = Machine::default();
    for id in 0..4u32 {
        machine.cpus.push(record::machine::Cpu {
            id,
            online: true,
            allowed: true,
            core: Some(id),
            node: Some(id / 2),
            ..Default::default()
        });
    }
    machine
}

#[test]
fn a_lone_thread_walks_its_nodes_arrays_and_many_share_them() {
    with_context(|context| {
        let cpu = context.cpus.iter().next().unwrap();
        let mut machine = Machine::default();
        machine.cpus.push(record::machine::Cpu {
            id: cpu,
            online: true,
            allowed: true,
            ..Default::default()
        });
        let snapshot = Snapshot::default();
        let (stop, mut silent) = (Stop::new(), Silent);
        let one: CpuList = [cpu].into_iter().collect();
        let mut context = Context::new(&machine, &snapshot, Depth::Quick, one, &stop, &mut silent);
        let arrays = array_setup::prepare(&mut context, "test", 0.0).unwrap();
        let part = &arrays.parts[0];
        let four = arrays::Arrays { parts: vec![part.clone(); 4], slow: false };
        let pool = ArrayPool::new(&two_nodes(), &[0, 1, 2, 3], &four);
        let share = |cpus: &[u32], index| pool.share(Group { cpus, index });
        assert_eq!(share(&[0], 0), [0, 1]);
        assert_eq!((share(&[0, 1], 0), share(&[0, 1], 1)), (vec![0], vec![1]));
        assert_eq!((share(&[3, 0], 0), share(&[3, 0], 1)), (vec![2, 3], vec![0, 1]));
        assert_eq!(pool.walked(&[2]), 2 * part.bytes as u64);
        assert_eq!(pool.walked(&[0, 1, 2, 3]), 4 * part.bytes as u64);
    });
}
