//! Comma-separated values (RFC 4180). A record has one line per result, a comparison one line per result and record, a
//! recording one line per moment, and a history one line per record.

use std::collections::{BTreeSet, HashSet};

use record::baseline::ClassFigure;
use record::comparison::{Cell, Row};
use record::diagnosis::BoundBy;
use record::difference::Verdict;
use record::fleet::{Fleet, MachineCell, MachineRow};
use record::history::{HEADLINE, History, Line};
use record::live::Interval;
use record::watch::Moment;
use record::{Better, Comparison, Labels, Measurement, Record, Watch};

use crate::contents::watch::{highest_latency, probed_clock};
use crate::table::{Field, Table};

/// A line with the field names, followed by one line per item.
fn items<T>(fields: &[Field<T>], all: impl IntoIterator<Item = T>) -> String {
    let mut lines = Table::with_fields("", None, fields);
    all.into_iter().for_each(|one| lines.item(fields, &one));
    table(&lines)
}

/// A result in a comparison: whether it is part of the summary, its row, and the index of its record.
struct Compared<'a> {
    of: &'a Comparison,
    kind: &'static str,
    row: &'a Row,
    record: usize,
    cell: &'a Cell,
}

impl Compared<'_> {
    fn change(&self) -> Option<&record::comparison::Change> {
        self.cell.change.as_ref()
    }

    /// The verdict in one word, with the share that is lost or, if the difference is not resolved, its upper bound.
    fn verdict(&self) -> (&'static str, Option<f64>) {
        match &self.cell.verdict {
            Some(Verdict::Costs { share, .. }) => ("costs", Some(*share)),
            Some(Verdict::NotResolved { smaller_than }) => ("not-resolved", Some(*smaller_than)),
            Some(Verdict::TooNoisy { .. }) => ("too-noisy", None),
            Some(Verdict::NotMeasurable { .. }) => ("not-measurable", None),
            None => ("", None),
        }
    }
}

/// All rows of a comparison, summaries first, then all results, with unrounded numbers from the record.
pub fn comparison(of: &Comparison) -> String {
    let fields: [Field<Compared>; 21] = [
        ("kind", |one| one.kind.to_owned()),
        ("group", |one| one.row.group.clone()),
        ("figure", |one| one.row.what.to_string()),
        ("metric", |one| one.row.metric.to_string()),
        ("unit", |one| one.row.unit.clone()),
        ("better", |one| better(one.row.better)),
        ("per", |one| one.row.per.map_or("", |per| per.word()).to_owned()),
        ("record", |one| one.of.subjects.get(one.record).map_or(String::new(), |of| of.name.clone())),
        ("value", |one| number(one.cell.value)),
        ("ratio", |one| number(one.cell.ratio)),
        ("ratio_low", |one| number(one.cell.interval.map(|interval| interval.0))),
        ("ratio_high", |one| number(one.cell.interval.map(|interval| interval.1))),
        ("verdict", |one| one.verdict().0.to_owned()),
        ("share", |one| number(one.verdict().1)),
        ("slower", |one| text(one.cell.slower)),
        ("from", |one| text(one.cell.from.as_ref())),
        ("doubt", |one| text(one.cell.doubt.as_ref())),
        ("change", |one| number(one.change().map(|change| change.by))),
        ("change_low", |one| number(one.change().and_then(|change| change.interval).map(|ends| ends.0))),
        ("change_high", |one| number(one.change().and_then(|change| change.interval).map(|ends| ends.1))),
        ("resolved", |one| text(one.change().and_then(|change| change.resolved))),
    ];
    let rows = of.rows.iter().map(|row| ("row", row)).chain(of.figures.iter().map(|row| ("figure", row)));
    let cells = rows.flat_map(|(kind, row)| {
        let cells =
            row.cells.iter().enumerate().filter(|(_, cell)| cell.value.is_some() || cell.doubt.is_some());
        cells.map(move |(record, cell)| Compared { of, kind, row, record, cell })
    });
    items(&fields, cells)
}

/// The first columns of a recording, before the kernel's counts.
const OF_A_MOMENT: [Field<Moment>; 22] = [
    ("at", |moment| number(moment.at)),
    ("seconds", |moment| number(moment.interval.seconds)),
    ("intervals", |moment| moment.intervals.to_string()),
    ("bound", |moment| moment.bound_by().map(BoundBy::code).unwrap_or_default()),
    ("cpus", |moment| moment.interval.cpus.to_string()),
    ("user", |moment| share(moment, moment.interval.times.user)),
    ("system", |moment| share(moment, moment.interval.times.system)),
    ("irq", |moment| share(moment, moment.interval.times.irq)),
    ("softirq", |moment| share(moment, moment.interval.times.softirq)),
    ("iowait", |moment| share(moment, moment.interval.times.iowait)),
    ("idle", |moment| share(moment, moment.interval.times.idle)),
    ("steal", |moment| share(moment, moment.interval.times.steal)),
    ("run_queue_delay_s", |moment| number(moment.interval.run_queue_delay)),
    ("runnable", |moment| number(moment.interval.runnable)),
    ("pressure_cpu", |moment| number(moment.interval.pressure.get("cpu").copied())),
    ("pressure_io", |moment| number(moment.interval.pressure.get("io").copied())),
    ("pressure_memory", |moment| number(moment.interval.pressure.get("memory").copied())),
    ("load_ns", |moment| number(highest_latency(&moment.interval))),
    ("clock_hz", |moment| number(probed_clock(&moment.interval))),
    ("timer_late_us", |moment| number(moment.interval.probe.as_ref().and_then(|probe| probe.late_us))),
    ("celsius", |moment| number(moment.interval.sensors.celsius)),
    ("watts", |moment| number(moment.interval.sensors.watts)),
];

