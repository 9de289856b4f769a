//! Which reference machines a default run can be held against.

use diagnose::{Extent, Side, compare};
use record::Record;

/// The figures of a default run on a guest of two CPUs that have a row of `compare`.
const DEFAULT_RUN: &str = include_str!("records/default-run.json");

#[test]
fn a_default_run_shares_a_figure_with_each_reference_machine_that_the_list_does_not_excuse() {
    let own: Record = serde_json::from_str(DEFAULT_RUN).unwrap();
    for machine in reference::MACHINES {
        let published = machine.record("0.1.0").unwrap();
        let side = |name, record| Side { name, source: name, record };
        let sides = [side(machine.name, &published), side("this", &own)];
        let said = compare(&sides, 0, own.tool.clone(), Extent::Summary);
        let shared: Vec<String> = said.rows.iter().map(|row| row.what.to_string()).collect();
        assert_eq!(
            shared.is_empty(),
            machine.apart.is_some(),
            "{}: shares {shared:?}, the list says {:?}; refused: {:?}",
            machine.name,
            machine.apart,
            said.refused
        );
    }
}
