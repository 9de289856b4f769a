//! Compares two recordings: the machines' bottlenecks, CPU time and thread waits. Consecutive moments of a recording are correlated, so
//! confidence intervals are based on blocks of moments.

use std::collections::BTreeSet;

use record::comparison::{Cell, Change, Comparison, Relation, Row};
use record::diagnosis::BoundBy;
use record::difference::{Estimate, WORTH_TELLING};
use record::live::Interval;
use record::text::Value;
use record::units::{figure, percent};
use record::watch::Moment;
use record::{Label, Labels, Metric, Text, Watch, text};

use super::Side;

/// Approximate number of rows in a table: confidence intervals are corrected for this number of simultaneous comparisons.
const TOGETHER: usize = 16;
/// Rows are omitted if no value exceeds this.
const LEAST: f64 = 0.002;
/// Maximum number of changes in the answer.
const NAMED: usize = 3;

/// A moment's value and weight; `None` if the moment has no value.
type Of<'a> = Box<dyn Fn(&Moment) -> Option<(f64, f64)> + 'a>;

/// A value that both recordings may contain.
struct Figure<'a> {
    group: &'static str,
    what: Text,
    metric: Metric,
    unit: &'static str,
    labels: Labels,
    of: Of<'a>,
}

impl Figure<'_> {
    /// Whether two values are compared by their ratio rather than by their difference.
    fn is_ratio(&self) -> bool {
        ["ns", "Hz"].contains(&self.unit)
    }
}

fn share(of: fn(&Interval) -> f64) -> Of<'static> {
    Box::new(move |moment| {
        let all = moment.interval.times.all();
        (all > 0.0).then(|| (of(&moment.interval) / all, all))
    })
}

fn reading(of: fn(&Interval) -> Option<f64>) -> Of<'static> {
    Box::new(move |moment| Some((of(&moment.interval)?, moment.interval.seconds)))
}

/// Every value that either recording may contain.
fn figures<'a>(watches: &[&'a Watch]) -> Vec<Figure<'a>> {
    let mut all: Vec<Figure> = Vec::new();
    let mut add = |group, what, metric, unit, label: Option<(Label, String)>, of| {
        let labels = label.map_or(Labels::new(), |(label, value)| Labels::new().with_label(label, value));
        all.push(Figure { group, what, metric: Metric::named(metric), unit, labels, of });
    };
    let mut verdicts: Vec<BoundBy> = Vec::new();
    for held in watches.iter().flat_map(|watch| &watch.verdicts) {
        verdicts.extend((!verdicts.contains(&held.by)).then(|| held.by.clone()));
    }
    for by in verdicts {
        let what = by.name();
        let label = (Label::Bound, by.code());
        let of: Of = Box::new(move |moment| {
            let all: f64 = moment.verdicts.iter().map(|held| held.seconds).sum();
            let of = moment.verdicts.iter().find(|held| held.by == by).map_or(0.0, |held| held.seconds);
            (all > 0.0).then(|| (of / all, all))
        });
        add("bound by", what, "watch.bound", "share", Some(label), of);
    }
    let mut add_state = |what, state: &str, of| {
        add("CPUs", what, "watch.cpu_time", "share", Some((Label::State, state.to_owned())), share(of));
    };
    add_state(text!("busy"), "busy", |i| i.times.busy());
    add_state(text!("in the kernel"), "kernel", |i| i.times.kernel());
    add_state(text!("steal"), "steal", |i| i.times.steal);
    add_state(text!("iowait"), "iowait", |i| i.times.iowait);
    let delay: Of = reading(|interval| Some(interval.run_queue_delay? / interval.seconds.max(1e-9)));
    let what = text!("threads waiting for a CPU");
    add("waiting", what, "watch.run_queue_delay", "threads", None, delay);
    for (what, resource) in
        [(text!("CPU pressure"), "cpu"), (text!("I/O pressure"), "io"), (text!("memory pressure"), "memory")]
    {
        let of: Of = Box::new(move |moment| {
            let of = &moment.interval;
            Some((*of.pressure.get(resource)?, of.seconds))
        });
        add("waiting", what, "watch.pressure", "share", Some((Label::Event, resource.to_owned())), of);
    }
    let latency: Of = reading(|i| i.probe.as_ref()?.slowest().map(|(_, ns)| ns));
    add("memory and clock", text!("memory latency"), "watch.load", "ns", None, latency);
    let clock: Of = reading(|i| i.probe.as_ref()?.clock_hz);
    add("memory and clock", text!("core clock"), "watch.clock", "Hz", None, clock);
    of_services(watches, &mut add);
    all
}

