use super::*;
use crate::samples::{machine, measured};
use record::Where;

fn tool() -> Tool {
    Tool { name: "linespeed".to_owned(), version: "0.0.0".to_owned() }
}

fn both(a: &Record, b: &Record) -> Comparison {
    let sides =
        [Side { name: "a", source: "a.json", record: a }, Side { name: "b", source: "b.json", record: b }];
    compare(&sides, 0, tool(), Extent::All)
}

#[test]
fn the_same_record_twice_is_said_to_be_one() {
    let mut a = machine(2);
    a.measurements.push(measured("cost.syscall", Where::new().with("cpu", 0u32), 100.0));
    let said = both(&a, &a.clone());
    assert_eq!(said.relation, Relation::SameRecord);
    assert!(said.notes[0].contains("very same record"), "{:?}", said.notes);
    assert!(said.differences.is_empty());
}

#[test]
fn records_without_a_shared_metric_still_show_their_inventories() {
    let (mut a, mut b) = (machine(2), machine(4));
    a.measurements.push(measured("cost.syscall", Where::new().with("cpu", 0u32), 100.0));
    b.measurements.push(measured("cost.clock_read", Where::new().with("cpu", 0u32), 20.0));
    let said = both(&a, &b);
    assert!(
        said.rows.is_empty() && said.notes.iter().any(|note| note.contains("share no metric")),
        "{:?}",
        said.notes
    );
    assert!(said.differences.iter().any(|d| d.what == "CPUs online"), "{:?}", said.differences);
}
