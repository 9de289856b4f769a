//! All steps of a plan in interleaved rounds, and what they give: measurements and coverage.

use record::Label;
use record::detail;
use std::ffi::OsString;
use std::time::Duration;

use record::text::Value;
use record::{Coverage, Doubt, Labels, Machine, Mark, Measurement, SampleMark, text};

use super::coverage::{self, implausible, left_behind, lost, without_ipc};
use super::fixed_time::{self, FixedTime};
use super::run::{Failed, Run, RunObserver, Trouble, run};
use super::service::Running;
use super::{Job, Plan, Step};
use crate::rounds::{Turn, turns};
use os::Stop;

/// A trial that lasted this long counts as the first sample of one CPU: what a first run loads into memory is of no weight
/// beside it, and time is dear.
const LONG_TRIAL: f64 = 5.0;

/// Share of the free memory that copies may take together.
const MEMORY_SHARE: f64 = 0.9;

/// Runs of one step that differ by more are doubted.
const SPREAD: f64 = 0.05;

/// How to measure.
#[derive(Clone, Debug)]
pub struct Options {
    /// Rounds.
    pub repeats: usize,
    /// The longest that a run may take.
    pub timeout: Option<Duration>,
    /// Memory that is free, bytes; `None` where that is not known.
    pub memory: Option<u64>,
    /// What each process has in its environment beside ours.
    pub environment: Vec<(OsString, OsString)>,
}

/// Hears how far it is.
pub trait Observer: RunObserver {
    /// What the command runs against is being prepared.
    fn preparing(&mut self) {}
    /// The trial is over; all runs may take so many seconds more.
    fn trial_done(&mut self, seconds: f64, run: &Run);
    /// A run is over; `done` of `all`.
    fn run_done(&mut self, step: &Step, done: usize, all: usize, result: &Result<Run, Trouble>);
}

/// What came out.
#[derive(Debug, Default)]
pub struct Results {
    /// Measurements of every step that has at least one run.
    pub measurements: Vec<Measurement>,
    /// What could not be measured, and why.
    pub coverage: Vec<Coverage>,
    /// The signal that ended it early.
    pub interrupted: Option<i32>,
    /// What ended it early otherwise.
    pub failed: Option<Trouble>,
}

/// The runs of one step.
#[derive(Debug, Default)]
pub(super) struct StepRuns {
    /// By round; `None` where there is none.
    pub runs: Vec<Option<Run>>,
    /// Why there are no more.
    pub trouble: Option<Trouble>,
}

impl StepRuns {
    /// Those that count.
    pub(crate) fn good(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter().flatten()
    }
}

