//! Runs all steps of a plan in interleaved rounds, and collects their results: measurements and coverage.

use measure::shape::Looker;
use os::Stop;
use record::shape::Looks;
use record::{Coverage, Machine, Measurement, text};

use super::coverage::{self, report_left_behind, report_lost_runs, report_missing_ipc};
use super::figures::{make_measurements, measure_smt_yield};
use super::fixed_time::FixedTime;
use super::run::{Run, StepRuns, run_step};
use super::service::Running;
use super::{Job, Plan, Step};
use crate::copies::{RunObserver, RunOptions, check_memory};
use crate::failure::{Failed, Trouble};
use crate::rounds::{Turn, order_turns};

/// If the trial takes at least this many seconds, it counts as the first sample with one CPU. In a trial of this
/// length, loading files into memory is insignificant, and a repetition would take too long.
const LONG_TRIAL: f64 = 5.0;

/// Is notified of progress.
pub trait Observer: RunObserver {
    /// The service is being prepared.
    fn preparing(&mut self) {}
    /// The trial is over; all runs may take this many seconds.
    fn trial_done(&mut self, seconds: f64, run: &Run);
    /// A run is over; `done` of `all` runs are completed.
    fn run_done(&mut self, step: &Step, done: usize, all: usize, result: &Result<Run, Trouble>);
}

/// The results.
#[derive(Debug, Default)]
pub struct Results {
    /// Measurements of every step that has at least one run.
    pub measurements: Vec<Measurement>,
    /// Items that could not be measured, with the reasons.
    pub coverage: Vec<Coverage>,
    /// The placement checks between the runs.
    pub looks: Option<Looks>,
    /// The signal that ended the measurement early.
    pub interrupted: Option<i32>,
    /// Another reason why the measurement ended early.
    pub failed: Option<Trouble>,
}

/// The reason why the rounds ended early, and the number of completed runs.
type EndedEarly = (Trouble, usize);

/// Measures all steps in rounds, every other one in reverse order. A trial on one CPU precedes the rounds; it counts as
/// a run only if it takes long enough.
pub(super) fn measure_steps(
    job: &Job,
    plan: &Plan,
    machine: &Machine,
    service: Option<&mut Running>,
    options: &RunOptions,
    stop: &Stop,
    observer: &mut dyn Observer,
) -> Results {
    let mut results = Results::default();
    let Some(one) = plan.single_cpu_step() else {
        results.coverage.push(Coverage::impossible("scale", text!("no CPU is available to run the command")));
        return results;
    };
    let mut taken: Vec<StepRuns> = plan.steps.iter().map(|_| StepRuns::default()).collect();
    let rounds = options.rounds.max(1);
    let cpus = plan.steps.iter().flat_map(|step| step.cpus.iter().copied()).collect();
    let looker = Looker::new(machine, &cpus);
    let mut runner = Runner { job, service, options, stop, observer, looker };
    let ended = match runner.run_once(one) {
        Ok(trial) => {
            results.coverage.extend(report_left_behind(job, &trial));
            results.coverage.extend(report_missing_ipc(&trial));
            runner.run_rounds(plan, rounds, trial, &mut taken)
        }
        Err(trouble) => Err((trouble, 0)),
    };
    results.looks = runner.looker.and_then(Looker::into_looks);
    match ended {
        Ok(()) => {}
        Err((Trouble::Stopped(signal), done)) => {
            results.interrupted = Some(signal);
            results.coverage.push(coverage::report_interruption(signal, plan, &taken, done, rounds));
        }
        Err((trouble, _)) => results.failed = Some(trouble),
    }
    if let Some(failed) = remove_failed_steps(job, &mut taken) {
        results.failed = results.failed.or(Some(Trouble::AllFailed(failed)));
    }
    results.coverage.extend(coverage::report_counted_failures(job, &taken));
    collect(job, plan, machine, &taken, &mut results);
    results
}

/// The results from the runs of all steps.
fn collect(job: &Job, plan: &Plan, machine: &Machine, taken: &[StepRuns], results: &mut Results) {
    let fixed = FixedTime::find(job, plan, taken);
    results.coverage.extend(fixed.as_ref().map(FixedTime::to_coverage));
    let mut all = Vec::new();
    for (step, taken) in plan.steps.iter().zip(taken) {
        all.extend(make_measurements(job, step, taken));
        results.coverage.extend(report_lost_runs(step, taken));
    }
    // A program that runs for a fixed time has no SMT yield either.
    if !fixed.as_ref().is_some_and(FixedTime::is_sure) {
        all.extend(measure_smt_yield(job, plan, machine, taken));
    }
    for mut measurement in all {
        if let Some(fixed) = &fixed {
            fixed.mark(&mut measurement);
        }
        // A program may print any number, so the result may be implausible.
        match measure::context::find_implausible(&measurement) {
            None => results.measurements.push(measurement),
            Some(withheld) => results.coverage.push(Coverage { what: "scale".to_owned(), ..withheld }),
        }
    }
    let whole = taken.iter().all(|taken| taken.trouble.is_none());
    if whole && results.interrupted.is_none() && results.failed.is_none() {
        results.coverage.push(Coverage::measured("scale"));
    }
}

