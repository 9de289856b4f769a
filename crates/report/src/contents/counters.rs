//! Hardware and software counters: the count of each event, and the issue slots by category.

use std::collections::HashMap;

use record::{Label, Measurement, Record, detail, metrics, units};

use super::figures::{labelled, remarks};
use super::side_by_side::{finish_with_places, side_by_side};
use crate::shown::Shown;
use crate::table::Table;

/// Labels that distinguish counts of the same event, and their columns. Of the scope, a column shows the group of CPUs; the rest is a remark.
const PLACE: [Label; 6] =
    [Label::Workload, Label::Threads, Label::Placement, Label::Thread, Label::Cpu, Label::Scope];
const HEADS: [&str; PLACE.len()] = ["workload", "#threads", "placement", "thread", "#CPU", "CPUs"];

/// Events that instructions do not cause, or that have a separate result (IPC).
const NOT_CAUSED: &str = "instructions cycles task-clock cpu-clock context-switches cpu-migrations page-faults \
    minor-faults major-faults slots";

/// Tables of the issue slots on both levels, and of the counts that are not in `shown_before`; a table without data is
/// empty.
pub(crate) fn tables(record: &Record, shown_before: &Shown, most: usize) -> [Table; 3] {
    [
        slots(record, most, "Issue slots (top-down)", LEVEL_1),
        slots(record, most, "Issue slots (top-down, level 2)", LEVEL_2),
        counts(record, shown_before, most),
    ]
}

fn place(m: &Measurement) -> [String; PLACE.len()] {
    PLACE.map(|label| match labelled(m, label) {
        scope if label == Label::Scope => scope.strip_prefix("system ").unwrap_or_default().to_owned(),
        text => text,
    })
}

/// One row per event: its count, the count per thousand instructions, and the share of time for which it was counted.
fn counts(record: &Record, shown_before: &Shown, most: usize) -> Table {
    let figures = ["event", "#count", "#per 1000 instructions", "?#counted for"];
    let mut table =
        Table::new("Counters", Some(metrics::COUNTER_COUNT.name()), HEADS.into_iter().chain(figures));
    let all: Vec<&Measurement> = record
        .measurements_of(metrics::COUNTER_COUNT)
        .filter(|m| m.summary.n > 0 && !shown_before.has(m))
        .collect();
    let of_instructions = all.iter().filter(|m| m.labels.word(Label::Event) == Some("instructions"));
    let instructions: HashMap<_, f64> = of_instructions.map(|m| (place(m), m.value())).collect();
    all.iter().for_each(|m| table.tells(m));
    // Pasted output is shown almost completely, but the events of a run of many workloads would not fit on a screen.
    let rows = most.saturating_mul(if record.import.is_some() { 8 } else { 2 });
    for m in table.first(all, rows) {
        table.note_row(remarks(m));
        let here = place(m);
        let caused = m.labels.word(Label::Event).is_some_and(|e| NOT_CAUSED.split(' ').all(|own| own != e));
        let per = instructions.get(&here).filter(|count| **count > 0.0 && caused);
        let coverage = m.detail.get(detail::COVERAGE);
        let figures = [
            labelled(m, Label::Event),
            count(m),
            per.map_or(String::new(), |count| units::significant(m.value() / count * 1000.0)),
            coverage.map_or(String::new(), |share| format!("{} of the time", units::percent(share))),
        ];
        table.row(here.into_iter().chain(figures).collect());
    }
    // Pasted output is usually from a single command, which is then named only once.
    if let [first, others @ ..] = &table.rows[..]
        && !(record.import.is_none() || others.is_empty() || first[0].is_empty())
        && others.iter().all(|row| row[0] == first[0])
    {
        let all = format!("workload of all rows: {}", first[0]);
        table.note(&all);
        table.rows.iter_mut().for_each(|row| row[0].clear());
    }
    table.finished()
}

/// A count; for energy, in joules.
fn count(m: &Measurement) -> String {
    match m.detail.get(detail::UNIT) {
        Some("J") => format!("{} J", units::significant(m.value())),
        _ => units::thousands(m.value()),
    }
}

/// Categories of level 1 and their columns: retiring, bad speculation, front-end bound and back-end bound.
const LEVEL_1: [(&str, &str); 4] = [
    ("retiring", "#retiring"),
    ("bad-speculation", "#bad speculation"),
    ("frontend-bound", "#front end"),
    ("backend-bound", "#back end"),
];

