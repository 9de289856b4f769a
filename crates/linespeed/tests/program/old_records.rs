//! Records that linespeed 0.1 wrote are read, shown and compared as they were then.

use std::path::PathBuf;

use serde_json::Value;

use crate::support::ran;

/// A file that linespeed 0.1 wrote: `main.json` by its main job, `stat.json` by `stat`, `import.json` by `import`,
/// `compared.json` by `compare import.json reference:kunpeng-920-4826 --json`.
fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/records/0.1").join(name)
}

fn written(name: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(file(name)).unwrap()).unwrap()
}

fn shown(name: &str) -> Value {
    let text = ran(["show".as_ref(), file(name).as_os_str(), "--json".as_ref()]).succeeds().stdout;
    serde_json::from_str(&text).unwrap()
}

/// Some fields of each member of a list.
fn fields(list: &Value, names: &[&str]) -> Vec<Vec<Value>> {
    let list = list.as_array().unwrap_or_else(|| panic!("no list: {list}"));
    list.iter().map(|member| names.iter().map(|name| member[name].clone()).collect()).collect()
}

#[test]
fn their_figures_and_inventory_are_shown_as_they_were_written() {
    for name in ["main.json", "stat.json", "import.json"] {
        let (before, after) = (written(name), shown(name));
        let figure = ["metric", "unit", "where", "samples", "summary", "doubt"];
        let figures = fields(&before["measurements"], &figure);
        assert!(figures.len() >= 15, "{name} has {} figures", figures.len());
        assert_eq!(figures, fields(&after["measurements"], &figure), "{name}");
        assert_eq!(before["machine"], after["machine"], "{name}");
        let covered = ["what", "state", "reason", "remedy"];
        assert_eq!(
            fields(&before["coverage"], &covered),
            fields(&after["coverage"], &covered),
            "{name}: what could not be measured"
        );
    }
}

#[test]
fn the_same_is_found_in_them() {
    for list in ["findings", "levels", "resources"] {
        let count = written("main.json")["diagnosis"][list].as_array().map_or(0, Vec::len);
        assert!(count > 1, "the main job's record has {count} {list} to hold");
    }
    for name in ["main.json", "stat.json", "import.json"] {
        let (before, after) = (written(name), shown(name));
        let (before, after) = (&before["diagnosis"], &after["diagnosis"]);
        let found = ["rule", "severity", "loss"];
        // Why a loss is not measurable is a sentence, which may be edited.
        let findings = |diagnosis: &Value| {
            let mut findings = diagnosis["findings"].clone();
            for finding in findings.as_array_mut().into_iter().flatten() {
                if let Some(loss) = finding["loss"].as_object_mut() {
                    loss.remove("reason");
                }
            }
            fields(&findings, &found)
        };
        match name {
            // Of a command its verdict is told, and no findings of the machine beside it.
            "stat.json" => assert_eq!(after["findings"], serde_json::json!([])),
            "main.json" => one_cause_is_one_finding(before, after),
            _ => assert_eq!(findings(before), findings(after), "{name}"),
        }
        // What a level is judged to be is a sentence, which may be edited.
        let figure = ["name", "latency_ns", "latency_cycles", "measured_bytes", "advertised_bytes"];
        let levels = |diagnosis: &Value| fields(&diagnosis["levels"], &figure);
        if !before["levels"].is_null() {
            assert_eq!(levels(before), levels(after), "{name}");
        }
        if !before["resources"].is_null() {
            // What is delivered is no longer mixed with time that others took, or with timer slack, and wake-ups are those of the
            // worse of two CPUs.
            let figure: &[&str] = match name {
                "main.json" => &["name", "unit", "source"],
                _ => &["name", "unit", "ceiling", "source", "delivered", "share"],
            };
            let resources = |diagnosis: &Value| fields(&diagnosis["resources"], figure);
            assert_eq!(resources(before), resources(after), "{name}");
            assert_eq!(before["resources"][0]["ceiling"], after["resources"][0]["ceiling"], "{name}");
        }
    }
}

/// 0.1 found other programs' work three times over, a guest's L3, and Linux' own timer slack. What others took is one finding
/// now, as large as the dearest of those.
fn one_cause_is_one_finding(before: &Value, after: &Value) {
    let found = fields(&after["findings"], &["rule", "severity"]);
    assert_eq!(
        found,
        [["other-load", "serious"], ["stolen-below", "note"]].map(|row| row.map(Value::from).to_vec())
    );
    let before = before["findings"].as_array().unwrap().iter().find(|f| f["rule"] == "stolen-os").unwrap();
    let [low, high] = [0, 1].map(|end| before["loss"]["interval"][end].as_f64().unwrap());
    let share = after["findings"][0]["loss"]["share"].as_f64().unwrap();
    assert!((low..=high).contains(&share), "{share} of {low} to {high}");
}

#[test]
fn they_have_a_report_and_a_page() {
    for name in ["main.json", "stat.json", "import.json"] {
        let text = ran(["show".as_ref(), file(name).as_os_str()]).succeeds().stdout;
        assert!(text.lines().count() > 10, "{name}:\n{text}");
        let page = ran(["show".as_ref(), file(name).as_os_str(), "--html".as_ref()]).succeeds().stdout;
        assert!(page.trim_end().ends_with("</html>"), "{name}");
    }
}

#[test]
fn they_compare_as_they_did() {
    let before = written("compared.json");
    let import = file("import.json");
    let args = ["compare", import.to_str().unwrap(), "reference:kunpeng-920-4826", "--json"];
    let after: Value = serde_json::from_str(&ran(args).succeeds().stdout).unwrap();
    let row = ["group", "metric", "unit", "where"];
    for list in ["rows", "figures"] {
        assert!(!before[list].as_array().unwrap().is_empty(), "{list}");
        assert_eq!(fields(&before[list], &row), fields(&after[list], &row), "{list}");
        let cells = |comparison: &Value| -> Vec<Vec<Vec<Value>>> {
            let rows = comparison[list].as_array().unwrap();
            rows.iter().map(|row| fields(&row["cells"], &["value", "ratio"])).collect()
        };
        assert_eq!(cells(&before), cells(&after), "{list}");
    }
}
