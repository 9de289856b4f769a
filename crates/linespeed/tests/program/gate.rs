//! `compare --fail-on`: what ends a job of CI, and what it writes.

use record::comparison::Comparison;
use record::gate::Outcome;
use record::{Label, Labels, Measurement, Record};

use crate::compare::machine;
use crate::support::{Ran, folder, linespeed, run, schema, skipped};

struct Records(tempfile::TempDir);

impl Records {
    fn of(records: &[(&str, &Record)]) -> Self {
        let folder = folder();
        for (name, record) in records {
            std::fs::write(folder.path().join(name), record.to_json().unwrap()).unwrap();
        }
        Self(folder)
    }

    fn compare(&self, args: &[&str]) -> Ran {
        let mut command = linespeed(["compare"].iter().chain(args));
        command.current_dir(self.0.path());
        run(command)
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.path().join(name)).unwrap()
    }
}

/// A machine with memory that answers in so many ns; whose second run began later.
fn pair(base_ns: f64, new_ns: f64) -> Records {
    let base = machine("one", 2, 1e6, base_ns);
    let mut new = machine("one", 2, 1e6, new_ns);
    new.started = "2026-01-02T00:00:00Z".to_owned();
    Records::of(&[("base.json", &base), ("new.json", &new)])
}

#[test]
fn a_loss_beyond_the_bound_ends_with_1_and_less_does_not() {
    let slower = pair(100.0, 125.0);
    for (terms, code) in [
        ("slower:5%", 1),
        ("slower", 1),
        ("slower:15%,load.latency", 1),
        ("slower:15%,load", 1),
        ("slower:5%,workload", 0),
        ("slower:30%", 0),
        ("noisy", 0),
    ] {
        let done = slower.compare(&["base.json", "new.json", "--fail-on", terms]);
        assert_eq!(done.code, Some(code), "{terms}: {} {}", done.stdout, done.stderr);
    }
    // The faster one is not the slower one.
    assert_eq!(slower.compare(&["new.json", "base.json", "--fail-on", "slower:5%"]).code, Some(0));
    // Without the flag nothing is held.
    assert_eq!(slower.compare(&["base.json", "new.json"]).code, Some(0));
}

#[test]
fn noise_that_hides_a_loss_fails_only_where_that_is_asked_for() {
    let base = machine("one", 2, 1e6, 100.0);
    let mut noisy = machine("one", 2, 1e6, 100.0);
    noisy.started = "2026-01-02T00:00:00Z".to_owned();
    for figure in noisy.measurements.iter_mut().filter(|m| m.metric == "workload.throughput") {
        let value = figure.value();
        let samples = [0.6, 1.3, 0.8, 1.1, 0.9, 0.7, 1.2, 1.0].map(|factor| value * factor).to_vec();
        *figure = Measurement::new("workload.throughput", figure.labels.clone(), samples);
    }
    let records = Records::of(&[("base.json", &base), ("new.json", &noisy)]);
    let gate = |terms: &[&str]| {
        let flags: Vec<&str> = terms.iter().flat_map(|terms| ["--fail-on", terms]).collect();
        records.compare(&[&["base.json", "new.json"], flags.as_slice()].concat()).code
    };
    assert_eq!(gate(&["slower:5%"]), Some(0));
    assert_eq!(gate(&["slower:5%", "noisy"]), Some(1));
    assert_eq!(gate(&["noisy"]), Some(1));
    assert_eq!(gate(&["slower:5%,load", "noisy"]), Some(0));
}

#[test]
fn json_and_junit_have_each_figure_and_what_came_of_it() {
    let records = pair(100.0, 125.0);
    let args = ["base.json", "new.json", "--fail-on", "slower:5%", "--junit", "gate.xml", "--json"];
    let done = records.compare(&args);
    assert_eq!(done.code, Some(1), "{}", done.stderr);
    let value: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    let asked = run(linespeed(["schema", "compare"])).succeeds().stdout;
    assert_eq!(schema::faults(&serde_json::from_str(&asked).unwrap(), &value), Vec::<String>::new());
    let comparison: Comparison = serde_json::from_value(value).unwrap();
    let gate = comparison.gate.unwrap();
    assert!(!gate.passed);
    let slower: Vec<_> = gate.held.iter().filter(|held| held.outcome == Outcome::Slower).collect();
    assert!(!slower.is_empty() && slower.iter().all(|held| held.metric == "load.latency"), "{slower:?}");
    let loss = slower[0].loss.unwrap();
    assert!((loss - 0.2).abs() < 0.01, "{loss}");

    let xml = records.read("gate.xml");
    let document = roxmltree::Document::parse(&xml).unwrap();
    let count = |name: &str| document.descendants().filter(|node| node.has_tag_name(name)).count();
    assert_eq!((count("testsuite"), count("testcase")), (1, gate.held.len()));
    assert_eq!(count("failure"), slower.len());
    let suite = document.descendants().find(|node| node.has_tag_name("testsuite")).unwrap();
    assert_eq!(suite.attribute("failures"), Some(slower.len().to_string().as_str()));
    assert_eq!(suite.attribute("tests"), Some(gate.held.len().to_string().as_str()));
}