/// Average numbers of service threads in each state and each kind of wait.
fn of_services<'a>(
    watches: &[&Watch],
    add: &mut impl FnMut(&'static str, Text, &'static str, &'static str, Option<(Label, String)>, Of<'a>),
) {
    let services = || {
        let moments = watches.iter().flat_map(|watch| &watch.moments);
        moments.filter_map(|moment| moment.interval.service.as_ref())
    };
    let states: BTreeSet<&String> = services().flat_map(|service| service.states.keys()).collect();
    let waits: BTreeSet<&String> = services().flat_map(|service| service.waits.keys()).collect();
    let states = states.into_iter().map(|state| (state, Label::State, "watch.service"));
    let waits = waits.into_iter().map(|wait| (wait, Label::Event, "watch.service_wait"));
    for (name, label, metric) in states.chain(waits) {
        let (is_state, key) = (label == Label::State, name.clone());
        let of: Of = Box::new(move |moment| {
            let service = moment.interval.service.as_ref()?;
            let waiting = || service.waiting().0.get(key.as_str()).copied();
            let (threads, weight) = match is_state {
                true => (service.states.get(&key).map(|state| state / service.seconds), service.seconds),
                false => (waiting(), service.looks.all as f64),
            };
            (weight > 0.0).then_some((threads.unwrap_or(0.0), weight))
        });
        let what = match is_state {
            true => text!("threads {state}", state = name.clone()),
            false => text!("threads waiting: {wait}", wait = name.clone()),
        };
        add("service", what, metric, "threads", Some((label, name.clone())), of);
    }
}

/// Compares the recordings in these records with the recording in the baseline.
pub(super) fn compare(comparison: &mut Comparison, sides: &[Side]) {
    let watches: Vec<&Watch> = sides.iter().filter_map(|side| side.record.watch.as_ref()).collect();
    let rows = figures(&watches).into_iter().filter_map(|figure| {
        let estimate = |watch: &&Watch| Estimate::of_moments(watch.moments.iter().filter_map(&figure.of));
        let estimates: Vec<Option<Estimate>> = watches.iter().map(estimate).collect();
        let worth = estimates.iter().flatten().any(|one| figure.is_ratio() || one.value >= LEAST);
        worth.then(|| row(&figure, &estimates, comparison.baseline))
    });
    comparison.rows = rows.collect();
    if comparison.relation == Relation::SameRecord {
        comparison.notes.push(text!(super::SAME_RECORD));
    } else {
        comparison.answer.push(answer(&comparison.rows, &comparison.subjects, comparison.baseline));
    }
    let of = |watch: &&Watch| match watch.of.as_str() {
        "" => text!("the whole machine"),
        of => text!("{of}"),
    };
    if watches.windows(2).any(|pair| pair[0].of != pair[1].of) {
        let all: Vec<Text> = watches.iter().map(of).collect();
        comparison.notes.push(text!("The recordings cover {all}."));
    }
    if watches.iter().any(|watch| watch.moments.len() < Estimate::FEWEST_MOMENTS) {
        let least = Estimate::FEWEST_MOMENTS;
        let short = text!("watch-too-short", "A 95 % CI requires recordings of {least} or more intervals.");
        comparison.notes.push(short);
    }
}