/// Measures: a trial on one CPU, which does not count unless it was long, then the rounds, every other one backwards.
pub(crate) fn measure(
    job: &Job,
    plan: &Plan,
    machine: &Machine,
    mut service: Option<&mut Running>,
    options: &Options,
    stop: &Stop,
    observer: &mut dyn Observer,
) -> Results {
    let mut results = Results::default();
    let Some(one) = plan.single_cpu_step() else {
        results.coverage.push(Coverage::impossible("scale", text!("no-cpu", "there is no CPU to run it on")));
        return results;
    };
    let mut taken: Vec<StepRuns> = plan.steps.iter().map(|_| StepRuns::default()).collect();
    let trial = once(job, &one.cpus, &mut service, options, stop, observer);
    let trial = match trial {
        Ok(trial) => trial,
        Err(Trouble::Stopped(signal)) => {
            let all = plan.steps.len() * options.repeats.max(1);
            results.interrupted = Some(signal);
            results.coverage.push(coverage::interrupted(signal, plan, &taken, 0, all, options.repeats));
            return results;
        }
        Err(trouble) => {
            results.failed = Some(trouble);
            return results;
        }
    };
    results.coverage.extend(left_behind(job, &trial));
    results.coverage.extend(without_ipc(&trial));
    for (step, taken) in plan.steps.iter().zip(&mut taken) {
        taken.trouble = too_much_memory(job, step, &trial, options.memory);
    }
    let wall = trial.seconds.iter().copied().fold(0.0, f64::max);
    let repeats = options.repeats.max(1);
    let order = turns(plan.steps.len(), repeats);
    observer.trial_done(wall * order.len() as f64, &trial);
    let skip = (wall >= LONG_TRIAL).then_some(Turn { round: 0, alternative: 0 });
    if skip.is_some() {
        taken[0].runs.push(Some(trial));
    }
    for (done, turn) in order.clone().enumerate() {
        let at = turn.alternative;
        if skip == Some(turn) || taken[at].trouble.is_some() {
            continue;
        }
        let result = once(job, &plan.steps[at].cpus, &mut service, options, stop, observer);
        observer.run_done(&plan.steps[at], done + 1, order.len(), &result);
        taken[at].runs.resize_with(turn.round, || None);
        match result {
            Ok(run) => taken[at].runs.push(Some(run)),
            Err(Trouble::Stopped(signal)) => {
                results.interrupted = Some(signal);
                results.coverage.push(coverage::interrupted(
                    signal,
                    plan,
                    &taken,
                    done,
                    order.len(),
                    repeats,
                ));
                break;
            }
            Err(trouble @ Trouble::Service(_)) => {
                results.failed = Some(trouble);
                break;
            }
            // What failed once, or took too long, would again.
            Err(trouble) => taken[at].trouble = Some(trouble),
        }
    }
    if let Some(failed) = without_work(job, &mut taken) {
        results.failed = results.failed.or(Some(Trouble::AllFailed(failed)));
    }
    results.coverage.extend(coverage::failures_that_count(job, &taken));
    let fixed = fixed_time::found(job, plan, &taken);
    results.coverage.extend(fixed.as_ref().map(FixedTime::to_coverage));
    let mut all = Vec::new();
    for (step, taken) in plan.steps.iter().zip(&taken) {
        all.extend(measurements(job, step, taken));
        results.coverage.extend(lost(step, taken));
    }
    // What stops by the clock has no yield of siblings either.
    if !fixed.as_ref().is_some_and(FixedTime::is_sure) {
        all.extend(smt_yield(job, plan, machine, &taken));
    }
    for mut measurement in all {
        if let Some(fixed) = &fixed {
            fixed.mark(&mut measurement);
        }
        match implausible(&measurement) {
            None => results.measurements.push(measurement),
            withheld => results.coverage.extend(withheld),
        }
    }
    let whole = taken.iter().all(|taken| taken.trouble.is_none());
    if whole && results.interrupted.is_none() && results.failed.is_none() {
        results.coverage.push(Coverage::measured("scale"));
    }
    results
}

/// Takes the runs out of steps in which every run failed: where failures count and no score proves that work was done,
/// they are no work. The failure, where no step is left.
fn without_work(job: &Job, taken: &mut [StepRuns]) -> Option<Failed> {
    if !job.ignore_failure || !job.scores.is_empty() {
        return None;
    }
    let mut first = None;
    let mut worked = false;
    for taken in taken {
        let failed = taken.good().find_map(|run| run.failed.clone());
        if let Some(failed) = failed.filter(|_| taken.good().all(|run| run.failed.is_some())) {
            first.get_or_insert_with(|| failed.clone());
            taken.runs.clear();
            taken.trouble = Some(Trouble::AllFailed(failed));
        }
        worked |= taken.good().next().is_some();
    }
    first.filter(|_| !worked)
}

fn once(
    job: &Job,
    cpus: &[u32],
    service: &mut Option<&mut Running>,
    options: &Options,
    stop: &Stop,
    observer: &mut dyn Observer,
) -> Result<Run, Trouble> {
    struct Through<'a>(&'a mut dyn Observer);
    impl RunObserver for Through<'_> {
        fn left(&mut self, names: &[String]) {
            self.0.left(names);
        }
    }
    run(
        job,
        cpus,
        service.as_deref_mut(),
        &options.environment,
        options.timeout,
        stop,
        &mut Through(observer),
    )
}

/// Whether a step's copies would need more memory than there is, by what one copy took.
fn too_much_memory(job: &Job, step: &Step, trial: &Run, free: Option<u64>) -> Option<Trouble> {
    let copies = step.cpus.len() as u64;
    let free = free?;
    let needed = trial.usage.max_rss_bytes.saturating_mul(copies);
    if !job.copies || copies < 2 || needed as f64 <= free as f64 * MEMORY_SHARE {
        return None;
    }

    Some(Trouble::NoRoom(text!(
        "copies-memory-short",
        "{copies} copies require {needed} ({each} each), {free} are free",
        copies = copies,
        needed = Value::Bytes(needed),
        each = Value::Bytes(trial.usage.max_rss_bytes),
        free = Value::Bytes(free)
    )))
}

