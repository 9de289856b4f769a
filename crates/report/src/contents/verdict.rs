//! The command that made a record, and its answer in a sentence: the first line of the screen and the title of the page.

use record::diagnosis::{Position, Resource};
use record::phrase::{count_noun, join_list};
use record::{Coverage, Metric, Record, Verdict, metrics, units};

use super::command::find_time;
use super::turns::find_turns;
use super::{layers, summary, watch};
use crate::text::capitalized;

/// The command that produces this kind of record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `live`
    Watch,
    /// `scale`
    Scale,
    /// `overhead`
    Overhead,
    /// `stat`
    Command,
    /// `run`, the default run, or results imported from other tools.
    Run,
    /// `inspect`: nothing was measured.
    Inventory,
}

impl Kind {
    /// The command that made a record.
    pub(crate) fn of(record: &Record) -> Self {
        let measured = record.import.is_none();
        match record {
            _ if record.watch.is_some() => Self::Watch,
            _ if is_scale(record) => Self::Scale,
            _ if measured && !record.diagnosis.layers.is_empty() && !summary::is_whole(record) => {
                Self::Overhead
            }
            _ if find_turns(record).is_some() || (measured && find_time(record).is_some()) => Self::Command,
            _ if record.measurements.is_empty() => Self::Inventory,
            _ => Self::Run,
        }
    }

    /// The command as the user types it.
    pub(crate) fn command(record: &Record) -> String {
        let name = match (Self::of(record), &record.import) {
            (_, Some(_)) => "import",
            (Self::Watch, _) => "live",
            (Self::Scale, _) => "scale",
            (Self::Overhead, _) => "overhead",
            (Self::Command, _) => "stat",
            (Self::Run, _) => "run",
            (Self::Inventory, _) => "inspect",
        };
        format!("linespeed {name}")
    }
}

/// Whether a record is from `linespeed scale`: its coverage shows this even without results.
pub fn is_scale(record: &Record) -> bool {
    record.coverage.iter().any(|c| c.topic() == Coverage::SCALE)
}

/// The answer in a sentence.
pub(crate) fn verdict(record: &Record) -> String {
    match Kind::of(record) {
        Kind::Watch => record.watch.as_ref().map(watch::summary).unwrap_or_default(),
        Kind::Scale => match record.diagnosis.scaling.first() {
            Some(scaling) => scaling.meaning.to_string(),
            None => "Nothing was measured.".to_owned(),
        },
        Kind::Overhead => of_layers(record),
        Kind::Command => of_command(record),
        Kind::Run | Kind::Inventory => of_machine(record),
    }
}

/// The most expensive step with a known cost, and the number of unresolved steps.
fn of_layers(record: &Record) -> String {
    let steps = record.diagnosis.overhead.iter().flat_map(|overhead| &overhead.steps);
    let (resolved, open): (Vec<_>, Vec<_>) =
        steps.partition(|step| matches!(step.verdict, Verdict::Costs { .. }) && !step.unreliable);
    let share = |verdict: &Verdict| if let Verdict::Costs { share, .. } = verdict { *share } else { 0.0 };
    let worst = resolved.iter().max_by(|a, b| share(&a.verdict).total_cmp(&share(&b.verdict)));
    let doubtful = record.diagnosis.layers.iter().filter(|layer| layer.doubt.is_some()).count();
    let noisy = match doubtful {
        0 => String::new(),
        _ => {
            format!("; {doubtful} of {} unreliable", count_noun(record.diagnosis.layers.len(), "layer time"))
        }
    };
    match (worst, open.len()) {
        (Some(step), _) => format!("{}: {}{noisy}", capitalized(&step.what.to_string()), layers::said(step)),
        (None, 0) => format!("No two layers could be compared{noisy}"),
        (None, open) => format!("No cost could be resolved in {}{noisy}", count_noun(open, "step")),
    }
}