fn row(figure: &Figure, estimates: &[Option<Estimate>], baseline: usize) -> Row {
    let base = estimates.get(baseline).and_then(Option::as_ref);
    let cells = estimates.iter().enumerate().map(|(index, estimate)| {
        let Some(this) = estimate else { return Cell::default() };
        let mut cell = Cell { value: Some(this.value), ..Cell::default() };
        let Some(base) = base.filter(|_| index != baseline) else { return cell };
        // Two shares differ by at most 1, so the interval is limited to this range even if there are few blocks.
        let most = if figure.unit == "share" { 1.0 } else { f64::INFINITY };
        let by = this.minus(*base).interval(TOGETHER).map(|(low, high)| (low.max(-most), high.min(most)));
        let mut beyond = by;
        if figure.is_ratio() && this.value > 0.0 && base.value > 0.0 {
            cell.ratio = Some(this.value / base.value);
            let log = this.ln().minus(base.ln()).interval(TOGETHER);
            cell.interval = log.map(|(low, high)| (low.exp(), high.exp()));
            beyond = log;
        }
        let resolved = beyond.map(|(low, high)| low > WORTH_TELLING || high < -WORTH_TELLING);
        cell.change = Some(Change { by: this.value - base.value, interval: by, resolved });
        cell
    });
    Row {
        group: figure.group.to_owned(),
        code: figure.what.code().unwrap_or_default().to_owned(),
        what: figure.what.clone(),
        metric: figure.metric,
        unit: figure.unit.to_owned(),
        better: None,
        labels: figure.labels.clone(),
        per: None,
        cells: cells.collect(),
    }
}

/// The importance of a change: changes in the machine's bottleneck come first.
fn rank(row: &Row, cell: &Cell) -> (u8, f64) {
    let by = cell.change.as_ref().map_or(0.0, |change| change.by.abs());
    match (row.metric.name(), cell.ratio) {
        ("watch.bound", _) => (2, by),
        (_, Some(ratio)) => (1, ratio.ln().abs()),
        ("watch.service" | "watch.service_wait" | "watch.run_queue_delay", _) => (1, by / (1.0 + by)),
        _ => (1, by),
    }
}

/// The largest changes, in one sentence, for the first subject other than the baseline.
fn answer(rows: &[Row], subjects: &[record::comparison::Subject], baseline: usize) -> Text {
    let index = usize::from(baseline == 0);
    let name = |index: usize| subjects.get(index).map(|subject| subject.name.clone()).unwrap_or_default();
    let (this, base) = (name(index), name(baseline));
    let changed = rows.iter().filter_map(|row| {
        let cell = row.cells.get(index)?;
        (cell.change.as_ref()?.resolved == Some(true)).then_some((row, cell))
    });
    let mut changed: Vec<(&Row, &Cell)> = changed.collect();
    changed.sort_by(|a, b| {
        let (a, b) = (rank(a.0, a.1), rank(b.0, b.1));
        b.0.cmp(&a.0).then(b.1.total_cmp(&a.1))
    });
    let value = |row: &Row, value: f64| match row.unit.as_str() {
        "share" => percent(value),
        unit => figure(value, unit),
    };
    let words: Vec<Text> = changed
        .iter()
        .take(NAMED)
        .filter_map(|(row, cell)| {
            let before = row.cells.get(baseline)?.value?;
            let (now, before) = (value(row, cell.value?), value(row, before));
            let base = base.clone();
            Some(if row.metric == "watch.bound" {
                text!("bound by {what} for {now} of the time ({base}: {before})", what = row.what.clone())
            } else {
                text!("{what} {now} ({base}: {before})", what = row.what.clone())
            })
        })
        .collect();
    match words.is_empty() {
        false => text!("watch-changes", "{this} compared with {base}: {words}.", words = Value::List(words)),
        true => text!("watch-same", "No significant difference between {this} and {base}."),
    }
}

#[cfg(test)]
mod tests;
