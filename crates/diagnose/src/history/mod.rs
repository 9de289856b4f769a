//! One machine's results over several records: each headline, its level changes, and the differences between the two records around a
//! change.

mod change_points;

use record::comparison::{Difference, FactKind};
use record::diagnosis::Resource;
use record::difference::Estimate;
use record::fleet::Family;
use record::history::{Change, HEADLINE, Line, Moment, Point};
use record::{Better, Labels, Measurement, Record, Template, Text, text};

use crate::comparison::facts::{SHAPE, facts, tell_facts};
use crate::cpu_accounting::disturbance;
use crate::figures::median;
use crate::{Figure, RowFigure};
use change_points::{Value, find_cuts, least_values};

/// Half the width of a 95 % CI of a normal distribution, in standard deviations.
const HALF_INTERVAL: f64 = 1.96;

/// The summary of one record of a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Past {
    /// The record's file and the time of the run.
    pub moment: Moment,
    /// The host's name.
    pub host: String,
    /// The end of the run, seconds since 1970.
    pub over: u64,
    /// The class of the machine.
    pub kind: crate::Kind,
    /// The values of all facts, then those of [`RUN`].
    facts: Vec<Option<String>>,
    figures: Vec<RowFigure>,
}

impl Past {
    /// Creates the summary of a record. If no names are requested, it contains all headlines; otherwise, it contains only the headlines and
    /// the metrics with these names.
    pub fn from_record(record: &Record, path: std::path::PathBuf, asked: &[String]) -> Option<Self> {
        let at = record::date::seconds(&record.started)?;
        let mut values = tell_facts(record);
        let kind = crate::Kind::from_facts(&values);
        // Only the kind, because the amount differs between any two disturbed runs.
        let kind_of =
            |why: Text| if why.value("taken").is_some() { "the hypervisor" } else { "other processes" };
        let is_known = record.conditions.after.is_some();
        let disturbance = disturbance(record).map(kind_of).or(is_known.then_some("none")).map(str::to_owned);
        let mode = record.mode.map(|mode| mode.to_string());
        values.extend([Some(record.tool.version.clone()), mode, disturbance]);
        Some(Self {
            moment: Moment { record: path, started: record.started.clone(), at },
            host: record.machine.hostname.clone().unwrap_or_default(),
            over: at + record.seconds.unwrap_or(0.0).max(0.0) as u64,
            kind,
            figures: figures(record, asked),
            facts: values,
        })
    }

    /// Whether the record has any of the requested results.
    pub fn has_figures(&self) -> bool {
        !self.figures.is_empty()
    }
}

/// All headlines.
pub const HEADLINES: [&str; 4] = [
    crate::resources::CORE,
    crate::resources::MEMORY_BANDWIDTH,
    crate::resources::MEMORY_LATENCY,
    crate::resources::WAKE_UP,
];

/// The requested headlines and rows as results. The metric of a headline is the name of the headline.
fn figures(record: &Record, asked: &[String]) -> Vec<RowFigure> {
    let is_asked = |name: &str| asked.iter().any(|asked| asked.replace('-', " ") == name.replace('-', " "));
    let rows = crate::row_figures(record);
    let headlines = crate::resources(&crate::RecordIndex::new(record)).into_iter();
    let headlines = headlines.map(|h| h.resource).filter(|one| asked.is_empty() || is_asked(&one.name));
    let headline = |one: Resource| {
        // The interval is that of the result on which the headline is based.
        let same = |value: f64| (value - one.delivered).abs() <= one.delivered.abs() * 1e-9;
        let figure = record.measurements.iter().find(|m| m.unit == one.unit && same(m.value()));
        let row = || rows.iter().find(|row| row.figure.unit == one.unit && same(row.value));
        let lower = one.unit == "ns" || one.unit == "s";
        RowFigure {
            interval: figure.and_then(Measurement::interval).or_else(|| row()?.interval),
            value: one.delivered,
            in_doubt: one.doubt.is_some(),
            method: String::new(),
            cpu: None,
            figure: Figure {
                family: Family::Others,
                what: text!(HEADLINE, name = one.name.clone()),
                metric: one.name.as_str().into(),
                unit: one.unit,
                better: Some(if lower { Better::Lower } else { Better::Higher }),
                labels: Labels::new(),
            },
        }
    };
    let mut all: Vec<RowFigure> = headlines.map(headline).collect();
    all.extend(rows.into_iter().filter(|row| is_asked(row.figure.metric.name())));
    all.retain(|row| row.value.is_finite() && row.value > 0.0);
    all
}

