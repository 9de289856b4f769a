//! Selects the results of a machine's records that a plan uses, and describes their sources.

use std::collections::HashSet;

use record::diagnosis::Evidence;
use record::plan::Plan;
use record::{Ended, Measurement, Metric, Record, RunMode, Template, Text, detail, metrics, text};

use super::places::LEAST_LOOKS;
use crate::figures::locate_figure;
use crate::record_index::RecordIndex;
use crate::resources::memory_pages;

/// Results that a plan needs; each group is taken from one record.
const NEEDED: [&[Metric]; 5] = [
    &[metrics::NUMA_LATENCY, metrics::NUMA_BANDWIDTH],
    &[metrics::SMT_YIELD],
    LATENCY,
    &[metrics::CORE_TO_CORE_LATENCY],
    &[metrics::WORKLOAD_THROUGHPUT],
];

/// Whether a plan uses results of this metric.
pub fn plan_needs(metric: Metric) -> bool {
    NEEDED.iter().any(|group| group.contains(&metric))
}

/// The latency curve.
const LATENCY: &[Metric] = &[metrics::LOAD_LATENCY];

/// Possible problems with one group of a record's results, worst first. Each problem has a remark, which is used if the newest record has
/// the problem and an older record is used instead.
const LACKS: [Template; 5] = [
    // The kernel, or a setting that affects these results, differs from the current one.
    Template::new("plan-newer-changed", "(the newest, {newer}, has a different kernel or settings)"),
    // The latency curve does not reach memory, so it does not show the gain from huge pages.
    Template::new("plan-newer-partial", "(the newest, {newer}, lacks memory latency)"),
    Template::new(
        "plan-newer-hampered",
        "(the newest, {newer}, is from a run that ended early or was niced)",
    ),
    Template::new("plan-newer-quick", "(the newest, {newer}, is from a quick run)"),
    Template::new("plan-newer-doubtful", "(unreliable in the newest, {newer})"),
];

/// The problems of a record, in the order of [`LACKS`]. The record with the least serious problems is used; if several records are equal,
/// the newest of them is used. Doubt comes last, so that an older quick run never replaces a better run, and so that a plan uses the same
/// record as a report on `.` (this machine's newest record). Among quick runs, doubt is ignored.
type Lacks = [bool; 5];

fn find_lacks(now: &Record, other: &Record, group: &[Metric], in_doubt: bool) -> Lacks {
    let settings = |record: &Record| {
        let conditions = &record.conditions.before;
        (record.machine.kernel.release.clone(), conditions.thp.clone(), conditions.numa_balancing)
    };
    let reached = other.diagnosis.resources.iter().any(|r| r.name == crate::MEMORY_LATENCY);
    let niced = other.conditions.before.own_nice.is_some_and(|nice| nice > 0);
    let quick = other.mode == Some(RunMode::Quick);
    [
        settings(now) != settings(other),
        group == LATENCY && !reached,
        other.ended != Ended::Complete || niced,
        quick,
        in_doubt && !quick,
    ]
}

/// One record's results of a group.
#[derive(Debug)]
struct Candidate<'a> {
    lacks: Lacks,
    /// The index of the record among all records, newest first.
    at: usize,
    figures: Vec<&'a Measurement>,
    /// Whether the results that a plan uses are in doubt: at least half of them or, in a latency curve, at least one of the two results
    /// that show the gain from huge pages.
    in_doubt: bool,
}

impl<'a> Candidate<'a> {
    fn find(now: &Record, at: usize, other: &'a Record, group: &[Metric]) -> Option<Self> {
        // The speed of a command or a recipe is not a property of the machine.
        let wanted = |m: &&Measurement| group.contains(&m.metric) && !m.detail.has(detail::COMMAND);
        let figures: Vec<&Measurement> = other.measurements.iter().filter(wanted).collect();
        (!figures.is_empty()).then_some(())?;
        let pages = (group == LATENCY).then(|| memory_pages(&RecordIndex::new(other))).flatten();
        let in_doubt = match pages {
            Some((small, huge)) => small.doubt.is_some() || huge.doubt.is_some(),
            None => figures.iter().filter(|m| m.doubt.is_none()).count() * 2 <= figures.len(),
        };
        Some(Self { lacks: find_lacks(now, other, group, in_doubt), at, figures, in_doubt })
    }
}

/// Groups of results that are taken from one record.
#[derive(Debug, PartialEq)]
struct Taken {
    at: usize,
    metrics: Vec<Metric>,
    in_doubt: bool,
    /// The reason for skipping a newer record.
    passed_over: Option<Text>,
}