fn share(moment: &Moment, seconds: f64) -> String {
    number(moment.interval.times.share(seconds))
}

/// Every moment of a recording; one column for each rate and thread state that occurs.
fn watch(watch: &Watch) -> String {
    let keys = |of: fn(&Interval) -> Vec<&String>| -> BTreeSet<&String> {
        watch.moments.iter().flat_map(|moment| of(&moment.interval)).collect()
    };
    let rates = keys(|interval| interval.rates.keys().collect());
    let states = keys(|interval| interval.service.iter().flat_map(|service| service.states.keys()).collect());
    let heads = OF_A_MOMENT.iter().map(|(name, _)| (*name).to_owned());
    let heads = heads.chain(rates.iter().map(|name| format!("{name}_per_s")));
    let mut lines = Table::new("", None, heads.chain(states.iter().map(|name| format!("service_{name}_s"))));
    for moment in &watch.moments {
        let interval = &moment.interval;
        let own = OF_A_MOMENT.iter().map(|(_, cell)| cell(moment));
        let rates = rates.iter().map(|name| number(interval.rates.get(*name).copied()));
        let state = |name| interval.service.as_ref().and_then(|service| service.states.get(name).copied());
        lines.row(own.chain(rates).chain(states.iter().map(|name| number(state(*name)))).collect());
    }
    table(&lines)
}

/// Every result of a record, one per line (for a recording, every moment); unrounded numbers from the record.
pub fn record(record: &Record) -> String {
    record.watch.as_ref().map_or_else(|| records(std::slice::from_ref(record)), watch)
}

/// Every result of several records in one table, with the machine, the start of the run and the place of each result.
pub fn records(records: &[Record]) -> String {
    let fields: [Field<(&Record, &Measurement)>; 17] = [
        ("machine", |(record, _)| record.machine.hostname.clone().unwrap_or_default()),
        ("time", |(record, _)| record.started.clone()),
        ("metric", |(_, m)| m.metric.to_string()),
        ("unit", |(_, m)| m.unit.to_string()),
        ("places", |(_, m)| places(&m.labels)),
        ("value", |(_, m)| of_samples(m, m.value())),
        ("low", |(_, m)| number(m.interval().map(|interval| interval.0))),
        ("high", |(_, m)| number(m.interval().map(|interval| interval.1))),
        ("better", |(_, m)| better(m.metric.definition().and_then(|metric| metric.better))),
        ("samples", |(_, m)| m.summary.n.to_string()),
        ("min", |(_, m)| of_samples(m, m.summary.min)),
        ("median", |(_, m)| of_samples(m, m.summary.median)),
        ("mean", |(_, m)| number(m.summary.mean)),
        ("p99", |(_, m)| number(m.summary.p99)),
        ("max", |(_, m)| of_samples(m, m.summary.max)),
        ("mad", |(_, m)| of_samples(m, m.summary.mad)),
        ("doubt", |(_, m)| text(m.doubt.as_ref())),
    ];
    items(&fields, records.iter().flat_map(|record| record.measurements.iter().map(move |m| (record, m))))
}

/// Every result of every machine of a fleet.
pub fn fleet(fleet: &Fleet) -> String {
    let fields: [Field<(&MachineRow, &ClassFigure, &MachineCell)>; 8] = [
        ("machine", |(row, ..)| row.machine.clone()),
        ("time", |(row, ..)| row.started.clone()),
        ("metric", |(_, figure, _)| figure.metric.to_string()),
        ("unit", |(_, figure, _)| figure.unit.clone()),
        ("places", |(_, figure, _)| match figure.labels.0.is_empty() {
            true => format!("row={}", figure.what),
            false => places(&figure.labels),
        }),
        ("value", |(.., cell)| number(cell.value)),
        ("low", |(.., cell)| number(cell.interval.map(|interval| interval.0))),
        ("high", |(.., cell)| number(cell.interval.map(|interval| interval.1))),
    ];
    let rows = fleet.classes.iter().flat_map(|class| class.rows.iter().map(move |row| (class, row)));
    let cells = rows.flat_map(|(class, row)| {
        let cells = row.cells.iter().zip(&class.figures);
        cells.filter_map(move |(cell, figure)| Some((row, figure, cell.as_ref()?)))
    });
    items(&fields, cells)
}

