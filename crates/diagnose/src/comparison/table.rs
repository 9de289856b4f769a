//! The figures of several records side by side, and those that are refused.

use record::Label;
use std::collections::{BTreeMap, HashMap};

use record::comparison::{Cell, Per, Refusal, Row};
use record::{Better, Coverage, Handover, Template, Text, text};

use super::Known;
use super::datum::Datum;
use super::method::{self, Unfit};
use super::ratio;
use super::rows::{Group, RowEntry, RowKey, RowKind};

/// The same figure by two methods.
const OTHER_METHOD: Template =
    Template { code: "comparison-other-method", words: "different methods: {base} against {this}" };
/// The same metric in two units.
const OTHER_UNIT: Template =
    Template { code: "comparison-other-unit", words: "different units: {base} against {this}" };
/// The same recipe with two settings.
const OTHER_WORK: Template =
    Template { code: "comparison-other-work", words: "different work: run with {base} against {this}" };
/// Working sets inside and outside the caches.
const OTHER_SIZE: Template = Template {
    code: "comparison-other-size",
    words: "working sets of different size relative to the caches: {base} against {this}",
};
/// A metric of which each record has another thing.
const OTHER_THING: Template = Template {
    code: "comparison-other-thing",
    words: "different quantities: “{base}” against “{this}”",
};

/// Reasons for which figures are refused, in the order in which those of as many figures stand.
const REASONS: [&Template; 10] = [
    &method::SUPERLINEAR,
    &Coverage::EMULATED,
    &method::SYSTEM_WIDE,
    &method::THREADS_UNKNOWN,
    &OTHER_THING,
    &OTHER_METHOD,
    &method::TWO_METHODS,
    &method::NO_REPETITIONS,
    &OTHER_UNIT,
    &OTHER_WORK,
];

/// Why one figure cannot be held against another; `None` where it can.
pub(super) fn refusal(this: &Datum, base: &Datum) -> Option<Text> {
    if let Some(why) = this.unfit.as_ref().or(base.unfit.as_ref()) {
        return Some(why.reason());
    }
    if this.unit != base.unit {
        return Some(text!(OTHER_UNIT, base = unit(&base.unit), this = unit(&this.unit)));
    }
    if this.method != base.method {
        let name = |datum: &Datum| method::describe_method(datum.method.as_deref());
        return Some(text!(OTHER_METHOD, base = name(base), this = name(this)));
    }
    if let (Some(this), Some(base)) = (&this.settings, &base.settings)
        && this != base
    {
        return Some(text!(OTHER_WORK, base, this));
    }
    match (this.size, base.size) {
        (Some(this), Some(base)) if this != base => {
            Some(text!(OTHER_SIZE, base = base.describe(), this = this.describe()))
        }
        _ => None,
    }
}

fn unit(unit: &str) -> String {
    if unit.is_empty() { "none" } else { unit }.to_owned()
}

/// What is refused, by reason.
#[derive(Default)]
struct Refused(BTreeMap<(usize, String), Refusal>);

impl Refused {
    fn add_unfit(&mut self, why: &Unfit, metric: &str, example: &str, subjects: &[usize]) {
        self.add(&why.reason(), metric, example, subjects).system_wide = *why == Unfit::SystemWide;
    }

    fn add(&mut self, why: &Text, metric: &str, example: &str, subjects: &[usize]) -> &mut Refusal {
        let rank = REASONS.iter().position(|reason| why.is(reason)).unwrap_or(REASONS.len());
        let entry = self.0.entry((rank, why.to_string())).or_insert_with(|| Refusal {
            why: why.clone(),
            code: why.code().unwrap_or_default().to_owned(),
            metrics: Vec::new(),
            figures: 0,
            subjects: Vec::new(),
            example: example.to_owned(),
            system_wide: false,
        });
        entry.figures += 1;
        if !entry.metrics.iter().any(|known| known == metric) {
            entry.metrics.push(metric.to_owned());
        }
        for subject in subjects {
            if let Err(at) = entry.subjects.binary_search(subject) {
                entry.subjects.insert(at, *subject);
            }
        }
        entry
    }
}

/// A row with what it is of.
pub(super) struct TableRow {
    /// What it belongs to.
    pub group: Group,
    /// What it is of.
    pub kind: RowKind,
    /// The thing itself.
    pub subject: String,
    /// The figures.
    pub row: Row,
}

