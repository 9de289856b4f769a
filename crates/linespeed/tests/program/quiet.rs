//! `linespeed quiet`: what it sets it puts back, whatever ends it; and a command below it is as it would be without.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::confine::Confine;
use crate::support::started::{heeding_signals, spawned};
use crate::support::{Ran, alone, emulated, folder, linespeed, machines, program, ran, root, run, skipped};

/// A value that every Linux with root has, and that hurts nobody for a moment.
pub const FILE: &str = "/proc/sys/vm/stat_interval";
pub const KNOB: &str = "stat-interval";

pub fn value() -> String {
    std::fs::read_to_string(FILE).unwrap().trim().to_owned()
}

/// The right to turn knobs of this machine: alone, as root, with a value that can be written; and what it was.
pub fn may(test: &str) -> Option<(std::sync::RwLockWriteGuard<'static, ()>, String)> {
    let alone = alone();
    let why = if !root() {
        "it needs root"
    } else if emulated() {
        "the program runs under an emulator"
    } else if std::fs::OpenOptions::new().write(true).open(FILE).is_err() {
        "the kernel's files are read-only here"
    } else if !free() {
        "somebody else holds the knobs of this machine"
    } else if value() == "10" {
        "the value is quiet already"
    } else {
        return Some((alone, value()));
    };
    skipped(test, why);
    None
}

/// Waits for others on this machine who have knobs turned.
pub fn free() -> bool {
    let from = Instant::now();
    while from.elapsed() < Duration::from_secs(30) {
        if ran(["quiet", "--status"]).code == Some(0) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    false
}

/// It ended with this code, whatever it said.
#[track_caller]
pub fn ended(args: &[&str], code: i32) -> Ran {
    let done = ran(args);
    assert_eq!(done.code, Some(code), "{done:?}");
    done
}

/// A child that does not outlive its test.
pub struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        if self.0.try_wait().is_ok_and(|ended| ended.is_none()) {
            send(self.0.id(), libc::SIGTERM);
            let _ = self.0.wait();
        }
    }
}

/// Writes the value back when a test ends, however: what a test itself has written no run takes for what was before.
struct PutBack<'a>(&'a str);

impl Drop for PutBack<'_> {
    fn drop(&mut self) {
        let _ = std::fs::write(FILE, self.0);
    }
}