#[test]
fn a_name_from_a_record_breaks_no_xml() {
    let mut base = machine("one", 2, 1e6, 100.0);
    let mut new = base.clone();
    for (record, value) in [(&mut base, 100.0), (&mut new, 150.0)] {
        let place = Labels::new()
            .with_label(Label::Workload, "a\"<b>&'\u{1}\u{b}\u{fffe}")
            .with_label(Label::Threads, 1u32)
            .with_label(Label::Placement, "cores-first");
        let samples = [1.0, 0.99, 1.01, 1.0, 0.995, 1.005].map(|factor| value * factor).to_vec();
        record.measurements.push(Measurement::new("workload.throughput", place, samples));
    }
    new.started = "2026-01-02T00:00:00Z".to_owned();
    let records = Records::of(&[("base.json", &base), ("new.json", &new)]);
    records.compare(&["base.json", "new.json", "--fail-on", "slower", "--junit", "gate.xml"]).succeeds();
    let xml = records.read("gate.xml");
    let document = roxmltree::Document::parse(&xml).unwrap();
    assert!(
        document.descendants().filter_map(|node| node.attribute("name")).any(|name| name.contains("\"<b>&'"))
    );
}

#[test]
fn a_gate_with_nothing_to_hold_has_not_passed() {
    let base = machine("one", 2, 1e6, 100.0);
    let mut other = machine("one", 2, 1e6, 100.0);
    other.measurements.truncate(0);
    let mut single = base.clone();
    single.started = "2026-01-02T00:00:00Z".to_owned();
    // What is summed up over working sets has samples enough.
    single.measurements.retain(|m| m.metric == "workload.throughput");
    for figure in &mut single.measurements {
        let metric = figure.metric.definition().unwrap().name;
        *figure = Measurement::new(metric, figure.labels.clone(), vec![figure.value()]);
    }
    let records = Records::of(&[("base.json", &base), ("none.json", &other), ("single.json", &single)]);
    for file in ["none.json", "single.json", "base.json"] {
        let args = ["base.json", file, "--fail-on", "slower", "--junit", "gate.xml"];
        records.compare(&args).fails(3, &["--fail-on"]);
        assert!(records.read("gate.xml").contains("<error "), "{file}");
        std::fs::remove_file(records.0.path().join("gate.xml")).unwrap();
    }
    records
        .compare(&["base.json", "single.json", "--fail-on", "slower:5%,cost.syscall"])
        .fails(3, &["no comparable results"]);
}

#[test]
fn what_a_gate_cannot_be_is_refused_with_the_way_out() {
    let records = pair(100.0, 125.0);
    let gate = |terms: &[&str]| records.compare(&[&["base.json", "new.json"], terms].concat());
    gate(&["--fail-on", "slower:5"]).misused(&["slower:5%"]);
    gate(&["--fail-on", "slower:0.1%"]).misused(&["1%"]);
    gate(&["--fail-on", "slower:5%,load.latencies"]).misused(&["load.latency"]);
    gate(&["--junit", "gate.xml"]).fails(2, &["add --fail-on"]);
    gate(&["--fail-on", "warning"]).fails(2, &["slower:5%"]);
    gate(&["--fail-on", "slower", "--fail-on", "slower:3%"]).fails(2, &["only once"]);
    run(linespeed(["show", "reference:kunpeng-920-4826", "--fail-on", "noisy"])).fails(2, &["warning"]);
    run(linespeed(["--fail-on", "slower:5%"])).fails(2, &["warning"]);
    assert!(!records.0.path().join("gate.xml").exists());
}

#[test]
fn commands_in_turn_are_held_by_their_time() {
    let records = pair(100.0, 100.0);
    let stat = |args: &[&str]| {
        let mut command = linespeed(["stat", "-q", "-r", "6"].iter().chain(args));
        command.current_dir(records.0.path()).env("XDG_STATE_HOME", records.0.path());
        run(command)
    };
    let gate = ["--fail-on", "slower:20%", "--junit", "gate.xml", "--"];
    let slower = stat(&[&gate[..], &["true", ":::", "sleep", "0.3"]].concat());
    let count = |name: &str| {
        let xml = records.read("gate.xml");
        let document = roxmltree::Document::parse(&xml).unwrap();
        document.descendants().filter(|node| node.has_tag_name(name)).count()
    };
    // Where other programs take more than the sleep, it is too noisy, and no failure.
    let noisy = count("skipped").min(1);
    assert_eq!((slower.code, count("failure")), (Some(1 - noisy as i32), 1 - noisy), "{}", slower.stderr);
    if noisy > 0 {
        skipped("commands_in_turn_are_held_by_their_time", "other programs took more time than the commands");
    }
    assert_eq!(stat(&[&gate[..], &["sleep", "0.1", ":::", "true"]].concat()).code, Some(0));
    // The time of a command that failed holds nothing, and no older report stands for it.
    let failed = stat(&[&gate[..], &["sleep", "0.05", ":::", "sh", "-c", "exit 7"]].concat());
    assert_eq!(failed.code, Some(7), "{}", failed.stderr);
    assert!(!failed.stderr.contains("Gate"), "{}", failed.stderr);
    assert_eq!(count("error"), 1);
    std::fs::remove_file(records.0.path().join("gate.xml")).unwrap();
    assert_eq!(stat(&[&gate[..], &["true", ":::", "/no/such/program"]].concat()).code, Some(127));
    assert_eq!(count("error"), 1);
    stat(&["--fail-on", "slower", "--junit", "/no/such/folder/a.xml", "--", "true", ":::", "true"])
        .fails(3, &["/no/such/folder/a.xml", "--junit"]);
    stat(&["--fail-on", "slower", "--", "true"]).fails(2, &[":::"]);
    stat(&["--fail-on", "slower:5%,load", "--", "true", ":::", "true"]).fails(2, &["time"]);
    let mut few = linespeed(["stat", "-q", "-r", "2", "--fail-on", "slower", "--", "true", ":::", "true"]);
    few.env("XDG_STATE_HOME", records.0.path());
    run(few).fails(3, &["samples"]);
}
