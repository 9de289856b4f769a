//! Detects a command that receives the number of CPUs but runs for a fixed time, regardless of the amount of work.

use record::text::Value;
use record::{Coverage, Measurement, detail, metrics, text};

use super::run::{Run, StepRuns};
use super::{Job, Plan};

/// The remedy for a command that runs for a fixed time.
const GIVE_SCORE: &str = "give the command a fixed amount of work, or use a recipe that reads the \
     command's score. Run linespeed scale --recipe FILE, in which FILE contains command = [\"…\"] and \
     [[score]] pattern = \"ops: {score}\", unit = \"ops\"";

/// Maximum difference between run times that are considered equal. The times of a program that runs for a fixed time
/// differ much less; those of a program that uses twice as many CPUs differ far more.
const SAME: f64 = 0.02;

/// If the CPU times of equally long runs differ by this factor, the runs did different amounts of work: they ran for a
/// fixed time, and other processes left them different amounts of CPU time.
const OTHER_WORK: f64 = 1.2;

/// If the number of busy CPUs grows by this factor from the first to the last step, the command does more work in the
/// same time.
const BUSIER: f64 = 1.2;

/// The result of the detection: a run takes the same time at each step.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FixedTime {
    /// Time of the shortest run at the first step, seconds.
    seconds: f64,
    /// Number of CPUs at the first and the last step, each with the number of CPUs that a run kept busy.
    first: (usize, f64),
    last: (usize, f64),
    /// Minimum and maximum CPU time among the runs that took about as long as the shortest run, seconds.
    used: (f64, f64),
}

impl FixedTime {
    /// Detects a fixed time in the runs of all steps; `None` if times differ, if there are fewer than two steps, or if
    /// time is not the score.
    pub(super) fn find(job: &Job, plan: &Plan, taken: &[StepRuns]) -> Option<Self> {
        if job.recipe.runs_copies() || !job.recipe.scores.is_empty() {
            return None;
        }
        let cpu_time = |run: &Run| run.usage.user + run.usage.system;
        let mut steps: Vec<(usize, f64, f64)> = Vec::new();
        // Wall time and CPU time of each run.
        let mut runs: Vec<(f64, f64)> = Vec::new();
        for (step, taken) in plan.steps.iter().zip(taken) {
            let times = taken.good().filter_map(|run| Some((*run.seconds.first()?, cpu_time(run))));
            let times: Vec<(f64, f64)> = times.collect();
            let busy: Vec<f64> = times.iter().map(|(wall, cpu)| cpu / wall).collect();
            // Interference only increases a run time, so the minimum is closest to the program's own time.
            if let Some(least) = times.iter().map(|(wall, _)| *wall).reduce(f64::min) {
                steps.push((step.cpus.len(), least, record::Summary::from_samples(&busy).median));
            }
            runs.extend(times);
        }
        let (first, last) = (steps.first()?, steps.last()?);
        let least = steps.iter().map(|step| step.1).fold(f64::INFINITY, f64::min);
        let most = steps.iter().map(|step| step.1).fold(0.0, f64::max);
        let same = |wall: f64| wall <= least * (1.0 + SAME);
        let alike = runs.iter().filter(|(wall, _)| same(*wall)).map(|(_, cpu)| *cpu);
        let used = alike.fold((f64::INFINITY, 0.0f64), |(low, high), cpu| (low.min(cpu), high.max(cpu)));
        let (seconds, first, last) = (first.1, (first.0, first.2), (last.0, last.2));
        (first.0 < last.0 && same(most)).then_some(Self { seconds, first, last, used })
    }

    /// Whether it is certain that the command runs for a fixed time: it does more work on more CPUs, or different
    /// amounts of work in runs of the same length. Otherwise, the command may simply not use the CPUs.
    pub(super) fn is_sure(&self) -> bool {
        self.is_busier() || self.used.1 > self.used.0 * OTHER_WORK
    }

    fn is_busier(&self) -> bool {
        self.last.1 > self.first.1 * BUSIER
    }

    /// The hint, with the remedy.
    pub(super) fn to_coverage(&self) -> Coverage {
        let took = Value::Figure(self.seconds, "s");
        let busy = if self.is_sure() && !self.is_busier() {
            let (least, most) = self.used;
            let [least, most] = [least.max(1e-6), most].map(|seconds| Value::Figure(seconds, "s"));
            text!("scale-cpu-time-varies", "one run used {least} of CPU time, another {most}")
        } else {
            let [(first, few), (last, many)] = [self.first, self.last];
            let [few, many] = [few, many].map(record::units::significant);
            text!("the first step kept {few} of {first} CPUs busy and the last step {many} of {last}")
        };
        let reason = if self.is_sure() {
            text!(
                "a run takes {took} regardless of the number of CPUs, although {busy}: the command runs for a fixed time, so its \
                 throughput is unknown"
            )
        } else {
            text!(
                "a run takes {took} on any number of CPUs ({busy}): either the command runs for a fixed time, so its \
                 throughput is unknown, or it does not use more CPUs"
            )
        };
        Coverage::degraded("scale: time of a run", reason).with_remedy(GIVE_SCORE)
    }

