//! `linespeed live`: a machine at work, watched.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use record::live::Interval;
use record::{Ended, Record};
use serde_json::Value;

use crate::support::started::{Started, spawned};
use crate::support::{Ran, emulated, folder, linespeed, ran, run, schema, skipped, terminal};

/// The objects of `--json`.
fn objects(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("an object a line")).collect()
}

/// Whether each is as the program's own schema says.
fn hold_against_schema(all: &[Value]) {
    let schema: Value = serde_json::from_str(&ran(["schema", "--live"]).succeeds().stdout).unwrap();
    for object in all {
        assert_eq!(schema::faults(&schema, object), Vec::<String>::new());
    }
}

fn interval(object: &Value) -> Interval {
    serde_json::from_value(object["interval"].clone()).expect("an interval")
}

#[test]
fn one_screen_has_at_most_24_lines_of_80_columns() {
    for (columns, locale) in [("80", "C.UTF-8"), ("40", "C"), ("160", "C")] {
        let mut command = linespeed(["live", "--once", "1s"]);
        command.env("COLUMNS", columns).env("LC_ALL", locale);
        let shown = run(command).succeeds().stdout;
        assert!(shown.lines().count() <= 24, "{shown}");
        let widest = shown.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= columns.parse().unwrap(), "{shown}");
        assert!(locale != "C" || shown.is_ascii(), "{shown}");
    }
}

#[test]
fn an_object_an_interval_until_somebody_asks_to_stop() {
    for (signal, code) in [(libc::SIGINT, 0), (libc::SIGTERM, 143)] {
        let folder = folder();
        let prom = folder.path().join("linespeed.prom");
        let watch =
            Started::new(linespeed(["live", "-i", "200ms", "--json", "--prom", prom.to_str().unwrap()]));
        let until = Instant::now() + Duration::from_secs(60);
        while !prom.exists() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
        }
        watch.send(signal);
        let ran = watch.ended();
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(code), ""));
        let all = objects(&ran.stdout);
        assert!(!all.is_empty());
        hold_against_schema(&all);
        for object in &all {
            let interval = interval(object);
            let cpus = interval.times.all() / interval.seconds;
            assert!(interval.seconds > 0.0 && interval.cpus > 0, "{interval:?}");
            // Ticks of 10 ms, over a fifth of a second.
            assert!(emulated() || cpus < 1.5 * interval.cpus as f64 + 1.0, "{interval:?}");
            assert!(object["bound"]["by"].is_string(), "{object}");
        }
        // What node_exporter reads is whole: every sample has its help and a number.
        let text = std::fs::read_to_string(&prom).unwrap();
        let mut helped: BTreeMap<&str, usize> = BTreeMap::new();
        for line in text.lines() {
            match line.strip_prefix("# HELP ").or(line.strip_prefix("# TYPE ")) {
                Some(rest) => *helped.entry(rest.split(' ').next().unwrap()).or_default() += 1,
                None => {
                    let (name, value) = line.rsplit_once(' ').unwrap();
                    assert_eq!(helped.get(name.split('{').next().unwrap()), Some(&2), "{line}");
                    assert!(value.parse::<f64>().unwrap().is_finite(), "{line}");
                }
            }
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "something is left beside the file");
    }
}

#[test]
fn on_a_terminal_a_screen_goes_over_the_last_and_a_summary_ends_it() {
    if emulated() {
        return skipped(
            "on_a_terminal_a_screen_goes_over_the_last",
            "the emulator has its own terminal calls",
        );
    }
    let mut busy = spawned(Command::new("sleep").arg("1.5"));
    let mut command = linespeed(["live", "-i", "300ms", "-p", &busy.id().to_string()]);
    command.env("TERM", "xterm");
    // It ends with the process.
    let waiter = std::thread::spawn(move || busy.wait());
    let (shown, status) = terminal::shown(command);
    waiter.join().unwrap().unwrap();
    assert!(status.success(), "{shown}");
    // Up by the lines of the last screen; nothing that would have to be put back.
    assert!(shown.contains("\u{1b}[K") && shown.matches("F").count() > 0, "{shown:?}");
    assert!(!shown.contains("\u{1b}[?"), "{shown:?}");
    assert!(shown.contains("Observed "), "{shown:?}");
}

