//! The built-in workloads on one CPU, and what siblings are worth to them.

use std::collections::BTreeMap;

use record::{Measurement, Record};

use super::figures::{brief_remarks, key, spread, value};
use crate::table::Table;

/// Rows of a table; the rest is among all measurements.
const MOST: usize = 64;

/// The tables that there are figures for.
pub fn blocks(record: &Record) -> Vec<Table> {
    let mut tables = vec![alone(record), yields(record)];
    tables.retain(|table| !table.is_empty());
    tables
}

/// The throughput, time and IPC of one workload.
#[derive(Default)]
struct Row<'a> {
    throughput: Option<&'a Measurement>,
    time: Option<&'a Measurement>,
    declared: Option<&'a Measurement>,
    counted: Option<&'a Measurement>,
}

/// A row a workload: throughput and time of one thread, IPC as declared and as counted side by side.
fn alone(record: &Record) -> Table {
    let heads = [
        "workload",
        "#throughput",
        "?#spread",
        "#one pass",
        "#IPC declared",
        "#IPC counted",
        "?a unit of work is",
    ];
    let mut table = Table::new("Workloads on one CPU", Some("core.ipc"), &heads);
    let mut names: Vec<&str> = Vec::new();
    let mut rows: BTreeMap<&str, Row> = BTreeMap::new();
    // What names neither may have run on any CPUs, as a command does.
    let one = |m: &Measurement| match m.place.count("threads") {
        Some(threads) => threads == 1,
        None => m.place.get("cpu").is_some(),
    };
    for m in record.measurements.iter().filter(|m| m.summary.n > 0 && one(m)) {
        let Some(name) = m.place.word("workload") else { continue };
        let counted = m.place.word("source") == Some("pmu");
        // Only what is told of a workload as a whole makes a row.
        if !matches!(m.metric.as_str(), "workload.throughput" | "workload.time" | "core.ipc") {
            continue;
        }
        let row = rows.entry(name).or_insert_with(|| {
            names.push(name);
            Row::default()
        });
        let cell = match m.metric.as_str() {
            "workload.throughput" => &mut row.throughput,
            "workload.time" => &mut row.time,
            _ if counted => &mut row.counted,
            _ => &mut row.declared,
        };
        // The first is that of the measurement that ran the workload alone; scaling's first step is the same again.
        cell.get_or_insert(m);
    }
    if names.len() > MOST {
        table.note(&format!("the first {MOST} of {}; all are in the record", names.len()));
    }
    for name in names.into_iter().take(MOST) {
        let Some(row) = rows.get(name) else { continue };
        let all = [row.throughput, row.time, row.declared, row.counted];
        for remark in all.into_iter().flatten().flat_map(brief_remarks) {
            table.note_row(&remark);
        }
        let text = |m: Option<&Measurement>| m.map_or(String::new(), value);
        let ipc =
            |m: Option<&Measurement>| m.map_or(String::new(), |m| record::units::significant(m.value()));
        let work =
            row.throughput.or(row.time).and_then(|m| m.detail.get("work")).and_then(|work| work.as_str());
        table.row(vec![
            name.to_owned(),
            text(row.throughput),
            row.throughput.map_or(String::new(), spread),
            text(row.time),
            ipc(row.declared),
            ipc(row.counted),
            work.unwrap_or_default().to_owned(),
        ]);
    }
    table.finished()
}

/// What all siblings of a core do together, over one alone.
fn yields(record: &Record) -> Table {
    let heads = ["workload", "core", "#yield", "#spread"];
    let mut table = Table::new("What siblings are worth", Some("smt.yield"), &heads);
    let all: Vec<&Measurement> = record.of("smt.yield").filter(|m| m.summary.n > 0).collect();
    if all.len() > MOST {
        table.note(&format!("the first {MOST} of {}; all are in the record", all.len()));
    }
    for m in all.into_iter().take(MOST) {
        for remark in brief_remarks(m) {
            table.note_row(&remark);
        }
        table.row(vec![key(m, "workload"), key(m, "core"), value(m), spread(m)]);
    }
    if !table.is_empty() {
        table.note("1× means that a second thread on the core brings nothing, 2× that it is worth a core");
    }
    table.finished()
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Where;

    #[test]
    fn declared_and_counted_ipc_stand_side_by_side() {
        let mut record = Record::new("0.1.0", String::new(), Vec::new());
        for (source, ipc) in [("declared", 3.98), ("pmu", 4.0)] {
            let place = Where::new().with("workload", "nop").with("cpu", 0u32).with("source", source);
            record.measurements.push(Measurement::new("core.ipc", place, vec![ipc; 6]));
        }
        let place =
            Where::new().with("workload", "nop").with("threads", 1u32).with("placement", "cores-first");
        let m = Measurement::new("workload.throughput", place, vec![1.2e10; 6]).with_detail("work", "nops");
        record.measurements.push(m);
        let place = Where::new().with("workload", "nop").with("threads", 2u32).with("source", "pmu");
        record.measurements.push(Measurement::new("core.ipc", place, vec![9.0; 6]));
        // A command may have run on all of them.
        let place = Where::new().with("workload", "command");
        record.measurements.push(Measurement::new("workload.time", place, vec![2.0; 6]));
        let table = alone(&record);
        assert_eq!(table.rows, [["nop", "12.0 G/s", "12.0 G/s", "3.98", "4.00", "nops"].map(str::to_owned)]);
    }
}
