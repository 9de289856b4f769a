//! `linespeed live`: a machine at work, watched.

use std::collections::{BTreeMap, BTreeSet};
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
    let schema: Value = serde_json::from_str(&ran(["schema", "live"]).succeeds().stdout).unwrap();
    for object in all {
        assert_eq!(schema::faults(&schema, object), Vec::<String>::new());
    }
}

fn interval(object: &Value) -> Interval {
    serde_json::from_value(object["interval"].clone()).expect("an interval")
}

#[test]
fn one_screen_has_at_most_24_lines_of_80_columns() {
    let fits = |columns: usize, locale: &str| {
        let mut command = linespeed(["live", "--once", "1s"]);
        command.env("COLUMNS", columns.to_string()).env("LC_ALL", locale);
        let shown = run(command).succeeds().stdout;
        assert!(shown.lines().count() <= 24, "{shown}");
        let widest = shown.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= columns, "{shown}");
        assert!(locale != "C" || shown.is_ascii(), "{shown}");
    };
    // At the same time: each waits for three seconds.
    std::thread::scope(|scope| {
        for (columns, locale) in [(80, "C.UTF-8"), (40, "C"), (160, "C")] {
            scope.spawn(move || fits(columns, locale));
        }
    });
}

#[test]
fn an_object_an_interval_until_somebody_asks_to_stop() {
    for (signal, code) in [(libc::SIGINT, 0), (libc::SIGTERM, 143)] {
        let folder = folder();
        let prom = folder.path().join("linespeed.prom");
        let began = Instant::now();
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
        let took = began.elapsed().as_secs_f64();
        assert!(!all.is_empty());
        hold_against_schema(&all);
        let (mut cpu_seconds, mut most) = (0.0, 0.0);
        for object in &all {
            let interval = interval(object);
            assert!(interval.seconds > 0.0 && interval.cpus > 0, "{interval:?}");
            cpu_seconds += interval.times.all();
            // Ticks of 10 ms, of each CPU and each kind of time. Of a single interval more may be counted than its time has:
            // it may lose its CPU between the clock and the counts.
            most = took * interval.cpus as f64 + 0.02 * (interval.cpus * 7) as f64;
            assert!(object["bound"]["by"].is_string(), "{object}");
        }
        assert!(emulated() || cpu_seconds <= most, "{cpu_seconds} s on CPUs within {took} s");
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
    let folder = folder();
    let prom = folder.path().join("linespeed.prom");
    let mut watched = spawned(Command::new("sleep").arg("60"));
    let mut command = linespeed(["live", "-i", "300ms", "-p", &watched.id().to_string(), "--prom"]);
    command.arg(&prom).env("TERM", "xterm");
    // It ends with the process, which ends after three screens.
    let ender = std::thread::spawn(move || {
        let end = Instant::now() + Duration::from_secs(60);
        let mut written = BTreeSet::new();
        while written.len() < 3 && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(20));
            written.extend(std::fs::metadata(&prom).and_then(|file| file.modified()));
        }
        watched.kill().unwrap();
        watched.wait().unwrap();
    });
    let (shown, status) = terminal::shown(command);
    ender.join().unwrap();
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

/// The sentence of a whole watch: of several causes it takes several lines.
#[track_caller]
fn summary(text: &str) -> String {
    let (_, said) = text.rsplit_once("Observed ").expect("a sentence of the whole watch");
    let mut lines = said.lines();
    let first = lines.next().unwrap_or_default().to_owned();
    lines.take_while(|line| line.starts_with("  ")).fold(first, |text, line| text + " " + line.trim())
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
    assert!(shown.starts_with("Observed "), "{shown}");
    let summary = summary(&shown);
    assert_eq!(self::summary(&printed), summary, "{printed}");
    // On a terminal a very long one is cut.
    let causes = summary.split_once(". ").unwrap().1.trim_end_matches('…');
    assert!(show(&["--html"]).replace(['\u{a0}', '\u{202f}'], " ").contains(causes), "{summary}");
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
    assert!(!summary(&ran.stdout).is_empty());
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
    let shown = |extra: &[&str]| {
        // For two seconds the probe is calibrated before the one screen of three: where the program starts slowly, on a busy
        // machine, what it watches must last longer.
        for seconds in [3.5, 6.0, 3.5, 10.5] {
            let (ran, ended) = while_sleeping(seconds, |pid| {
                let mut command = linespeed(["live", "-p", pid]);
                command.args(extra).env("COLUMNS", "160");
                run(command)
            });
            match (ran.code, ended) {
                (Some(3), true) => assert!(
                    ran.stderr.contains("no process") || ran.stderr.contains("being calibrated"),
                    "{ran:?}"
                ),
                (_, false) => drop(ran.succeeds()),
                _ => return Some(ran.succeeds().stdout),
            }
        }
        skipped("what_ends_while_it_is_watched", &format!("nothing ended while {extra:?} watched"));
        None
    };
    let is_said = |extra: &[&str]| {
        let Some(shown) = shown(extra) else { return };
        if extra.contains(&"--json") {
            let all = objects(&shown);
            hold_against_schema(&all);
            let of = interval(&all[0]);
            let service = of.service.unwrap();
            assert!(service.ended == 1 && service.seconds < of.seconds, "{service:?}");
            return;
        }
        assert!(shown.contains("The process exited after ") && shown.contains(" (sleep), "), "{shown}");
        // The sentence at the end of a watch that was not to end is of all of it.
        assert_eq!(shown.contains("Observed "), extra[0] == "-i", "{shown}");
        assert!(extra[0] != "-i" || summary(&shown).contains("exited after "), "{shown}");
    };
    // At the same time: each waits for what it watches.
    std::thread::scope(|scope| {
        for extra in [&["--once", "3s"][..], &["--once", "3s", "--json"], &["-i", "400ms"]] {
            scope.spawn(move || is_said(extra));
        }
    });
}

/// What comes of the number of a process that sleeps for so long and is then gone, and whether it was gone when that came.
fn while_sleeping<R>(seconds: f64, work: impl FnOnce(&str) -> R) -> (R, bool) {
    let began = Instant::now();
    let mut child = spawned(Command::new("sleep").arg(seconds.to_string()));
    let pid = child.id().to_string();
    std::thread::scope(|scope| {
        scope.spawn(move || child.wait().unwrap());
        (work(&pid), began.elapsed().as_secs_f64() >= seconds)
    })
}

#[test]
fn what_ends_before_its_one_screen_is_no_screen() {
    // On a busy machine the program starts slowly.
    for seconds in [1.0, 2.0, 4.0, 8.0] {
        let (ran, ended) = while_sleeping(seconds, |pid| run(linespeed(["live", "--once", "1s", "-p", pid])));
        if ended && ran.stderr.contains("no process") {
            continue;
        }
        ran.fails(3, &["ended while the memory probe was being calibrated"]);
        return;
    }
    skipped("what_ends_before_its_one_screen_is_no_screen", "the program does not start within 8 s");
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