/// A machine's history in the format of Apache Otava, oldest first. The row of a record contains its time, an attribute
/// that names the record, and one column per result. Missing results are empty.
pub fn history(of: &History) -> String {
    let mut taken = HashSet::new();
    let names: Vec<String> = of.lines.iter().map(|line| name_column(line, &mut taken)).collect();
    let mut lines =
        Table::new("", None, ["time", "record"].into_iter().chain(names.iter().map(String::as_str)));
    for (at, moment) in of.records.iter().enumerate() {
        let name = moment.record.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let point = |line: &Line| line.points.iter().find(|one| one.record == at).map(|one| one.value);
        let values = of.lines.iter().map(|line| number(point(line)));
        lines.row([moment.started.clone(), name].into_iter().chain(values).collect());
    }
    table(&lines)
}

/// A column name of letters, digits and underscores, as required for Otava metrics.
fn name_column(line: &Line, taken: &mut HashSet<String>) -> String {
    let words =
        if line.what.is(&HEADLINE) { line.name.clone() } else { format!("{} {}", line.name, line.what) };
    let parts: Vec<&str> =
        words.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty()).collect();
    let name = parts.join("_");
    let free = (1..).map(|number| if number == 1 { name.clone() } else { format!("{name}_{number}") });
    free.into_iter().find(|name| taken.insert(name.clone())).unwrap_or_default()
}

/// A place as a list of its labels: `cpu=0;page=4KiB`.
fn places(labels: &Labels) -> String {
    labels.0.iter().map(|(name, key)| format!("{name}={key}")).collect::<Vec<_>>().join(";")
}

fn number(value: impl Into<Option<f64>>) -> String {
    text(value.into().filter(|v| v.is_finite()))
}

fn of_samples(m: &Measurement, value: f64) -> String {
    number(Some(value).filter(|_| m.summary.n > 0))
}

fn text(value: Option<impl ToString>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

fn better(better: Option<Better>) -> String {
    match better {
        Some(Better::Higher) => "higher",
        Some(Better::Lower) => "lower",
        None => "",
    }
    .to_owned()
}

/// The headings and rows of a table.
pub(crate) fn table(table: &Table) -> String {
    let heads = table.columns.iter().map(|column| &column.head).collect();
    let rows = table.rows.iter().map(|row| row.iter().collect());
    let line = |cells: Vec<&String>| {
        cells.into_iter().map(|cell| field(cell)).collect::<Vec<_>>().join(",") + "\r\n"
    };
    std::iter::once(heads).chain(rows).map(line).collect()
}

/// A field: quoted if necessary. Text that a spreadsheet would treat as a formula is prefixed with an apostrophe.
pub(crate) fn field(text: &str) -> String {
    let clean = crate::text::clean(text);
    let formula = clean.starts_with(['=', '+', '-', '@']) && clean.len() > 1 && clean.parse::<f64>().is_err();
    let clean = if formula { format!("'{clean}") } else { clean };
    if clean.contains([',', '"']) { format!("\"{}\"", clean.replace('"', "\"\"")) } else { clean }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_figure_is_a_line_that_says_which_machine_when_and_where() {
        let mut record = record::Record::new("0", "2026-01-02T03:04:05Z".to_owned(), Vec::new());
        record.machine.hostname = Some("n,1".to_owned());
        let place = record::Labels::new()
            .with_label(record::Label::Cpu, 3u32)
            .with_label(record::Label::Page, "4KiB");
        let samples = vec![1.0, 2.0, 2.0, 2.0, 2.0, 2.0, 3.0];
        record.measurements.push(record::Measurement::new("load.latency", place.clone(), samples));
        record.measurements.push(record::Measurement::new("load.latency", place, Vec::new()));
        let text = super::record(&record);
        let lines: Vec<&str> = text.split_terminator("\r\n").collect();
        assert!(lines[0].starts_with("machine,time,metric,unit,places,value,low,high,"), "{text}");
        let begins = "\"n,1\",2026-01-02T03:04:05Z,load.latency,ns,cpu=3;page=4KiB,";
        assert!(lines[1].starts_with(&format!("{begins}2,1,3,lower,7,1,2,")), "{text}");
        assert!(lines[2].starts_with(&format!("{begins},,,lower,0,,,")), "{text}");
        assert!(lines[1..].iter().all(|line| line.matches(',').count() == 17), "{text}");
    }

    #[test]
    fn fields_keep_their_column_and_are_no_formulas() {
        assert_eq!(super::field("a,b"), "\"a,b\"");
        assert_eq!(super::field("say \"x\""), "\"say \"\"x\"\"\"");
        assert_eq!(super::field("=cmd()"), "'=cmd()");
        assert_eq!(super::field("-"), "-");
        assert_eq!((super::field("-1"), super::field("+1.5%")), ("-1".to_owned(), "'+1.5%".to_owned()));
        assert_eq!(super::field("a\nb"), "a b");
    }
}
