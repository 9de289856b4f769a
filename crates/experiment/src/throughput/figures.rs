//! Converts the runs of all steps to measurements and their doubts.

use record::text::Value;
use record::{Doubt, Label, Labels, Machine, Mark, Measurement, Template, Text, detail, metrics, text};

use super::run::{Run, StepRuns};
use super::{Job, Plan, Step};

/// Maximum difference between the runs of one step; a larger difference makes the step doubtful.
const SPREAD: f64 = 0.05;

/// Possible causes of differences between runs, most certain first.
const CAUSES: [(Mark, Template); 4] = [
    (Mark::Stolen, Template::new("runs-steal", "steal time")),
    (Mark::Quota, Template::new("runs-quota", "throttled by a CPU quota")),
    (Mark::Throttled, Template::new("runs-throttled", "heat or power lowered the clock")),
    (Mark::Switched, Template::new("runs-switched", "interrupted by other processes")),
];

/// All measurements of one step, for each of its placements.
pub(super) fn make_measurements(job: &Job, step: &Step, taken: &StepRuns) -> Vec<Measurement> {
    let runs: Vec<&Run> = taken.good().collect();
    let Some(first) = runs.first() else { return Vec::new() };
    let ipc: Vec<f64> = runs.iter().filter_map(|run| run.ipc.as_ref().ok().copied()).collect();
    let mut all = Vec::new();
    for order in &step.orders {
        let place = Labels::new()
            .with_label(Label::Workload, job.recipe.name.as_str())
            .with_label(Label::Threads, step.cpus.len())
            .with_label(Label::Placement, order.name());
        all.push(make_throughput(job, step, &runs, &first.unit, place.clone()));
        if job.recipe.scores.is_empty() {
            let times = runs.iter().flat_map(|run| run.seconds.iter().copied()).collect();
            all.push(Measurement::new(metrics::WORKLOAD_TIME, place.clone(), times));
        }
        if !ipc.is_empty() {
            let place = place.with_label(Label::Source, "pmu");
            all.push(Measurement::new(metrics::CORE_IPC, place, ipc.clone()));
        }
    }
    all
}

fn make_throughput(job: &Job, step: &Step, runs: &[&Run], unit: &str, place: Labels) -> Measurement {
    let copies = job.recipe.runs_copies();
    let how = if copies {
        text!("a copy pinned to each CPU")
    } else {
        text!("one command on all CPUs of the step")
    };
    let rates = runs.iter().map(|run| run.throughput).collect();
    let mut throughput = Measurement::new(metrics::WORKLOAD_THROUGHPUT, place, rates)
        .with_detail(detail::WORK, unit)
        .with_detail(detail::COMMAND, job.command_line())
        .with_detail(detail::CPUS, step.set().to_string())
        .with_detail(detail::HOW, how.to_string())
        .with_known_detail(detail::PROGRAM, runs.iter().find_map(|run| run.program.as_deref()))
        .with_looks(runs.iter().map(|run| run.look).collect());
    // The settings of a recipe are recorded, because a run with other settings does different work.
    if !job.values.is_empty() {
        let settings: Vec<String> =
            job.values.iter().map(|(name, value)| format!("{name}={value}")).collect();
        throughput.detail.set(detail::SETTINGS, settings);
    }
    if copies && step.cpus.len() > 1 {
        let imbalance: Vec<f64> = runs.iter().map(|run| run.imbalance).collect();
        let median = record::Summary::from_samples(&imbalance).median;
        throughput.detail.set(detail::FASTEST_TO_SLOWEST, median);
    }
    throughput.marks = measure::mark_samples(runs.iter().map(|run| run.marks.iter().copied()));
    throughput.doubt = doubt_spread(&throughput);
    throughput
}

/// The doubt about a step whose runs differ too much, with the reason that the marks indicate.
fn doubt_spread(measurement: &Measurement) -> Option<Doubt> {
    let summary = &measurement.summary;
    if summary.n < 2 || summary.median <= 0.0 {
        return None;
    }
    let half = summary.relative_half_width();
    let spread = half.map_or((summary.max - summary.min) / summary.median, |half| 2.0 * half);
    if spread <= SPREAD {
        return None;
    }
    let marked = |mark: &Mark| measurement.marks.iter().any(|marked| marked.mark == *mark);
    let cause = CAUSES.into_iter().find(|(mark, _)| marked(mark)).map(|(_, cause)| Text::from(cause));
    let extent = text!("runs differ by {spread} (use -r for more runs)", spread = Value::Share(spread));
    let Some(cause) = cause else { return Some(Doubt::too_noisy(extent)) };
    Some(Doubt::too_noisy_for(extent, vec![cause]))
}

/// The throughput of all siblings of the first core divided by that of a single sibling, round by round.
pub(super) fn measure_smt_yield(
    job: &Job,
    plan: &Plan,
    machine: &Machine,
    taken: &[StepRuns],
) -> Option<Measurement> {
    let first = *plan.single_cpu_step()?.cpus.first()?;
    let core = machine.cpu(first)?.core?;
    let siblings: Vec<u32> =
        machine.cpus.iter().filter(|c| c.core == Some(core) && c.online).map(|c| c.id).collect();
    let whole =
        |step: &Step| step.cpus.len() == siblings.len() && step.cpus.iter().all(|cpu| siblings.contains(cpu));
    let step = plan.steps.iter().position(whole).filter(|_| siblings.len() > 1)?;
    let pairs = taken.first()?.runs.iter().zip(&taken[step].runs);
    let ratios: Vec<f64> =
        pairs.filter_map(|(one, all)| Some(all.as_ref()?.throughput / one.as_ref()?.throughput)).collect();
    let place =
        Labels::new().with_label(Label::Workload, job.recipe.name.as_str()).with_label(Label::Core, core);
    (!ratios.is_empty()).then(|| {
        Measurement::new(metrics::SMT_YIELD, place, ratios)
            .with_detail(detail::CPUS, plan.steps[step].set().to_string())
    })
}