/// Everything of one step, for each of its placements.
fn measurements(job: &Job, step: &Step, taken: &StepRuns) -> Vec<Measurement> {
    let runs: Vec<&Run> = taken.good().collect();
    let Some(first) = runs.first() else { return Vec::new() };
    let mut all = Vec::new();
    for order in &step.placements {
        let place = Labels::new()
            .with_label(Label::Workload, job.name.as_str())
            .with_label(Label::Threads, step.cpus.len())
            .with_label(Label::Placement, order.name());
        let how =
            if job.copies { "a copy pinned to each CPU" } else { "one command on all CPUs of the step" };
        let mut throughput = Measurement::new(
            "workload.throughput",
            place.clone(),
            runs.iter().map(|run| run.throughput).collect(),
        )
        .with_detail(detail::WORK, first.unit.as_str())
        .with_detail(detail::COMMAND, job.command_line())
        .with_detail(detail::CPUS, step.set().to_string())
        .with_detail(detail::HOW, how);
        // Of a recipe: with other settings it is other work.
        if !job.values.is_empty() {
            throughput = throughput.with_detail(detail::SETTINGS, settings(job));
        }
        if job.copies && step.cpus.len() > 1 {
            let imbalance: Vec<f64> = runs.iter().map(|run| run.imbalance).collect();
            throughput = throughput
                .with_detail(detail::FASTEST_TO_SLOWEST, record::Summary::from_samples(&imbalance).median);
        }
        throughput.marks = marks(&runs);
        judge(&mut throughput);
        all.push(throughput);
        if job.scores.is_empty() {
            let times = runs.iter().flat_map(|run| run.seconds.iter().copied()).collect();
            all.push(Measurement::new("workload.time", place.clone(), times));
        }
        let ipc: Vec<f64> = runs.iter().filter_map(|run| run.ipc.as_ref().ok().copied()).collect();
        if !ipc.is_empty() {
            all.push(Measurement::new("core.ipc", place.with_label(Label::Source, "pmu"), ipc));
        }
    }
    all
}

fn settings(job: &Job) -> Vec<String> {
    job.values.iter().map(|(name, value)| format!("{name}={value}")).collect()
}

fn marks(runs: &[&Run]) -> Vec<SampleMark> {
    let of = |(sample, run): (usize, &&Run)| {
        run.marks.clone().into_iter().map(move |mark| SampleMark { sample: sample as u32, mark })
    };
    runs.iter().enumerate().flat_map(of).collect()
}

/// Says when runs of one step differ too much to lean on, and what the marks tell of why.
fn judge(measurement: &mut Measurement) {
    let summary = &measurement.summary;
    if summary.n < 2 || summary.median <= 0.0 {
        return;
    }
    let spread = match summary.relative_half_width() {
        Some(half) => 2.0 * half,
        None => (summary.max - summary.min) / summary.median,
    };
    if spread <= SPREAD {
        return;
    }
    let marked = |mark: Mark| measurement.marks.iter().any(|m| m.mark == mark);
    let cause = if marked(Mark::Stolen) {
        Some(text!("runs-steal", "steal time"))
    } else if marked(Mark::Quota) {
        Some(text!("runs-quota", "a CPU quota throttled it"))
    } else if marked(Mark::Throttled) {
        Some(text!("runs-throttled", "heat or power lowered the clock"))
    } else if marked(Mark::Switched) {
        Some(text!("runs-switched", "other programs ran on these CPUs"))
    } else {
        None
    };
    let extent =
        text!("runs-differ", "runs differ by {spread} (more runs: -r)", spread = Value::Share(spread));
    measurement.doubt = Some(match cause {
        Some(cause) => Doubt::too_noisy_for(extent, vec![cause]),
        None => Doubt::too_noisy(extent),
    });
}

