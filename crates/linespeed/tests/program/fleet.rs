//! `linespeed fleet`: folders as they are collected, whatever lies in them.

use std::path::Path;

use record::{Ended, Record};
use serde_json::Value;

use crate::support::{folder, linespeed, ran, run, schema};

#[path = "../../../fleet/tests/made_up/mod.rs"]
mod made_up;

use made_up::write;

/// The record of a machine, whose memory bandwidth is this share of the others'.
fn machine(number: u32, speed: f64) -> Record {
    let mut record = made_up::machine(number, ("memory.bandwidth", speed));
    record.tool.version = env!("CARGO_PKG_VERSION").to_owned();
    // Nothing disturbed these runs.
    record.conditions.after = None;
    record
}

/// Twelve machines, of which node05 has 0.75 of the others' bandwidth.
fn twelve(folder: &Path) {
    for number in 0..12 {
        write(folder, &format!("{number}.json"), &machine(number, if number == 5 { 0.75 } else { 1.0 }));
    }
}

fn json(folder: &Path) -> Value {
    let ran = ran(["fleet", folder.to_str().unwrap(), "--json"]).succeeds();
    serde_json::from_str(&ran.stdout).unwrap()
}

/// The code of each remark, its files, and whether these are left out.
fn remarks(fleet: &Value) -> Vec<(String, u64, bool)> {
    let of = |remark: &Value| {
        let count = remark["count"].as_u64().unwrap();
        (remark["code"].as_str().unwrap().to_owned(), count, remark["left_out"].as_bool().unwrap())
    };
    let mut all: Vec<_> = fleet["reading"]["remarks"].as_array().unwrap().iter().map(of).collect();
    all.sort_unstable();
    all
}

#[test]
fn a_folder_without_records_or_that_is_not_there_says_what_to_do() {
    let folder = folder();
    let at = folder.path().to_str().unwrap();
    ran(["fleet", at]).fails(3, &["no .json file", "--output"]);
    std::fs::write(folder.path().join("a.json"), "").unwrap();
    std::fs::write(folder.path().join("b.json"), "{\"nodes\": 3}").unwrap();
    ran(["fleet", at]).fails(3, &["no records", "1 empty"]);
    assert_ne!(ran(["fleet", &format!("{at}/none")]).code, Some(0));
    ran(["fleet"]).misused(&["DIR|FILE"]);
}

#[test]
fn the_slow_machine_is_named_in_every_form_and_its_class_is_a_baseline() {
    let folder = folder();
    twelve(folder.path());
    let at = folder.path().to_str().unwrap();
    let out = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let said = json(folder.path());
    assert_eq!((&said["reading"]["machines"], remarks(&said).len()), (&12.into(), 0), "{said}");
    let slow = said["slow"].as_array().unwrap();
    assert_eq!((slow.len(), &slow[0]["machine"]), (1, &"node05".into()), "{slow:?}");
    let speed = slow[0]["figures"][0]["speed"].as_f64().unwrap();
    assert!((speed - 0.75).abs() < 0.02, "{speed}");
    assert!(ran(["fleet", at]).succeeds().stdout.contains("node05"));
    // One line a machine and figure, and the same figures as the records have.
    let csv = ran(["fleet", at, "--csv"]).succeeds().stdout;
    let head = csv.lines().next().unwrap();
    assert!(head.starts_with("machine,") && head.contains("metric") && head.contains("value"), "{head}");
    let lines = |machine: &str| csv.lines().filter(|line| line.starts_with(&format!("{machine},"))).count();
    assert!(lines("node05") > 20 && lines("node05") == lines("node11"), "{}", lines("node05"));
    let page = ran(["fleet", at, "--html", "--baseline", &out("base.line")]).succeeds().stdout;
    assert!(page.contains("</html>") && page.contains("node05"));
    // A baseline among the records is no record.
    std::fs::copy(out("base.line"), out("baseline.json")).unwrap();
    assert_eq!(remarks(&json(folder.path())), [("fleet-is-baseline".to_owned(), 1, true)]);
}

