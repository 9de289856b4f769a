//! `linespeed stat -- OLD ::: NEW`: commands in turn, as people compare them.

use std::fs::File;
use std::process::Stdio;

use record::command_run::RunEnd;
use record::diagnosis::BoundBy;
use record::in_turn::times;
use record::turns::AgainstFirst;
use record::{Ended, Label, Record, detail};

use crate::stat_signals::{alive, numbers};
use crate::support::started::Started;
use crate::support::{Ran, folder, linespeed, ran, run, run_with, skipped, sound};

/// What comes of `linespeed stat WORDS`, and its record.
fn record_of(words: &[&str]) -> (Ran, Record) {
    let folder = folder();
    let place = folder.path().join("a.json");
    let ran = run(linespeed(["stat", "-o", place.to_str().unwrap()].iter().chain(words)));
    let record = sound::record(&std::fs::read(&place).unwrap_or_else(|error| panic!("{error}: {ran:?}")));
    (ran, record)
}

fn second(record: &Record) -> &AgainstFirst {
    record.diagnosis.turns.as_ref().unwrap().commands[1].against_first.as_ref().unwrap()
}

fn runs(record: &Record) -> Vec<u64> {
    times(record).iter().map(|time| time.summary.n).collect()
}

/// Whether the second of two commands was slower, as it should be: where other programs took more time than the commands,
/// which is said, that may be unknown.
#[track_caller]
fn is_slower(test: &str, record: &Record, expected: bool) {
    let told = second(record);
    if told.slower.is_none() {
        skipped(test, &format!("other programs took more time than the commands: {told:?}"));
    }
    assert_ne!(told.slower, Some(!expected), "{told:?}");
    let surely = |low: f64, high: f64| if expected { low > 1.0 } else { high < 1.0 };
    assert!(
        told.interval.is_some_and(|(low, high)| {
            low <= told.ratio && told.ratio <= high && (told.slower.is_none() || surely(low, high))
        }),
        "{told:?}"
    );
}

#[test]
fn the_slower_of_two_is_told_with_what_bounds_each() {
    let test = "the_slower_of_two_is_told_with_what_bounds_each";
    let (ran, record) = record_of(&["-r", "6", "--", "true", ":::", "sleep", "0.1"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""));
    assert_eq!(runs(&record), [6, 6]);
    assert_eq!(second(&record).rounds, 6);
    is_slower(test, &record, true);
    let turns = record.diagnosis.turns.as_ref().unwrap();
    let bound = turns.commands[1].bound.as_ref().unwrap();
    // Where other programs have the CPUs, the start alone may take longer than the sleep.
    let by_others = [BoundBy::CpuContention, BoundBy::Stolen, BoundBy::Quota].contains(&bound.by);
    assert!(bound.by == BoundBy::Waiting || by_others, "{bound:?}");
    assert!(bound.evidence.iter().all(|one| one.from.contains("workload=sleep 0.1")), "{bound:?}");
    assert!(record.diagnosis.bound.is_none() && record.diagnosis.findings.is_empty());
    let (_, record) = record_of(&["-r", "6", "--", "sleep", "0.1", ":::", "true"]);
    is_slower(test, &record, false);
}

#[test]
fn commands_that_are_the_same_are_two_and_each_keeps_its_runs() {
    let (_, record) = record_of(&["-r", "8", "--warmup", "1", "--", "true", ":::", "true", ":::", "true"]);
    let names: Vec<_> =
        times(&record).iter().map(|time| time.labels.word(Label::Workload).unwrap()).collect();
    assert_eq!((names, runs(&record)), (vec!["true", "true (2)", "true (3)"], vec![8; 3]));
    for time in times(&record) {
        assert_eq!(time.detail.get(detail::COMMAND), Some(vec!["true".to_owned()]));
        assert_eq!(time.detail.get(detail::RUNS_ASKED), Some(8));
    }
    assert!(record.diagnosis.turns.as_ref().unwrap().floor.is_some());
}

