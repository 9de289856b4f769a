//! Ctrl-C and kill: what was measured stays, the exit code tells the signal, nothing is left behind.

use record::{Ended, State};

use crate::support::started::Started;
use crate::support::{beside_others, emulated, figures, folder, linespeed, lost, skipped, sound};

/// Starts a quick run and waits until its first measurement is done.
fn begun(args: &[&str]) -> Started {
    let all = ["run", "clock", "latency", "bandwidth", "wakeup", "--quick", "--verbose"];
    let started = Started::new(linespeed(all.iter().chain(args)));
    started.wait_for("clock: ");
    started
}

#[test]
fn a_signal_ends_the_run_and_keeps_what_was_measured() {
    let _beside = beside_others();
    for (signal, code) in [(libc::SIGINT, 130), (libc::SIGTERM, 143), (libc::SIGHUP, 129)] {
        let started = begun(&["--json"]);
        started.send(signal);
        let ran = started.ended();
        assert_eq!((ran.code, ran.signal), (Some(code), None), "{}", ran.stderr);
        let record = ran.record();
        assert_eq!(record.ended, Ended::Interrupted { signal });
        assert!(figures(&record, "core.clock") > 0, "what was measured is gone");
        assert_eq!(figures(&record, "wakeup.latency"), 0);
        assert!(!lost(&record, "wakeup").is_empty());
        let clock = record.coverage.iter().find(|c| c.what == "clock").map(|c| c.state);
        assert_ne!(clock, Some(State::Skipped));
        assert!(record.conditions.after.is_some(), "the conditions after the run are missing");
    }
}

#[test]
fn one_signal_that_is_sent_twice_keeps_what_was_measured() {
    let _beside = beside_others();
    // As `timeout` does: to the program, and to its group.
    let started = begun(&["--json"]);
    for gap in [0, 10, 0] {
        std::thread::sleep(std::time::Duration::from_millis(gap));
        started.send(libc::SIGTERM);
    }
    let ran = started.ended();
    assert_eq!((ran.code, ran.signal), (Some(143), None), "{}", ran.stderr);
    assert!(figures(&ran.record(), "core.clock") > 0, "what was measured is gone");
}

#[test]
fn an_interrupted_run_leaves_its_record_and_nothing_else() {
    let _beside = beside_others();
    let folder = folder();
    let place = folder.path().join("a.json");
    let started = begun(&["--output", place.to_str().unwrap()]);
    started.send(libc::SIGINT);
    let ran = started.ended();
    assert_eq!(ran.code, Some(130), "{}", ran.stderr);
    assert!(ran.stdout.to_lowercase().contains("interrupt"), "the report does not say so:\n{}", ran.stdout);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    let record = sound::record(&std::fs::read(&place).unwrap());
    assert_eq!(record.ended, Ended::Interrupted { signal: 2 });
}

#[test]
fn a_signal_before_the_first_figure_leaves_a_record_too() {
    if emulated() {
        let why = "what /proc tells of handlers is the emulator's";
        return skipped("a_signal_before_the_first_figure_leaves_a_record_too", why);
    }
    let _beside = beside_others();
    let started = Started::new(linespeed(["run", "latency", "--full", "--json"]));
    // Its signal handler is what it installs first; before that a signal just ends it.
    let handled = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", started.id())).unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 2 != 0)
    };
    let mut looks = 0;
    while !handled() {
        looks += 1;
        assert!(looks < 30_000, "it installs no handler");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    started.send(libc::SIGINT);
    let ran = started.ended();
    assert_eq!(ran.code, Some(130), "{}", ran.stderr);
    assert_eq!(ran.record().ended, Ended::Interrupted { signal: 2 });
}

#[test]
fn kill_9_leaves_nothing_on_the_machine() {
    let _beside = beside_others();
    let folder = folder();
    let place = folder.path().join("a.json");
    let started = begun(&["--output", place.to_str().unwrap()]);
    started.send(libc::SIGKILL);
    assert_eq!(started.ended().signal, Some(libc::SIGKILL));
    let names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(names.is_empty(), "left behind: {names:?}");
}