#[test]
fn a_baseline_of_another_class_says_which_facts_differ() {
    let folder = folder();
    for number in 0..6 {
        let mut record = machine(number, 1.0);
        record.machine.processor.model_name = Some("another processor".to_owned());
        record.machine.architecture = "riscv64".to_owned();
        write(folder.path(), &format!("{number}.json"), &record);
    }
    let baseline = folder.path().join("base.line");
    let baseline = baseline.to_str().unwrap();
    ran(["fleet", folder.path().to_str().unwrap(), "--baseline", baseline]).succeeds();
    let checked = ran(["check", "--baseline", baseline, "--json"]);
    let result: Value = serde_json::from_str(&checked.stdout).unwrap();
    assert_eq!((checked.code, &result["result"]["outcome"]), (Some(3), &"other-class".into()), "{result}");
    let facts = result["result"]["facts"].as_array().unwrap();
    assert!(facts.iter().all(|fact| fact["here"] != fact["baseline"]) && !facts.is_empty(), "{facts:?}");
}

#[test]
fn one_machine_and_machines_that_are_all_different_are_held_against_nothing() {
    let one = folder();
    write(one.path(), "a.json", &machine(0, 1.0));
    let baseline = one.path().join("base.line");
    let words = ["fleet", one.path().to_str().unwrap(), "--baseline", baseline.to_str().unwrap()];
    let refused = ran(words);
    assert!(refused.code == Some(3) && refused.stderr.contains("no baseline written"), "{refused:?}");
    assert!(!baseline.exists());
    let said = json(one.path());
    assert_eq!((&said["classes"][0]["judged"], said["slow"].as_array().unwrap().len()), (&false.into(), 0));
    assert!(
        ran(["fleet", one.path().to_str().unwrap()]).succeeds().stdout.contains("linespeed check --baseline")
    );
    let all = folder();
    for number in 0..7 {
        let mut record = machine(number, 0.5 + 0.1 * f64::from(number));
        record.machine.processor.model_name = Some(format!("processor {number}"));
        write(all.path(), &format!("{number}.json"), &record);
    }
    let said = json(all.path());
    let classes = said["classes"].as_array().unwrap();
    assert_eq!((classes.len(), said["slow"].as_array().unwrap().len()), (7, 0), "{said}");
    assert!(classes.iter().all(|class| class["judged"] == false && class["note"].is_string()));
    assert!(said["instead"][0].as_str().unwrap().starts_with("linespeed compare "), "{said}");
}

