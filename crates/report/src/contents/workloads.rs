//! Workloads and commands, with one row per number of threads and block size, and the SMT yield.

use std::collections::HashMap;

use record::label::name_workload;
use record::{Label, Measurement, Record, detail, metrics, units};

use super::conditions;
use super::figures::{bare_value, labelled, remarks, spread};
use super::rest::generic;
use super::side_by_side::{self, group_by};
use crate::shown::Shown;
use crate::table::{Field, Table};
use record::phrase::count_noun;

/// Maximum number of rows; the remaining results appear only in the list of all measurements.
const MOST: usize = 64;

/// The tables with results. `steps`: results already shown as scaling steps.
pub(crate) fn tables(record: &Record, steps: &Shown) -> impl Iterator<Item = Table> {
    [workloads(record, steps), yields(record)].into_iter().filter(|table| !table.is_empty())
}

/// Label keys that a row shows, or that do not distinguish rows.
const KEYS: [&str; 9] =
    ["workload", "threads", "placement", "setting", "bytes", "cpu", "source", "scope", "state"];

/// The columns of results.
const CELLS: usize = 6;

/// The column in which a measurement belongs; `None` if the measurement does not describe an entire workload.
fn cell(m: &Measurement) -> Option<usize> {
    if m.labels.0.keys().any(|name| !KEYS.contains(&name.as_str())) {
        return None;
    }
    match (m.metric, m.labels.word(Label::State), m.labels.word(Label::Source)) {
        (metrics::WORKLOAD_THROUGHPUT, None, None) => Some(0),
        (metrics::WORKLOAD_TIME, None, None) => Some(1),
        (metrics::WORKLOAD_CPU_TIME, Some("user"), None) => Some(2),
        (metrics::WORKLOAD_CPU_TIME, Some("system"), None) => Some(3),
        (metrics::CORE_IPC, None, Some("pmu")) => Some(5),
        (metrics::CORE_IPC, None, _) => Some(4),
        _ => None,
    }
}

/// The keys that distinguish rows of a workload, in sort order: number of threads, block size in bytes, placement, setting, and the label
/// `threads` if it is a word instead of a number.
type Variant = (Option<u64>, Option<u64>, String, String, String);

fn variant(m: &Measurement) -> Variant {
    let bytes = m.labels.count(Label::Bytes);
    // A result labeled with a CPU was measured on that CPU alone. A result with neither a CPU nor a number of threads, such as that of a
    // command, may have used any CPUs.
    let threads = m.labels.count(Label::Threads).or(m.labels.get(Label::Cpu).map(|_| 1));
    // A single thread runs in the same place for every placement.
    let placement = if threads == Some(1) { String::new() } else { labelled(m, Label::Placement) };
    let words = m.labels.word(Label::Threads).unwrap_or_default().to_owned();
    (threads, bytes, placement, labelled(m, Label::Setting), words)
}

/// A row: a workload, its distinguishing keys, and its results.
struct Row<'a> {
    name: &'a str,
    variant: Variant,
    cells: [Option<&'a Measurement>; CELLS],
}

impl Row<'_> {
    /// Moves times to a separate row if they are from a different run than the throughput. Within one run, the time of
    /// a pass is the inverse of the throughput.
    fn split_time(&mut self) -> Option<Self> {
        let (throughput, time) = (self.cells[0]?, self.cells[1]?);
        let of_passes = throughput.detail.get(detail::WORK)? == time.detail.get(detail::WORK)?;
        let [least, most] = [time.summary.max, time.summary.min].map(|seconds| 1.0 / seconds);
        let is_near = |rate: f64, seen: f64| (rate / seen - 1.0).abs() < 1e-6;
        if !of_passes || is_near(least, throughput.summary.min) && is_near(most, throughput.summary.max) {
            return None;
        }
        let mut cells = [None; CELLS];
        cells[1] = self.cells[1].take();
        Some(Self { name: self.name, variant: self.variant.clone(), cells })
    }

    /// Instructions per cycle; the heading shows the unit.
    fn ipc(&self, cell: usize) -> String {
        self.cells[cell].map_or(String::new(), bare_value)
    }
}

/// The columns; without the number of threads if there is only one CPU.
fn fields<'a>() -> [Field<Row<'a>>; 13] {
    [
        ("workload", |row| name_workload(row.name).to_owned()),
        ("#threads", |row| row.variant.0.map_or(row.variant.4.clone(), |threads| threads.to_string())),
        ("placement", |row| row.variant.2.clone()),
        ("setting", |row| row.variant.3.clone()),
        ("#blocks of", |row| row.variant.1.map_or(String::new(), units::bytes)),
        ("#throughput", |row| side_by_side::cell(row.cells[0])),
        ("?#95 % CI", |row| row.cells[0].map_or(String::new(), spread)),
        ("#time", |row| side_by_side::cell(row.cells[1])),
        ("#user time", |row| side_by_side::cell(row.cells[2])),
        ("#system time", |row| side_by_side::cell(row.cells[3])),
        ("#IPC (calculated)", |row| row.ipc(4)),
        ("#IPC (counted)", |row| row.ipc(5)),
        ("?unit", |row| {
            let first = row.cells[0].or(row.cells[1]);
            first.and_then(|m| m.detail.get(detail::WORK)).unwrap_or_default().to_owned()
        }),
    ]
}

