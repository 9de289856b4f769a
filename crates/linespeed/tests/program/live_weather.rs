//! `linespeed live` where things are not as they should be.

use std::fs::File;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use record::live::Interval;
use serde_json::Value;

use crate::support::confine::{self, Confine};
use crate::support::started::{Started, spawned};
use crate::support::{emulated, folder, linespeed, program, run, skipped};

/// A process that goes away with its value.
struct Busy(Child);

impl Busy {
    fn new(script: &str) -> Self {
        Self(spawned(Command::new("sh").args(["-c", script])))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits for what a watch does.
fn until(mut done: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !done() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(done(), "nothing came in a minute");
}

/// What one watch of some arguments says, in its only object.
fn once(args: &[&str]) -> (Interval, Vec<Value>) {
    let ran = run(linespeed([&["live", "--once", "1s", "--json"], args].concat())).succeeds();
    assert_eq!(ran.stderr, "");
    let object: Value = serde_json::from_str(&ran.stdout).unwrap();
    let interval = serde_json::from_value(object["interval"].clone()).unwrap();
    (interval, object["coverage"].as_array().unwrap().clone())
}

fn code_of<'a>(coverage: &'a [Value], what: &str) -> &'a str {
    let line = coverage.iter().find(|line| line["what"] == what).unwrap();
    line["code"].as_str().unwrap_or("")
}

#[test]
fn a_prom_file_that_somebody_holds_is_replaced_and_he_keeps_his_own() {
    let folder = folder();
    let path = folder.path().join("linespeed.prom");
    std::fs::write(&path, "old\n").unwrap();
    let mut held = File::open(&path).unwrap();
    // SAFETY: the descriptor is open for as long as the lock.
    assert_eq!(unsafe { libc::flock(held.as_raw_fd(), libc::LOCK_EX) }, 0);
    let watch = Started::new(linespeed(["live", "-i", "200ms", "-q", "--prom", path.to_str().unwrap()]));
    until(|| std::fs::read_to_string(&path).is_ok_and(|text| text.contains("linespeed_live_cpu_ratio")));
    watch.send(libc::SIGINT);
    let ran = watch.ended();
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let mut old = String::new();
    held.read_to_string(&mut old).unwrap();
    assert_eq!(old, "old\n");
}

#[test]
fn a_prom_file_that_cannot_be_written_is_said_once_and_the_watch_goes_on() {
    let folder = folder();
    let in_the_way = folder.path().join("folder.prom");
    std::fs::create_dir(&in_the_way).unwrap();
    let pipe = folder.path().join("pipe.prom");
    let name = std::ffi::CString::new(pipe.to_str().unwrap()).unwrap();
    // SAFETY: the name outlives the call.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    for path in [&in_the_way, &pipe] {
        let record = folder.path().join("watch.json");
        // On a busy machine an interval takes longer than it was to.
        let goes_on = [500, 4000, 20_000].into_iter().any(|more| {
            let mut command = linespeed(["live", "-i", "100ms", "-q", "--prom", path.to_str().unwrap()]);
            command.arg("--output").arg(&record);
            let watch = Started::new(command);
            watch.wait_for("linespeed: ");
            std::thread::sleep(Duration::from_millis(more));
            watch.send(libc::SIGINT);
            let ran = watch.ended();
            assert_eq!(ran.code, Some(0), "{}: {}", path.display(), ran.stderr);
            let said = ran.stderr.lines().filter(|line| line.contains(path.to_str().unwrap())).count();
            assert!(said <= 1, "{}", ran.stderr);
            let watch = record::Record::read(&record).unwrap().watch.unwrap();
            std::fs::remove_file(&record).unwrap();
            watch.intervals >= 2
        });
        assert!(goes_on, "{}: it ended with its first interval", path.display());
    }
}

#[test]
fn a_name_with_escapes_reaches_no_terminal_no_page_and_no_text() {
    if emulated() {
        return skipped("a_name_with_escapes_reaches_no_terminal", "the emulator has another name");
    }
    let busy = Busy::new("printf '\\033[2J\\n\"\\\\x' > /proc/$$/comm; while :; do :; done");
    let pid = busy.0.id().to_string();
    until(|| std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.contains('\u{1b}')));
    let is_clean = |of: &[&str]| {
        let folder = folder();
        let (prom, record) = (folder.path().join("a.prom"), folder.path().join("watch.json"));
        let mut command = linespeed([&["live", "--once", "1s"], of].concat());
        command.arg("--prom").arg(&prom).arg("--output").arg(&record).env("COLUMNS", "80");
        let screen = run(command).succeeds().stdout;
        let page = run(linespeed(["show", record.to_str().unwrap(), "--html"])).succeeds().stdout;
        let shown = run(linespeed(["show", record.to_str().unwrap()])).succeeds().stdout;
        let json = run(linespeed(["show", record.to_str().unwrap(), "--json"])).succeeds().stdout;
        let prom = std::fs::read_to_string(&prom).unwrap();
        for text in [&screen, &page, &shown, &json, &prom] {
            let bare = |c: char| c.is_control() && c != '\n' && c != '\t';
            assert!(!text.contains(bare), "{text:?}");
        }
        assert!(screen.lines().count() <= 24, "{screen}");
        assert!(of.is_empty() || screen.contains("[2J"), "{screen}");
    };
    // At the same time: each waits for three seconds.
    std::thread::scope(|scope| {
        scope.spawn(|| is_clean(&[]));
        is_clean(&["-p", &pid]);
    });
}

