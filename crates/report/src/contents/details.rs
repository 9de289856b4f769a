//! The figures as tables, one a metric that people know.

use record::Label;
use record::detail;
use std::collections::HashSet;

use record::{Measurement, Record, units};

use super::extremes::extremes;
use super::figures::{figure, key, keys, parted_remarks, spread, value};
use crate::table::Table;

/// The tables of core, memory, wake-up, stolen time and small costs, in the order of a report. `most` is how many rows a table of CPUs may have before
/// only the worst of them are shown.
pub(crate) fn tables(record: &Record, most: usize) -> Vec<Table> {
    let mut tables = vec![
        clocks(record, most),
        levels(record),
        parallelism(record, most),
        bandwidth(record, most),
        elements(record, most),
        loaded(record),
        wakeups(record, most, false),
        wakeups(record, most, true),
        extremes(record, most),
        stolen(record, most),
        gaps(record, most),
        costs(record, most),
    ];
    tables.retain(|table| !table.is_empty());
    tables
}

/// A figure, whose row is given the notes on what is to be said against it.
fn noted(table: &mut Table, m: &Measurement, text: String) -> String {
    table.tells(m);
    for remark in parted_remarks(m) {
        table.note_row(&remark);
    }
    text
}

/// The `most` worst of these measurements in their own order, and a note that says so where some are left out.
fn worst<'a>(
    table: &mut Table,
    measurements: Vec<&'a Measurement>,
    most: usize,
    by: fn(&Measurement) -> f64,
) -> Vec<&'a Measurement> {
    measurements.iter().for_each(|m| table.tells(m));
    if measurements.len() <= most {
        return measurements;
    }
    let mut order: Vec<usize> = (0..measurements.len()).collect();
    order.sort_by(|a, b| by(measurements[*b]).total_cmp(&by(measurements[*a])));
    order.truncate(most);
    order.sort_unstable();
    table.note(&format!("the worst {most} of {} are shown; all are in the record", measurements.len()));
    order.into_iter().map(|at| measurements[at]).collect()
}

/// Core clocks.
pub(crate) fn clocks(record: &Record, most: usize) -> Table {
    let mut table = Table::new(
        "Core clock",
        Some("core.clock"),
        &["CPU", "busy", "vectors", "#clock", "#spread", "?#least", "?#most"],
    );
    for m in worst(&mut table, record.measurements_of("core.clock").collect(), most, |m| -m.value()) {
        let busy = match m.labels.word(Label::Active) {
            Some("one") => "one CPU".to_owned(),
            Some("all") => "all CPUs".to_owned(),
            _ => key(m, "active"),
        };
        let vectors = match m.labels.word(Label::Vector) {
            Some(bits @ ("256" | "512")) => format!("{bits} bits"),
            _ => key(m, "vector"),
        };
        let clock = noted(&mut table, m, value(m));
        let (least, most) = (figure(m, m.summary.min), figure(m, m.summary.max));
        table.row(vec![key(m, "cpu"), busy, vectors, clock, spread(m), least, most]);
    }
    table.finished()
}

/// The levels of the memory hierarchy: found in the latency curve, and as advertised.
pub(crate) fn levels(record: &Record) -> Table {
    let mut table = Table::new(
        "Cache levels",
        Some("load.latency"),
        &["level", "#latency", "#in cycles", "#holds", "#advertised", "judgement"],
    );
    for level in &record.diagnosis.levels {
        table.row(vec![
            level.name.clone(),
            units::figure(level.latency_ns, "ns"),
            level.latency_cycles.map_or(String::new(), |cycles| units::figure(cycles, "cycles")),
            level.measured_bytes.map_or(String::new(), units::bytes),
            level.advertised_bytes.map_or(String::new(), units::bytes),
            level.judgement.clone().to_string(),
        ]);
    }
    table.finished()
}

