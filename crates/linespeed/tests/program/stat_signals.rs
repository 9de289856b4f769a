//! `linespeed stat` and signals: what ends it ends the command and all that it started, and nothing is left running.

use std::path::Path;
use std::time::{Duration, Instant};

use record::Ended;

use crate::stat::{flat, shell};
use crate::support::started::{Started, heeding_signals, spawned};
use crate::support::{emulated, folder, linespeed, skipped, sound, terminal};

pub fn alive(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// A line of shell that starts a child, one in a session of its own, and one that ignores polite signals, and writes the
/// numbers of all to `file`.
fn family(file: &Path) -> String {
    let file = file.display();
    format!(
        "echo $$ >>{file}; sh -c 'echo $$ >>{file}; sleep 300; true' & \
         setsid sh -c 'echo $$ >>{file}; sleep 300; true' & \
         sh -c 'trap \"\" INT TERM HUP; echo $$ >>{file}; sleep 300; true' & wait; wait"
    )
}

/// Waits until `count` process numbers stand in `file`.
pub fn numbers(file: &Path, count: usize) -> Vec<i32> {
    let from = Instant::now();
    loop {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let pids: Vec<i32> = text.lines().filter_map(|line| line.parse().ok()).collect();
        if pids.len() == count && text.ends_with('\n') {
            return pids;
        }
        assert!(from.elapsed() < Duration::from_secs(60), "it does not start: {text:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_signal_ends_the_command_and_all_that_it_started() {
    let ends_all = |signal: i32, code: i32| {
        let folder = folder();
        let (file, place) = (folder.path().join("pids"), folder.path().join("a.json"));
        let words = ["stat", "--output", place.to_str().unwrap(), "--", "sh", "-c", &family(&file)];
        let started = Started::new(linespeed(words));
        let pids = numbers(&file, 4);
        started.send(signal);
        let ran = started.ended();
        assert_eq!(ran.code, Some(code), "{}", ran.stderr);
        let left: Vec<_> = pids.iter().filter(|pid| alive(**pid)).collect();
        assert!(left.is_empty(), "left running after signal {signal}: {left:?}");
        assert!(flat(&ran.stderr).contains("stopped because linespeed received"), "{}", ran.stderr);
        assert!(flat(&ran.stderr).contains(&format!("ended early by signal {signal}")), "{}", ran.stderr);
        let record = sound::record(&std::fs::read(&place).unwrap());
        assert_eq!(record.ended, Ended::Interrupted { signal });
    };
    // At the same time: each waits two seconds for those that ignore it.
    std::thread::scope(|scope| {
        for (signal, code) in
            [(libc::SIGINT, 130), (libc::SIGTERM, 143), (libc::SIGHUP, 129), (libc::SIGQUIT, 131)]
        {
            scope.spawn(move || ends_all(signal, code));
        }
    });
}

#[test]
fn a_second_ctrl_c_ends_them_at_once() {
    let folder = folder();
    let file = folder.path().join("pids");
    let started = Started::new(linespeed(["stat", "--", "sh", "-c", &family(&file)]));
    let pids = numbers(&file, 4);
    started.send(libc::SIGINT);
    // Sooner it would be the first one, sent twice.
    std::thread::sleep(Duration::from_millis(400));
    started.send(libc::SIGINT);
    let ran = started.ended();
    assert_eq!(ran.code, Some(130), "{}", ran.stderr);
    assert!(!pids.iter().any(|pid| alive(*pid)), "left running: {pids:?}");
}

#[test]
fn a_run_that_a_terminals_ctrl_c_cuts_is_none_of_those_counted() {
    use std::os::unix::process::CommandExt;
    let folder = folder();
    let file = folder.path().join("pid");
    let line = format!("echo $$ >{}; exec sleep 300", file.display());
    let mut command = linespeed(["stat", "-r", "6", "--", "sh", "-c", &line]);
    // As a shell does, whose terminal then sends the signal to all of the group.
    command.process_group(0);
    let started = Started::new(command);
    numbers(&file, 1);
    // SAFETY: takes numbers.
    unsafe { libc::kill(-(started.id() as i32), libc::SIGINT) };
    let ran = started.ended();
    assert_eq!(ran.code, Some(130), "{}", ran.stderr);
    let text = flat(&ran.stderr);
    assert!(text.contains("ended early by signal 2: the results are from an incomplete run"), "{text}");
}

#[test]
fn a_command_dies_with_us() {
    let folder = folder();
    let file = folder.path().join("pids");
    let line = format!("echo $$ >{}; exec sleep 300", file.display());
    let started = Started::new(shell(&line));
    let pid = numbers(&file, 1)[0];
    started.send(libc::SIGKILL);
    assert_eq!(started.ended().signal, Some(libc::SIGKILL));
    let from = Instant::now();
    while alive(pid) {
        assert!(from.elapsed() < Duration::from_secs(30), "it runs on without us");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_kill_that_cannot_be_caught_leaves_no_process_of_the_command() {
    let test = "a_kill_that_cannot_be_caught_leaves_no_process_of_the_command";
    if emulated() {
        return skipped(test, "the processes are the emulator's");
    }
    let folder = folder();
    let file = folder.path().join("pids");
    let started = Started::new(linespeed(["stat", "-q", "--", "sh", "-c", &family(&file)]));
    let pids = numbers(&file, 4);
    started.send(libc::SIGKILL);
    assert_eq!(started.ended().signal, Some(libc::SIGKILL));
    let from = Instant::now();
    while pids.iter().any(|pid| alive(*pid)) {
        assert!(from.elapsed() < Duration::from_secs(30), "left running: {pids:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn ctrl_c_on_a_terminal_reaches_the_command_once_and_ends_the_rest() {
    use std::io::Write;
    use std::os::unix::process::CommandExt;
    if emulated() {
        let why = "what a terminal sends is the emulator's";
        return skipped("ctrl_c_on_a_terminal_reaches_the_command_once_and_ends_the_rest", why);
    }
    let folder = folder();
    let (file, reported) = (folder.path().join("pids"), folder.path().join("told"));
    let (mut seen, printed) = terminal::open();
    let line = format!(
        "trap 'echo told >>{}' INT; echo $$ >>{1}; (trap '' INT; echo $$ >/dev/null; sleep 300) & echo $! >>{1}; \
         wait; wait",
        reported.display(),
        file.display()
    );
    let mut command = shell(&line);
    command.stdin(printed.try_clone().unwrap()).stdout(printed.try_clone().unwrap()).stderr(printed);
    heeding_signals(&mut command);
    // SAFETY: system calls only: a session of its own whose terminal is its standard input.
    unsafe {
        command.pre_exec(|| {
            libc::setsid();
            libc::ioctl(0, libc::TIOCSCTTY, 0);
            Ok(())
        });
    }
    let mut child = spawned(&mut command);
    drop(command);
    let pids = numbers(&file, 2);
    // The shell waits for its child by then, or will: what is typed stays until it does.
    seen.write_all(b"\x03").unwrap();
    let from = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        assert!(from.elapsed() < Duration::from_secs(60), "Ctrl-C does not end it");
        std::thread::sleep(Duration::from_millis(10));
    };
    assert_eq!(status.code(), Some(130));
    assert!(!pids.iter().any(|pid| alive(*pid)), "left running: {pids:?}");
    assert_eq!(
        std::fs::read_to_string(&reported).unwrap(),
        "told\n",
        "Ctrl-C reached it more or less than once"
    );
}

/// Processes that were started with this in their environment, or are forked from such.
fn with_variable(wanted: &str) -> Vec<i32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let has = |pid: &i32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
    };
    pids.filter(has).collect()
}

#[test]
fn a_probe_that_is_ended_at_any_moment_leaves_no_process_and_no_file() {
    let test = "a_probe_that_is_ended_at_any_moment_leaves_no_process_and_no_file";
    if emulated() {
        return skipped(test, "the processes are the emulator's");
    }
    // Three processes a run: in the first one, in one on its own, beside a taker of bandwidth and one of the cache.
    for (signal, code) in [(libc::SIGINT, Some(130)), (libc::SIGTERM, Some(143)), (libc::SIGKILL, None)] {
        for begun in [1, 5, 13, 14, 16] {
            let folder = folder();
            let (file, state) = (folder.path().join("pids"), folder.path().join("state"));
            let temporary = folder.path().join("tmp");
            std::fs::create_dir(&temporary).unwrap();
            let lines = file.display();
            let line = format!(
                "echo $$ >>{lines}; sh -c 'echo $$ >>{lines}; sleep 0.1; true' & \
                 setsid sh -c 'echo $$ >>{lines}; sleep 0.1; true' & wait; sleep 0.05"
            );
            let mut command = linespeed(["stat", "--probe", "--", "sh", "-c", &line]);
            let variable = format!("PROBED_BY={}", folder.path().display());
            command.env("PROBED_BY", folder.path()).env("XDG_STATE_HOME", &state).env("TMPDIR", &temporary);
            let started = Started::new(command);
            let from = Instant::now();
            while std::fs::read_to_string(&file).unwrap_or_default().lines().count() < begun {
                assert!(from.elapsed() < Duration::from_secs(60), "it does not come to run {begun}");
                std::thread::sleep(Duration::from_millis(5));
            }
            started.send(signal);
            let ran = started.ended();
            assert_eq!((ran.code, ran.signal), (code, code.is_none().then_some(signal)), "{}", ran.stderr);
            let from = Instant::now();
            // Who cannot be asked has a guard, which needs a moment.
            while !with_variable(&variable).is_empty() {
                let left = with_variable(&variable);
                let patience = if code.is_some() { 0 } else { 30 };
                assert!(
                    from.elapsed() < Duration::from_secs(patience),
                    "{signal} at {begun}: {left:?} run on"
                );
                std::thread::sleep(Duration::from_millis(5));
            }
            let files = |folder: &Path| {
                let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
                entries.map(|entry| entry.file_name().into_string().unwrap()).collect::<Vec<_>>()
            };
            assert_eq!(files(&temporary), [""; 0]);
            let kept = files(&state.join("linespeed"));
            assert_eq!(kept.len(), usize::from(code.is_some()), "{kept:?}");
            assert!(kept.iter().all(|name| name.ends_with(".json") && !name.starts_with('.')), "{kept:?}");
        }
    }
}

#[test]
fn each_run_of_a_probe_reads_the_same_file_and_a_pipe_is_not_probed() {
    let folder = folder();
    let (input, seen) = (folder.path().join("input"), folder.path().join("seen"));
    std::fs::write(&input, "one\ntwo\n").unwrap();
    let line = format!("cat >>{}", seen.display());
    let mut probe = linespeed(["stat", "-r", "2", "--probe", "--", "sh", "-c", &line]);
    probe.stdin(std::fs::File::open(&input).unwrap());
    let ran = crate::support::Ran::from(probe.output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let read = std::fs::read_to_string(&seen).unwrap();
    let runs = read.len() / 8;
    assert!(runs > 2 && read == "one\ntwo\n".repeat(runs), "{runs}: {read:?}");
    // What a pipe held is gone: one run, and no probe of other work.
    std::fs::remove_file(&seen).unwrap();
    let probe = linespeed(["stat", "--json", "--probe", "--", "sh", "-c", &line]);
    let ran = crate::support::run_with(probe, "one\ntwo\n");
    let record = ran.record();
    assert_eq!(std::fs::read_to_string(&seen).unwrap(), "one\ntwo\n");
    crate::support::says_lost(&record, "probes", "probe-input-read");
}

#[test]
fn a_time_that_its_own_stop_made_longer_is_in_doubt() {
    let folder = folder();
    let (file, place) = (folder.path().join("pids"), folder.path().join("a.json"));
    let goes = folder.path().join("goes");
    let work =
        format!("echo $$ >>{}; while [ ! -e {} ]; do sleep 0.02; done", file.display(), goes.display());
    let words = ["stat", "--output", place.to_str().unwrap(), "--", "sh", "-c", &work];
    let started = Started::new(linespeed(words));
    let pid = numbers(&file, 1)[0];
    started.send(libc::SIGSTOP);
    // Each of its threads, before the command ends.
    std::thread::sleep(Duration::from_millis(50));
    std::fs::write(&goes, "").unwrap();
    let from = Instant::now();
    while alive(pid) {
        assert!(from.elapsed() < Duration::from_secs(60), "it does not end");
        std::thread::sleep(Duration::from_millis(10));
    }
    // It goes unseen for a while.
    std::thread::sleep(Duration::from_millis(500));
    started.send(libc::SIGCONT);
    assert_eq!(started.ended().code, Some(0));
    let record = sound::record(&std::fs::read(&place).unwrap());
    let time = record.measurements.iter().find(|m| m.metric == "workload.time").unwrap();
    assert_eq!(time.doubt.as_ref().and_then(record::Doubt::code), Some("stat-ended-unseen"), "{time:?}");
}
