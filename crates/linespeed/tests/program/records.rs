//! A record's way: written, shown again, as a page, held against the schema and against `--fail-on`.

use record::Label;
use record::machine::Cpu;
use record::{Labels, Measurement, Record, Snapshot};

use crate::support::{folder, linespeed, measured, ran, run, run_with, sound};

/// A record of a run, as text.
const KEPT: &str = include_str!("../records/0.1/main.json");

#[test]
fn a_record_is_shown_again_as_it_was_reported() {
    let folder = folder();
    let place = folder.path().join("a.json");
    let place = place.to_str().unwrap();
    let report =
        measured(linespeed(["run", "clock", "costs", "--quick", "--output", place])).succeeds().stdout;
    let shown = ran(["show", place]).succeeds().stdout;
    let (report, reported) = report.split_once("\nRecord: ").expect("the report says where the record lies");
    // But for its last line, which names the record.
    let above = |text: &str| text.trim_end().rsplit_once('\n').map(|(above, _)| above.to_owned());
    assert_eq!(above(&shown), above(report));
    assert_eq!(reported.trim_end(), place);
    // One table of it, and no other.
    let clock = ran(["show", place, "clock"]).succeeds().stdout;
    assert!(clock.contains("Core clock") && !clock.contains("noise: "), "{clock}");
    ran(["show", place, "nosuch"])
        .fails(2, &["no nosuch; it contains findings, losses, noise, coverage, clock"]);
    // And it comes out of `show --json` as it went in.
    let before = sound::record(&std::fs::read(place).unwrap());
    let after = ran(["show", place, "--json"]).succeeds().record();
    assert_eq!(before.measurements, after.measurements);
    assert_eq!((before.machine, before.coverage), (after.machine, after.coverage));
}

#[test]
fn fields_of_the_future_do_not_hinder() {
    let mut value: serde_json::Value = serde_json::from_str(KEPT).unwrap();
    value["warp"] = 9.into();
    value["machine"]["flux"] = serde_json::json!([{"deep": {}}]);
    value["measurements"][0]["metric"] = "warp.speed".into();
    value["measurements"][0]["unit"] = "furlong".into();
    let show = |form: &[&str], record: &str| {
        run_with(linespeed([&["show", "-"], form].concat()), record).succeeds().stdout
    };
    let future = value.to_string();
    let (known, shown) = (show(&["--all"], KEPT), show(&["--all"], &future));
    let (_, table) = shown.split_once("\nwarp.speed\n").expect("a table of what is unknown");
    assert!(
        table.lines().take_while(|line| !line.is_empty()).any(|line| line.contains(" furlong ")),
        "{table}"
    );
    for heading in known.lines().filter(|line| line.starts_with(|first: char| first.is_alphabetic())) {
        let same = |line: &str| line.split(':').next() == heading.split(':').next();
        assert!(shown.lines().any(same), "{heading:?} is lost in:\n{shown}");
    }
    let [before, after] = [KEPT, &future]
        .map(|record| Record::from_json(show(&["--json"], record).as_bytes()).unwrap().measurements);
    assert!(after[0].metric == "warp.speed" && after[0].unit == "furlong", "{:?}", after[0]);
    assert_eq!((after[0].samples.clone(), &after[1..]), (before[0].samples.clone(), &before[1..]));
    assert!(show(&["--html"], &future).contains("warp.speed"));
}

#[test]
fn a_page_is_one_file_that_loads_nothing() {
    let folder = folder();
    let (record, page) = (folder.path().join("a.json"), folder.path().join("a.html"));
    std::fs::write(&record, KEPT).unwrap();
    let (record, page) = (record.to_str().unwrap(), page.to_str().unwrap());
    let said = ran(["show", record, "--html", "--output", page]).succeeds();
    assert_eq!(said.stdout, "");
    let html = std::fs::read_to_string(page).unwrap();
    assert_eq!(html, ran(["show", record, "--html"]).succeeds().stdout);
    assert!(html.starts_with("<!DOCTYPE html>") && html.trim_end().ends_with("</html>"));
    for loading in ["<script", "<link", "<img", "src=", "@import", "url(http"] {
        assert!(!html.contains(loading), "the page has {loading}");
    }
}

