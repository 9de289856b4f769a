//! `--redact`: of what is marked as a name nothing is left, in any form.

use std::path::Path;
use std::process::Command;

use record::{Label, Labels, Measurement, Record, detail};
use serde_json::json;

use crate::support::{folder, linespeed, ran, run};

/// Every name in the record has this in it.
const MARK: &str = "zqxmark";

/// A record full of names, as stat leaves it.
fn write(path: &Path, host: &str) {
    let words = ["linespeed", "stat", "-o", "/home/zqxmarkuser/zqxmark.json", "--", "/srv/zqxmarkd"];
    let argv = words.iter().map(ToString::to_string).chain([format!("--key={MARK}arg")]).collect();
    let mut record = Record::new("0", "2026-01-02T03:04:05Z".to_owned(), argv);
    record.machine.hostname = Some(format!("{MARK}{host}.example"));
    record.machine.kernel.options = vec![format!("root={MARK}disk")];
    let place = Labels::new().with_label(Label::Workload, "command");
    let mut time = Measurement::new("workload.time", place, vec![1.0; 6]);
    time.detail.set(detail::COMMAND, vec![format!("/srv/{MARK}d"), format!("--key={MARK}arg")]);
    time.detail.set(detail::WITHIN, format!("/system.slice/{MARK}.service"));
    record.measurements.push(time);
    let thread = Labels::new().with_label(Label::Thread, format!("{MARK}thread"));
    record.measurements.push(Measurement::new("workload.time", thread, vec![2.0; 6]));
    let mut value = serde_json::to_value(&record).unwrap();
    value["coverage"] = json!([{"what": "load", "state": "impossible", "reason":
        format!("{MARK}d of /home/{MARK}user, on {MARK}{host}.example, cannot be read")}]);
    value["measurements"][0]["detail"]["waits"] = json!({format!("{MARK}thread"): {}});
    value["import"] = json!({"texts": [{"name": format!("{MARK}.txt"), "lines": 1}], "outputs": [],
        "not_understood": {"lines": 1, "examples": [{"tool": "?", "text": format!("{MARK}.txt"), "line": 1, "says": format!("secret {MARK}")}]}});
    // An import is another kind of record: these fields are looked at as they stand.
    if Record::from_json(&serde_json::to_vec(&value).unwrap()).is_err() {
        value.as_object_mut().unwrap().remove("import");
    }
    std::fs::write(path, serde_json::to_vec(&value).unwrap()).unwrap();
}

fn is_clean(of: &str, text: &str) {
    assert!(!text.is_empty(), "{of} is empty");
    let at = text.find(MARK);
    let around = at.map(|at| text.get(at.saturating_sub(80)..(at + 60).min(text.len())));
    assert!(at.is_none(), "{of}: …{around:?}…");
}

#[test]
fn a_redacted_record_has_no_name_in_any_form() {
    let folder = folder();
    let path = folder.path().join(format!("{MARK}-a.json"));
    write(&path, "one");
    let path = path.to_str().unwrap();
    assert!(ran(["show", path, "--all"]).succeeds().stdout.contains(MARK), "the marks are shown without it");
    for form in [&["--json"][..], &["--csv"], &["--markdown"], &["--html"], &["--all"], &[]] {
        let args = ["show", path, "--redact"].into_iter().chain(form.iter().copied());
        let shown = ran(args).succeeds();
        is_clean(&format!("show {form:?}"), &shown.stdout);
        assert!(!shown.stderr.contains(MARK), "{}", shown.stderr);
    }
    for name in ["out.json", "out.csv", "out.md", "out.html"] {
        let out = folder.path().join(name);
        let prom = folder.path().join("out.prom");
        ran(["show", path, "--redact", "-o", out.to_str().unwrap(), "--prom", prom.to_str().unwrap()])
            .succeeds();
        is_clean(name, &std::fs::read_to_string(&out).unwrap());
        is_clean("prom", &std::fs::read_to_string(&prom).unwrap());
    }
    let again = Record::read(&folder.path().join("out.json")).unwrap();
    assert_eq!(again.machine.hostname.as_deref(), Some("host-1"));
    assert_eq!(again.measurements.len(), 2);
}

#[test]
fn records_that_are_compared_have_pseudonyms_that_tell_them_apart() {
    let folder = folder();
    let paths = ["one", "two"].map(|host| {
        let path = folder.path().join(format!("{MARK}-{host}.json"));
        write(&path, host);
        path.to_str().unwrap().to_owned()
    });
    for form in [&["--json"][..], &["--csv"], &["--html"], &["--all"]] {
        let args = ["compare", &paths[0], &paths[1], "--redact"].into_iter().chain(form.iter().copied());
        let compared = ran(args).succeeds();
        is_clean(&format!("compare {form:?}"), &compared.stdout);
        assert!(!compared.stderr.contains(MARK), "{}", compared.stderr);
        if form == ["--json"] {
            assert!(
                compared.stdout.contains("file-1") && compared.stdout.contains("file-2"),
                "{}",
                compared.stdout
            );
        }
    }
}

#[test]
fn what_is_measured_with_it_has_no_name_either() {
    let folder = folder();
    let program = folder.path().join(format!("{MARK}d"));
    std::fs::copy("/bin/true", &program).unwrap();
    let out = folder.path().join("out.json");
    let mut command: Command = linespeed(["stat", "--redact", "-o"]);
    command.arg(&out).arg("--").arg(&program).arg(format!("--key={MARK}arg"));
    let ran = run(command);
    assert_eq!(ran.code, Some(0));
    is_clean("stat", &ran.stderr);
    is_clean("the record of stat", &std::fs::read_to_string(&out).unwrap());
    let mut command = linespeed(["inspect", "--redact", "--json"]);
    command.env("USER", MARK);
    let inspected = run(command).succeeds().stdout;
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let named = Record::from_json(inspected.as_bytes()).unwrap().machine.hostname;
    assert!(named.is_none_or(|named| named == "host-1" && named != host.trim()));
}

#[test]
fn what_cannot_be_redacted_says_so() {
    ran(["live", "--once", "1s", "--redact"]).fails(2, &["--redact"]);
    ran(["fleet", ".", "--redact"]).fails(2, &["--redact"]);
}
