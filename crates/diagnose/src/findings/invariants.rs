//! Requirements that every finding must meet, checked in the tests of each rule.

use record::diagnosis::Finding;
use record::{Measurement, Record, Remedy, Text, Verdict};
use serde_json::Value;

use super::{Case, Rule};
use crate::figures::locate_figure;
use crate::record_index::RecordIndex;

/// The findings of a rule in a record, each checked against the general requirements; empty if the rule reports a missing input.
pub(crate) fn found(record: &Record, rule: Rule) -> Vec<Finding> {
    let index = RecordIndex::new(record);
    let numa = crate::numa::numa(&index);
    let case = Case { index: &index, numa: numa.as_ref() };
    if rule.missing(&case).is_some() {
        return Vec::new();
    }
    let all = rule.findings(&case);
    assert!(all.iter().all(|finding| finding.rule == rule.name), "{all:?}");
    assert_sound(record, &all);
    all
}

/// The input of a rule that a record lacks. A rule with a missing input must not find anything.
pub(crate) fn missing(record: &Record, rule: Rule) -> Option<&'static str> {
    let index = RecordIndex::new(record);
    let numa = crate::numa::numa(&index);
    rule.missing(&Case { index: &index, numa: numa.as_ref() })
}

/// Panics if a finding lacks something that a user needs; the message contains the finding.
pub(crate) fn assert_sound(record: &Record, found: &[Finding]) {
    if found.is_empty() {
        return;
    }
    let mut whole = record.clone();
    whole.diagnosis = crate::diagnose(record);
    let json: Value = serde_json::from_str(&whole.to_json().expect("a record can be written as JSON"))
        .expect("a record is JSON");
    for finding in found {
        assert!(!finding.what.is_empty() && !finding.what.to_string().ends_with('.'), "what: {finding:#?}");
        assert!(!finding.remedy.is_empty(), "no remedy: {finding:#?}");
        assert!(!finding.evidence.is_empty(), "no evidence: {finding:#?}");
        for seen in &finding.evidence {
            assert!(!seen.says.is_empty(), "evidence: {finding:#?}");
            assert!(
                resolves(&json, record, &seen.from),
                "not in the record: {:?} of {finding:#?}",
                seen.from
            );
        }
        match &finding.loss {
            Verdict::Costs { share, interval: (low, high) } => {
                assert!(0.0 < *share && *share <= 1.0, "share: {finding:#?}");
                assert!(
                    0.0 <= *low && low <= share && share <= high && *high <= 1.0,
                    "interval: {finding:#?}"
                );
            }
            Verdict::NotMeasurable { reason } => assert!(!reason.is_empty(), "reason: {finding:#?}"),
            Verdict::NotResolved { .. } | Verdict::TooNoisy { .. } => {
                assert!(!finding.measured, "measured but not resolved: {finding:#?}");
            }
        }
        assert_undone(finding);
    }
}

/// Tools whose changes are temporary.
const TOOLS: [&str; 4] = ["cpupower idle-set", "chcpu", "docker update", "systemctl set-property"];

/// Asserts that everything that a remedy changes on the machine can be reverted: each written file, each setting, each boot option.
fn assert_undone(finding: &Finding) {
    let commands = |all: &[Remedy]| all.iter().filter_map(|one| one.command.clone()).collect::<Vec<_>>();
    let undo = commands(&finding.undo).join("\n");
    let undone =
        |changed: &str| assert!(undo.contains(changed), "no undo command for {changed:?}: {finding:#?}");
    for command in commands(&finding.remedy) {
        for written in command.split("sudo tee ").skip(1) {
            let path: String = written.chars().take_while(|c| !c.is_whitespace() && *c != ';').collect();
            undone(&path);
        }
        for key in command.split("sudo sysctl ").skip(1) {
            undone(key.split('=').next().unwrap_or(key));
        }
        TOOLS.iter().filter(|tool| command.contains(**tool)).for_each(|tool| undone(tool));
    }
    let is_boot_option = |remedy: &Remedy| {
        remedy.text.as_ref().and_then(Text::code).is_some_and(|code| code.ends_with("-boot-option"))
    };
    if finding.remedy.iter().any(is_boot_option) {
        assert!(!finding.undo.is_empty(), "no undo command for a boot option: {finding:#?}");
    }
}

