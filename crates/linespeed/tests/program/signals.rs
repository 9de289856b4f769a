//! Ctrl-C and kill: what was measured stays, the exit code tells the signal, nothing is left behind.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};

use record::{Ended, State};

use crate::support::{Ran, beside_others, figures, folder, linespeed, lost, sound};

/// Starts a quick run and waits until its first measurement is done.
fn begun(args: &[&str]) -> (Child, BufReader<std::process::ChildStderr>) {
    let all = ["run", "clock", "latency", "bandwidth", "wakeup", "--quick", "--verbose"];
    let mut child =
        linespeed(all.iter().chain(args)).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    assert!(line.starts_with("clock: "), "{line:?}");
    (child, stderr)
}

fn send(child: &Child, signal: i32) {
    // SAFETY: takes numbers; the child was not waited for, so the number is still its own.
    unsafe { libc::kill(child.id() as i32, signal) };
}

fn ended(child: Child, mut stderr: BufReader<std::process::ChildStderr>) -> Ran {
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    let mut ran = Ran::from(child.wait_with_output().unwrap());
    ran.stderr = rest;
    ran
}

#[test]
fn a_signal_ends_the_run_and_keeps_what_was_measured() {
    let _beside = beside_others();
    for (signal, code) in [(libc::SIGINT, 130), (libc::SIGTERM, 143), (libc::SIGHUP, 129)] {
        let (child, stderr) = begun(&["--json"]);
        send(&child, signal);
        let ran = ended(child, stderr);
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
fn an_interrupted_run_leaves_its_record_and_nothing_else() {
    let _beside = beside_others();
    let folder = folder();
    let place = folder.path().join("a.json");
    let (child, stderr) = begun(&["--output", place.to_str().unwrap()]);
    send(&child, libc::SIGINT);
    let ran = ended(child, stderr);
    assert_eq!(ran.code, Some(130), "{}", ran.stderr);
    assert!(ran.stdout.to_lowercase().contains("interrupt"), "the report does not say so:\n{}", ran.stdout);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    let record = sound::record(&std::fs::read(&place).unwrap());
    assert_eq!(record.ended, Ended::Interrupted { signal: 2 });
}

#[test]
fn a_signal_before_the_first_figure_leaves_a_record_too() {
    let _beside = beside_others();
    let child = linespeed(["run", "latency", "--full", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Its signal handler is what it installs first; before that a signal just ends it.
    let handled = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 2 != 0)
    };
    while !handled() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    send(&child, libc::SIGINT);
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(130), "{}", ran.stderr);
    assert_eq!(ran.record().ended, Ended::Interrupted { signal: 2 });
}

#[test]
fn kill_9_leaves_nothing_on_the_machine() {
    let _beside = beside_others();
    let folder = folder();
    let place = folder.path().join("a.json");
    let (child, stderr) = begun(&["--output", place.to_str().unwrap()]);
    send(&child, libc::SIGKILL);
    let ran = ended(child, stderr);
    assert_eq!(ran.signal, Some(libc::SIGKILL));
    let names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(names.is_empty(), "left behind: {names:?}");
}