#[test]
fn processes_that_end_between_two_looks_are_counted_and_disturb_nothing() {
    let _short = Busy::new("while :; do /bin/true; /bin/true & done");
    let (interval, _) = once(&[]);
    assert!(interval.rates["forks"] >= 2.0, "{interval:?}");
    assert!(interval.times.busy() > 0.0 && interval.processes.len() <= 8, "{interval:?}");
}

#[test]
fn a_process_that_ends_in_mid_watch_ends_the_watch() {
    if emulated() {
        return skipped(
            "a_process_that_ends_in_mid_watch_ends_the_watch",
            "the emulator's own threads are seen",
        );
    }
    let folder = folder();
    let prom = folder.path().join("linespeed.prom");
    let sleeping = Busy::new("exec sleep 60");
    let mut command = linespeed(["live", "-i", "200ms", "--json", "-p", &sleeping.0.id().to_string()]);
    command.arg("--prom").arg(&prom);
    let watch = Started::new(command);
    until(|| prom.exists());
    drop(sleeping);
    let ran = watch.ended().succeeds();
    assert!(!ran.stdout.is_empty());
    assert!(ran.stdout.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()));
}

/// One watch by a copy of the program for anybody, in what `confined` makes of its surroundings.
fn seen_from(confined: impl Fn(Command) -> Command, copy: &Path) -> (Interval, Vec<Value>) {
    let ran = run(confined(program(copy, ["live", "--once", "1s", "--json"]))).succeeds();
    assert_eq!(ran.stderr, "");
    let object: Value = serde_json::from_str(&ran.stdout).unwrap();
    let interval = serde_json::from_value(object["interval"].clone()).unwrap();
    (interval, object["coverage"].as_array().unwrap().clone())
}

#[test]
fn what_is_hidden_or_missing_is_said_and_the_rest_goes_on() {
    if let Some(why) = confine::no_mounts() {
        return skipped("what_is_hidden_or_missing_is_said_and_the_rest_goes_on", &why);
    }
    let folder = folder();
    let copy = folder.path().join("linespeed");
    crate::support::copied_to(&copy);
    let hidden = |command: Command| {
        let command = command.with_mount("/proc", |proc| {
            let (kind, options) = (c"proc".as_ptr(), c"hidepid=2".as_ptr().cast());
            // SAFETY: all strings outlive the call.
            let code = unsafe { libc::mount(kind, proc.as_ptr(), kind, 0, options) };
            if code == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
        });
        command.by_nobody()
    };
    let (interval, coverage) = seen_from(hidden, &copy);
    assert_eq!(code_of(&coverage, "processes"), "live-hidden");
    assert!(interval.times.all() > 0.0, "{interval:?}");
    // Without PSI, by an empty folder over its own.
    if Path::new("/proc/pressure").exists() {
        let (interval, coverage) = seen_from(|command| command.with_empty("/proc/pressure"), &copy);
        assert_eq!(code_of(&coverage, "pressure"), "live-not-told");
        assert!(interval.pressure.is_empty() && interval.times.all() > 0.0, "{interval:?}");
    }
    // Without sysfs.
    let (interval, coverage) = seen_from(|command| command.with_empty("/sys"), &copy);
    assert_eq!(code_of(&coverage, "sensors"), "live-no-hwmon");
    assert!(interval.times.all() > 0.0, "{interval:?}");
}

#[test]
fn in_a_namespace_of_its_own_the_others_are_said_to_be_unseen() {
    if confine::no_mounts().is_some() || Command::new("unshare").arg("--version").output().is_err() {
        return skipped("in_a_namespace_of_its_own", "no namespaces or no unshare");
    }
    let folder = folder();
    let copy = folder.path().join("linespeed");
    crate::support::copied_to(&copy);
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--mount-proc"]).arg(&copy);
    command.args(["live", "--once", "1s", "--json"]);
    let ran = run(command).succeeds();
    let object: Value = serde_json::from_str(&ran.stdout).unwrap();
    let interval: Interval = serde_json::from_value(object["interval"].clone()).unwrap();
    assert_eq!(code_of(object["coverage"].as_array().unwrap(), "processes"), "live-pid-namespace");
    assert!(interval.times.all() > 0.0 && interval.processes.is_empty(), "{interval:?}");
}
