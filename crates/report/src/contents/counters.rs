//! Hardware and software counters: how often each event happened, and the issue slots by what became of them.

use record::Label;
use record::detail;
use std::collections::{BTreeMap, BTreeSet};

use record::{Key, Measurement, Record, units};

use super::figures::{brief_remarks, key};
use crate::table::Table;

/// What was counted: a workload with so many threads, or a command.
type Place = Vec<(&'static str, String)>;

/// The keys that tell one count from another, without the event.
const KEYS: [&str; 4] = ["workload", "threads", "placement", "thread"];

/// Events that instructions do not cause, or that have a figure of their own (IPC).
const NOT_CAUSED: [&str; 10] = [
    "instructions",
    "cycles",
    "task-clock",
    "cpu-clock",
    "context-switches",
    "cpu-migrations",
    "page-faults",
    "minor-faults",
    "major-faults",
    "slots",
];

/// A table of counts and one of slots, where there are any.
pub(crate) fn tables(record: &Record, most: usize) -> Vec<Table> {
    let mut tables = vec![slots(record, most), counts(record, most)];
    tables.retain(|table| !table.is_empty());
    tables
}

fn place(m: &Measurement) -> Place {
    KEYS.iter().map(|name| (*name, key(m, name))).collect()
}

/// A row an event: its count, how many that is a thousand instructions, and how long it was really counted.
fn counts(record: &Record, most: usize) -> Table {
    let heads = [
        "workload",
        "#threads",
        "placement",
        "thread",
        "event",
        "#count",
        "#per 1000 instructions",
        "?#counted for",
    ];
    let mut table = Table::new("Counters", Some("counter.count"), &heads);
    let all: Vec<&Measurement> =
        record.measurements_of("counter.count").filter(|m| m.summary.n > 0).collect();
    let mut instructions: BTreeMap<Place, f64> = BTreeMap::new();
    for m in all.iter().filter(|m| m.labels.word(Label::Event) == Some("instructions")) {
        instructions.insert(place(m), m.value());
    }
    // What somebody pasted is what they want to see; a run of many workloads counts more than a screen holds.
    let rows = most.saturating_mul(if record.import.is_some() { 8 } else { 2 });
    if all.len() > rows {
        table.note(&format!("the first {rows} of {}; all are in the record", all.len()));
    }
    all.iter().for_each(|m| table.tells(m));
    for m in all.into_iter().take(rows) {
        for remark in brief_remarks(m) {
            table.note_row(&remark);
        }
        let here = place(m);
        let caused = m.labels.word(Label::Event).is_some_and(|event| !NOT_CAUSED.contains(&event));
        let per = instructions.get(&here).filter(|count| **count > 0.0 && caused);
        let per = per.map_or(String::new(), |count| units::significant(m.value() / count * 1000.0));
        let coverage = m.detail.get(detail::COVERAGE);
        let mut row: Vec<String> = here.into_iter().map(|(_, value)| value).collect();
        row.extend([
            key(m, "event"),
            units::thousands(m.value()),
            per,
            coverage.map_or(String::new(), |share| format!("{} of the time", units::percent(share))),
        ]);
        table.row(row);
    }
    table.finished()
}

/// Issue slots by category, a row a workload: what was done, thrown away, not fed, and what waited.
fn slots(record: &Record, most: usize) -> Table {
    const CATEGORIES: [&str; 4] = ["retiring", "bad-speculation", "frontend-bound", "backend-bound"];
    let heads =
        ["workload", "#threads", "placement", "#retiring", "#bad speculation", "#front end", "#back end"];
    let mut table = Table::new("Issue slots (top-down)", Some("counter.share"), &heads);
    let mut places: Vec<Place> = Vec::new();
    let mut cells: BTreeMap<(Place, String), &Measurement> = BTreeMap::new();
    let mut known: BTreeSet<Place> = BTreeSet::new();
    for m in record.measurements_of("counter.share").filter(|m| m.summary.n > 0) {
        let Some(Key::Word(category)) = m.labels.get(Label::Category) else { continue };
        let here = place(m);
        if !CATEGORIES.contains(&category.as_str()) || cells.contains_key(&(here.clone(), category.clone())) {
            continue;
        }
        table.tells(m);
        if known.insert(here.clone()) && known.len() <= most {
            places.push(here.clone());
        }
        cells.insert((here, category.clone()), m);
    }
    if known.len() > most {
        table.note(&format!("the first {most} of {}; all are in the record", known.len()));
    }
    for here in places {
        let mut row: Vec<String> = here.iter().take(3).map(|(_, value)| value.clone()).collect();
        for category in CATEGORIES {
            let m = cells.get(&(here.clone(), category.to_owned()));
            for remark in m.into_iter().flat_map(|m| brief_remarks(m)) {
                table.note_row(&remark);
            }
            row.push(m.map_or(String::new(), |m| units::percent(m.value())));
        }
        table.row(row);
    }
    table.finished()
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
        let table = tables(&record, 16).remove(0);
        assert_eq!(
            table.rows[1],
            ["triad", "1", "cache-misses", "4,000,000", "2.00", "83.3 % of the time"].map(str::to_owned)
        );
        assert_eq!(table.rows[0][4], "", "instructions for each instruction say nothing");
    }

    #[test]
    fn slots_of_one_workload_are_one_row() {
        let mut record = Record::new("0.1.0", String::new(), Vec::new());
        for (category, share) in [("backend-bound", 0.5), ("retiring", 0.25), ("frontend-bound", 0.2)] {
            let place =
                Labels::new().with_label(Label::Workload, "aes").with_label(Label::Category, category);
            record.measurements.push(Measurement::new("counter.share", place, vec![share; 6]));
        }
        let table = tables(&record, 16).remove(0);
        assert_eq!(table.rows, [["aes", "25.0 %", "20.0 %", "50.0 %"].map(str::to_owned)]);
    }
}