/// Whether `from` refers to existing data in the record: `machine.cpus[3].max_hz`, `machine.caches[].bytes and .cpus`,
/// `coverage[] latency 2MiB`, `wakeup.latency cpu=0 setting=as-is`, `memory.bandwidth op=triad detail.rounds`.
fn resolves(json: &Value, record: &Record, from: &str) -> bool {
    if let Some(what) = from.strip_prefix("coverage[] ") {
        return record.coverage.iter().any(|coverage| coverage.what == what);
    }
    let of_inventory = ["machine.", "conditions.", "diagnosis."].iter().any(|part| from.starts_with(part));
    if !of_inventory {
        return record.measurements.iter().any(|m| is_at(m, from));
    }
    let mut parent = "";
    from.split(" and ").all(|path| {
        let whole = if path.starts_with('.') { format!("{parent}{path}") } else { path.to_owned() };
        if !path.starts_with('.') {
            parent = path.rsplit_once('.').map_or("", |(parent, _)| parent);
        }
        stands_at(json, &whole)
    })
}

/// Whether there is a non-null value at a path; the last key may contain dots.
fn stands_at(value: &Value, path: &str) -> bool {
    if path.is_empty() {
        return !value.is_null();
    }
    if value.get(path).is_some_and(|value| !value.is_null()) {
        return true;
    }
    let (step, rest) = path.split_once('.').unwrap_or((path, ""));
    let (name, index) = step.split_once('[').map_or((step, None), |(name, index)| (name, Some(index)));
    let Some(value) = value.get(name) else { return false };
    match index.map(|index| index.trim_end_matches(']')) {
        None => stands_at(value, rest),
        Some("") => value.as_array().is_some_and(|all| all.iter().any(|value| stands_at(value, rest))),
        Some(index) => {
            index.parse::<usize>().is_ok_and(|i| value.get(i).is_some_and(|value| stands_at(value, rest)))
        }
    }
}

/// Whether a measurement has the metric and all keys of a place.
fn is_at(m: &Measurement, from: &str) -> bool {
    let mut words = from.split(' ');
    if words.next() != Some(m.metric.name()) {
        return false;
    }
    // Values may contain spaces.
    let place = locate_figure(m);
    let held = |word: &str| match word.strip_prefix("detail.") {
        Some(name) => m.detail.has_name(name),
        None => place.split(' ').any(|own| own == word),
    };
    place == from || words.all(held)
}

#[test]
fn places_are_found_where_they_are_and_nowhere_else() {
    let mut record = crate::samples::machine(2);
    record.machine.cpus[1].max_hz = Some(3);
    record.conditions.before.temperatures.insert("chip 1.core".to_owned(), 40.0);
    record.measurements.extend(crate::samples::stolen("os", [0.1, 0.2]).measurements);
    let json: Value = serde_json::from_str(&record.to_json().expect("a record can be written as JSON"))
        .expect("a record is JSON");
    for there in [
        "machine.cpus[1].max_hz",
        "machine.cpus[].max_hz and .id",
        "machine.counts.cpus_online and .cpus_present",
        "conditions.before.temperatures.chip 1.core",
        "stolen.share cpu=1 cause=os",
        "stolen.share cause=os",
    ] {
        assert!(resolves(&json, &record, there), "{there}");
    }
    for nowhere in [
        "machine.cpus[0].max_hz",
        "machine.counts.cpus_online and .packages",
        "machine.nothing",
        "stolen.share cpu=2 cause=os",
        "wakeup.latency",
        "coverage[] latency 2MiB",
        "",
    ] {
        assert!(!resolves(&json, &record, nowhere), "{nowhere}");
    }
}