/// A watch that is interrupted a second after its first interval.
fn interrupted(mut command: Command) -> Ran {
    let folder = folder();
    let prom = folder.path().join("linespeed.prom");
    command.arg("--prom").arg(&prom);
    let watch = Started::new(command);
    let until = Instant::now() + Duration::from_secs(60);
    while !prom.exists() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_secs(1));
    watch.send(libc::SIGINT);
    watch.ended()
}

/// Watches until it was interrupted after some intervals; what it printed.
fn kept(file: &Path, extra: &[&str]) -> String {
    let mut command = linespeed(["live", "-i", "200ms", "--output", file.to_str().unwrap()]);
    command.args(extra).env("COLUMNS", "160");
    let ran = interrupted(command);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    ran.stdout
}

#[test]
fn a_watch_is_kept_and_shown_as_its_end_said() {
    let folder = folder();
    let file = folder.path().join("watch.json");
    let printed = kept(&file, &[]);
    let record = Record::read(&file).unwrap();
    let watch = record.watch.clone().unwrap();
    assert_eq!(record.ended, Ended::Complete);
    assert!(watch.intervals > 0 && watch.moments.len() as u64 == watch.intervals, "{watch:?}");
    let show = |extra: &[&str]| {
        let mut command = linespeed(["show", file.to_str().unwrap()]);
        command.args(extra).env("COLUMNS", "160");
        run(command).succeeds().stdout
    };
    let shown = show(&[]);
    // One sentence for one watch, wherever it stands.
    let summary = shown.lines().next().unwrap();
    assert!(summary.starts_with("Observed "), "{shown}");
    assert_eq!(printed.lines().last(), Some(summary), "{printed}");
    assert!(
        show(&["--html"]).replace(['\u{a0}', '\u{202f}'], " ").contains(summary.split_once(". ").unwrap().1),
        "{summary}"
    );
    assert_eq!(Record::from_json(show(&["--json"]).as_bytes()).unwrap().watch, record.watch);
    let csv = show(&["--csv"]);
    assert_eq!(csv.lines().count(), 1 + watch.moments.len(), "{csv}");
    let columns = |line: &str| line.split(',').count();
    assert!(csv.lines().all(|line| columns(line) == columns(csv.lines().next().unwrap())), "{csv}");
    // Two watches are held against each other, share by share.
    let second = folder.path().join("second.json");
    kept(&second, &[]);
    let compared =
        ran(["compare", file.to_str().unwrap(), second.to_str().unwrap(), "--json"]).succeeds().stdout;
    let compared: record::Comparison = serde_json::from_str(&compared).unwrap();
    let busy = compared.rows.iter().find(|row| row.metric == "watch.cpu_time").unwrap();
    assert!(busy.cells[1].change.is_some() && compared.answer.len() == 1, "{compared:?}");
    // A record of another kind is no watch.
    let other = folder.path().join("machine.json");
    ran(["inspect", "--output", other.to_str().unwrap()]).succeeds();
    let both = [file.to_str().unwrap(), other.to_str().unwrap()];
    ran(["compare", both[0], both[1]]).fails(3, &["machine.json: is not a recording", "watch.json is"]);
    ran(["compare", both[1], both[0]]).fails(3, &["machine.json: is not a recording", "watch.json is"]);
}

#[test]
fn a_service_is_kept_with_what_its_threads_did() {
    if emulated() {
        return skipped("a_service_is_kept_with_what_its_threads_did", "the emulator's own threads are seen");
    }
    let mut busy = spawned(Command::new("sh").args(["-c", "while :; do :; done"]));
    let folder = folder();
    let file = folder.path().join("watch.json");
    kept(&file, &["-p", &busy.id().to_string()]);
    busy.kill().unwrap();
    busy.wait().unwrap();
    let watch = Record::read(&file).unwrap().watch.unwrap();
    assert!(watch.of.contains(&busy.id().to_string()), "{}", watch.of);
    let service = watch.whole().unwrap().interval.service.unwrap();
    assert!(service.states["user"] > 0.0 && service.looks.all > 0, "{service:?}");
    assert!(watch.threads.iter().any(|thread| thread.pid as u32 == busy.id()), "{:?}", watch.threads);
}

