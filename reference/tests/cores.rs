//! Checks shipped and captured machines against the data on processors: each has the right design, or none.

use std::collections::BTreeMap;
use std::process::Command;

use record::{Label, Record};

/// The design of each known one; all others have none.
const DESIGNS: [(&str, &str); 25] = [
    ("altra-max", "neoverse-n1"),
    ("altra-vm", "neoverse-n1"),
    ("cloud-server-1", "broadwell-ep"),
    ("cloud-server-3", "skylake-sp"),
    ("epyc-7h12", "zen2-rome"),
    ("epyc-7r13", "zen3-milan"),
    ("epyc-7v73x", "zen3-milan"),
    ("epyc-9274f", "zen4-genoa"),
    ("epyc-9534", "zen4-genoa"),
    ("epyc-9655", "zen5-turin"),
    ("grace", "neoverse-v2"),
    ("graviton-2", "neoverse-n1"),
    ("graviton-3", "neoverse-v1"),
    ("graviton-4", "neoverse-v2"),
    ("hygon-5280", "hygon-dhyana"),
    ("hygon-7280", "hygon-dhyana"),
    ("kunpeng-920-4826", "kunpeng-920"),
    ("phytium-ft-2500", "phytium-ftc663"),
    ("xeon-8163", "skylake-sp"),
    ("xeon-8269cy", "cascade-lake-sp"),
    ("xeon-8360y", "ice-lake-sp"),
    ("xeon-8375c", "ice-lake-sp"),
    ("xeon-8468", "sapphire-rapids"),
    ("xeon-e5-2682-v4", "broadwell-ep"),
    ("yitian-710", "neoverse-n2"),
];

fn of(machine: &reference::Machine) -> Record {
    machine.record("0").unwrap_or_else(|trouble| panic!("{}: {trouble}", machine.name))
}

#[test]
fn each_reference_machine_is_of_the_right_design_or_of_none() {
    let mut expected: BTreeMap<&str, &str> = DESIGNS.into();
    for (name, as_name) in [
        ("hygon-7280-interleaved", "hygon-7280"),
        ("xeon-8269cy-numa", "xeon-8269cy"),
        ("xeon-8380", "xeon-8360y"),
        ("xeon-gold-6348", "xeon-8360y"),
    ] {
        expected.insert(name, expected[as_name]);
    }
    let known = |machine: &reference::Machine| {
        let record = of(machine);
        let core = diagnose::cores::of_machine(&record.machine).map(|core| core.id.as_str());
        (machine.name, core, record.machine.processor.model_name)
    };
    let wrong: Vec<_> = reference::MACHINES
        .iter()
        .map(known)
        .filter(|(name, core, _)| expected.get(name) != core.as_ref())
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn each_captured_machine_is_of_the_right_design_or_of_none() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/machine/tests/machines");
    for (name, design) in [
        ("128arm-2pa2n8cluster4co", Some("kunpeng-920")),
        ("16amd64-8n2c", None),
        ("16em64t-4s2c2t-offlines", None),
        ("20em64t-hybrid-1p6c2t+2ca4co1t", None),
    ] {
        let target = tempfile::tempdir().unwrap();
        let archive = format!("{folder}/{name}.tar.bz2");
        let done = Command::new("tar").arg("xjf").arg(archive).arg("-C").arg(target.path()).status().unwrap();
        assert!(done.success());
        let machine = machine::inspect(&machine::Root::captured(target.path()).unwrap()).machine;
        let found = diagnose::cores::of_machine(&machine).map(|core| core.id.as_str());
        assert_eq!(found, design, "{name}: {:?}", machine.processor);
        if name.contains("hybrid") {
            let of = |cpu| diagnose::cores::of_cpu(&machine, cpu).map(|core| core.id.as_str());
            assert_eq!([of(0), of(19)], [Some("golden-cove-client"), Some("gracemont-client")]);
        }
    }
}

#[test]
fn a_references_own_memory_is_as_slow_as_its_like() {
    let mut beside = Vec::new();
    // If the dies of a package are interleaved no memory belongs to one die.
    for machine in reference::MACHINES.iter().filter(|machine| machine.name != "hygon-7280-interleaved") {
        let record = of(machine);
        let core = diagnose::cores::of_machine(&record.machine);
        let range = |core| diagnose::cores::range_of(core, "dram.latency_local", &record.machine);
        let Some(range) = core.and_then(range) else { continue };
        let within = |m: &&record::Measurement| m.labels.get(Label::From) == m.labels.get(Label::To);
        let far = |m: &&record::Measurement| m.labels.count(Label::Bytes) >= Some(64 << 20);
        let chased = || {
            let node = |m: &&record::Measurement| m.labels.count(Label::Node) == Some(0);
            record.measurements_of("load.latency").filter(far).find(node)
        };
        let Some(own) = record.measurements_of("numa.latency").find(within).or_else(chased) else { continue };
        beside.push((machine.name, own.value(), range.low, range.high));
    }
    let out: Vec<_> =
        beside.iter().filter(|(_, ns, low, high)| *ns < low * 0.95 || *ns > high * 1.05).collect();
    assert!(out.is_empty() && beside.len() >= 9, "{beside:#?}");
}

#[test]
fn runners_of_another_design_or_shape_are_not_comparable() {
    let record = |name: &str| of(reference::find(name).unwrap());
    for (here, baseline, code) in [
        ("epyc-9274f", "epyc-7r13", "passport-other-design"),
        ("xeon-8269cy", "xeon-8269cy-numa", "passport-other-shape"),
    ] {
        let passport = diagnose::passport(&record(here), &record(baseline));
        assert_eq!(passport.outcome, diagnose::Comparable::No);
        assert_eq!(passport.reasons[0].code(), Some(code), "{passport:?}");
    }
}

#[test]
fn a_reference_machine_stands_beside_its_like_and_not_beside_itself() {
    let published: Vec<_> =
        reference::MACHINES.iter().map(|machine| (machine.name.to_owned(), of(machine))).collect();
    let others: Vec<_> = published.iter().filter(|(name, _)| name != "hygon-7280").cloned().collect();
    let like = diagnose::like(&of(reference::find("hygon-7280").unwrap()), &others, None);
    assert_eq!(like.design.as_deref(), Some("Hygon Dhyana (Zen)"));
    let row = like.figures.iter().find(|row| row.what == "memory latency, own node").unwrap();
    assert_eq!(row.position, Some(record::diagnosis::Position::Normal), "{row:?}");
    let names = |name: &str| row.sources.iter().any(|source| source == name);
    assert!(names("hygon-5280") && !names("hygon-7280") && !names("xeon-8269cy-numa"), "{row:?}");
}

#[test]
fn a_percentile_is_among_records_of_such_machines_alone() {
    let record = |name: &str| of(reference::find(name).unwrap());
    let all = ["hygon-5280", "hygon-7280", "xeon-8269cy-numa"].map(record);
    let like = diagnose::like(&record("hygon-7280"), &[], Some(&all));
    assert_eq!(like.among, Some(2));
    let latency = like.figures.iter().find(|row| row.what == "memory latency, own node").unwrap();
    // One of two is below; the other is the record itself.
    assert_eq!(latency.percentile, Some(0.75), "{latency:?}");
}
