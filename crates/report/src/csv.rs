//! Comma-separated values (RFC 4180): a line a figure, of a comparison a line a figure and record, of a watch a line a moment.

use std::collections::BTreeSet;

use record::comparison::Row;
use record::diagnosis::BoundBy;
use record::difference::Verdict;
use record::live::Interval;
use record::watch::Moment;
use record::{Better, Comparison, Record, Watch, metrics};

use crate::contents;
use crate::table::{Field, Table};

/// The columns.
const HEAD: &str = "kind,group,figure,metric,unit,better,per,record,value,ratio,ratio_low,ratio_high,verdict,share,slower,from,doubt,change,change_low,change_high,resolved";

/// Every row of a comparison, first those that sum up and then every figure; numbers as the record has them.
pub fn comparison(c: &Comparison) -> String {
    let mut text = format!("{HEAD}\r\n");
    for (kind, rows) in [("row", &c.rows), ("figure", &c.figures)] {
        for row in rows {
            write(&mut text, c, kind, row);
        }
    }
    text
}

/// The columns of a watch before those of what the kernel counts.
const OF_A_MOMENT: [Field<Moment>; 22] = [
    ("at", |moment| number(Some(moment.at))),
    ("seconds", |moment| number(Some(moment.interval.seconds))),
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
    ("load_ns", |moment| number(contents::watch::highest_latency(&moment.interval))),
    ("clock_hz", |moment| number(contents::watch::probed_clock(&moment.interval))),
    ("timer_late_us", |moment| number(moment.interval.probe.as_ref().and_then(|probe| probe.late_us))),
    ("celsius", |moment| number(moment.interval.sensors.celsius)),
    ("watts", |moment| number(moment.interval.sensors.watts)),
];

fn share(moment: &Moment, seconds: f64) -> String {
    number(Some(moment.interval.times.share(seconds)))
}

/// Every moment of a watch; a column for each rate and state of a service's threads that any of them has.
fn watch(watch: &Watch) -> String {
    let keys = |of: fn(&Interval) -> Vec<&String>| -> BTreeSet<&String> {
        watch.moments.iter().flat_map(|moment| of(&moment.interval)).collect()
    };
    let rates = keys(|interval| interval.rates.keys().collect());
    let states = keys(|interval| interval.service.iter().flat_map(|service| service.states.keys()).collect());
    let names = OF_A_MOMENT.iter().map(|(name, _)| (*name).to_owned());
    let names = names.chain(rates.iter().map(|name| format!("{}_per_s", field(name))));
    let names = names.chain(states.iter().map(|name| format!("service_{}_s", field(name))));
    let mut text = format!("{}\r\n", names.collect::<Vec<_>>().join(","));
    for moment in &watch.moments {
        let interval = &moment.interval;
        let own = OF_A_MOMENT.iter().map(|(_, cell)| cell(moment));
        let rates = rates.iter().map(|name| number(interval.rates.get(*name).copied()));
        let state = |name| interval.service.as_ref().and_then(|service| service.states.get(name).copied());
        let states = states.iter().map(|name| number(state(*name)));
        text.push_str(&own.chain(rates).chain(states).collect::<Vec<_>>().join(","));
        text.push_str("\r\n");
    }
    text
}

/// The columns of a record's figures: the machine, when the run began, and where a figure was taken, so that many records are one
/// table.
const FIGURES_HEAD: &str =
    "machine,time,metric,unit,places,value,low,high,better,samples,min,median,mean,p99,max,mad,doubt";

/// Every figure of a record, a line each, of a watch every moment; numbers as the record has them.
pub fn record(record: &Record) -> String {
    if let Some(watched) = &record.watch {
        return watch(watched);
    }
    format!("{FIGURES_HEAD}\r\n{}", figures(record))
}

/// Every figure of several records.
pub fn records(records: &[Record]) -> String {
    let all: String = records.iter().map(figures).collect();
    format!("{FIGURES_HEAD}\r\n{all}")
}

