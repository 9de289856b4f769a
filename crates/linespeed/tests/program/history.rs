//! `linespeed history`: a machine over its records, what changed between which, and records that are not its own.

use std::path::{Path, PathBuf};

use record::{Label, Labels, Measurement, Record};
use serde_json::Value;

use crate::support::{Ran, folder, ran, schema};

/// Writes a record of a clock and a kernel, begun at that day of January 2026.
fn keep(folder: &Path, host: &str, day: usize, hz: f64, kernel: &str) -> PathBuf {
    let started = format!("2026-01-{day:02}T03:04:05Z");
    let mut record = Record::new("0", started.clone(), vec!["linespeed".to_owned()]);
    record.machine.hostname = Some(host.to_owned());
    record.machine.kernel.release = Some(kernel.to_owned());
    record.seconds = Some(60.0);
    let labels = Labels::new()
        .with_label(Label::Active, "all")
        .with_label(Label::Cpu, 0u32)
        .with_label(Label::Vector, "scalar");
    let samples = (0..8).map(|n| hz * (1.0 + 0.0005 * f64::from(n))).collect();
    record.measurements.push(Measurement::new("core.clock", labels, samples));
    let path = folder.join(record::file_name::record_name(Some(host), &started) + ".json");
    std::fs::write(&path, record.to_json().unwrap()).unwrap();
    path
}

/// Sixteen records of which the last six are of another kernel and a lower clock.
fn changed(folder: &Path) {
    for day in 1..=16 {
        let wobble = [0.0, 4e6, -3e6, 2e6][day % 4];
        let (hz, kernel) = if day <= 10 { (3.0e9, "6.1") } else { (2.7e9, "6.2") };
        keep(folder, "db1", day, hz + wobble, kernel);
    }
}

fn history(folder: &Path, more: &[&str]) -> Ran {
    let mut words = vec!["history", "--host", "db1", "--from", folder.to_str().unwrap()];
    words.extend(more);
    ran(words)
}

fn told(folder: &Path, more: &[&str]) -> Value {
    serde_json::from_str(&history(folder, &[more, &["--json"]].concat()).succeeds().stdout).unwrap()
}

#[test]
fn a_change_is_dated_between_two_records_and_explained_by_what_changed_there() {
    let folder = folder();
    changed(folder.path());
    let said = told(folder.path(), &["core"]);
    let change = &said["lines"][0]["changes"][0];
    assert_eq!((change["before"].as_u64(), change["after"].as_u64()), (Some(9), Some(10)), "{said}");
    assert!(change["slower"] == true && (change["ratio"].as_f64().unwrap() - 0.9).abs() < 0.01, "{change}");
    assert_eq!(change["differences"][0]["from"], "machine.kernel.release");
    assert_eq!(change["differences"][0]["values"], serde_json::json!(["6.1", "6.2"]));
    assert_eq!(said["lines"][0]["changes"].as_array().unwrap().len(), 1);
    for columns in ["80", "160"] {
        let mut command = crate::support::linespeed(["history", "core", "--host", "db1", "--from"]);
        command.arg(folder.path()).env("COLUMNS", columns);
        insta::assert_snapshot!(format!("history_{columns}"), crate::support::run(command).succeeds().stdout);
    }
    let page = history(folder.path(), &["core", "--html"]).succeeds().stdout;
    assert!(page.contains("<svg") && page.contains("6.2"));
    // The order in which Apache Otava reads: time, attribute, a column a figure.
    let csv = history(folder.path(), &["core", "--csv"]).succeeds().stdout;
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!((lines[0], lines.len()), ("time,record,core", 17));
    assert!(lines[1].starts_with("2026-01-01T03:04:05Z,db1-20260101T030405Z,3"), "{csv}");
}

#[test]
fn what_is_not_this_machines_or_broken_is_counted_and_named() {
    let folder = folder();
    changed(folder.path());
    keep(folder.path(), "db2", 1, 1e9, "6.1");
    let whole = std::fs::read(keep(folder.path(), "db1", 17, 2.7e9, "6.2")).unwrap();
    let half = folder.path().join("db1-20260118T030405Z.json");
    std::fs::write(&half, &whole[..whole.len() / 2]).unwrap();
    // Two runs of one machine overlap only where its clock went back.
    let mut overlapping: Value = serde_json::from_slice(&whole).unwrap();
    overlapping["started"] = "2026-01-17T03:04:35Z".into();
    std::fs::write(folder.path().join("db1-20260117T030435Z.json"), overlapping.to_string()).unwrap();
    let mut ahead: Value = overlapping;
    ahead["started"] = "2099-01-17T03:04:35Z".into();
    std::fs::write(folder.path().join("db1-20990117T030435Z.json"), ahead.to_string()).unwrap();
    let said = told(folder.path(), &[]);
    assert_eq!((said["others"].as_u64(), said["records"].as_array().unwrap().len()), (Some(1), 19));
    let remark = |code: &str| {
        let remarks = said["remarks"].as_array().unwrap();
        let found = remarks.iter().find(|remark| remark["code"] == code);
        found.unwrap_or_else(|| panic!("no {code}: {said}")).clone()
    };
    assert_eq!(remark("fleet-half")["examples"][0], half.to_str().unwrap());
    for clock in ["history-clock-went-back", "history-clock-ahead"] {
        assert_eq!(remark(clock)["count"], 1, "{said}");
    }
    // The newest alone are read, and the others counted.
    let said = told(folder.path(), &["--last", "5"]);
    assert_eq!(said["older"].as_u64(), Some(14));
    assert_eq!(said["lines"][0]["needs"].as_u64(), Some(8));
}

#[test]
fn records_of_commands_take_no_place_of_those_that_are_asked_for() {
    let folder = folder();
    changed(folder.path());
    for day in 17..=20 {
        let path = keep(folder.path(), "db1", day, 2.7e9, "6.2");
        let mut of_a_command: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        of_a_command["measurements"] = serde_json::json!([]);
        std::fs::write(&path, of_a_command.to_string()).unwrap();
    }
    let said = told(folder.path(), &["--last", "3"]);
    assert_eq!((said["records"].as_array().unwrap().len(), said["older"].as_u64()), (3, Some(13)), "{said}");
    assert_eq!(said["remarks"][0]["count"], 4, "{said}");
}

#[test]
fn without_records_or_with_unknown_names_the_way_out_is_said() {
    let folder = folder();
    history(folder.path(), &[]).fails(3, &["no record of db1", "run linespeed now"]);
    history(folder.path(), &["core.clok"]).fails(2, &["did you mean core.clock?"]);
    let missing = folder.path().join("missing").to_string_lossy().into_owned();
    ran(["history", "--from", &missing]).fails(3, &[&missing, "--from requires a directory of records"]);
}

#[test]
fn json_is_as_its_schema_says() {
    let folder = folder();
    changed(folder.path());
    let schema: Value = serde_json::from_str(&ran(["schema", "history"]).succeeds().stdout).unwrap();
    assert_eq!(schema::faults(&schema, &told(folder.path(), &["core"])), Vec::<String>::new());
}