#[test]
fn the_main_job_leaves_a_record_and_its_page() {
    let folder = folder();
    let mut command = linespeed(["--quick"]);
    command.env("XDG_STATE_HOME", folder.path());
    let report = measured(command).succeeds().stdout;
    for line in ["  core ", "noise: ", "Not seen: ", "More: linespeed show . --all"] {
        assert!(report.contains(line), "no {line:?} in:\n{report}");
    }
    assert!(report.lines().count() <= 24, "more than a screen:\n{report}");
    let mut command = linespeed(["show", ".", "--all"]);
    command.env("XDG_STATE_HOME", folder.path());
    let all = run(command).succeeds().stdout;
    for heading in ["Distance from line speed", "Not seen", "Cache levels", "Memory bandwidth"] {
        assert!(all.contains(heading), "no {heading:?} in:\n{all}");
    }
    let mut names: Vec<_> =
        std::fs::read_dir(folder.path().join("linespeed")).unwrap().map(|e| e.unwrap().path()).collect();
    // What stat holds commands against lies there too, where anything was measured well enough.
    names.retain(|path| !path.ends_with("ceilings.json"));
    names.sort();
    let [page, record] = names.as_slice() else { panic!("{names:?}") };
    assert_eq!(page.with_extension("json"), *record);
    for path in [page, record] {
        assert!(report.contains(path.to_str().unwrap()), "the report does not say where {path:?} lies");
    }
    let record = sound::record(&std::fs::read(record).unwrap());
    for metric in measure::MEASUREMENTS.iter().flat_map(|m| m.metrics) {
        let of = record.measurements_of(*metric).count();
        let lost = !record.coverage.iter().all(|c| c.state == record::State::Measured);
        assert!(of > 0 || lost, "{metric} was not measured, and the coverage is silent");
    }
    assert!(std::fs::read_to_string(page).unwrap().contains("</html>"));
}

/// A machine of which others want a fifth: there is a rule for that.
fn busy() -> Record {
    let mut record = Record::new("0.1.0", "2026-01-01T00:00:00Z".to_owned(), vec![]);
    for id in 0..4 {
        record.machine.cpus.push(Cpu { id, online: true, allowed: true, ..Cpu::default() });
    }
    record.machine.counts.cpus_online = Some(4);
    let state = |uptime: f64, user: f64| Snapshot {
        load: Some([1.2, 1.2, 1.2]),
        uptime_seconds: Some(uptime),
        own_cpu_seconds: Some(0.0),
        cpu_seconds: ["nice", "system", "irq", "softirq"]
            .map(|kind| (kind.to_owned(), 0.0))
            .into_iter()
            .chain([("user".to_owned(), user)])
            .collect(),
        ..Snapshot::default()
    };
    record.conditions.before = state(100.0, 0.0);
    record.conditions.after = Some(state(110.0, 12.0));
    record.measurements.push(Measurement::new(
        "cost.syscall",
        Labels::new().with_label(Label::Cpu, 0u32),
        vec![100.0; 9],
    ));
    record
}

#[test]
fn fail_on_ends_with_1_when_there_is_a_finding_of_that_level() {
    let code = |record: &Record, level: &str| {
        run_with(linespeed(["show", "-", "--fail-on", level]), record.to_json().unwrap()).code
    };
    assert_eq!(code(&busy(), "note"), Some(1));
    assert_eq!(code(&busy(), "warning"), Some(1));
    assert_eq!(code(&busy(), "serious"), Some(0), "a fifth is a warning");
    let mut calm = busy();
    calm.conditions.after = Some(Snapshot { uptime_seconds: Some(110.0), ..calm.conditions.before.clone() });
    assert_eq!(code(&calm, "note"), Some(0), "a finding on a calm machine");
    assert_eq!(run_with(linespeed(["show", "-"]), busy().to_json().unwrap()).code, Some(0), "nobody asked");
}

