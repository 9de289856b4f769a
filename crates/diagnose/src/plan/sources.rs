//! Which figures of a machine's records a plan takes, and what it says of where they are from.

use record::{Ended, Measurement, Record, RunMode, Template, Text, detail, text};

/// Figures that a plan needs, in groups that are taken from one record.
const NEEDED: [&[&str]; 5] = [
    &["numa.latency", "numa.bandwidth"],
    &["smt.yield"],
    LATENCY,
    &["core_to_core.latency"],
    &["workload.throughput"],
];

/// The latency curve.
const LATENCY: &[&str] = &["load.latency"];

/// What stands against a group of a record's figures, the worst first: of several records the least counts, of equals the newest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Lacks {
    /// The kernel or a setting that such figures depend on is another one now.
    changed: bool,
    /// For the most part in doubt.
    doubtful: bool,
    /// A latency curve that does not reach memory, as what huge pages are worth needs.
    partial: bool,
    /// Of a run that was ended early, or ran at a lower priority than others.
    hampered: bool,
    /// Of a short run.
    quick: bool,
}

impl Lacks {
    fn find(now: &Record, other: &Record, group: &[&str], figures: &[&Measurement]) -> Self {
        let settings = |record: &Record| {
            let conditions = &record.conditions.before;
            (record.machine.kernel.release.clone(), conditions.thp.clone(), conditions.numa_balancing)
        };
        let sound = figures.iter().filter(|m| m.doubt.is_none()).count() * 2 > figures.len();
        let reached = other.diagnosis.resources.iter().any(|r| r.name == crate::MEMORY_LATENCY);
        Self {
            changed: settings(now) != settings(other),
            doubtful: !sound,
            partial: group == LATENCY && !reached,
            hampered: other.ended != Ended::Complete
                || other.conditions.before.own_nice.is_some_and(|nice| nice > 0),
            quick: other.mode == Some(RunMode::Quick),
        }
    }

    /// Why figures with these lacks were passed over for older ones with those.
    fn beyond(self, best: Self) -> Option<Text> {
        let reasons = [
            (self.changed, best.changed, NEWER_CHANGED),
            (self.doubtful, best.doubtful, NEWER_DOUBTFUL),
            (self.partial, best.partial, NEWER_PARTIAL),
            (self.hampered, best.hampered, NEWER_HAMPERED),
            (self.quick, best.quick, NEWER_QUICK),
        ];
        let worse = reasons.into_iter().find(|(of_newer, of_best, _)| of_newer > of_best);
        worse.map(|(.., why)| why.into())
    }
}

/// Adds to `record`, which is of now, the figures of its machine's records, each with its name, the newest first: of each group
/// those of the best record. Returns where they are from.
pub fn merge_records(record: &mut Record, others: &[(String, Record)]) -> Vec<Text> {
    let mut taken: Vec<(usize, Vec<&str>, Lacks, Option<Lacks>)> = Vec::new();
    let mut merged: Vec<Measurement> = Vec::new();
    for group in NEEDED {
        // What a command does, or a recipe's, is not what the machine is like.
        let wanted = |m: &&Measurement| group.contains(&m.metric.as_str()) && !m.detail.has(detail::COMMAND);
        let candidates = others.iter().enumerate().filter_map(|(at, (_, other))| {
            let figures: Vec<&Measurement> = other.measurements.iter().filter(wanted).collect();
            (!figures.is_empty()).then(|| (Lacks::find(record, other, group, &figures), at, figures))
        });
        let candidates: Vec<(Lacks, usize, Vec<&Measurement>)> = candidates.collect();
        let newest = candidates.first().map(|(lacks, at, _)| (*lacks, *at));
        let best = candidates.into_iter().min_by_key(|(lacks, at, _)| (*lacks, *at));
        let Some((lacks, at, figures)) = best else {
            continue;
        };
        let passed_over = newest.filter(|(_, newer)| *newer != at).map(|(lacks, _)| lacks);
        let metrics = group.iter().filter(|metric| figures.iter().any(|m| m.metric == **metric));
        let alike = |(of, _, known, passed): &&mut (usize, Vec<&str>, Lacks, Option<Lacks>)| {
            (*of, known.doubtful, *passed) == (at, lacks.doubtful, passed_over)
        };
        match taken.iter_mut().find(alike) {
            Some((_, all, ..)) => all.extend(metrics),
            None => taken.push((at, metrics.copied().collect(), lacks, passed_over)),
        }
        merged.extend(figures.into_iter().cloned());
    }
    record.measurements.extend(merged);
    let sources = taken.into_iter().filter_map(|(at, metrics, lacks, passed_over)| {
        let (name, other) = others.get(at)?;
        let template = if lacks.doubtful { DOUBTFUL_SOURCE } else { SOURCE };
        let mut says = text!(template, metrics = metrics.join(", "), day = day(other), name);
        if let Some(why) = passed_over.and_then(|newer| newer.beyond(lacks)) {
            says.push(why);
        }
        Some(says)
    });
    sources.collect()
}

const NEWER_CHANGED: Template = Template {
    code: "plan-newer-changed",
    words: "(a newer record is of another kernel or of other settings)",
};
const NEWER_DOUBTFUL: Template =
    Template { code: "plan-newer-doubtful", words: "(a newer record has them mostly unreliable)" };
const NEWER_PARTIAL: Template =
    Template { code: "plan-newer-partial", words: "(a newer record lacks memory latency)" };
const NEWER_HAMPERED: Template = Template {
    code: "plan-newer-hampered",
    words: "(a newer record is of a run that was ended early, or ran niced)",
};
const NEWER_QUICK: Template =
    Template { code: "plan-newer-quick", words: "(a newer record is of a quick run)" };

const SOURCE: Template = Template { code: "plan-source", words: "{metrics} of {day}: {name}" };
const DOUBTFUL_SOURCE: Template = Template {
    code: "plan-source-doubtful",
    words: "{metrics} of {day}: {name} (mostly unreliable; see linespeed show)",
};

/// Where a plan of one record has its figures.
pub fn describe_source(name: &str, record: &Record) -> Text {
    let name = name.to_owned();
    if record.import.is_some() {
        text!("plan-source-imported", "{name}, imported from other tools", name)
    } else {
        text!("plan-source-record", "{name}, of {day}", name, day = day(record))
    }
}

/// The day of a record.
fn day(record: &Record) -> String {
    record.started.get(..10).unwrap_or("an unknown day").to_owned()
}