/// Loads in flight: a row a CPU and working set, a column a number of chains.
pub(crate) fn parallelism(record: &Record, most: usize) -> Table {
    let all: Vec<&Measurement> = record.measurements_of("load.parallelism").collect();
    let mut chains: Vec<u64> = all.iter().filter_map(|m| m.labels.count(Label::Chains)).collect();
    chains.sort_unstable();
    chains.dedup();
    let title = "Loads in parallel";
    if chains.len() > 10 || all.iter().any(|m| m.labels.count(Label::Chains).is_none()) {
        return generic(title, &all, most);
    }
    let mut heads = vec!["CPU".to_owned(), "#working set".to_owned()];
    heads.extend(chains.iter().map(|n| if *n == 1 { "#1 chain".to_owned() } else { format!("#{n} chains") }));
    let mut table =
        Table::new(title, Some("load.parallelism"), &heads.iter().map(String::as_str).collect::<Vec<_>>());
    let place = |m: &Measurement| (key(m, "cpu"), key(m, "bytes"));
    let mut rows: Vec<(String, String)> = Vec::new();
    for m in &all {
        if !rows.contains(&place(m)) {
            rows.push(place(m));
        }
    }
    if rows.len() > most {
        table.note(&format!("the first {most} of {}; all are in the record", rows.len()));
    }
    all.iter().for_each(|m| table.tells(m));
    for row in rows.into_iter().take(most) {
        let mut cells = vec![row.0.clone(), row.1.clone()];
        for n in &chains {
            let m = all.iter().find(|m| place(m) == row && m.labels.count(Label::Chains) == Some(*n));
            cells.push(m.map_or(String::new(), |m| noted(&mut table, m, value(m))));
        }
        table.row(cells);
    }
    table.finished()
}

/// Bandwidth: a row an operation, kind of stores and place; the bytes that STREAM counts beside those on the bus.
pub(crate) fn bandwidth(record: &Record, most: usize) -> Table {
    let mut table = Table::new(
        "Memory bandwidth",
        Some("memory.bandwidth"),
        &["operation", "stores", "#threads", "CPUs", "node", "#STREAM bytes", "#bus bytes", "?#spread"],
    );
    let mut rows: Vec<BandwidthRow> = Vec::new();
    for m in record.measurements_of("memory.bandwidth") {
        table.tells(m);
        let place: Vec<String> =
            ["op", "stores", "threads", "cpus", "node"].map(|name| key(m, name)).to_vec();
        let at = match m.labels.word(Label::BytesCounted) {
            Some("stream") => STREAM,
            Some("bus") => BUS,
            _ => OTHER,
        };
        let free =
            |row: &&mut BandwidthRow| row.place == place && row.of[at].is_none() && row.of[OTHER].is_none();
        match rows.iter_mut().find(free) {
            Some(row) if at != OTHER => row.of[at] = Some(m),
            _ => {
                let mut row = BandwidthRow { place, of: [None; 3] };
                row.of[at] = Some(m);
                rows.push(row);
            }
        }
    }
    if rows.len() > most * 4 {
        let note = format!("the first {} of {}; all are in the record", most * 4, rows.len());
        rows.truncate(most * 4);
        table.note(&note);
    }
    for row in rows {
        let spread = row.of[STREAM].or(row.of[BUS]).or(row.of[OTHER]).map_or(String::new(), spread);
        let mut cell = |m: Option<&Measurement>| m.map_or(String::new(), |m| noted(&mut table, m, value(m)));
        let mut figures = [cell(row.of[STREAM]), cell(row.of[BUS])];
        if let Some(m) = row.of[OTHER] {
            // Counted in a way that this version does not know: in the first column of figures, and said so.
            let note = match key(m, "bytes_counted") {
                counted if counted.is_empty() => "the record does not say which bytes are counted".to_owned(),
                counted => format!("counted as {counted}"),
            };
            figures[0] = cell(Some(m));
            table.note_row(&note);
        }
        table.row(row.place.into_iter().chain(figures).chain([spread]).collect());
    }
    table.finished()
}

/// A row of the bandwidth table: one place, and what was counted there, by [`STREAM`], [`BUS`] and [`OTHER`].
struct BandwidthRow<'a> {
    place: Vec<String>,
    of: [Option<&'a Measurement>; 3],
}

const STREAM: usize = 0;
const BUS: usize = 1;
const OTHER: usize = 2;

/// Nanoseconds an element, as lmbench's stream prints them.
pub(crate) fn elements(record: &Record, most: usize) -> Table {
    let all: Vec<&Measurement> = record.measurements_of("stream.ns_per_element").collect();
    generic("Time an element (as lmbench's stream)", &all, most)
}