/// The statements of a plan that are based on results, each with the results on which it is based.
fn explained(plan: &mut Plan) -> impl Iterator<Item = (&mut Text, &[Evidence])> {
    let gains = plan.gains.iter_mut().map(|of| (&mut of.why, of.evidence.as_slice()));
    let siblings = plan.siblings.iter_mut().map(|of| (&mut of.why, of.evidence.as_slice()));
    let caches = plan.caches.iter_mut().map(|of| (&mut of.says, of.evidence.as_slice()));
    let advice = plan.advice.iter_mut().map(|of| (&mut of.says, of.evidence.as_slice()));
    gains.chain(siblings).chain(caches).chain(advice)
}

/// Adds the results of other records of the same machine (with names, newest first) to `record`, the current one. Each group of results is
/// taken from the best record. Returns the sources, one sentence per record.
pub fn merge_records(record: &mut Record, others: &[(String, Record)]) -> Vec<Text> {
    let mut all: Vec<Taken> = Vec::new();
    let mut figures: Vec<Measurement> = Vec::new();
    for group in NEEDED {
        let candidates = others.iter().enumerate();
        let candidates = candidates.filter_map(|(at, (_, other))| Candidate::find(record, at, other, group));
        let candidates: Vec<Candidate> = candidates.collect();
        let newest = candidates.first().map(|newest| (newest.lacks, newest.at));
        let Some(best) = candidates.into_iter().min_by_key(|one| (one.lacks, one.at)) else { continue };
        let passed_over = newest.filter(|(_, newer)| *newer != best.at).and_then(|(lacks, newer)| {
            let worse = lacks.iter().zip(best.lacks).position(|(of_newer, of_best)| *of_newer && !of_best)?;
            let newer = others.get(newer).map_or(String::new(), |(name, _)| name.clone());
            let why = LACKS[worse];
            Some(text!(why, newer))
        });
        let metrics = group.iter().copied().filter(|metric| best.figures.iter().any(|m| m.metric == *metric));
        let alike = |taken: &&mut Taken| {
            (taken.at, taken.in_doubt, &taken.passed_over) == (best.at, best.in_doubt, &passed_over)
        };
        match all.iter_mut().find(alike) {
            Some(taken) => taken.metrics.extend(metrics),
            None => all.push(Taken {
                at: best.at,
                metrics: metrics.collect(),
                in_doubt: best.in_doubt,
                passed_over,
            }),
        }
        figures.extend(best.figures.into_iter().cloned());
    }
    record.measurements.extend(figures);
    let enough = |other: &'_ Record| other.diagnosis.shape.clone().filter(|shape| shape.looks >= LEAST_LOOKS);
    let looked = others.iter().find_map(|(_, other)| Some((enough(other)?, other)));
    let alike = looked.filter(|(_, other)| other.machine.allowed_cpus() == record.machine.allowed_cpus());
    record.diagnosis.shape = alike.map(|(shape, of)| shape.looked_on(&of.started));
    let source = |taken: Taken| {
        let (name, other) = others.get(taken.at)?;
        let template = if taken.in_doubt { DOUBTFUL_SOURCE } else { SOURCE };
        let mut says = text!(template, metrics = taken.metrics.join(", "), day = day(other), name);
        says.push(taken.passed_over.unwrap_or_default());
        Some(says)
    };
    all.into_iter().filter_map(source).collect()
}

const SOURCE: Template = Template::new("plan-source", "{metrics} from {day}: {name}");
const DOUBTFUL_SOURCE: Template = Template::new(
    "plan-source-doubtful",
    "{metrics} from {day}: {name} (mostly unreliable; see linespeed show)",
);

/// Marks a plan's statements that are based on unreliable results.
pub(super) fn tell_doubts(plan: &mut Plan, record: &Record) {
    let doubtful: HashSet<String> = record
        .measurements
        .iter()
        .filter(|m| m.doubt.is_some() && plan_needs(m.metric))
        .map(locate_figure)
        .collect();
    for (says, evidence) in explained(plan) {
        let known = says.sentences().iter().any(|text| text.is(&super::gains::IN_DOUBT));
        if !known && evidence.iter().any(|of| doubtful.contains(&of.from)) {
            says.push(text!(super::gains::IN_DOUBT));
        }
    }
}

/// Describes the source of the results if a plan uses only one record.
pub fn describe_source(name: &str, record: &Record) -> Text {
    let name = name.to_owned();
    if record.import.is_some() {
        text!("{name}, imported from other tools")
    } else {
        text!("{name}, from {day}", day = day(record))
    }
}

/// The date of a record.
fn day(record: &Record) -> String {
    record.started.get(..10).unwrap_or("an unknown date").to_owned()
}