/// One row per workload, number of threads, block size and placement: throughput, times, and declared and counted IPC side by side.
fn workloads(record: &Record, steps: &Shown) -> Table {
    let mut shown = Shown::default();
    let mut rows: Vec<Row> = Vec::new();
    let mut numbers: HashMap<(&str, Variant), usize> = HashMap::new();
    let mut again = 0;
    for m in record.measurements.iter().filter(|m| m.summary.n > 0) {
        let (Some(name), Some(cell)) = (m.labels.word(Label::Workload), cell(m)) else { continue };
        let variant = variant(m);
        if variant.0 != Some(1) && steps.has(m) {
            continue;
        }
        let number = *numbers.entry((name, variant.clone())).or_insert_with(|| {
            rows.push(Row { name, variant, cells: [None; CELLS] });
            rows.len() - 1
        });
        let cells = &mut rows[number].cells;
        let of_a_step = |m: &Measurement| {
            m.labels.get(Label::Placement).is_some() && m.labels.count(Label::Threads) == Some(1)
        };
        let throughput_of_a_step = cells[0].is_some_and(of_a_step);
        match &mut cells[cell] {
            free @ None => *free = Some(m),
            // The first result is from the single-threaded measurement; the first step of scaling repeats it.
            Some(kept) if of_a_step(m) => {
                again += 1;
                // All results in a row are from one run, so the IPC belongs to the throughput next to it.
                if throughput_of_a_step {
                    *kept = m;
                }
            }
            // A result from another CPU or another run does not belong in this row.
            Some(_) => continue,
        }
        shown.add(m);
    }
    // A rate and a time share a row if they are from the same run; otherwise, each has a separate row.
    let apart: Vec<Row> = rows.iter_mut().filter_map(Row::split_time).collect();
    rows.extend(apart);
    // Workloads in the order of the record, each with its rows in order.
    let by_name = group_by(rows, |row| row.name).into_iter().flat_map(|(_, mut rows)| {
        rows.sort_by(|a, b| a.variant.cmp(&b.variant));
        rows
    });
    let mut rows: Vec<Row> = by_name.collect();
    let one_cpu = rows.iter().all(|row| row.variant.0 == Some(1));
    let mut table = Table::with_fields(
        if one_cpu { "Workloads on one CPU" } else { "Workloads" },
        Some(metrics::WORKLOAD_THROUGHPUT.name()),
        &fields(),
    );
    table.shown = shown;
    if one_cpu {
        rows.iter_mut().for_each(|row| row.variant.0 = None);
    }
    let rows = table.first(rows, MOST);
    let sizes = diagnose::BlockSizes::from_record(record);
    let (said, unsaid) = (
        rows.iter().any(|row| row.variant.0.is_some()),
        rows.iter().any(|row| row.variant.0.is_none() && row.variant.4.is_empty()),
    );
    for row in &rows {
        table.note_row(row.cells.iter().flatten().flat_map(|m| remarks(m)));
        table.note_row(row.cells[0].and_then(|m| sizes.remark(m)).map(|remark| remark.to_string()));
        table.item(&fields(), row);
    }
    // If other processes used CPU time, throughput does not follow from IPC.
    if rows.iter().any(|row| row.cells[0].is_some() && row.cells[4].or(row.cells[5]).is_some())
        && conditions::is_disturbed(record)
    {
        table.note(
            "throughput is per wall-clock time, including time used by other processes; IPC uses \
             only the thread's CPU time",
        );
    }
    if said && unsaid {
        table.note("blank: the record does not contain the number of threads");
    }
    if again > 0 {
        table.note(&format!(
            "{} from single-threaded scaling runs not shown; see --json",
            count_noun(again, "result")
        ));
    }
    table.finished()
}

