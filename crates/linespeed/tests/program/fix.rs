//! `linespeed fix`: what it would write, what it did, and what it refuses.

use std::path::PathBuf;
use std::process::Command;

use record::{Label, Labels, Measurement, Record};
use serde_json::Value;

use crate::support::{Ran, emulated, folder, linespeed, root, run, skipped};

const THP: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

/// The value of huge pages here, and another; `None` where they cannot be switched.
fn huge_pages() -> Option<(String, &'static str)> {
    let text = std::fs::read_to_string(THP).ok()?;
    let now = text.split('[').nth(1)?.split(']').next()?.to_owned();
    let other = if now == "madvise" { "always" } else { "madvise" };
    Some((now, other))
}

/// The setting in a record whose finding `page-walk` sets huge pages to this.
fn before(wanted: &str) -> &'static str {
    if wanted == "madvise" { "never" } else { "madvise" }
}

struct Home {
    folder: tempfile::TempDir,
    record: PathBuf,
}

impl Home {
    /// A record of this machine, or of another, with a finding that is no knob and one that is.
    fn new(here: bool, value: &str) -> Self {
        let folder = folder();
        let mut inspect = linespeed(["inspect", "--json"]);
        inspect.env("HOME", folder.path());
        let mut record = Record::from_json(run(inspect).succeeds().stdout.as_bytes()).unwrap();
        if !here {
            record.machine.hostname = Some("another".to_owned());
        }
        record.conditions.before.own_nice = Some(15);
        record.conditions.before.thp = Some(before(value).to_owned());
        for (page, large) in [("4KiB", 140.0), ("2MiB", 100.0)] {
            for (bytes, ns) in [(1u64 << 20, 5.0), (1 << 30, large)] {
                let place = Labels::new().with_label(Label::Cpu, 0u32).with_label(Label::Bytes, bytes);
                let place = place.with_label(Label::Page, page);
                record.measurements.push(Measurement::new("load.latency", place, vec![ns; 6]));
            }
        }
        record.diagnosis = diagnose::diagnose(&record);
        let path = folder.path().join("record.json");
        std::fs::write(&path, record.to_json().unwrap()).unwrap();
        Self { folder, record: path }
    }

    fn fix(&self, args: &[&str]) -> Ran {
        let mut command: Command = linespeed(["fix"]);
        command.arg("--record").arg(&self.record).args(args).env("HOME", self.folder.path());
        run(command)
    }
}

#[test]
fn what_cannot_be_fixed_is_refused_in_one_line_with_the_way_out() {
    let _beside = crate::support::beside_others();
    let home = Home::new(true, "always");
    for (asked, words) in [
        ("own-priority", &["no knob"][..]),
        ("99", &["no finding 99", "findings 1 to"]),
        ("0", &["no finding 0"]),
        ("thp", &["thp", "page-walk"]),
        ("page-walk", &["-- COMMAND", "--dry-run"]),
    ] {
        if asked == "page-walk" && huge_pages().is_none_or(|(now, _)| now == "always") {
            continue;
        }
        home.fix(&[asked]).fails(2, words);
    }
    Home::new(false, "always").fix(&["page-walk", "--", "true"]).fails(3, &["another", "this machine"]);
    let mut command = linespeed(["fix", "1"]);
    command.env("HOME", home.folder.path()).env_remove("XDG_STATE_HOME");
    run(command).fails(3, &["no record of this machine"]);
}

#[test]
fn a_dry_run_names_file_old_and_new_value_and_touches_nothing() {
    // Another test's fix holds the knobs, and switches what is looked at here.
    let _alone = crate::support::alone();
    let Some((now, other)) = huge_pages() else { return };
    let home = Home::new(true, other);
    let said: Value =
        serde_json::from_str(&home.fix(&["page-walk", "--dry-run", "--json"]).succeeds().stdout).unwrap();
    assert_eq!((said["now"].as_str(), said["then"].as_str()), (Some(now.as_str()), Some(other)));
    if root() {
        let change = &said["would_set"]["values"][0];
        assert_eq!((change["path"].as_str(), change["new"].as_str()), (Some(THP), Some(other)), "{said}");
    }
    assert_eq!(huge_pages().unwrap().0, now);
    if now == "never" {
        return;
    }
    let already = Home::new(true, &now).fix(&["page-walk", "--json"]).succeeds();
    assert_eq!(serde_json::from_str::<Value>(&already.stdout).unwrap()["already"], true);
}

#[test]
fn a_fix_is_measured_and_put_back_or_kept_until_it_is_restored() {
    let name = "a_fix_is_measured_and_put_back_or_kept_until_it_is_restored";
    // Before the value is read: another test's fix may have it switched.
    let _alone = crate::support::alone();
    let writable = root() && std::fs::OpenOptions::new().write(true).open(THP).is_ok();
    let Some((now, other)) = huge_pages().filter(|_| writable && !emulated()) else {
        return skipped(name, "huge pages that root can switch");
    };
    let home = Home::new(true, other);
    let said = |ran: Ran| serde_json::from_str::<Value>(&ran.succeeds().stdout).unwrap();
    let fixed = said(home.fix(&["page-walk", "-q", "--json", "--rounds", "2", "--", "true"]));
    assert_eq!(fixed["kept"], false);
    assert!(fixed["proof"]["compared"].as_array().unwrap().len() >= 2, "{fixed}");
    assert_eq!(huge_pages().unwrap().0, now, "put back");
    let kept = said(home.fix(&["page-walk", "-q", "--json", "--keep", "--rounds", "2", "--", "true"]));
    assert_eq!((kept["kept"].as_bool(), huge_pages().unwrap().0.as_str()), (Some(true), other));
    // Another fix waits until that is restored.
    let third =
        Home::new(true, if now == "never" { "always" } else { &now }).fix(&["page-walk", "-q", "--", "true"]);
    let restored = {
        let mut command = linespeed(["quiet", "--restore"]);
        command.env("HOME", home.folder.path());
        run(command)
    };
    third.fails(3, &["--restore"]);
    restored.succeeds();
    assert_eq!(huge_pages().unwrap().0, now);
}

/// Whether huge pages are set so within a minute.
fn becomes(value: &str) -> bool {
    (0..6000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        huge_pages().is_some_and(|(now, _)| now == value)
    })
}

#[test]
fn a_fix_that_is_killed_leaves_everything_as_it_was() {
    let name = "a_fix_that_is_killed_leaves_everything_as_it_was";
    // Before the value is read: another test's fix may have it switched.
    let _alone = crate::support::alone();
    let writable = root() && std::fs::OpenOptions::new().write(true).open(THP).is_ok();
    let Some((now, other)) = huge_pages().filter(|_| writable && !emulated()) else {
        return skipped(name, "huge pages that root can switch");
    };
    let home = Home::new(true, other);
    for signal in [libc::SIGKILL, libc::SIGTERM] {
        let mut command: Command = linespeed(["fix", "page-walk", "-q", "--rounds", "500", "--record"]);
        command.arg(&home.record).args(["--", "sleep", "0.3"]).env("HOME", home.folder.path());
        let mut fix = command.stdout(std::process::Stdio::null()).spawn().unwrap();
        assert!(becomes(other), "it was never set");
        // SAFETY: a signal to a child that was not waited for yet.
        unsafe { libc::kill(fix.id() as i32, signal) };
        let ended = fix.wait().unwrap();
        assert!(becomes(&now), "{signal}: {ended:?}");
    }
}
