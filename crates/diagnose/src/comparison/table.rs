//! The results of several records side by side, and refused comparisons.

use std::collections::{BTreeMap, HashMap};

use record::comparison::{Cell, Per, Refusal, Row};
use record::{Better, Coverage, Label, Measurement, Metric, Template, Text, text};

use super::Known;
use super::commands::{self, find_command};
use super::datum::{Datum, Size};
use super::method;
use super::ratio;
use super::rows::{Divisors, RowEntry, RowKey, RowKind};

/// The reason: different commands.
pub const OTHER_COMMAND: Template =
    Template::new("comparison-other-command", "different commands: {base}, {this}");

/// The reason why two results cannot be compared; `None` if they can. A command, a setting or a size that is known for only one of the
/// results is not a reason.
pub(super) fn find_refusal(this: &Datum, base: &Datum) -> Option<Text> {
    if let Some(why) = this.unfit.as_ref().or(base.unfit.as_ref()) {
        return Some(why.clone());
    }
    let differing = |of: fn(&Datum) -> Option<&String>| of(base).zip(of(this)).filter(|(a, b)| a != b);
    if let Some((base, this)) = differing(|datum| datum.command.as_ref()) {
        let [base, this] = [base, this].map(|line| commands::describe(line));
        return Some(text!(OTHER_COMMAND, base, this));
    }
    if this.unit != base.unit {
        let [base, this] = [base, this].map(|datum| if datum.unit.is_empty() { "none" } else { &datum.unit });
        return Some(text!("comparison-other-unit", "different units: {base}, {this}"));
    }
    if this.method != base.method {
        let [base, this] = [base, this].map(|datum| method::describe_method(datum.method.as_deref()));
        return Some(text!("comparison-other-method", "different methods: {base}, {this}"));
    }
    if let Some((base, this)) = differing(|datum| datum.settings.as_ref()) {
        return Some(text!("comparison-other-work", "different recipe settings: {base}, {this}"));
    }
    let (base, this) = base.size.zip(this.size).filter(|(base, this)| base != this)?;
    let [base, this] = [base, this].map(Size::describe);
    Some(text!(
        "comparison-other-size",
        "working sets of different sizes relative to the caches: {base}, {this}"
    ))
}

/// Refused rows, grouped by reason.
#[derive(Default)]
struct Refused(BTreeMap<String, Refusal>);

impl Refused {
    fn add(&mut self, why: &Text, metric: Metric, example: &str, subjects: &[usize]) {
        let entry = self.0.entry(why.to_string()).or_insert_with(|| Refusal {
            why: why.clone(),
            code: why.code().unwrap_or_default().to_owned(),
            metrics: Vec::new(),
            figures: 0,
            subjects: Vec::new(),
            example: example.to_owned(),
            system_wide: why.is(&method::SYSTEM_WIDE),
        });
        entry.figures += 1;
        entry.metrics.extend((!entry.metrics.contains(&metric)).then_some(metric));
        for subject in subjects {
            if let Err(at) = entry.subjects.binary_search(subject) {
                entry.subjects.insert(at, *subject);
            }
        }
    }
}

/// A row with its subject.
pub(super) struct TableRow<'a> {
    pub key: &'a RowKey,
    /// The results.
    pub row: Row,
}