    /// Marks a result that depends on the fixed run time.
    pub(super) fn mark(&self, measurement: &mut Measurement) {
        let is_known = measurement.doubt.is_some() && !self.is_sure();
        if measurement.metric != metrics::WORKLOAD_THROUGHPUT || is_known {
            return;
        }
        let doubt = if self.is_sure() {
            measurement.detail.set(detail::FIXED_TIME, true);
            text!("runs for a fixed time, so the result shows neither throughput nor speedup")
        } else {
            text!(
                "scale-fixed-time-likely",
                "takes the same time on any number of CPUs: it runs for a fixed time or uses only one CPU"
            )
        };
        measurement.doubt = Some(doubt.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use os::child::Usage;
    use record::machine::Cpu;
    use record::{Labels, Machine};

    /// Detection with one run per step, given wall time and CPU time.
    fn find(words: &[&str], runs: [(f64, f64); 2]) -> Option<FixedTime> {
        let words: Vec<std::ffi::OsString> = words.iter().map(std::ffi::OsString::from).collect();
        let mut machine = Machine::default();
        for id in 0..2u32 {
            machine.cpus.push(Cpu { id, online: true, allowed: true, core: Some(id), ..Cpu::default() });
        }
        let plan = Plan::new(&machine, &machine.allowed_cpus(), &[], None).unwrap();
        let taken = runs.map(|(wall, cpu)| {
            let run = Run {
                throughput: 1.0 / wall,
                unit: "runs".to_owned(),
                seconds: vec![wall],
                imbalance: 1.0,
                usage: Usage { user: cpu, ..Usage::default() },
                ipc: Err(record::Text::default()),
                marks: Vec::new(),
                look: 0,
                left: Vec::new(),
                failed: None,
                program: None,
            };
            StepRuns { runs: vec![Some(run)], trouble: None }
        });
        FixedTime::find(&Job::from_command(&words), &plan, &taken)
    }

    #[test]
    fn a_program_that_stops_by_the_clock_is_known_by_the_cpus_that_it_keeps_busy() {
        let reported = |found: Option<FixedTime>| found.map(|fixed| fixed.to_coverage().why());
        let threads = ["x", "{threads}"];
        let sure = find(&threads, [(2.0, 2.0), (2.01, 3.9)]);
        let says = reported(sure.clone()).unwrap();
        assert!(says.contains("runs for a fixed time") && says.contains("1.94 of 2"), "{says}");
        let mut m = Measurement::new("workload.throughput", Labels::new(), vec![0.5]);
        sure.unwrap().mark(&mut m);
        assert!(m.doubt.is_some() && m.detail.has(detail::FIXED_TIME));
        // The command may also use one CPU regardless of the number that it is given.
        let unsure = find(&threads, [(2.0, 2.0), (2.0, 2.0)]);
        assert!(reported(unsure.clone()).unwrap().contains("either"));
        let mut m = Measurement::new("workload.throughput", Labels::new(), vec![0.5]);
        unsure.unwrap().mark(&mut m);
        assert!(m.doubt.unwrap().code() == Some("scale-fixed-time-likely") && m.detail.is_empty());
    }

    #[test]
    fn on_a_busy_machine_it_is_known_by_runs_of_one_length_that_did_different_work() {
        // With two CPUs, other processes left the command less CPU time than with one.
        let busy = find(&["x", "{threads}"], [(6.06, 5.1), (6.08, 3.9)]).unwrap();
        let reason = busy.to_coverage().reason.unwrap();
        let Some(Value::Sentence(used)) = reason.value("busy") else { panic!("{reason}") };
        assert!(busy.is_sure() && used.code() == Some("scale-cpu-time-varies"), "{used}");
        assert_eq!(
            (used.value("least"), used.value("most")),
            (Some(&Value::Figure(3.9, "s")), Some(&Value::Figure(5.1, "s")))
        );
    }

    #[test]
    fn a_program_that_gets_faster_or_runs_as_copies_is_not_meant() {
        assert_eq!(find(&["x", "{threads}"], [(2.0, 2.0), (1.9, 3.8)]), None);
        assert_eq!(find(&["x"], [(2.0, 2.0), (2.0, 2.0)]), None);
    }
}