/// All siblings of the first core over one of them, round by round.
fn smt_yield(job: &Job, plan: &Plan, machine: &Machine, taken: &[StepRuns]) -> Option<Measurement> {
    let core_of = |cpu: u32| machine.cpu(cpu).and_then(|cpu| cpu.core);
    let core = core_of(*plan.single_cpu_step()?.cpus.first()?)?;
    let siblings: Vec<u32> =
        machine.cpus.iter().filter(|c| c.core == Some(core) && c.online).map(|c| c.id).collect();
    if siblings.len() < 2 {
        return None;
    }
    let whole =
        |step: &Step| step.cpus.len() == siblings.len() && step.cpus.iter().all(|cpu| siblings.contains(cpu));
    let at = plan.steps.iter().position(whole)?;
    let pairs = taken.first()?.runs.iter().zip(&taken[at].runs);
    let ratios: Vec<f64> =
        pairs.filter_map(|(one, all)| Some(all.as_ref()?.throughput / one.as_ref()?.throughput)).collect();
    let place = Labels::new().with_label(Label::Workload, job.name.as_str()).with_label(Label::Core, core);
    (!ratios.is_empty()).then(|| {
        Measurement::new("smt.yield", place, ratios)
            .with_detail(detail::CPUS, plan.steps[at].set().to_string())
    })
}

#[cfg(test)]
mod tests {
    use super::super::plan::StepsError;
    use super::*;
    use measure::fill_order::FillOrder;
    use os::child::Usage;
    use record::CpuList;
    use record::machine::Cpu;

    /// Two cores of two adjacent siblings.
    fn machine() -> Machine {
        let mut machine = Machine::default();
        for id in 0..4u32 {
            let core = Some(id / 2);
            machine.cpus.push(Cpu { id, online: true, allowed: true, core, ..Cpu::default() });
        }
        machine
    }

    fn plan() -> Plan {
        let machine = machine();
        Plan::new(&machine, &machine.allowed_cpus(), &[], None).unwrap()
    }

    fn job() -> Job {
        Job::from_command(&["x".into()])
    }

    fn run_of(throughput: f64) -> Run {
        Run {
            throughput,
            unit: "runs".to_owned(),
            seconds: vec![1.0 / throughput],
            imbalance: 1.0,
            usage: Usage { max_rss_bytes: 100 << 20, ..Usage::default() },
            ipc: Err("none".into()),
            marks: Vec::new(),
            left: Vec::new(),
            failed: None,
        }
    }

    fn taken(rates: &[f64]) -> StepRuns {
        StepRuns { runs: rates.iter().map(|rate| Some(run_of(*rate))).collect(), trouble: None }
    }

    #[test]
    fn a_step_stands_once_for_each_placement_that_takes_its_cpus() {
        let plan = plan();
        let sets: Vec<(String, usize)> =
            plan.steps.iter().map(|step| (step.set().to_string(), step.placements.len())).collect();
        let expected = [("0", 2), ("0,2", 1), ("0-1", 1), ("0-3", 2)];
        assert_eq!(sets, expected.map(|(set, count)| (set.to_owned(), count)));
        let all = measurements(&job(), &plan.steps[0], &taken(&[4.0, 4.0]));
        let placements: Vec<_> = all
            .iter()
            .filter(|m| m.metric == "workload.throughput")
            .map(|m| m.labels.word(Label::Placement))
            .collect();
        assert_eq!(placements, [Some("cores-first"), Some("siblings-first")]);
    }

    #[test]
    fn siblings_are_held_against_one_of_them_round_by_round() {
        let plan = plan();
        let mut all: Vec<StepRuns> = plan.steps.iter().map(|_| StepRuns::default()).collect();
        let pair = plan.steps.iter().position(|step| step.set().to_string() == "0-1").unwrap();
        all[0] = taken(&[10.0, 20.0, 10.0]);
        all[pair] = taken(&[13.0, 26.0]);
        let smt = smt_yield(&job(), &plan, &machine(), &all).unwrap();
        assert_eq!(smt.samples, [1.3, 1.3]);
        assert_eq!(smt.labels.count(Label::Core), Some(0));
        // Without siblings there is nothing to tell.
        let mut single = machine();
        single.cpus.iter_mut().for_each(|cpu| cpu.core = Some(cpu.id));
        assert!(smt_yield(&job(), &plan, &single, &all).is_none());
    }