/// The throughput of all siblings of a core divided by the throughput of one sibling.
fn yields(record: &Record) -> Table {
    let all: Vec<&Measurement> =
        record.measurements_of(metrics::SMT_YIELD).filter(|m| m.summary.n > 0).collect();
    let mut table = generic("SMT yield", &all, MOST);
    if !table.is_empty() {
        table.note("1× means that a second thread adds nothing, 2× that it adds as much as a second core");
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Labels;

    #[test]
    fn declared_and_counted_ipc_stand_side_by_side() {
        let mut record = Record::new("0.1.0", String::new(), Vec::new());
        for (source, ipc) in [("declared", 3.98), ("pmu", 4.0)] {
            let place = Labels::new()
                .with_label(Label::Workload, "nop")
                .with_label(Label::Cpu, 0u32)
                .with_label(Label::Source, source);
            record.measurements.push(Measurement::new("core.ipc", place, vec![ipc; 6]));
        }
        let place = Labels::new()
            .with_label(Label::Workload, "nop")
            .with_label(Label::Threads, 1u32)
            .with_label(Label::Placement, "cores-first");
        let m =
            Measurement::new("workload.throughput", place, vec![1.2e10; 6]).with_detail(detail::WORK, "nops");
        record.measurements.push(m);
        let table = workloads(&record, &Shown::default());
        assert_eq!(table.title, "Workloads on one CPU");
        assert_eq!(table.rows, [["nop", "12.0 G/s", "12.0 G/s", "3.98", "4.00", "nops"].map(str::to_owned)]);
        // If other processes ran, the rate is per wall-clock time but IPC per CPU time, which a remark explains.
        record.diagnosis.used_by_others = Some(0.6);
        assert_eq!(workloads(&record, &Shown::default()).remarks.len(), table.remarks.len() + 1);
    }

    fn ran(metric: impl Into<record::Metric>, place: Labels, value: f64) -> Measurement {
        Measurement::new(metric, place, vec![value])
    }

    #[test]
    fn each_number_of_threads_and_size_of_blocks_has_a_row() {
        let mut record = Record::new("0.1.0", String::new(), Vec::new());
        for (threads, bytes, rate) in [(32u32, 8192u64, 4.58e9), (1, 8192, 1.43e8), (1, 16, 1.33e8)] {
            let place = Labels::new()
                .with_label(Label::Workload, "aes")
                .with_label(Label::Bytes, bytes)
                .with_label(Label::Threads, threads);
            record.measurements.push(ran("workload.throughput", place, rate));
        }
        // A command may have run on any CPUs.
        let command = || Labels::new().with_label(Label::Workload, "bc");
        record.measurements.push(ran("workload.time", command(), 24.6));
        record.measurements.push(ran("workload.cpu_time", command().with_label(Label::State, "user"), 24.1));
        let table = workloads(&record, &Shown::default());
        assert_eq!(table.title, "Workloads");
        let rows: Vec<String> = table
            .rows
            .iter()
            .map(|row| row.join(" ").split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(
            rows,
            ["aes 1 16 B 133 M/s", "aes 1 8 KiB 143 M/s", "aes 32 8 KiB 4.58 G/s", "bc 24.6 s 24.1 s"]
        );
        assert!(record.measurements.iter().all(|m| table.shown.has(m)));
        assert_eq!(table.remarks[0], "blank: the record does not contain the number of threads");
    }

    #[test]
    fn a_rate_and_a_time_in_one_row_are_of_one_run() {
        let mut record = Record::new("0.1.0", String::new(), Vec::new());
        let place = Labels::new().with_label(Label::Workload, "primes");
        let rates = vec![4.0, 5.0, 8.0];
        let times = rates.iter().map(|rate| 1.0 / rate).collect();
        let step = place.clone().with_label(Label::Threads, 1u32).with_label(Label::Placement, "cores-first");
        let of_passes = |m: Measurement| m.with_detail(detail::WORK, "primes to 1,000,000");
        record.measurements.push(of_passes(Measurement::new("workload.throughput", step, rates)));
        record.measurements.push(of_passes(Measurement::new(
            "workload.time",
            place.with_label(Label::Cpu, 0u32),
            times,
        )));
        assert_eq!(workloads(&record, &Shown::default()).rows.len(), 1);
        record.measurements[1].summary.max *= 2.0;
        let rows = workloads(&record, &Shown::default()).rows;
        assert_eq!(rows.len(), 2, "{rows:?}");
    }

    #[test]
    fn a_row_has_the_ipc_of_the_run_whose_throughput_it_has() {
        let mut record = Record::new("0.1.0", String::new(), Vec::new());
        let alone = Labels::new()
            .with_label(Label::Cpu, 1u32)
            .with_label(Label::Workload, "nop")
            .with_label(Label::Source, "declared");
        let step = Labels::new()
            .with_label(Label::Workload, "nop")
            .with_label(Label::Threads, 1u32)
            .with_label(Label::Placement, "cores-first");
        record.measurements.push(ran("core.ipc", alone, 9.87));
        record.measurements.push(ran("workload.throughput", step.clone(), 1e9));
        record.measurements.push(ran("core.ipc", step.with_label(Label::Source, "declared"), 1.2));
        let rows = format!("{:?}", workloads(&record, &Shown::default()).rows);
        assert!(rows.contains("1.2") && !rows.contains("9.87"), "{rows}");
    }

    #[test]
    fn what_the_steps_of_scaling_tell_is_not_reported_again() {
        let mut record = Record::new("0.1.0", String::new(), Vec::new());
        for threads in [1u32, 1, 2] {
            let place = Labels::new()
                .with_label(Label::Workload, "nop")
                .with_label(Label::Threads, threads)
                .with_label(Label::Placement, "cores-first");
            record.measurements.push(ran("workload.throughput", place, 1e9));
        }
        let mut steps = Shown::default();
        steps.add(&record.measurements[2]);
        let table = workloads(&record, &steps);
        assert_eq!(table.rows.len(), 1);
        assert_eq!(table.remarks[0], "1 result from single-threaded scaling runs not shown; see --json");
    }
}