/// Waits until the value is what it was; the guardian needs a moment.
#[track_caller]
pub fn is_back(before: &str) {
    let from = Instant::now();
    while value() != before {
        assert!(from.elapsed() < Duration::from_secs(20), "{FILE} stays at {}", value());
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Starts a command under quiet and waits until it says that it runs.
pub fn started(script: &str) -> Running {
    use std::io::Read;
    let mut command = linespeed(["quiet", KNOB, "--", "sh", "-c", script]);
    heeding_signals(&mut command);
    let mut child = spawned(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
    child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    Running(child)
}

pub fn send(pid: u32, signal: i32) {
    // SAFETY: takes numbers; the process is a child of this test.
    unsafe { libc::kill(pid as i32, signal) };
}

#[test]
fn the_table_names_every_knob_and_needs_nothing() {
    let folder = folder();
    let copy = folder.path().join("linespeed");
    crate::support::copied_to(&copy);
    for columns in [80, 160] {
        let mut command = program(&copy, ["quiet", "--all"]).by_nobody();
        command.env("COLUMNS", columns.to_string());
        let done = run(command);
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        assert!(done.stdout.lines().all(|line| line.chars().count() <= columns), "{}", done.stdout);
        for knob in quiet::knobs::KNOBS.iter() {
            assert!(done.stdout.contains(knob.name), "no {} in\n{}", knob.name, done.stdout);
        }
    }
    let done = run(program(&copy, ["quiet", "--json", "--fail-on", "warning"]).by_nobody());
    let reported: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(reported["knobs"].as_array().unwrap().len(), quiet::knobs::KNOBS.len());
    assert_eq!(done.code == Some(0), reported["quiet"].as_bool().unwrap());
}

#[test]
fn a_captured_machine_is_looked_at_and_never_written() {
    let folder = folder();
    let tree = folder.path().join("tree");
    machines::write(
        &tree,
        &[
            ("sys/devices/system/cpu/online", "0-3\n"),
            ("sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "powersave\n"),
            ("sys/devices/system/cpu/intel_pstate/no_turbo", "0\n"),
            ("proc/sys/kernel/nmi_watchdog", "1\n"),
        ],
    );
    let path = tree.to_str().unwrap();
    // What was looked at is no failure, unless that was asked for.
    ended(&["quiet", "--root", path, "--fail-on", "note"], 1);
    ended(&["quiet", "--root", path, "--fail-on", "serious"], 0);
    let text = ended(&["quiet", "--root", path], 0).stdout;
    for part in ["governor", "powersave", "performance", "nmi-watchdog"] {
        assert!(text.contains(part), "no {part} in\n{text}");
    }
    let would = ran(["quiet", "--dry-run", "--root", path, "--cpus", "2-3"]).succeeds().stdout;
    assert!(would.contains("no_turbo") || would.contains("captured"), "{would}");
    ran(["quiet", "--root", path, "--apply"]).misused(&["--root"]);
    assert_eq!(std::fs::read_to_string(tree.join("proc/sys/kernel/nmi_watchdog")).unwrap(), "1\n");
}

#[test]
fn wrong_words_are_reported_what_to_write() {
    ran(["quiet", "goveror"]).fails(2, &["no knob", "did you mean governor?"]);
    ran(["quiet", "--cpus", "64000"]).fails(2, &["64000", "is not online"]);
    ran(["quiet", "--apply", "--restore"]).misused(&["--restore"]);
    ran(["quiet", "--drop-caches"]).misused(&["COMMAND"]);
    ran(["quiet", "--full"]).fails(2, &["does not support --full"]);
    ran(["quiet", "--output", "file"]).fails(2, &["does not support --output", "redirect standard output"]);
    ran(["quiet", "--cpus", "0,,1"]).misused(&["next to a comma"]);
    for name in ["affinity", "interrupts", "isolation", "shield", "workqueues"] {
        for rest in [&["--apply"][..], &["--dry-run"], &["--", "true"]] {
            let words = [&["quiet", name], rest].concat();
            ran(words).fails(2, &[name, "is set only for selected CPUs", "--cpus LIST"]);
        }
    }
    ran(["quiet", "shield", "affinity", "--apply"])
        .fails(2, &["shield, affinity are set", "require a CPU list"]);
    ran(["inspect", "--quiet-machine"]).fails(2, &["does not support"]);
    ran(["plan", "--quiet-machine"]).fails(2, &["--verify"]);
    let online = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap();
    ran(["quiet", "--cpus", online.trim()]).fails(2, &["--cpus"]);
}

#[test]
fn a_command_is_as_it_would_be_without() {
    let Some((_alone, before)) = may("a_command_is_as_it_would_be_without") else { return };
    let done = ran(["quiet", KNOB, "--", "sh", "-c", &format!("cat {FILE}; echo err >&2; exit 7")]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(7), "10\n"), "{}", done.stderr);
    assert_eq!(done.stderr, "err\n");
    assert_eq!(value(), before);
    ran(["quiet", KNOB, "--", "/no/such/program"]).fails(127, &["/no/such/program"]);
    let empty = folder();
    ran(["quiet", KNOB, "--", empty.path().to_str().unwrap()]).fails(126, &["linespeed"]);
    let done = ran(["quiet", KNOB, "--", "sh", "-c", "kill -9 $$"]);
    assert_eq!((done.code, value()), (Some(137), before));
}

#[test]
fn signals_reach_the_command_and_everything_comes_back() {
    let Some((_alone, before)) = may("signals_reach_the_command_and_everything_comes_back") else { return };
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGUSR1] {
        let mut child = started(&format!("trap 'exit 9' {signal}; echo; while :; do sleep 0.02; done"));
        assert_eq!(value(), "10");
        send(child.0.id(), signal);
        assert_eq!(child.0.wait().unwrap().code(), Some(9), "signal {signal}");
        assert_eq!(value(), before);
    }
    let mut child = started("echo; exec sleep 60");
    send(child.0.id(), libc::SIGTERM);
    assert_eq!(child.0.wait().unwrap().code(), Some(128 + libc::SIGTERM));
    assert_eq!(value(), before);
}

#[test]
fn killed_it_leaves_neither_values_nor_processes() {
    let Some((_alone, before)) = may("killed_it_leaves_neither_values_nor_processes") else { return };
    // Of these tests alone: others may run beside them.
    let mark = std::process::id();
    for _ in 0..5 {
        let mut child = started(&format!("sleep 4711.{mark} & echo; exec sleep 4712.{mark}"));
        let parent = child.0.id();
        send(parent, libc::SIGKILL);
        assert_eq!(child.0.wait().unwrap().signal(), Some(libc::SIGKILL));
        is_back(&before);
        assert!(free(), "the guardian has not ended");
    }
    let from = Instant::now();
    let sleeps = format!("^sleep 471[12]\\.{mark}$");
    let left = || Command::new("pgrep").args(["-f", &sleeps]).status().is_ok_and(|s| s.success());
    while left() {
        assert!(from.elapsed() < Duration::from_secs(20), "what the command had started still runs");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn the_second_is_refused_and_reported_who_holds_the_knobs() {
    let Some((_alone, before)) = may("the_second_is_refused_and_told_who_holds_the_knobs") else { return };
    let mut child = started("echo; exec sleep 60");
    let holder = format!("process {}", child.0.id());
    for second in [vec!["quiet", "--", "true"], vec!["quiet", "--apply"], vec!["quiet", "--restore"]] {
        ran(second).fails(3, &[holder.as_str(), "sleep 60"]);
    }
    ended(&["quiet", "--status"], 1);
    send(child.0.id(), libc::SIGTERM);
    child.0.wait().unwrap();
    assert_eq!(value(), before);
}

#[test]
fn what_stays_stays_until_it_is_put_back_and_what_is_somebody_elses_is_left_alone() {
    let name = "what_stays_stays_until_it_is_put_back_and_what_is_somebody_elses_is_left_alone";
    let Some((_alone, before)) = may(name) else { return };
    let done = ran(["quiet", "--apply", KNOB]).succeeds();
    assert!(done.stdout.contains("--restore"), "{}", done.stdout);
    assert_eq!(value(), "10");
    let status = ended(&["quiet", "--status"], 1).stdout;
    assert!(status.contains(FILE) && status.contains("--restore"), "{status}");
    ran(["quiet", "--restore"]).succeeds();
    assert_eq!(value(), before);

    ran(["quiet", "--apply", KNOB]).succeeds();
    let back = PutBack(&before);
    std::fs::write(FILE, "7").unwrap();
    let done = ended(&["quiet", "--restore"], 1);
    assert!(done.stdout.contains("since changed to 7"), "{}", done.stdout);
    assert_eq!(value(), "7");
    drop(back);
    ran(["quiet", "--status"]).succeeds();
}

#[test]
fn what_the_command_left_in_the_background_is_waited_for() {
    let Some((_alone, before)) = may("what_the_command_left_in_the_background_is_waited_for") else { return };
    let folder = folder();
    let seen = folder.path().join("seen");
    let script = format!("(sleep 1; cat {FILE} >{}) >/dev/null 2>&1 & exit 3", seen.display());
    let done = ran(["quiet", KNOB, "--", "sh", "-c", &script]);
    assert_eq!(done.code, Some(3));
    assert!(done.stderr.contains("still running"), "{}", done.stderr);
    assert_eq!(std::fs::read_to_string(&seen).unwrap(), "10\n");
    assert_eq!(value(), before);
}

#[test]
fn named_cpus_are_the_commands_alone_and_are_given_back() {
    let Some((_alone, _)) = may("named_cpus_are_the_commands_alone_and_are_given_back") else { return };
    let online: record::CpuList =
        std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap().trim().parse().unwrap();
    if online.len() < 2 {
        return skipped("named_cpus_are_the_commands_alone_and_are_given_back", "it needs two CPUs");
    }
    let last = online.iter().last().unwrap().to_string();
    let groups = || {
        let mut found: Vec<String> = ["/sys/fs/cgroup", "/sys/fs/cgroup/cpuset"]
            .iter()
            .flat_map(|folder| std::fs::read_dir(Path::new(folder)).into_iter().flatten().flatten())
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|name| name.starts_with("linespeed-"))
            .collect();
        found.sort();
        found
    };
    assert_eq!(groups(), Vec::<String>::new());
    let script = "grep Cpus_allowed_list /proc/self/status; cat /proc/self/cgroup";
    let done = ended(&["quiet", "--cpus", &last, "--", "sh", "-c", script], 0);
    assert!(done.stdout.contains(&format!("Cpus_allowed_list:\t{last}\n")), "{}", done.stdout);
    assert_eq!(groups(), Vec::<String>::new());
    // Killed in the middle, too.
    let mut child = Running(spawned(&mut linespeed(["quiet", "--cpus", &last, "--", "sleep", "60"])));
    std::thread::sleep(Duration::from_millis(300));
    send(child.0.id(), libc::SIGKILL);
    child.0.wait().unwrap();
    let from = Instant::now();
    while !groups().is_empty() {
        assert!(from.elapsed() < Duration::from_secs(20), "left behind: {:?}", groups());
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_measurement_on_a_quiet_machine_says_which_knobs_were_set() {
    let Some((_alone, before)) = may("a_measurement_on_a_quiet_machine_says_which_knobs_were_set") else {
        return;
    };
    let done = ran(["run", "costs", "--quick", "--quiet-machine", "--json"]).succeeds();
    let record = done.record();
    let knob = record.conditions.knobs.iter().find(|knob| knob.name == KNOB).unwrap();
    assert_eq!((knob.was.as_str(), knob.set_to.as_deref()), (before.as_str(), Some("10")));
    assert_eq!(value(), before);
    let done = ended(&["stat", "--quiet-machine", "--json", "--", "cat", FILE], 0);
    assert!(done.stdout.starts_with("10\n") && done.stdout.contains("\"set_to\": \"10\""), "{}", done.stdout);
    let report = ended(&["stat", "--quiet-machine", "--", "cat", FILE], 0).stderr;
    assert!(report.contains("Quiet machine, set for the run: ") && report.contains(KNOB), "{report}");
    let report = ran(["run", "costs", "--quick", "--quiet-machine", "--output", "/dev/null"]).stdout;
    assert!(report.contains("Quiet machine, set for the run: ") && report.contains(KNOB), "{report}");
    assert_eq!(value(), before);
}