/// Categories of level 2, two for each category of level 1.
const LEVEL_2: [(&str, &str); 8] = [
    ("heavy-operations", "#heavy"),
    ("light-operations", "#light"),
    ("branch-mispredicts", "#mispredicts"),
    ("machine-clears", "#clears"),
    ("fetch-latency", "#fetch latency"),
    ("fetch-bandwidth", "#fetch bandwidth"),
    ("memory-bound", "#memory"),
    ("core-bound", "#core"),
];

/// Issue slots by category, one row per workload.
fn slots<const N: usize>(record: &Record, most: usize, title: &str, categories: [(&str, &str); N]) -> Table {
    let heads = HEADS.into_iter().chain(categories.map(|(_, head)| head));
    let table = Table::new(title, Some(metrics::COUNTER_SHARE.name()), heads);
    let all = record.measurements_of(metrics::COUNTER_SHARE).filter(|m| m.summary.n > 0);
    let rows = side_by_side::<_, N>(all, |m| {
        let category = m.labels.word(Label::Category)?;
        Some((place(m), categories.iter().position(|(name, _)| *name == category)?))
    });
    finish_with_places(table, rows, most, |m| m.map_or(String::new(), |m| units::percent(m.value())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Labels;

    #[test]
    fn misses_are_reported_per_thousand_instructions_with_their_coverage() {
        let mut record = Record::new("0.1.0", String::new(), Vec::new());
        for (event, count) in [("instructions", 2e9), ("cache-misses", 4e6)] {
            let place = Labels::new()
                .with_label(Label::Workload, "triad")
                .with_label(Label::Threads, 1u32)
                .with_label(Label::Event, event);
            let m =
                Measurement::new("counter.count", place, vec![count; 6]).with_detail(detail::COVERAGE, 0.833);
            record.measurements.push(m);
        }
        let tables = tables(&record, &Shown::default(), 16);
        let table = tables.iter().find(|table| !table.is_empty()).unwrap();
        assert_eq!(
            table.rows[1],
            ["triad (regular stores)", "1", "cache-misses", "4,000,000", "2.00", "83.3 % of the time"]
                .map(str::to_owned)
        );
        assert_eq!(table.rows[0][4], "", "instructions per instruction are meaningless");
    }

    #[test]
    fn counts_of_the_whole_system_are_marked_as_no_programs() {
        let mut record = Record::new("0.1.0", String::new(), Vec::new());
        for scope in ["process", "system"] {
            let place = Labels::new()
                .with_label(Label::Workload, "bc")
                .with_label(Label::Event, "cycles")
                .with_label(Label::Scope, scope);
            record.measurements.push(Measurement::new("counter.count", place, vec![1e9]));
        }
        let tables = tables(&record, &Shown::default(), 16);
        let table = tables.iter().find(|table| !table.is_empty()).unwrap();
        assert_eq!(table.notes.len(), 1);
        assert_eq!(
            table.rows.iter().map(|row| row.last().unwrap().as_str()).collect::<Vec<_>>(),
            ["", "[1]"]
        );
    }

    #[test]
    fn counts_of_cpus_and_groups_have_the_column_that_tells_them_apart() {
        let mut record = Record::new("0.1.0", String::new(), Vec::new());
        for (cpu, scope) in
            [(Some(0_u32), "system"), (Some(1), "system"), (None, "system S0"), (None, "system")]
        {
            let place = Labels::new().with_known(Label::Cpu, cpu).with_label(Label::Event, "cycles");
            let place = place.with_label(Label::Scope, scope);
            record.measurements.push(Measurement::new("counter.count", place, vec![1e9]));
        }
        let tables = tables(&record, &Shown::default(), 16);
        let table = tables.iter().find(|table| !table.is_empty()).unwrap();
        let places: Vec<_> = table.rows.iter().map(|row| [row[0].as_str(), row[1].as_str()]).collect();
        assert_eq!(places, [["0", ""], ["1", ""], ["", "S0"], ["", ""]]);
    }

    #[test]
    fn slots_of_one_workload_are_one_row() {
        let mut record = Record::new("0.1.0", String::new(), Vec::new());
        for (category, share) in [("backend-bound", 0.5), ("retiring", 0.25), ("frontend-bound", 0.2)] {
            let place =
                Labels::new().with_label(Label::Workload, "aes").with_label(Label::Category, category);
            record.measurements.push(Measurement::new("counter.share", place, vec![share; 6]));
        }
        let tables = tables(&record, &Shown::default(), 16);
        let table = tables.iter().find(|table| !table.is_empty()).unwrap();
        assert_eq!(table.rows, [["aes", "25.0 %", "20.0 %", "50.0 %"].map(str::to_owned)]);
    }
}