/// Latency under load.
pub(crate) fn loaded(record: &Record) -> Table {
    let mut table = Table::new(
        "Loaded latency",
        Some("memory.loaded_latency"),
        &["CPU", "#bandwidth", "#of peak", "#latency", "#spread"],
    );
    let mut all: Vec<&Measurement> = record.measurements_of("memory.loaded_latency").collect();
    let bandwidth = |m: &Measurement| m.labels.number(Label::Bandwidth).unwrap_or(0.0);
    all.sort_by(|a, b| {
        a.labels
            .count(Label::Cpu)
            .cmp(&b.labels.count(Label::Cpu))
            .then(bandwidth(a).total_cmp(&bandwidth(b)))
    });
    for m in all {
        let latency = noted(&mut table, m, value(m));
        table.row(vec![key(m, "cpu"), key(m, "bandwidth"), key(m, "share_of_peak"), latency, spread(m)]);
    }
    table.finished()
}

/// Of each kind of measurement (`kind` tells them apart) the worst, `most` rows together but at least one a kind.
fn worst_of_each<'a>(
    table: &mut Table,
    all: Vec<&'a Measurement>,
    most: usize,
    kind: impl Fn(&Measurement) -> String,
    by: fn(&Measurement) -> f64,
) -> Vec<&'a Measurement> {
    let mut kinds: Vec<(String, Vec<&Measurement>)> = Vec::new();
    for m in all {
        let name = kind(m);
        match kinds.iter_mut().find(|(known, _)| *known == name) {
            Some((_, group)) => group.push(m),
            None => kinds.push((name, vec![m])),
        }
    }
    let each = (most / kinds.len().max(1)).max(1);
    let (all, several) = (kinds.iter().map(|(_, group)| group.len()).sum::<usize>(), kinds.len() > 1);
    let shown: Vec<&Measurement> = if several {
        // One remark for all kinds, which says how many are left out together.
        let mut one = Table::default();
        let shown = kinds.into_iter().flat_map(|(_, group)| worst(&mut one, group, each, by)).collect();
        table.shown.join(&one.shown);
        shown
    } else {
        kinds.into_iter().flat_map(|(_, group)| worst(table, group, each, by)).collect()
    };
    if several && shown.len() < all {
        table
            .note(&format!("of each kind the worst {each}, {} of {all}; all are in the record", shown.len()));
    }
    shown
}

/// Wake-up latency: least, median, percentiles and longest for each setting and policy; as it was seen, or with
/// the wake-ups that a long one kept from happening (`corrected`).
pub(crate) fn wakeups(record: &Record, most: usize, corrected: bool) -> Table {
    let title =
        if corrected { "Wake-up latency, corrected for the periods missed" } else { "Wake-up latency" };
    let heads = [
        "setting",
        "policy",
        "CPU",
        "#least",
        "#median",
        "#p99",
        "?#p99.9",
        "#longest",
        "#missed",
        "?#wake-ups",
    ];
    let mut table = Table::new(title, Some("wakeup.latency"), &heads);
    let all: Vec<&Measurement> = record
        .measurements_of("wakeup.latency")
        .filter(|m| (m.labels.switch(Label::Corrected) == Some(true)) == corrected)
        .collect();
    let kind = |m: &Measurement| format!("{} {} {}", key(m, "setting"), key(m, "policy"), key(m, "priority"));
    for m in worst_of_each(&mut table, all, most, kind, |m| m.summary.max) {
        let policy = match (m.labels.word(Label::Policy), m.labels.count(Label::Priority)) {
            (Some(policy), Some(priority)) if priority > 0 => format!("{policy} {priority}"),
            _ => key(m, "policy"),
        };
        let s = &m.summary;
        let some = |v: Option<f64>| v.map_or(String::new(), |v| figure(m, v));
        let missed = m.detail.get(detail::MISSED).map(|missed| missed.to_string()).unwrap_or_default();
        let setting = noted(&mut table, m, key(m, "setting"));
        let (least, longest) =
            if s.n == 0 { Default::default() } else { (figure(m, s.min), figure(m, s.max)) };
        let count = s.n.to_string();
        let cpu = key(m, "cpu");
        table.row(vec![
            setting,
            policy,
            cpu,
            least,
            value(m),
            some(s.p99),
            some(s.p999),
            longest,
            missed,
            count,
        ]);
    }
    table.finished()
}