/// Common parameters of all runs.
struct Runner<'a> {
    job: &'a Job,
    service: Option<&'a mut Running>,
    options: &'a RunOptions,
    stop: &'a Stop,
    observer: &'a mut dyn Observer,
    looker: Option<Looker>,
}

impl Runner<'_> {
    fn run_once(&mut self, step: &Step) -> Result<Run, Trouble> {
        let before = self.looker.as_ref().map_or(0, |looker| looker.len() as u32);
        let service = self.service.as_deref_mut();
        let run = run_step(self.job, &step.cpus, service, self.options, self.stop, self.observer);
        self.looker.iter_mut().for_each(|looker| looker.look_when_due(step.cpus.len() > 1));
        Ok(Run { look: before, ..run? })
    }

    /// Runs all steps in rounds.
    fn run_rounds(
        &mut self,
        plan: &Plan,
        rounds: usize,
        trial: Run,
        taken: &mut [StepRuns],
    ) -> Result<(), EndedEarly> {
        if self.job.recipe.runs_copies() {
            for (step, taken) in plan.steps.iter().zip(&mut *taken) {
                let each = trial.usage.max_rss_bytes;
                taken.trouble = check_memory(step.cpus.len(), each, self.options.memory).err();
            }
        }
        let wall = trial.seconds.iter().copied().fold(0.0, f64::max);
        let order = order_turns(plan.steps.len(), rounds);
        let all = order.len();
        self.observer.trial_done(wall * all as f64, &trial);
        let skip = (wall >= LONG_TRIAL).then_some(Turn { round: 0, alternative: 0 });
        if skip.is_some() {
            taken[0].runs.push(Some(trial));
        }
        for (done, turn) in order.enumerate() {
            let (step, taken) = (&plan.steps[turn.alternative], &mut taken[turn.alternative]);
            if skip == Some(turn) || taken.trouble.is_some() {
                continue;
            }
            let result = self.run_once(step);
            self.observer.run_done(step, done + 1, all, &result);
            taken.runs.resize_with(turn.round, || None);
            match result {
                Ok(run) => taken.runs.push(Some(run)),
                Err(trouble @ (Trouble::Stopped(_) | Trouble::Service(_))) => return Err((trouble, done)),
                // A step that failed once or took too long would most likely do so again.
                Err(trouble) => taken.trouble = Some(trouble),
            }
        }
        Ok(())
    }
}

