//! What linespeed says about itself: explain and list.

use crate::support::{ran, share_of};

fn list() -> Vec<serde_json::Value> {
    serde_json::from_str(&ran(["list", "--json"]).succeeds().stdout).unwrap()
}

#[test]
fn the_list_tells_of_each_measurement_what_it_takes() {
    let entries = list();
    assert_eq!(entries.len(), measure::MEASUREMENTS.len());
    let text = ran(["list"]).succeeds().stdout;
    for entry in &entries {
        let name = entry["name"].as_str().unwrap();
        assert!(text.contains(name), "{name} is missing in:\n{text}");
        let seconds = |depth: &str| entry["seconds"][depth].as_f64().unwrap();
        if entry["state"] != "impossible" {
            assert!(seconds("normal") > 0.0 && seconds("full") >= seconds("normal"), "{name}");
            // 0 where a quick run of everything leaves it out.
            assert!((0.0..=seconds("normal")).contains(&seconds("quick")), "{name}");
        }
        assert!(entry["state"] == "measured" || entry["reason"].is_string(), "{name} without a reason");
    }
}

#[test]
fn everything_that_is_listed_or_measured_is_explained() {
    let mut names: Vec<String> = record::metrics::all().map(|metric| metric.name.to_owned()).collect();
    for entry in list() {
        names.push(entry["name"].as_str().unwrap().to_owned());
        names.extend(entry["metrics"].as_array().unwrap().iter().map(|m| m.as_str().unwrap().to_owned()));
    }
    for name in ["governor", "smt", "thp", "numa_balancing", "epp", "steal", "node", "conditions.before.thp"]
    {
        names.push(name.to_owned());
    }
    for name in share_of("everything_that_is_listed_or_measured_is_explained", 3, names) {
        let said = ran(["explain", &name]).succeeds().stdout;
        assert!(said.lines().count() >= 3, "{name}: {said}");
    }
}

#[test]
fn a_metric_is_explained_with_how_it_is_measured_what_is_usual_and_what_moves_it() {
    let all = record::metrics::all();
    for metric in share_of("a_metric_is_explained_with_how_it_is_measured", 3, all) {
        let word: serde_json::Value =
            serde_json::from_str(&ran(["explain", metric.name, "--json"]).succeeds().stdout).unwrap();
        for part in ["what", "how", "usual", "moves"] {
            assert!(
                word[part].as_str().is_some_and(|t| t.len() > 15),
                "{}: {part}: {}",
                metric.name,
                word[part]
            );
        }
    }
}

#[test]
fn explain_alone_lists_every_name() {
    let all = ran(["explain"]).succeeds().stdout;
    for metric in record::metrics::all() {
        assert!(all.contains(metric.name), "{}", metric.name);
    }
}