    #[test]
    fn more_copies_than_memory_allows_are_not_started() {
        let plan = plan();
        let four = plan.steps.last().unwrap();
        let reported = too_much_memory(&job(), four, &run_of(1.0), Some(300 << 20)).unwrap().to_string();
        assert_eq!(reported, "4 copies require 400 MiB (100 MiB each), 300 MiB are free");
        assert_eq!(too_much_memory(&job(), four, &run_of(1.0), Some(1 << 30)), None);
        assert_eq!(too_much_memory(&job(), &plan.steps[0], &run_of(1.0), Some(1)), None);
        let one = Job::from_command(&["x".into(), "{threads}".into()]);
        assert_eq!(too_much_memory(&one, four, &run_of(1.0), Some(1)), None);
    }

    #[test]
    fn numbers_of_cpus_that_are_not_there_are_refused() {
        let machine = machine();
        let cpus = machine.allowed_cpus();
        let new =
            |steps: &str| Plan::new(&machine, &cpus, &[FillOrder::CoresFirst], Some(&steps.parse().unwrap()));
        assert_eq!(new("1,5").unwrap_err(), StepsError::TooMany { wrong: 5, cpus: cpus.clone() });
        assert_eq!(new("0").unwrap_err(), StepsError::TooMany { wrong: 0, cpus: cpus.clone() });
        assert_eq!(new("").unwrap_err(), StepsError::Empty);
        let plan = new("3").unwrap();
        let sets: Vec<CpuList> = plan.steps.iter().map(Step::set).collect();
        // One CPU is always there: everything is told against it.
        assert_eq!(sets.iter().map(CpuList::len).collect::<Vec<_>>(), [1, 3]);
    }

    #[test]
    fn runs_that_all_fail_are_no_work() {
        let failed = Failed { how: "exited with code 1".to_owned(), words: String::new(), forgivable: true };
        let failing = |rates: &[f64]| {
            let mut taken = taken(rates);
            taken.runs.iter_mut().flatten().for_each(|run| run.failed = Some(failed.clone()));
            taken
        };
        let ignoring = Job { ignore_failure: true, ..job() };
        let mut all = [failing(&[1.0, 1.0]), failing(&[2.0])];
        assert_eq!(without_work(&ignoring, &mut all), Some(failed.clone()));
        assert!(all.iter().all(|taken| taken.good().next().is_none()));
        // One step is left, with a failure among its runs.
        let mut some = [taken(&[1.0, 1.0]), failing(&[2.0])];
        some[0].runs[1].as_mut().unwrap().failed = Some(failed);
        assert_eq!(without_work(&ignoring, &mut some), None);
        let says = coverage::failures_that_count(&ignoring, &some).unwrap().why();
        assert!(says.contains("1 of 2 runs failed") && says.contains("exited with code 1"), "{says}");
        let step = lost(&plan().steps[1], &some[1]).unwrap();
        assert!(step.why().contains("every run failed"));
    }

    #[test]
    fn an_interruption_says_how_far_it_had_come() {
        let plan = plan();
        let mut all: Vec<StepRuns> = plan.steps.iter().map(|_| StepRuns::default()).collect();
        let says = |taken: &[StepRuns], runs| coverage::interrupted(2, &plan, taken, runs, 8, 2).why();
        assert!(says(&all, 0).contains("signal 2 before the first run was over"));
        all[0] = taken(&[1.0, 1.0]);
        all[1] = taken(&[1.0]);
        assert_eq!(says(&all, 3), "interrupted by signal 2 after 3 of 8 runs: 1 of 4 steps with all runs");
    }

    #[test]
    fn runs_that_differ_are_doubted_with_what_disturbed_them() {
        let mut noisy = taken(&[10.0, 12.0, 11.0]);
        noisy.runs[1].as_mut().unwrap().marks.push(Mark::Stolen);
        let step = &plan().steps[0];
        let all = measurements(&job(), step, &noisy);
        let doubt = all[0].doubt.as_ref().unwrap();
        let (Some(Value::Sentence(extent)), Some(Value::List(causes))) =
            (doubt.value("extent"), doubt.value("cause"))
        else {
            panic!("{doubt}")
        };
        assert!(
            matches!(extent.value("spread"), Some(Value::Share(spread)) if (spread - 2.0 / 11.0).abs() < 1e-9)
        );
        assert_eq!(causes[0].code(), Some("runs-steal"));
        assert_eq!(all[0].marks, [SampleMark { sample: 1, mark: Mark::Stolen }]);
        assert_eq!(measurements(&job(), step, &taken(&[10.0, 10.1, 10.0]))[0].doubt, None);
    }
}