/// Removes the runs of steps in which every run failed. If failures count but no score proves that work was done, such
/// runs show no throughput. Returns the failure if no step remains.
fn remove_failed_steps(job: &Job, taken: &mut [StepRuns]) -> Option<Failed> {
    if !job.ignore_failure || !job.recipe.scores.is_empty() {
        return None;
    }
    let mut first = None;
    for taken in &mut *taken {
        let failed = taken.good().find_map(|run| run.failed.clone());
        if let Some(failed) = failed.filter(|_| taken.good().all(|run| run.failed.is_some())) {
            first.get_or_insert_with(|| failed.clone());
            taken.runs.clear();
            taken.trouble = Some(Trouble::AllFailed(failed));
        }
    }
    first.filter(|_| taken.iter().all(|taken| taken.good().next().is_none()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::fill_order::FillOrder;
    use os::child::{Exit, Usage};
    use record::machine::Cpu;
    use record::text::Value;
    use record::{CpuList, Label, Mark, SampleMark};

    /// Two cores with two adjacent siblings each.
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
            look: 0,
            left: Vec::new(),
            failed: None,
            program: None,
        }
    }

    fn taken(rates: &[f64]) -> StepRuns {
        StepRuns { runs: rates.iter().map(|rate| Some(run_of(*rate))).collect(), trouble: None }
    }

    #[test]
    fn a_step_stands_once_for_each_placement_that_takes_its_cpus() {
        let plan = plan();
        let sets: Vec<(String, usize)> =
            plan.steps.iter().map(|step| (step.set().to_string(), step.orders.len())).collect();
        let expected = [("0", 2), ("0,2", 1), ("0-1", 1), ("0-3", 2)];
        assert_eq!(sets, expected.map(|(set, count)| (set.to_owned(), count)));
        let all = make_measurements(&job(), &plan.steps[0], &taken(&[4.0, 4.0]));
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
        let smt = measure_smt_yield(&job(), &plan, &machine(), &all).unwrap();
        assert_eq!(smt.samples, [1.3, 1.3]);
        assert_eq!(smt.labels.count(Label::Core), Some(0));
        // Without siblings, there is nothing to report.
        let mut single = machine();
        single.cpus.iter_mut().for_each(|cpu| cpu.core = Some(cpu.id));
        assert!(measure_smt_yield(&job(), &plan, &single, &all).is_none());
    }

    #[test]
    fn more_copies_than_memory_allows_are_not_started() {
        let short =
            |copies, free| check_memory(copies, 100 << 20, Some(free)).err().map(|why| why.to_string());
        let reported = "4 copies require 400 MiB (100 MiB each); 300 MiB is free";
        assert_eq!(short(4, 300 << 20).as_deref(), Some(reported));
        assert_eq!((short(4, 1 << 30), short(1, 1)), (None, None));
    }

    #[test]
    fn numbers_of_cpus_that_are_not_there_are_refused() {
        let machine = machine();
        let cpus = machine.allowed_cpus();
        let new =
            |steps: &str| Plan::new(&machine, &cpus, &[FillOrder::CoresFirst], Some(&steps.parse().unwrap()));
        assert!(new("1,5").unwrap_err().contains("--steps 5: "));
        assert!(new("0").unwrap_err().contains("--steps 0: "));
        assert!(new("").unwrap_err().contains("list of --steps is empty"));
        let plan = new("3").unwrap();
        let sets: Vec<CpuList> = plan.steps.iter().map(Step::set).collect();
        // One CPU is always included, as the reference for all steps.
        assert_eq!(sets.iter().map(CpuList::len).collect::<Vec<_>>(), [1, 3]);
    }

    #[test]
    fn runs_that_all_fail_are_no_work() {
        let failed =
            Failed { exit: Exit::Code(1), program: None, copies: (1, 1), last_output: String::new() };
        let failing = |rates: &[f64]| {
            let mut taken = taken(rates);
            taken.runs.iter_mut().flatten().for_each(|run| run.failed = Some(failed.clone()));
            taken
        };
        let ignoring = Job { ignore_failure: true, ..job() };
        let mut all = [failing(&[1.0, 1.0]), failing(&[2.0])];
        assert_eq!(remove_failed_steps(&ignoring, &mut all), Some(failed.clone()));
        assert!(all.iter().all(|taken| taken.good().next().is_none()));
        // One step remains, and one of its runs has failed.
        let mut some = [taken(&[1.0, 1.0]), failing(&[2.0])];
        some[0].runs[1].as_mut().unwrap().failed = Some(failed);
        assert_eq!(remove_failed_steps(&ignoring, &mut some), None);
        let says = coverage::report_counted_failures(&ignoring, &some).unwrap().why();
        assert!(says.contains("1 of 2 runs failed") && says.contains("exited with code 1"), "{says}");
        let step = report_lost_runs(&plan().steps[1], &some[1]).unwrap();
        assert!(step.why().contains("every run failed"));
    }

    #[test]
    fn an_interruption_says_how_far_it_had_come() {
        let plan = plan();
        let mut all: Vec<StepRuns> = plan.steps.iter().map(|_| StepRuns::default()).collect();
        let says = |taken: &[StepRuns], runs| coverage::report_interruption(2, &plan, taken, runs, 2).why();
        assert!(says(&all, 0).contains("signal 2 before the first run finished"));
        all[0] = taken(&[1.0, 1.0]);
        all[1] = taken(&[1.0]);
        assert_eq!(says(&all, 3), "interrupted by signal 2 after 3 of 8 runs (1 of 4 steps complete)");
    }

    #[test]
    fn runs_that_differ_are_doubted_with_what_disturbed_them() {
        let mut noisy = taken(&[10.0, 12.0, 11.0]);
        noisy.runs[1].as_mut().unwrap().marks.push(Mark::Stolen);
        let step = &plan().steps[0];
        let all = make_measurements(&job(), step, &noisy);
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
        assert_eq!(make_measurements(&job(), step, &taken(&[10.0, 10.1, 10.0]))[0].doubt, None);
    }
}