/// The rows that at least two subjects have, and what is refused.
pub(super) fn rows(known: &[Known], baseline: usize) -> (Vec<TableRow>, Vec<Refusal>) {
    let mut all: BTreeMap<&RowKey, Vec<Option<&RowEntry>>> = BTreeMap::new();
    // Rows that only one record has, by what they have in common with others.
    for (index, side) in known.iter().enumerate() {
        for (key, entry) in &side.rows {
            all.entry(key).or_insert_with(|| vec![None; known.len()])[index] = Some(entry);
        }
    }
    let mut rows = Vec::new();
    let mut refused = Refused::default();
    let mut alone: HashMap<(&str, &str), Vec<(&RowKey, usize)>> = HashMap::new();
    for (key, entries) in &all {
        let mut having = entries.iter().enumerate().filter_map(|(i, entry)| entry.map(|entry| (i, entry)));
        let (Some((first, entry)), second) = (having.next(), having.next()) else { continue };
        if second.is_none() {
            alone.entry((&key.metric, &key.loosely)).or_default().push((key, first));
            if known.len() > 1
                && let Some(why) = &entry.datum.unfit
            {
                refused.add_unfit(why, &key.metric, &entry.datum.from, &[first]);
            }
            continue;
        }
        let cells = cells(key, entries, baseline, None, &mut refused);
        if cells.iter().filter(|cell| cell.value.is_some()).count() < 2 {
            continue;
        }
        let efficiency = key.kind == RowKind::Efficiency;
        let row = |per, cells| TableRow {
            group: key.group,
            kind: key.kind,
            subject: key.subject.clone(),
            row: Row {
                group: key.group.word().to_owned(),
                what: entry.name.clone(),
                code: entry.name.code().unwrap_or_default().to_owned(),
                metric: key.metric.clone(),
                unit: entry.datum.unit.clone(),
                better: key.better().or_else(|| efficiency.then_some(Better::Higher)),
                labels: entry.place.clone(),
                per,
                cells,
            },
        };
        rows.push(row(None, cells));
        for per in [Per::Core, Per::Cpu, Per::Package] {
            if let Some(cells) = divided(key, entries, baseline, per, &mut Refused::default()) {
                rows.push(row(Some(per), cells));
            }
        }
    }
    once(&mut rows);
    differing(&alone, &mut refused);
    let mut refused: Vec<Refusal> = refused.0.into_values().collect();
    refused.sort_by_key(|group| std::cmp::Reverse(group.figures));
    (rows, refused)
}

/// Where each node is a package, other packages' memory is other nodes' memory.
fn once(rows: &mut Vec<TableRow>) {
    let values = |row: &Row| -> Vec<Option<f64>> { row.cells.iter().map(|cell| cell.value).collect() };
    let nodes: HashMap<(String, String), Vec<Option<f64>>> = rows
        .iter()
        .filter(|row| row.kind == RowKind::OtherNodes)
        .map(|row| ((row.row.metric.clone(), row.subject.clone()), values(&row.row)))
        .collect();
    rows.retain(|row| {
        let of_nodes = nodes.get(&(row.row.metric.clone(), row.subject.clone()));
        row.kind != RowKind::OtherPackages || of_nodes.is_none_or(|of_nodes| *of_nodes != values(&row.row))
    });
}

/// Rows that two records have in two ways: bytes counted otherwise, another setting.
fn differing(alone: &HashMap<(&str, &str), Vec<(&RowKey, usize)>>, refused: &mut Refused) {
    let mut found: Vec<(&RowKey, &RowKey, usize, usize)> = Vec::new();
    for rows in alone.values() {
        let Some((first, of)) = rows.first() else { continue };
        if first.loosely.is_empty() || first.loosely == first.what {
            continue;
        }
        if let Some((other, other_of)) = rows.iter().find(|(_, index)| index != of) {
            found.push((first, other, *of, *other_of));
        }
    }
    found.sort();
    for (first, other, a, b) in found {
        let why = text!(OTHER_THING, base = &first.what, this = &other.what);
        refused.add(&why, &first.metric, &first.what, &[a.min(b), a.max(b)]);
    }
}