/// Who took time, in words; a column's heading.
fn taker(m: &Measurement) -> String {
    match m.labels.word(Label::Cause) {
        Some("os") => "by this kernel".to_owned(),
        Some("below") => "from below".to_owned(),
        Some(other) => format!("by {other}"),
        None => "taken".to_owned(),
    }
}

/// Time taken from busy loops: a row a CPU, a column a taker.
pub(crate) fn stolen(record: &Record, most: usize) -> Table {
    let all: Vec<&Measurement> = record.measurements_of("stolen.share").collect();
    let mut takers: Vec<String> = Vec::new();
    for m in &all {
        if !takers.contains(&taker(m)) {
            takers.push(taker(m));
        }
    }
    takers.truncate(6);
    let heads: Vec<String> =
        std::iter::once("CPU".to_owned()).chain(takers.iter().map(|t| format!("#{t}"))).collect();
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let mut table = Table::new("Stolen time", Some("stolen.share"), &heads);
    let of =
        |name: Option<&String>| all.iter().copied().filter(|m| Some(&taker(m)) == name).collect::<Vec<_>>();
    let firsts = of(takers.first());
    // A CPU that is left out is counted with all that was taken from it.
    let cpus: HashSet<String> = firsts.iter().map(|m| key(m, "cpu")).collect();
    for m in all.iter().filter(|m| takers.contains(&taker(m)) && cpus.contains(&key(m, "cpu"))) {
        table.tells(m);
    }
    for first in worst(&mut table, firsts, most, |m| m.value()) {
        let mut row = vec![key(first, "cpu")];
        for name in &takers {
            let m = all
                .iter()
                .find(|m| m.labels.get(Label::Cpu) == first.labels.get(Label::Cpu) && taker(m) == *name);
            row.push(m.map_or(String::new(), |m| noted(&mut table, m, share(m))));
        }
        table.row(row);
    }
    if table.rows.iter().flatten().any(|cell| cell.contains(IN_ALL)) {
        table.note(
            "the median of parts of the time, and what it was of all of the time, which came in bursts",
        );
    }
    table.finished()
}

/// Stands behind a share of all of the time.
const IN_ALL: &str = " in all)";

/// A share of time: the median of its parts, and where bursts make it much more, that of all of the time.
fn share(m: &Measurement) -> String {
    let all = m.detail.get(detail::SHARE_OF_ALL).unwrap_or(0.0);
    let most = m.summary.interval.map_or(m.summary.max, |(_, high)| high);
    if m.summary.n > 0 && all > most && all > m.value() * 1.5 {
        format!("{} ({}{IN_ALL}", value(m), figure(m, all))
    } else {
        value(m)
    }
}

/// The gaps in busy loops.
pub(crate) fn gaps(record: &Record, most: usize) -> Table {
    let heads = ["time", "CPU", "#gaps", "#median gap", "#p99 gap", "#longest gap"];
    let mut table = Table::new("Gaps in busy loops", Some("stolen.gap"), &heads);
    let all: Vec<&Measurement> = record.measurements_of("stolen.gap").filter(|m| m.summary.n > 0).collect();
    for m in worst_of_each(&mut table, all, most, taker, |m| m.summary.max) {
        let p99 = m.summary.p99.map_or(String::new(), |v| figure(m, v));
        let longest = noted(&mut table, m, figure(m, m.summary.max));
        table.row(vec![taker(m), key(m, "cpu"), m.summary.n.to_string(), value(m), p99, longest]);
    }
    table.finished()
}

/// Small costs, one row each.
pub(crate) fn costs(record: &Record, most: usize) -> Table {
    let mut table = Table::new("Small costs", None, &["what", "where", "#time", "#spread", "?#least"]);
    let all: Vec<&Measurement> =
        record.measurements.iter().filter(|m| m.metric.starts_with("cost.")).collect();
    for m in worst(&mut table, all, most.max(24), |m| m.value()) {
        let what = m.metric.trim_start_matches("cost.").replace('_', " ");
        let place: Vec<String> = keys(&[m])
            .iter()
            .map(|name| match (name.as_str(), key(m, name)) {
                ("cpu", cpu) => format!("CPU {cpu}"),
                ("to_cpu", cpu) => format!("to CPU {cpu}"),
                ("page", page) => format!("pages of {page}"),
                (_, value) => value,
            })
            .collect();
        let time = noted(&mut table, m, value(m));
        table.row(vec![what, place.join(", "), time, spread(m), figure(m, m.summary.min)]);
    }
    table.finished()
}