#[test]
fn without_a_number_there_are_ten_rounds_and_more_of_quick_ones_or_as_many_as_fit() {
    let (_, record) = record_of(&["-q", "--", "true", ":::", "true"]);
    assert!(runs(&record).iter().all(|runs| *runs >= 10 && runs.is_multiple_of(2)), "{:?}", runs(&record));
    let (_, record) = record_of(&["-q", "--for", "1ms", "--", "sleep", "0.01", ":::", "true"]);
    assert_eq!(runs(&record), [1, 1]);
    assert_eq!((second(&record).interval, second(&record).rounds), (None, 1));
}

#[test]
fn each_run_is_prepared_and_what_is_quoted_stays_the_commands() {
    let folder = folder();
    let log = folder.path().join("log");
    let say = |word: &str| format!("echo '{word}' >>{}", log.display());
    let quoted = format!("set -- {}; shift; {}", ":::", say("old ::: x"));
    let (before_old, before_new) = (say("before old"), say("before new"));
    let words = ["-r", "2", "--warmup", "1", "--prepare", &before_old, "--prepare", &before_new];
    let commands = ["--", "sh", "-c", &quoted, ":::", "sh", "-c", &say("new")];
    let (_, record) = record_of(&[&words[..], &commands[..]].concat());
    assert_eq!(runs(&record), [2, 2]);
    let lines = std::fs::read_to_string(&log).unwrap();
    let old = "before old\nold ::: x\n";
    let new = "before new\nnew\n";
    assert_eq!(lines, [old, new, old, new, new, old].concat());
    // One for all, and of a single command.
    let once = say("once");
    for (commands, expected) in [(&["true", ":::", "true"][..], 4), (&["true"], 2)] {
        std::fs::remove_file(&log).unwrap();
        record_of(&[&["-r", "2", "--prepare", &once, "--"], commands].concat());
        assert_eq!(std::fs::read_to_string(&log).unwrap(), "once\n".repeat(expected));
    }
}

