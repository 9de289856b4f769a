//! A real machine of four nodes whose firmware's table of distances is made to lie: no emulator has memory that is farther
//! away, so the latencies are published ones of another machine of its kind.

use record::Label;
use std::path::Path;

use record::diagnosis::Finding;
use record::difference::Verdict;
use record::{Labels, Measurement, Record};

use crate::support::{folder, linespeed, machines, ran, run_with};

const MACHINE: &str = "128arm-2pa2n8cluster4co";

/// The table as captured: nodes 0 and 1 are neighbours, and 2 and 3 are.
const TRUE: [&str; 4] = ["10 16 32 33", "16 10 25 32", "32 25 10 16", "33 32 16 10"];
/// Nodes 1 and 2 have changed places.
const LYING: [&str; 4] = ["10 32 16 33", "32 10 25 16", "16 25 10 32", "33 16 32 10"];

/// lat_mem_rd at 64 MB of a Kunpeng 920-4826: own memory, the neighbour's, the far package's.
const OWN: f64 = 117.3;
const NEAR: f64 = 135.3;
const FAR: [f64; 2] = [197.8, 219.4];

/// Nanoseconds between two nodes.
fn ns(from: u32, to: u32) -> f64 {
    match (from == to, from / 2 == to / 2) {
        (true, _) => OWN,
        (false, true) => NEAR,
        (false, false) => FAR[usize::from(from.abs_diff(to) == 3)],
    }
}

/// What is found of the machine with this table and what each node's memory takes.
fn findings(root: &Path, table: [&str; 4]) -> Vec<Finding> {
    for (node, line) in table.iter().enumerate() {
        let path = format!("sys/devices/system/node/node{node}/distance");
        assert!(root.join(&path).exists(), "{path}");
        machines::write(root, &[(path.as_str(), *line)]);
    }
    let mut record = ran(["inspect", "--root", root.to_str().unwrap(), "--json"]).succeeds().record();
    for (from, to) in (0..4).flat_map(|from| (0..4).map(move |to| (from, to))) {
        let samples = (0..8).map(|n| ns(from, to) * (1.0 + 1e-3 * f64::from(n % 3))).collect();
        let place = Labels::new().with_label(Label::From, from).with_label(Label::To, to);
        record.measurements.push(Measurement::new("numa.latency", place, samples));
    }
    let shown = run_with(linespeed(["show", "-", "--json"]), record.to_json().unwrap()).succeeds();
    Record::from_json(shown.stdout.as_bytes()).expect("a record").diagnosis.findings
}

#[test]
fn distances_that_lie_are_named_first_with_their_loss_and_true_ones_are_no_finding() {
    let folder = folder();
    let root = machines::unpack(MACHINE, folder.path()).join(MACHINE);
    let honest = findings(&root, TRUE);
    assert!(honest.iter().all(|finding| finding.rule != "numa-distances"), "{honest:#?}");
    assert!(honest.iter().any(|finding| finding.rule == "numa-latency"), "{honest:#?}");

    let lied_to = findings(&root, LYING);
    let first = &lied_to[0];
    assert_eq!(first.rule, "numa-distances", "{lied_to:#?}");
    // Who takes the memory that is told to be the nearest waits for the far package instead of the neighbour.
    let shown = 1.0 - NEAR / FAR[0];
    let Verdict::Costs { share, .. } = first.loss else { panic!("{first:#?}") };
    assert!((share - shown).abs() <= shown / 3.0, "told {share}, shown {shown}");
}