/// The properties that all results of a line share.
fn kind_of(row: &RowFigure) -> (&str, &Text, &str, Option<Better>, &str) {
    let Figure { metric, what, unit, better, .. } = &row.figure;
    (metric.name(), what, unit, *better, &row.method)
}

/// One line per result of a machine, from records in chronological order.
pub fn lines(records: &[Past]) -> Vec<Line> {
    let mut lines: Vec<(&RowFigure, Line)> = Vec::new();
    for (record, past) in records.iter().enumerate() {
        for row in &past.figures {
            let RowFigure { figure, value, interval, in_doubt, .. } = row.clone();
            let point = Point { record, value, interval, in_doubt };
            match lines.iter_mut().find(|(known, _)| kind_of(known) == kind_of(row)) {
                Some((_, line)) => line.points.push(point),
                None => {
                    let Figure { what, metric, unit, better, .. } = figure;
                    let name = metric.name().to_owned();
                    let (points, changes, needs) = (vec![point], Vec::new(), None);
                    lines.push((row, Line { what, name, unit, better, points, changes, needs }));
                }
            }
        }
    }
    let mut lines: Vec<Line> = lines.into_iter().map(|(_, line)| line).collect();
    let together = lines.len();
    for line in &mut lines {
        line.needs = Some(least_values(together)).filter(|least| line.points.len() < *least);
        line.changes = changes(line, records, together);
    }
    lines
}

/// The changes of a line.
fn changes(line: &Line, records: &[Past], together: usize) -> Vec<Change> {
    let values: Vec<Value> = line.points.iter().map(as_logarithm).collect();
    let cuts = find_cuts(&values, together);
    let begins = std::iter::once(0).chain(cuts.iter().map(|cut| cut.at));
    let ends = cuts.iter().map(|cut| cut.at).chain([values.len()]).skip(1);
    let around = cuts.iter().zip(begins.zip(ends));
    let change = |(cut, (begin, end)): (&change_points::Cut, (usize, usize))| {
        let (before, after) = (values.get(begin..cut.at)?, values.get(cut.at..end)?);
        let (from, to) = (middle(before).exp(), middle(after).exp());
        let [last, first] = [cut.at - 1, cut.at].map(|at| line.points.get(at).map(|point| point.record));
        let (last, first) = (last?, first?);
        let faster = |better| (to > from) == (better == Better::Higher);
        Some(Change {
            before: last,
            after: first,
            from,
            to,
            ratio: to / from,
            interval: interval(before, after, (to / from).ln()),
            chance: cut.chance,
            slower: line.better.map(|better| !faster(better)),
            differences: differences(records.get(last)?, records.get(first)?),
        })
    };
    around.filter_map(change).collect()
}

/// Converts a point to the logarithmic scale, on which a ratio becomes a difference.
fn as_logarithm(point: &Point) -> Value {
    let width = point.interval.filter(|(low, high)| *low > 0.0 && high >= low);
    let deviation = width.map_or(0.0, |(low, high)| (high / low).ln() / (2.0 * HALF_INTERVAL));
    Value { value: point.value.ln(), deviation }
}

fn middle(values: &[Value]) -> f64 {
    median(values.iter().map(|value| value.value)).unwrap_or(0.0)
}

/// The interval of the ratio of two levels, derived from the scatter of the records. The interval of medians is wider than that of means by
/// √(π ÷ 2).
fn interval(before: &[Value], after: &[Value], ratio: f64) -> Option<(f64, f64)> {
    let level = |values: &[Value]| {
        Estimate::of_blocks(0.0, &values.iter().map(|value| value.value).collect::<Vec<f64>>())
    };
    let (low, high) = level(after).minus(level(before)).interval(1)?;
    let at = |end: f64| (ratio + end * std::f64::consts::FRAC_PI_2.sqrt()).exp();
    Some((at(low), at(high))).filter(|(low, high)| low.is_finite() && high.is_finite())
}