#[test]
fn strings_from_a_machine_reach_neither_the_terminal_nor_the_page() {
    let mut record = busy();
    let evil = "\u{1b}]0;owned\u{7}\u{1b}[2J<script>alert(1)</script>\u{202e}&";
    record.machine.hostname = Some(evil.to_owned());
    record.machine.processor.model_name = Some(evil.to_owned());
    record.command = vec![evil.to_owned()];
    record.coverage.push(record::Coverage::impossible(evil, evil).with_remedy(evil));
    record.machine.notes.push(evil.into());
    for args in [&["show", "-"][..], &["show", "-", "--color", "always"]] {
        let shown = run_with(linespeed(args), record.to_json().unwrap()).succeeds().stdout;
        assert!(
            !shown.contains("\u{1b}]") && !shown.contains("\u{1b}[2J") && !shown.contains('\u{7}'),
            "{shown:?}"
        );
        assert!(!shown.contains('\u{202e}'), "text that runs backwards: {shown:?}");
    }
    let page = run_with(linespeed(["show", "-", "--html"]), record.to_json().unwrap()).succeeds().stdout;
    assert!(page.contains("&lt;script&gt;") && !page.contains("<script"), "unescaped");
    assert!(!page.contains('\u{1b}'));
}

#[test]
fn wake_ups_are_measured_as_cyclictest_is_asked_to() {
    let args = ["run", "--for", "400ms", "-i", "500", "-p", "0", "--cyclictest"];
    let lines = measured(linespeed(args.iter().chain(&["-o", "/dev/null"]))).succeeds().stdout;
    assert!(lines.starts_with("T: 0 (") && lines.contains(" P: 0 I:500 C:"), "{lines}");
    let record = measured(linespeed(args[..7].iter().chain(&["--json"]))).succeeds().record();
    let of = |label, word: &str| {
        record.measurements_of("wakeup.latency").filter(|m| m.labels.word(label) == Some(word)).count()
    };
    assert_eq!(of(Label::Policy, "fifo"), 0, "priority 0 is SCHED_OTHER");
    assert!(of(Label::Setting, "as-is") > 0 && record.measurements.iter().all(|m| m.summary.mean.is_some()));
    // As cyclictest does it: idle states held off, the usual timer slack.
    let held = crate::support::lost(&record, "wakeup tuned").is_empty();
    assert_eq!(of(Label::Setting, "awake") > 0, held);
    // All of the time is for the one setting that cyclictest measures.
    let kept = folder();
    let place = kept.path().join("w.json");
    let args = ["run", "--for", "100ms", "--histogram", "-q", "-o", place.to_str().unwrap()];
    let histogram = measured(linespeed(args)).succeeds().stdout;
    assert!(histogram.starts_with("# Histogram\n"), "{histogram}");
    let record = Record::from_json(&std::fs::read(&place).unwrap()).unwrap();
    let settings: std::collections::BTreeSet<_> = record
        .measurements_of("wakeup.latency")
        .map(|m| (m.labels.word(Label::Policy), m.labels.word(Label::Setting)))
        .collect();
    assert_eq!(settings.len(), 1, "{settings:?}");
    ran(["run", "clock", "--for", "1s"]).fails(2, &["--for", "not among clock"]);
    ran(["run", "--for", "10d", "-i", "10"]).misused(&["--for"]);
    ran(["run", "--for", "24h", "-i", "10"]).fails(2, &["wake-ups", "--interval"]);
}

#[test]
fn cyclictest_forms_come_from_a_record_too() {
    let folder = folder();
    let place = folder.path().join("w.json");
    let place = place.to_str().unwrap();
    let lines = measured(linespeed(["run", "--quick", "--cyclictest", "--output", place])).succeeds().stdout;
    assert!(lines.starts_with("T: 0 (") && lines.contains("Min:") && lines.contains("Max:"), "{lines}");
    assert_eq!(ran(["show", place, "--cyclictest"]).succeeds().stdout, lines);
    // It was asked for; what -q leaves out is the report.
    assert_eq!(ran(["show", place, "--cyclictest", "-q"]).succeeds().stdout, lines);
    assert_eq!(ran(["show", place, "-q"]).succeeds().stdout, "");
    let histogram = ran(["show", place, "--histogram"]).succeeds().stdout;
    assert!(histogram.contains("# Histogram") && histogram.contains("000000 "), "{histogram}");
    run_with(linespeed(["show", "-", "--histogram"]), busy().to_json().unwrap())
        .fails(3, &["linespeed run wakeup"]);
}

#[test]
fn the_schema_is_the_one_that_records_are_held_against() {
    let printed: serde_json::Value = serde_json::from_str(&ran(["schema"]).succeeds().stdout).unwrap();
    assert_eq!(printed, Record::json_schema());
    run(linespeed(["schema"])).succeeds();
}