fn cells(
    key: &RowKey,
    entries: &[Option<&RowEntry>],
    baseline: usize,
    per: Option<Per>,
    refused: &mut Refused,
) -> Vec<Cell> {
    let datum = |entry: &RowEntry| match per {
        None => Some(entry.datum.clone()),
        Some(per) => {
            let parts = entry.parts?;
            let parts = match per {
                Per::Core => parts.cores,
                Per::Cpu => parts.cpus,
                Per::Package => parts.packages,
            };
            (parts > 0).then(|| entry.datum.divided_by(f64::from(parts)))
        }
    };
    let base = entries[baseline].and_then(datum);
    let direction = key.better();
    entries
        .iter()
        .enumerate()
        .map(|(index, entry)| {
            let Some(this) = entry.and_then(datum) else { return Cell::default() };
            let mut cell = Cell {
                value: Some(this.value),
                over: this.over.clone(),
                from: Some(this.from.clone()),
                doubt: this.doubt.clone(),
                ..Cell::default()
            };
            if index == baseline {
                if let Some(why) = &this.unfit {
                    cell = Cell { doubt: Some(why.reason().into()), ..Cell::default() };
                    refused.add_unfit(why, &key.metric, &this.from, &[index]);
                }
                return cell;
            }
            let Some(base) = &base else { return cell };
            if let Some(why) = refusal(&this, base) {
                let of =
                    if this.unfit.is_some() || base.unfit.is_none() { vec![index] } else { vec![baseline] };
                match this.unfit.as_ref().or(base.unfit.as_ref()) {
                    Some(unfit) => refused.add_unfit(unfit, &key.metric, &this.from, &of),
                    None => {
                        refused.add(&why, &key.metric, &this.from, &of);
                    }
                }
                return Cell { doubt: Some(why.into()), ..Cell::default() };
            }
            let compared = ratio::compare(&this, base, direction);
            cell.ratio = compared.ratio;
            cell.interval = compared.interval;
            cell.verdict = compared.verdict;
            cell.slower = compared.slower;
            cell
        })
        .collect()
}

/// The same divided by cores, CPUs or packages; `None` where nothing new would be told.
fn divided(
    key: &RowKey,
    entries: &[Option<&RowEntry>],
    baseline: usize,
    per: Per,
    refused: &mut Refused,
) -> Option<Vec<Cell>> {
    let parts: Vec<_> = entries.iter().flatten().map(|entry| entry.parts).collect();
    let known: Vec<_> = parts.iter().flatten().collect();
    if known.len() < 2 {
        return None;
    }
    let number = |parts: &super::rows::Divisors| match per {
        Per::Core => parts.cores,
        Per::Cpu => parts.cpus,
        Per::Package => parts.packages,
    };
    // The same number everywhere gives the same ratios.
    let first = number(known[0]);
    if known.iter().all(|parts| number(parts) == first) {
        return None;
    }
    if per == Per::Cpu && known.iter().all(|parts| parts.cores == parts.cpus) {
        return None;
    }
    let cells = cells(key, entries, baseline, Some(per), refused);
    (cells.iter().filter(|cell| cell.value.is_some()).count() >= 2).then_some(cells)
}

/// Every figure that at least two subjects have at the very same place.
pub(super) fn figures(known: &[Known], baseline: usize) -> Vec<Row> {
    let mut order: Vec<String> = Vec::new();
    let mut all: HashMap<String, Vec<Option<&record::Measurement>>> = HashMap::new();
    for (index, side) in known.iter().enumerate() {
        for m in side.record.measurements.iter().filter(|m| m.summary.n > 0 && m.value().is_finite()) {
            // A record of before there were two ways of handing a line over says by its silence which it is.
            let pair = m.metric == "core_to_core.latency";
            let how = pair.then(|| Handover::of_measurement(m)).flatten().map_or("", Handover::word);
            let key = format!("{} {}{how}", m.metric, crate::figures::labels_without(m, Label::Handover));
            let row = all.entry(key).or_insert_with_key(|key| {
                order.push(key.clone());
                vec![None; known.len()]
            });
            row[index].get_or_insert(m);
        }
    }
    let emulated: Vec<bool> =
        known.iter().map(|side| side.record.machine.virtualization.emulated == Some(true)).collect();
    let mut rows = Vec::new();
    for key in order {
        let Some(entries) = all.remove(&key) else { continue };
        let Some(first) = entries.iter().flatten().next() else { continue };
        if entries.iter().flatten().count() < 2 {
            continue;
        }
        let key = RowKey {
            group: Group::Others,
            metric: first.metric.to_string(),
            order: 0,
            what: String::new(),
            loosely: String::new(),
            kind: RowKind::Other,
            subject: String::new(),
        };
        let made: Vec<Option<RowEntry>> = entries
            .iter()
            .enumerate()
            .map(|(index, m)| {
                m.map(|m| {
                    let mut datum = Datum::from_measurement(m);
                    if emulated[index] {
                        datum.unfit = Some(Unfit::Emulated);
                    }
                    RowEntry { name: Text::default(), datum, place: m.labels.clone(), parts: None }
                })
            })
            .collect();
        let borrowed: Vec<Option<&RowEntry>> = made.iter().map(Option::as_ref).collect();
        rows.push(Row {
            group: "figures".to_owned(),
            what: crate::figures::locate_figure(first).into(),
            code: String::new(),
            metric: first.metric.to_string(),
            unit: first.unit.to_string(),
            better: first.better,
            labels: first.labels.clone(),
            per: None,
            cells: cells(&key, &borrowed, baseline, None, &mut Refused::default()),
        });
    }
    rows
}