/// The faster of several commands; for one command, its bottleneck.
fn of_command(record: &Record) -> String {
    let compared = find_turns(record)
        .and_then(|turns| turns.commands.iter().find_map(|one| one.against_first.as_ref()))
        .map(|against| against.says.to_string());
    let bound = || {
        let bound = record.diagnosis.bound.as_ref()?;
        Some(format!("Bound by {}", bound.by.name()))
    };
    compared.or_else(bound).unwrap_or_else(|| "The command's bottleneck is unknown".to_owned())
}

/// How the headlines compare with the typical range, and the number of findings.
fn of_machine(record: &Record) -> String {
    let diagnosis = &record.diagnosis;
    let names = |is: &dyn Fn(&Resource) -> bool| {
        let named = diagnosis.resources.iter().filter(|resource| is(resource));
        join_list(&named.map(|resource| resource.name.clone()).collect::<Vec<_>>())
    };
    let slower = names(&is_slower);
    let is_judged = |position| matches!(position, Some(Position::Low | Position::Normal | Position::High));
    let typical = names(&|resource| is_judged(resource.position) && !is_slower(resource));
    let stand = match (diagnose::disturbance(record), farthest(record)) {
        _ if record.measurements.is_empty() => "nothing measured".to_owned(),
        _ if !slower.is_empty() => format!("{slower} slower than typical"),
        (Some(why), _) => format!("not representative: {why}"),
        _ if !typical.is_empty() => format!("{typical} at typical speed"),
        (_, Some((name, part))) => {
            format!("{name} at {} of the best result here", units::percent_to(part, 2))
        }
        _ if record.import.is_some() => count_noun(record.measurements.len(), "imported result"),
        _ => "no published results for similar machines".to_owned(),
    };
    let found = match diagnosis.findings.iter().map(|finding| finding.severity).max() {
        None => "no findings".to_owned(),
        Some(worst) => {
            let count = count_noun(diagnosis.findings.len(), "finding");
            format!("{count}, worst: {worst}")
        }
    };
    let machine = summary::machine(record);
    let subject = summary::host_name(&record.machine).or(machine.first().map(String::as_str));
    format!("{}: {stand}; {found}", subject.unwrap_or("this machine"))
}

/// The headline that is farthest from the best result measured here, if worth reporting, and its share of that result.
fn farthest(record: &Record) -> Option<(&str, f64)> {
    let share = |resource: &Resource| {
        let share = resource.delivered / resource.ceiling?;
        Some(if less_is_better(resource) { 1.0 / share } else { share })
    };
    let all = record.diagnosis.resources.iter();
    let all = all.filter_map(|resource| Some((resource.name.as_str(), share(resource)?)));
    all.filter(|(_, share)| *share < NEAR).min_by(|a, b| a.1.total_cmp(&b.1))
}

/// A headline at or above this share of the best result is not worth reporting.
const NEAR: f64 = 0.9;

/// Whether lower is better for a resource, as for latencies.
fn less_is_better(resource: &Resource) -> bool {
    resource.unit == "ns"
}

/// Whether a headline is worse than all published results of its peers.
pub(crate) fn is_slower(resource: &Resource) -> bool {
    resource.position == Some(if less_is_better(resource) { Position::High } else { Position::Low })
}

/// The metric of a headline; `None` if it is not a headline.
pub fn headline_metric(name: &str) -> Option<Metric> {
    let name = name.to_lowercase().replace(['-', '_'], " ");
    HEADLINES.iter().find(|(headline, _)| *headline == name).map(|(_, metric)| *metric)
}

/// Headlines and their metrics.
const HEADLINES: [(&str, Metric); 4] = [
    ("core", metrics::CORE_CLOCK),
    ("memory bandwidth", metrics::MEMORY_BANDWIDTH),
    ("memory latency", metrics::LOAD_LATENCY),
    ("wake up", metrics::WAKEUP_LATENCY),
];