#[test]
fn what_prints_prints_nowhere_and_a_file_is_read_by_each_run() {
    let folder = folder();
    let file = folder.path().join("three");
    std::fs::write(&file, "1\n2\n3\n").unwrap();
    let count =
        |file: &str| format!("test $(wc -l) = 3 || {{ echo 'no input in {file}' >&2; exit 9; }}; echo out");
    let mut command =
        linespeed(["stat", "-r", "2", "--", "sh", "-c", &count("a"), ":::", "sh", "-c", &count("b")]);
    command.stdin(File::open(&file).unwrap()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ran = Ran::from(command.spawn().unwrap().wait_with_output().unwrap());
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{ran:?}");
    let ran = run_with(linespeed(["stat", "-r", "1", "--", "cat", ":::", "sleep", "0.1"]), "1\n");
    assert!(ran.code == Some(0) && ran.stdout.is_empty(), "{ran:?}");
}

#[test]
fn one_that_fails_counts_is_named_and_gives_its_exit_code() {
    let (ran, record) = record_of(&["-r", "3", "--", "true", ":::", "sh", "-c", "echo broken >&2; exit 7"]);
    assert_eq!(ran.code, Some(7));
    for word in ["3 of 3 runs", "exited with code 7", "broken"] {
        assert!(ran.stderr.contains(word), "no {word:?} in:\n{}", ran.stderr);
    }
    let ends = times(&record)[1].detail.get(detail::ENDS).unwrap();
    assert_eq!(ends, [RunEnd::Code(7); 3]);
    // One that cannot be started leaves what was measured before.
    let (ran, record) = record_of(&["--", "true", ":::", "no-such-command"]);
    assert_eq!((ran.code, runs(&record)), (Some(127), vec![1]));
    assert!(matches!(record.ended, Ended::Failed { .. }) && ran.stderr.contains("sh -c"), "{ran:?}");
}

#[test]
fn what_cannot_be_meant_is_refused_in_a_line() {
    for (words, said) in [
        (&["--", "true", ":::"][..], "one side of ::: has no command"),
        (&["--", ":::", "true"], "one side of ::: has no command"),
        (&["--", ":::"], "one side of ::: has no command"),
        (&["--", "true", ":::", ":::", "true"], "one side of ::: has no command"),
        (&["--probe", "--", "true", ":::", "true"], "--probe"),
        (&["--perf-format", "--", "true", ":::", "true"], "--perf-format"),
        (&["-x,", "--", "true", ":::", "true"], "-x"),
        (&["--for", "1s", "--", "true"], "--for"),
        (
            &["--prepare", "a", "--prepare", "b", "--prepare", "c", "--", "true", ":::", "true"],
            "3 --prepares",
        ),
        (&["--prepare", "a", "--prepare", "b", "--", "true"], "2 --prepares"),
    ] {
        let ran = ran([&["stat"], words].concat());
        assert_eq!((ran.code, ran.stderr.lines().count()), (Some(2), 1), "{ran:?}");
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
    }
    ran([
        "stat", "--", "a", ":::", "b", ":::", "c", ":::", "d", ":::", "e", ":::", "f", ":::", "g", ":::",
        "h", ":::", "i",
    ])
    .fails(2, &["at most 8"]);
    ran(["stat", "--for", "1s", "-r", "3", "--", "true", ":::", "true"]).misused(&["--for"]);
    ran(["stat", "--prepare", "true", "-p", "1"]).misused(&["--prepare"]);
}

#[test]
fn a_preparation_that_fails_leaves_nothing() {
    let folder = folder();
    let place = folder.path().join("a.json");
    for commands in [&["true", ":::", "true"][..], &["true"]] {
        let words = ["stat", "-o", place.to_str().unwrap(), "--prepare", "echo gone >&2; exit 4", "--"];
        let ran = ran([&words[..], commands].concat()).fails(3, &["--prepare", "code 4", "gone"]);
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
        assert!(!place.exists());
    }
}

#[test]
fn ctrl_c_ends_what_runs_and_shows_what_was_measured() {
    let folder = folder();
    let (pids, place) = (folder.path().join("pids"), folder.path().join("a.json"));
    // In its second run it stays, with a child of its own.
    let stays = format!(
        "echo $$ >>{0}; test $(wc -l <{0}) -lt 2 && exit 0; sh -c 'echo $$ >>{0}; sleep 300; true'; true",
        pids.display()
    );
    let words = ["stat", "-q", "-o", place.to_str().unwrap(), "--", "true", ":::", "sh", "-c", &stays];
    let started = Started::new(linespeed(words));
    let numbers = numbers(&pids, 3);
    started.send(libc::SIGINT);
    let ran = started.ended();
    assert_eq!(ran.code, Some(130), "{}", ran.stderr);
    assert!(!numbers.iter().any(|pid| alive(*pid)), "left running: {numbers:?}");
    let record = sound::record(&std::fs::read(&place).unwrap());
    assert_eq!(record.ended, Ended::Interrupted { signal: libc::SIGINT });
    // The second round goes backwards, so that the one that stays comes first in it.
    assert_eq!((runs(&record), second(&record).rounds), (vec![1, 1], 1));
    // And so in what prepares.
    let folder = self::folder();
    let pids = folder.path().join("pids");
    let stays = format!("echo $$ >>{0}; sleep 300; true", pids.display());
    let started = Started::new(linespeed(["stat", "--prepare", &stays, "--", "true", ":::", "true"]));
    let numbers = crate::stat_signals::numbers(&pids, 1);
    started.send(libc::SIGTERM);
    assert_eq!(started.ended().code, Some(143));
    assert!(!numbers.iter().any(|pid| alive(*pid)), "left running: {numbers:?}");
}

#[test]
fn every_form_tells_both_and_the_record_is_shown_compared_and_told_over_time() {
    let folder = folder();
    let (place, prom, state) =
        (folder.path().join("a.json"), folder.path().join("a.prom"), folder.path().join("s"));
    let words = ["stat", "-r", "6", "--label", "turns", "--prom", prom.to_str().unwrap(), "--"];
    let commands = ["sleep", "0.01", ":::", "sleep", "0.05"];
    let mut command = linespeed(words.iter().chain(&commands));
    command.env("XDG_STATE_HOME", &state);
    assert_eq!(run(command).code, Some(0));
    let with_state = |words: &[&str]| {
        let mut command = linespeed(words);
        command.env("XDG_STATE_HOME", &state);
        let ran = run(command);
        assert_eq!(ran.code, Some(0), "{words:?}: {ran:?}");
        ran.stdout
    };
    let shown = with_state(&["show", "turns"]);
    let all = with_state(&["show", "turns", "--all"]);
    let forms = [&["--json"][..], &["--csv"], &["--markdown"], &["--html"]];
    let forms = forms.map(|form| with_state(&[&["show", "turns"], form].concat()));
    for text in forms.iter().chain([&shown, &all, &std::fs::read_to_string(&prom).unwrap()]) {
        assert!(text.contains("sleep 0.01") && text.contains("sleep 0.05"), "{text}");
    }
    assert!(shown.lines().all(|line| line.chars().count() <= 80) && shown.lines().count() <= 23, "{shown}");
    std::fs::write(&place, &forms[0]).unwrap();
    sound::record(forms[0].as_bytes());
    let compared = with_state(&["compare", "turns", place.to_str().unwrap(), "--json"]);
    let compared: record::Comparison = serde_json::from_str(&compared).unwrap();
    let of = |workload: &str| {
        compared.figures.iter().filter(|row| row.labels.word(Label::Workload) == Some(workload)).count()
    };
    assert!(of("sleep 0.01") > 0 && of("sleep 0.05") > 0, "{:?}", compared.refused);
    let over_time = with_state(&["history", "workload.time", "--json"]);
    let over_time: serde_json::Value = serde_json::from_str(&over_time).unwrap();
    assert_eq!(over_time["lines"].as_array().map(Vec::len), Some(2), "{over_time}");
}

#[test]
fn a_command_is_compared_whatever_stood_beside_it() {
    let folder = folder();
    let place = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (one, two, alone) = (place("one.json"), place("two.json"), place("alone.json"));
    run(linespeed(["stat", "-qr6", "-o", &one, "--", "true", ":::", "sleep", "0.02"]));
    run(linespeed(["stat", "-qr6", "-o", &two, "--", "sleep", "0.02", ":::", "sleep", "0.04"]));
    run(linespeed(["stat", "-qr6", "-o", &alone, "--", "sleep", "0.02"]));
    for other in [&two, &alone] {
        let compared = ran(["compare", &one, other, "--json"]).succeeds().stdout;
        let compared: record::Comparison = serde_json::from_str(&compared).unwrap();
        let rows: Vec<_> = compared.rows.iter().filter(|row| row.metric == "workload.time").collect();
        let both = |row: &&&record::comparison::Row| row.cells.iter().all(|cell| cell.value.is_some());
        assert_eq!(rows.iter().filter(both).count(), 1, "{rows:?}, {:?}", compared.refused);
        let other = compared.refused.iter().find(|one| one.code == diagnose::OTHER_COMMAND.code);
        assert!(other.is_none(), "{other:?}");
    }
}

#[test]
fn of_names_nothing_is_left_where_they_are_taken_out() {
    let words = ["stat", "-r", "6", "--redact", "--json", "--"];
    let commands = ["sh", "-c", "exit 0 # zqxold", ":::", "sh", "-c", "sleep 0.02; exit 0 # zqxnew"];
    let ran = ran(words.iter().chain(&commands));
    let record = sound::record(ran.stdout.as_bytes());
    assert_eq!(second(&record).rounds, 6);
    assert!(!ran.stdout.contains("zqx") && !ran.stderr.contains("zqx"), "{}", ran.stdout);
}