/// The rows that at least two subjects share, and the refused rows.
pub(super) fn build_rows<'a>(known: &'a [Known], baseline: usize) -> (Vec<TableRow<'a>>, Vec<Refusal>) {
    let mut all: BTreeMap<&RowKey, Vec<Option<&RowEntry>>> = BTreeMap::new();
    for (index, side) in known.iter().enumerate() {
        for (key, entry) in &side.rows {
            all.entry(key).or_insert_with(|| vec![None; known.len()])[index] = Some(entry);
        }
    }
    let mut rows = Vec::new();
    let mut refused = Refused::default();
    // Rows that only one record contains, grouped by what they have in common with similar rows.
    let mut alone: HashMap<(Metric, &str), Vec<(&RowKey, usize)>> = HashMap::new();
    for (key, entries) in all {
        let mut having = entries.iter().enumerate().filter_map(|(i, entry)| entry.map(|entry| (i, entry)));
        let (Some((first, entry)), second) = (having.next(), having.next()) else { continue };
        if second.is_none() {
            if let Some(loosely) = &key.loosely {
                alone.entry((key.metric, loosely)).or_default().push((key, first));
            }
            // There are so many counts that those in only one record are not worth a note.
            let counts = known.len() > 1 && key.metric.family() != "counter";
            if let Some(why) = entry.datum.unfit.as_ref().filter(|_| counts) {
                refused.add(why, key.metric, &entry.datum.from, &[first]);
            }
            continue;
        }
        let figures: Vec<_> = entries.iter().map(|entry| entry.map(|entry| entry.datum.clone())).collect();
        let cells = build_cells(key.metric, key.better(), &figures, baseline, &mut refused);
        if count_values(&cells) < 2 {
            continue;
        }
        let row = |per, cells| TableRow {
            key,
            row: Row {
                group: key.group().to_owned(),
                what: key.name.clone().into(),
                code: String::new(),
                metric: key.metric,
                unit: entry.datum.unit.clone(),
                better: key.better(),
                labels: entry.place.clone(),
                per,
                cells,
            },
        };
        rows.push(row(None, cells));
        let divided = [Per::Core, Per::Cpu, Per::Package].map(|per| (per, divide_figures(&entries, per)));
        for (per, figures) in divided {
            let Some(figures) = figures else { continue };
            let cells = build_cells(key.metric, key.better(), &figures, baseline, &mut Refused::default());
            rows.extend((count_values(&cells) >= 2).then(|| row(Some(per), cells)));
        }
    }
    drop_repeated(&mut rows);
    refuse_differing(&alone, &mut refused);
    let mut refused: Vec<Refusal> = refused.0.into_values().collect();
    refused.sort_by_key(|group| std::cmp::Reverse(group.figures));
    (rows, refused)
}

fn count_values(cells: &[Cell]) -> usize {
    cells.iter().filter(|cell| cell.value.is_some()).count()
}

/// Drops rows for the memory of other packages if they equal those for the memory of other nodes, because each node is then a package.
fn drop_repeated(rows: &mut Vec<TableRow>) {
    let values = |row: &Row| -> Vec<Option<f64>> { row.cells.iter().map(|cell| cell.value).collect() };
    let of_nodes = rows.iter().filter(|row| row.key.kind == RowKind::OtherNodes);
    let of_nodes: HashMap<(Metric, &str), Vec<Option<f64>>> =
        of_nodes.map(|row| ((row.key.metric, row.key.subject.as_str()), values(&row.row))).collect();
    rows.retain(|TableRow { key, row }| {
        let of_nodes = of_nodes.get(&(key.metric, key.subject.as_str()));
        key.kind != RowKind::OtherPackages || of_nodes != Some(&values(row))
    });
}

/// Refuses to compare rows if two records contain different variants of them, such as different byte counts or settings.
fn refuse_differing(alone: &HashMap<(Metric, &str), Vec<(&RowKey, usize)>>, refused: &mut Refused) {
    let mut found: Vec<(&RowKey, &RowKey, usize, usize)> = Vec::new();
    for rows in alone.values() {
        let Some((first, of)) = rows.first() else { continue };
        if let Some((other, other_of)) = rows.iter().find(|(_, index)| index != of) {
            found.push((first, other, *of, *other_of));
        }
    }
    found.sort();
    for (first, other, a, b) in found {
        let (base, this) = (&first.name, &other.name);
        let why = text!("comparison-other-thing", "different quantities: “{base}”, “{this}”");
        refused.add(&why, first.metric, &first.name, &[a.min(b), a.max(b)]);
    }
}