#[test]
fn a_watch_whose_disk_is_full_says_so_at_its_end() {
    // A device that is always full is written to, and not replaced.
    let folder = folder();
    let mut command = linespeed(["live", "-i", "200ms", "--output", "/dev/full"]);
    // Where the record is saved in its stead.
    command.env("TMPDIR", folder.path());
    let ran = interrupted(command);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    // Of several causes it takes several lines.
    let mut last = ran.stdout.lines().rev().take(4);
    assert!(last.any(|line| line.starts_with("Observed ")), "{}", ran.stdout);
    assert!(ran.stderr.contains("/dev/full") && ran.stderr.lines().count() == 1, "{}", ran.stderr);
}

#[test]
fn a_running_program_is_watched_by_its_number() {
    if emulated() {
        return skipped("a_running_program_is_watched_by_its_number", "the emulator's own threads are seen");
    }
    let mut busy = spawned(Command::new("sh").args(["-c", "while :; do :; done"]));
    let pid = busy.id();
    let ran = run(linespeed(["live", "-p", &pid.to_string(), "--once", "1s", "--json"]));
    busy.kill().unwrap();
    busy.wait().unwrap();
    let all = objects(&ran.succeeds().stdout);
    hold_against_schema(&all);
    let interval = interval(&all[0]);
    assert_eq!(all.len(), 1);
    assert!(interval.threads.iter().any(|thread| thread.pid as u32 == pid), "{interval:?}");
}

#[test]
fn what_ends_while_it_is_watched_is_said_to_have_ended_and_its_name_stands_above() {
    if emulated() {
        return skipped("what_ends_while_it_is_watched", "the emulator's own threads are seen");
    }
    // For two seconds the probe is calibrated before the one screen.
    for extra in [&["--once", "3s"][..], &["--once", "3s", "--json"], &["-i", "400ms"]] {
        let mut child = spawned(Command::new("sleep").arg("3.5"));
        let mut command = linespeed(["live", "-p", &child.id().to_string()]);
        command.args(extra).env("COLUMNS", "160");
        let waiter = std::thread::spawn(move || child.wait());
        let shown = run(command).succeeds().stdout;
        waiter.join().unwrap().unwrap();
        if extra.contains(&"--json") {
            let all = objects(&shown);
            hold_against_schema(&all);
            let service = interval(&all[0]).service.unwrap();
            assert!(service.ended == 1 && service.seconds < 2.9, "{service:?}");
            continue;
        }
        assert!(shown.contains("It ended after ") && shown.contains(" (sleep), "), "{shown}");
        // The sentence at the end of a watch that was not to end is of all of it.
        let last = shown.lines().rev().find(|line| !line.is_empty()).unwrap();
        assert_eq!(last.starts_with("Observed "), extra[0] == "-i", "{shown}");
        assert!(extra[0] != "-i" || last.contains("It ended after "), "{shown}");
    }
}

#[test]
fn what_ends_before_its_one_screen_is_no_screen() {
    let mut child = spawned(Command::new("sleep").arg("0.5"));
    let ran = std::thread::scope(|scope| {
        let pid = child.id().to_string();
        scope.spawn(move || child.wait());
        run(linespeed(["live", "--once", "1s", "-p", &pid]))
    });
    ran.fails(3, &["ended while the memory probe was being calibrated"]);
}

#[test]
fn what_cannot_be_watched_is_one_line() {
    ran(["live", "-p", "2147483647"]).fails(3, &["no process 2147483647"]);
    ran(["live", "--unit", "no-such-unit", "--once", "1s"])
        .fails(3, &["unit no-such-unit", "--cgroup", "-p PID"][..1]);
    ran(["live", "--container", "12", "--once", "1s"]).fails(3, &["12 is too short"]);
    ran(["live", "--once", "1s", "--prom", "/no/such/folder/a.prom"])
        .fails(3, &["/no/such/folder", "--prom FILE"]);
    ran(["live", "--once", "1s", "-i", "2s"]).misused(&["--once"]);
    ran(["live", "-p", "1", "--unit", "a"]).misused(&["--unit"]);
    ran(["live", "--csv"]).fails(2, &["does not support --csv"]);
    ran(["live", "--once", "1s", "--label", "a"]).fails(2, &["--label", "--output FILE"]);
    ran(["live", "--once", "1s", "--output", "/no/such/folder/a.json"]).fails(3, &["/no/such/folder"]);
    ran(["live", "--once", "0s"]).misused(&["above 0"]);
}