/// For each fact about CPU placement that has changed: its newest value, the date of the first record with this value, and the previous
/// value.
pub fn since(records: &[Past]) -> Vec<Text> {
    let of_fact = |(at, fact): (usize, &crate::Fact)| {
        let value = |past: &'_ Past| past.facts.get(at).cloned().flatten();
        let mut known = records.iter().rev().filter_map(|past| Some((value(past)?, past)));
        let (now, newest) = known.next()?;
        let mut first = newest;
        let before = known.find_map(|(value, past)| {
            let is_other = value != now;
            first = if is_other { first } else { past };
            is_other.then_some(value)
        })?;
        let day = first.moment.started.get(..10).unwrap_or_default().to_owned();
        Some(text!("{what}: {now} since {day}, previously {before}", what = fact.what.clone()))
    };
    facts().iter().enumerate().filter(|(_, fact)| fact.from.starts_with(SHAPE)).filter_map(of_fact).collect()
}

/// Properties of a run, with their paths in a record.
const RUN: [(Template, &str); 3] = [
    (Template::new("history-version", "linespeed version"), "tool.version"),
    (Template::new("history-mode", "Mode"), "mode"),
    (Template::new("history-disturbance", "Disturbance"), "conditions"),
];

/// The differences between two records, hardware first, without temporary states of the machine. A fact that only one record contains may
/// differ; such facts come last.
fn differences(before: &Past, after: &Past) -> Vec<Difference> {
    let of_machine = facts().iter().map(|fact| (fact.kind, fact.what.clone(), &*fact.from));
    let of_run = RUN.iter().map(|(what, from)| (FactKind::Setting, Text::from(*what), *from));
    let all = of_machine.chain(of_run).zip(before.facts.iter().zip(&after.facts));
    let lasting = all.filter(|((kind, ..), (old, new))| *kind != FactKind::State && old != new);
    let difference = |((kind, what, from), (old, new)): ((_, Text, &str), (&Option<_>, &Option<_>))| {
        let code = what.code().unwrap_or_default().to_owned();
        Difference { kind, what, code, from: from.to_owned(), values: vec![old.clone(), new.clone()] }
    };
    let mut all: Vec<Difference> = lasting.map(difference).collect();
    all.sort_by_key(|difference| difference.values.contains(&None));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The codes of the differences between two records, and of those that only one of them contains.
    fn changed(change: impl Fn(&mut Record)) -> [Vec<String>; 2] {
        let mut before = crate::samples::machine(2);
        before.started = "2026-11-01T08:00:00Z".to_owned();
        before.machine.kernel.release = Some("6.1".to_owned());
        before.machine.processor.microcode = Some("0x1".to_owned());
        before.mode = Some(record::RunMode::Normal);
        before.conditions.after = Some(record::Snapshot { steal_share: Some(0.0), ..Default::default() });
        let mut after = before.clone();
        change(&mut after);
        let [before, after] =
            [before, after].map(|record| Past::from_record(&record, Default::default(), &[]).unwrap());
        let all = differences(&before, &after).into_iter();
        let (known, one_sided): (Vec<_>, Vec<_>) =
            all.partition(|one| one.values.iter().all(Option::is_some));
        [known, one_sided].map(|of| of.into_iter().map(|one| one.code).collect())
    }

    #[test]
    fn facts_of_only_one_record_and_properties_of_a_run_may_explain_a_change() {
        let none: [&str; 0] = [];
        assert_eq!(changed(|_| ()), [none, none]);
        let unknown = changed(|record| {
            record.machine.kernel.release = None;
            record.machine.processor.microcode = None;
        });
        assert_eq!(unknown[0], none);
        assert_eq!(unknown[1], ["comparison-fact-microcode", "comparison-fact-kernel"]);
        let version = changed(|record| record.tool.version = "1".to_owned());
        assert_eq!(version, [vec!["history-version"], vec![]]);
        assert_eq!(changed(|record| record.mode = Some(record::RunMode::Quick))[0], ["history-mode"]);
        let quota = changed(|record| record.machine.limits.cpu_quota = Some(1.0));
        assert_eq!(quota, [vec!["comparison-fact-cpu-quota"], vec![]]);
    }

    #[test]
    fn the_load_during_a_run_counts_where_it_disturbed_the_run() {
        let stolen = |share: f64| {
            changed(|record| record.conditions.after.as_mut().unwrap().steal_share = Some(share))
        };
        assert_eq!(stolen(0.25)[0], ["history-disturbance"]);
        assert_eq!(stolen(0.01), [vec![""; 0], vec![]]);
        let load = changed(|record| record.conditions.before.load = Some([3.0; 3]));
        assert_eq!(load, [vec![""; 0], vec![]]);
    }
}