#[test]
fn whatever_lies_among_the_records_is_counted_and_named_and_ends_nothing() {
    let folder = folder();
    twelve(folder.path());
    let at = folder.path();
    let whole = machine(5, 0.75).to_json().unwrap();
    // The same record twice, an earlier one of the same machine, an older version's, a run that ended early.
    std::fs::copy(at.join("3.json"), at.join("copy of 3.json")).unwrap();
    let mut earlier = machine(4, 1.0);
    earlier.started = "2026-11-20T10:00:00Z".to_owned();
    write(at, "4 before.json", &earlier);
    let mut older = machine(20, 1.0);
    older.tool.version = "0.1.0".to_owned();
    write(at, "older.json", &older);
    let mut early = machine(21, 1.0);
    early.ended = Ended::Interrupted { signal: 15 };
    write(at, "early.json", &early);
    // One whose clock is a year off, and one that has no time.
    let mut clock = machine(22, 1.0);
    clock.started = "2025-11-24T10:22:00Z".to_owned();
    write(at, "clock.json", &clock);
    let mut no_time = machine(23, 1.0);
    no_time.started = "yesterday".to_owned();
    write(at, "no time.json", &no_time);
    // What has no figures, and what is no record.
    let inventory = ran(["inspect", "--json"]).succeeds().stdout;
    std::fs::write(at.join("inventory.json"), inventory).unwrap();
    std::fs::write(at.join("half.json"), &whole[..whole.len() / 2]).unwrap();
    std::fs::write(at.join("foreign\u{1b}[2J\nname.json"), "{\"a\": 1}").unwrap();
    std::fs::write(at.join("text.json"), "hello").unwrap();
    // A folder whose name is no text.
    let odd = at.join(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"a\n\xff\x9b2J"));
    std::fs::create_dir(&odd).unwrap();
    std::fs::write(odd.join("\u{202e}\t.json"), "hello").unwrap();
    std::fs::write(at.join("newer.json"), "{\"schema\": 99}").unwrap();
    std::os::unix::fs::symlink("/dev/zero", at.join("device.json")).unwrap();
    std::os::unix::fs::symlink("nowhere", at.join("dangling.json")).unwrap();
    let mut host = machine(24, 1.0);
    host.machine.hostname = Some("\u{1b}[31mred\nline\",x".to_owned());
    write(at, "host.json", &host);
    let said = json(at);
    let expected = [
        ("fleet-broken-off", 1, false),
        ("fleet-foreign", 1, true),
        ("fleet-half", 1, true),
        ("fleet-newer", 1, true),
        ("fleet-no-figures", 1, true),
        ("fleet-no-regular-file", 1, true),
        ("fleet-no-time", 1, false),
        ("fleet-not-json", 2, true),
        ("fleet-older", u64::from(env!("CARGO_PKG_VERSION") != "0.1.0"), false),
        ("fleet-other-clock", 1, false),
        ("fleet-same-record", 1, true),
        ("fleet-unreadable", 1, true),
    ];
    let expected: Vec<_> = expected
        .into_iter()
        .filter(|(_, count, _)| *count > 0)
        .map(|(code, count, left_out)| (code.to_owned(), count, left_out))
        .collect();
    assert_eq!(remarks(&said), expected);
    assert_eq!((&said["reading"]["machines"], &said["reading"]["earlier"]), (&17.into(), &1.into()));
    assert_eq!(said["slow"][0]["machine"], "node05", "{}", said["slow"]);
    for words in [vec![], vec!["--all"], vec!["--csv"], vec!["--json"], vec!["--html"]] {
        let shown = ran([&["fleet", at.to_str().unwrap()], words.as_slice()].concat()).succeeds().stdout;
        let acted_on = |c: char| c.is_control() && !matches!(c, '\n' | '\r');
        assert!(!shown.contains(acted_on), "{words:?}");
    }
}

#[test]
fn a_watch_is_no_record_of_figures() {
    let folder = folder();
    twelve(folder.path());
    let watch = folder.path().join("watch.json");
    let mut live = linespeed(["live", "--once", "1s", "--output", watch.to_str().unwrap()]);
    live.env("XDG_STATE_HOME", folder.path());
    run(live).succeeds();
    let said = json(folder.path());
    let mut of_watch = said["reading"]["remarks"].as_array().unwrap().iter();
    let of_watch = of_watch.find(|remark| remark["examples"].to_string().contains("watch.json"));
    assert_eq!(of_watch.map(|remark| &remark["code"]), Some(&"fleet-watch".into()), "{said}");
    assert_eq!(said["reading"]["machines"], 12);
}

#[test]
fn json_is_as_its_schema_says() {
    let folder = folder();
    twelve(folder.path());
    std::fs::write(folder.path().join("half.json"), "{").unwrap();
    let schema: Value = serde_json::from_str(&ran(["schema", "fleet"]).succeeds().stdout).unwrap();
    assert_eq!(schema::faults(&schema, &json(folder.path())), Vec::<String>::new());
    // Of two machines there are other fields.
    for number in 2..12 {
        std::fs::remove_file(folder.path().join(format!("{number}.json"))).unwrap();
    }
    assert_eq!(schema::faults(&schema, &json(folder.path())), Vec::<String>::new());
}