/// The lines of a record's figures, without the columns' names. A place is `cpu=0;page=4KiB`: its labels by their names.
fn figures(record: &Record) -> String {
    let mut text = String::new();
    let machine = field(record.machine.hostname.as_deref().unwrap_or_default());
    let time = field(&record.started);
    for m in &record.measurements {
        let s = &m.summary;
        let (low, high) = m.interval().unzip();
        let of_samples = |value: f64| number(Some(value).filter(|_| s.n > 0));
        let places: Vec<String> = m.labels.0.iter().map(|(name, key)| format!("{name}={key}")).collect();
        let fields = [
            machine.clone(),
            time.clone(),
            field(&m.metric),
            field(&m.unit),
            field(&places.join(";")),
            of_samples(m.value()),
            number(low),
            number(high),
            better(metrics::find(&m.metric).and_then(|metric| metric.better)).to_owned(),
            s.n.to_string(),
            of_samples(s.min),
            of_samples(s.median),
            number(s.mean),
            number(s.p99),
            of_samples(s.max),
            of_samples(s.mad),
            field(&m.doubt.as_ref().map(ToString::to_string).unwrap_or_default()),
        ];
        text.push_str(&fields.join(","));
        text.push_str("\r\n");
    }
    text
}

pub(crate) fn number(value: Option<f64>) -> String {
    value.filter(|v| v.is_finite()).map_or(String::new(), |v| v.to_string())
}

fn better(better: Option<Better>) -> &'static str {
    match better {
        Some(Better::Higher) => "higher",
        Some(Better::Lower) => "lower",
        None => "",
    }
}

fn write(text: &mut String, c: &Comparison, kind: &str, row: &Row) {
    for (index, cell) in
        row.cells.iter().enumerate().filter(|(_, cell)| cell.value.is_some() || cell.doubt.is_some())
    {
        let change = cell.change.as_ref();
        let (verdict, share) = match &cell.verdict {
            Some(Verdict::Costs { share, .. }) => ("costs", Some(*share)),
            Some(Verdict::NotResolved { smaller_than }) => ("not-resolved", Some(*smaller_than)),
            Some(Verdict::TooNoisy { .. }) => ("too-noisy", None),
            Some(Verdict::NotMeasurable { .. }) => ("not-measurable", None),
            None => ("", None),
        };
        let fields = [
            kind.to_owned(),
            field(&row.group),
            field(&row.what.to_string()),
            field(&row.metric),
            field(&row.unit),
            better(row.better).to_owned(),
            row.per.map_or("", |per| per.word()).to_owned(),
            field(c.subjects.get(index).map_or("", |subject| subject.name.as_str())),
            number(cell.value),
            number(cell.ratio),
            number(cell.interval.map(|interval| interval.0)),
            number(cell.interval.map(|interval| interval.1)),
            verdict.to_owned(),
            number(share),
            cell.slower.map_or(String::new(), |slower| slower.to_string()),
            field(cell.from.as_deref().unwrap_or("")),
            field(&cell.doubt.as_ref().map(ToString::to_string).unwrap_or_default()),
            number(change.map(|change| change.by)),
            number(change.and_then(|change| change.interval).map(|interval| interval.0)),
            number(change.and_then(|change| change.interval).map(|interval| interval.1)),
            change.and_then(|change| change.resolved).map_or(String::new(), |resolved| resolved.to_string()),
        ];
        text.push_str(&fields.join(","));
        text.push_str("\r\n");
    }
}

/// A table's heads and rows.
pub(crate) fn table(table: &Table) -> String {
    let row = |cells: &mut dyn Iterator<Item = &String>| {
        format!("{}\r\n", cells.map(|cell| field(cell)).collect::<Vec<_>>().join(","))
    };
    let mut text = row(&mut table.columns.iter().map(|column| &column.head));
    text.extend(table.rows.iter().map(|cells| row(&mut cells.iter())));
    text
}

/// A field: quoted where it must be. What a spreadsheet would take for a formula gets an apostrophe before it.
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