/// A metric's measurements with a column a key of their place.
pub(crate) fn generic(title: &str, all: &[&Measurement], most: usize) -> Table {
    let keys = keys(all);
    let numeric = |name: &String| {
        all.iter().all(|m| m.labels.named(name).is_none_or(|value| !matches!(value, record::Key::Word(_))))
    };
    let mut heads: Vec<String> =
        keys.iter().map(|name| format!("{}{name}", if numeric(name) { "#" } else { "" })).collect();
    heads.extend(["#median", "#spread", "?#least", "?#most", "?#samples", "?#marked"].map(str::to_owned));
    heads.push("?read from".to_owned());
    let word = all.first().map(|m| m.metric.clone());
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let mut table = Table::new(title, word.as_deref(), &heads);
    all.iter().for_each(|m| table.tells(m));
    if all.len() > most {
        table.note(&format!("the first {most} of {}; all are in the record", all.len()));
    }
    for m in all.iter().take(most) {
        let mut cells: Vec<String> = keys.iter().map(|name| key(m, name)).collect();
        cells.push(noted(&mut table, m, value(m)));
        cells.push(spread(m));
        // Of one sample the least and the most are the sample.
        let bound = |value: f64| if m.summary.n > 1 { figure(m, value) } else { String::new() };
        cells.push(bound(m.summary.min));
        cells.push(bound(m.summary.max));
        cells.push(m.summary.n.to_string());
        let mut marked: Vec<u32> = m.marks.iter().map(|mark| mark.sample).collect();
        marked.sort_unstable();
        marked.dedup();
        cells.push(if marked.is_empty() { String::new() } else { marked.len().to_string() });
        cells.push(m.origin.as_ref().map_or(String::new(), super::provenance::place));
        table.row(cells);
    }
    table.finished()
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Labels;

    fn record() -> Record {
        Record::new("0.1.0", String::new(), Vec::new())
    }

    #[test]
    fn both_ways_to_count_bytes_stand_in_one_row() {
        let mut record = record();
        for (counted, value) in [("stream", 2.0e10), ("bus", 2.7e10)] {
            let place = Labels::new()
                .with_label(Label::Op, "triad")
                .with_label(Label::Stores, "regular")
                .with_label(Label::BytesCounted, counted);
            record.measurements.push(Measurement::new("memory.bandwidth", place, vec![value; 6]));
        }
        let table = bandwidth(&record, 16);
        assert_eq!(
            table.rows,
            [["triad", "regular", "20.0 GB/s", "27.0 GB/s", "20.0 GB/s"].map(str::to_owned)]
        );
    }

    #[test]
    fn a_doubtful_figure_carries_its_doubt() {
        let mut record = record();
        let mut m = Measurement::new("core.clock", Labels::new().with_label(Label::Cpu, 0u32), vec![3e9; 6]);
        m.doubt = Some("too noisy: ±4 %".into());
        record.measurements.push(m);
        let table = clocks(&record, 16);
        assert_eq!(table.rows[0].last().map(String::as_str), Some("[1]"));
        assert_eq!(table.notes, ["too noisy: ±4 %"]);
    }

    #[test]
    fn of_a_thousand_cpus_the_worst_are_shown_and_the_rest_is_counted() {
        let mut record = record();
        for cpu in 0..1000u32 {
            let place = Labels::new().with_label(Label::Cpu, cpu).with_label(Label::Setting, "as-is");
            record.measurements.push(Measurement::new("wakeup.latency", place, vec![f64::from(cpu); 3]));
        }
        let table = wakeups(&record, 8, false);
        assert_eq!(table.rows.len(), 8);
        assert_eq!(table.rows[7][1], "999");
        assert!(table.remarks[0].contains("8 of 1000"));
    }
}