/// Compares each subject's result with the baseline's.
fn build_cells(
    metric: Metric,
    direction: Option<Better>,
    figures: &[Option<Datum>],
    baseline: usize,
    refused: &mut Refused,
) -> Vec<Cell> {
    let cells = figures.iter().enumerate().map(|(index, this)| {
        let Some(this) = this else { return Cell::default() };
        let base = figures[baseline].as_ref().filter(|_| index != baseline);
        let why = match base {
            Some(base) => find_refusal(this, base),
            None => this.unfit.as_ref().filter(|_| index == baseline).cloned(),
        };
        if let Some(why) = why {
            let of_baseline = this.unfit.is_none() && base.is_some_and(|base| base.unfit.is_some());
            refused.add(&why, metric, &this.from, &[if of_baseline { baseline } else { index }]);
            return Cell { doubt: Some(why.into()), ..Cell::default() };
        }
        let compared = base.map(|base| ratio::compare(this, base, direction)).unwrap_or_default();
        Cell {
            value: Some(this.value),
            value_interval: this.own_interval(),
            over: this.over.clone(),
            from: Some(this.from.clone()),
            doubt: this.doubt.clone(),
            withheld: this.is_withheld(),
            ..compared
        }
    });
    cells.collect()
}

/// The results divided by cores, CPUs or packages; `None` if this adds no information.
fn divide_figures(entries: &[Option<&RowEntry>], per: Per) -> Option<Vec<Option<Datum>>> {
    let known: Vec<Divisors> = entries.iter().flatten().filter_map(|entry| entry.parts).collect();
    let first = known.first().filter(|_| known.len() >= 2)?.count(per);
    // Equal numbers would yield the same ratios.
    if known.iter().all(|parts| parts.count(per) == first) {
        return None;
    }
    if per == Per::Cpu && known.iter().all(|parts| parts.cores == parts.cpus) {
        return None;
    }
    let divided = |entry: &RowEntry| {
        let parts = entry.parts.map(|parts| parts.count(per)).filter(|parts| *parts > 0)?;
        Some(entry.datum.mapped(|all| all / f64::from(parts)))
    };
    Some(entries.iter().map(|entry| entry.and_then(divided)).collect())
}

/// Every result that at least two subjects have with the same labels.
pub(super) fn build_figures(known: &[Known], baseline: usize) -> Vec<Row> {
    let mut order: Vec<String> = Vec::new();
    let mut all: HashMap<String, Vec<Option<&Measurement>>> = HashMap::new();
    for (index, side) in known.iter().enumerate() {
        for m in side.record.measurements.iter().filter(|m| m.summary.n > 0 && m.value().is_finite()) {
            let how = m.labels.word(Label::Handover).unwrap_or_default();
            let key = format!("{} {}{how}", m.metric, crate::figures::labels_without(m, Label::Handover));
            let row = all.entry(key).or_insert_with_key(|key| {
                order.push(key.clone());
                vec![None; known.len()]
            });
            row[index].get_or_insert(m);
        }
    }
    let commands: Vec<Option<String>> = known.iter().map(|side| find_command(side.record)).collect();
    let emulated = |side: &Known| side.record.machine.virtualization.emulated == Some(true);
    let datum = |((m, side), command): ((&Option<&Measurement>, &Known), &Option<String>)| {
        let mut datum = Datum::from_measurement((*m)?);
        datum.command =
            command.clone().filter(|_| m.is_some_and(|m| m.labels.get(Label::Workload).is_some()));
        datum.unfit = if emulated(side) { Some(text!(Coverage::EMULATED)) } else { datum.unfit };
        Some(datum)
    };
    let rows = order.iter().filter_map(|key| {
        let entries = all.get(key)?;
        let first = entries.iter().flatten().next().filter(|_| entries.iter().flatten().count() >= 2)?;
        let figures: Vec<Option<Datum>> = entries.iter().zip(known).zip(&commands).map(datum).collect();
        Some(Row {
            group: "figures".to_owned(),
            what: crate::figures::locate_figure(first).into(),
            code: String::new(),
            metric: first.metric,
            unit: first.unit.to_string(),
            better: first.better,
            labels: first.labels.clone(),
            per: None,
            cells: build_cells(first.metric, first.better, &figures, baseline, &mut Refused::default()),
        })
    });
    rows.collect()
}
