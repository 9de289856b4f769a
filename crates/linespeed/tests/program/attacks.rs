//! What is done to the program on purpose: too few descriptors, other people's children, names that are not theirs.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::quiet::{KNOB, may, value};
use crate::support::confine::{Confine, NOBODY, no_mounts};
use crate::support::{beside_others, copied_to, emulated, folder, linespeed, program, run, skipped};

/// The program with these arguments, started by a shell that does something before: it becomes `exec "$@"`.
fn after(before: &str, args: &[&str]) -> Command {
    let ours = linespeed(args);
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{before}\nexec \"$@\""), "sh"]).arg(ours.get_program()).args(ours.get_args());
    for (key, value) in ours.get_envs() {
        match value {
            Some(value) => shell.env(key, value),
            None => shell.env_remove(key),
        };
    }
    shell
}

#[test]
fn with_too_few_descriptors_to_put_a_knob_back_none_is_set() {
    let Some((_alone, before)) = may("with_too_few_descriptors_to_put_a_knob_back_none_is_set") else {
        return;
    };
    let mut refused = 0;
    for most in 3..24 {
        let done =
            run(after(&format!("ulimit -n {most}"), &["quiet", KNOB, "--", "cat", crate::quiet::FILE]));
        assert_eq!(value(), before, "with {most} descriptors: {done:?}");
        assert!(!done.stderr.contains("cannot be restored"), "with {most} descriptors: {done:?}");
        refused += u32::from(done.code == Some(3));
    }
    assert!(refused > 5, "{refused}");
}

#[test]
fn where_the_stack_is_too_small_a_line_says_so() {
    if emulated() {
        return skipped("where_the_stack_is_too_small_a_line_says_so", "emulated");
    }
    for command in [&["--version"][..], &["plan"], &["stat", "--", "true"]] {
        run(after("ulimit -s 64", command)).fails(3, &["64 KiB", "ulimit -s 512"]);
        assert_eq!(run(after("ulimit -s 512", command)).code, Some(0), "{command:?}");
    }
}

#[test]
fn children_of_the_shell_that_became_linespeed_are_not_the_commands() {
    let _beside = beside_others();
    if emulated() {
        return skipped("children_of_the_shell_that_became_linespeed_are_not_the_commands", "emulated");
    }
    let marks = folder();
    let (own, later) = (marks.path().join("own"), marks.path().join("later"));
    // A child of the shell's own, and one that another child of it leaves behind later.
    let before = format!(
        "sleep 30 >/dev/null 2>&1 & echo $! >{}; (sleep 0.3; sleep 31 & echo $! >{}) >/dev/null 2>&1 &",
        own.display(),
        later.display()
    );
    let from = Instant::now();
    let done = run(after(&before, &["stat", "--", "sleep", "1"]));
    assert!(from.elapsed() < Duration::from_secs(25), "they were waited for");
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(!format!("{done:?}").contains("outlived the command"), "{done:?}");
    for mark in [own, later] {
        let pid: i32 = std::fs::read_to_string(mark).unwrap().trim().parse().unwrap();
        // SAFETY: takes numbers.
        assert_eq!(unsafe { libc::kill(pid, 0) }, 0, "{pid} was ended: {done:?}");
        // SAFETY: takes numbers.
        unsafe { libc::kill(pid, libc::SIGKILL) };
    }
}

#[test]
fn after_kill_9_no_process_of_the_command_survives_whatever_it_names_itself_and_whatever_it_has_changed() {
    use crate::support::started::Started;
    let _beside = beside_others();
    let name = "after_kill_9_no_process_of_the_command_survives_whatever_it_names_itself_and_whatever_it_has_changed";
    if emulated() {
        return skipped(name, "emulated");
    }
    let folder = folder();
    let (marks, guard) = (folder.path(), folder.path().join("linespeed-guard"));
    assert!(Command::new("cp").args(["/bin/sleep", guard.to_str().unwrap()]).status().unwrap().success());
    // One with another name, one without environment and with another limit in its own session, one more of the last kind that is
    // the command's own child no more but in its group, and two that have neither environment nor limit: below a process that
    // has both, and below none.
    let script = format!(
        "exec >/dev/null 2>&1; cd {}; ./linespeed-guard 61 & echo $! >one; \
         setsid env -i /usr/bin/prlimit --locks=77 sleep 62 & echo $! >two; \
         (env -i /usr/bin/prlimit --locks=77 sleep 63 & echo $! >three); \
         (setsid env -i /usr/bin/prlimit --locks=77 --rss=78 sleep 65 & echo $! >four; sleep 66; true) & \
         (setsid env -i /usr/bin/prlimit --locks=77 --rss=78 sleep 67 & echo $! >five); \
         sleep 0.2; echo >ready; sleep 64",
        marks.display()
    );
    let started = Started::new(linespeed(["stat", "--", "sh", "-c", &script]));
    let from = Instant::now();
    // Until the last of them has become what it runs.
    let all = ["one", "two", "three", "four", "five"];
    let pid_of = |mark: &str| {
        std::fs::read_to_string(marks.join(mark)).ok().and_then(|text| text.trim().parse::<i32>().ok())
    };
    let is_itself = |mark: &&str| {
        let name = pid_of(mark).and_then(|pid| std::fs::read_to_string(format!("/proc/{pid}/comm")).ok());
        name.is_some_and(|name| ["sleep", "linespeed-guard"].contains(&name.trim()))
    };
    while !(marks.join("ready").exists() && all.iter().all(is_itself)) {
        assert!(from.elapsed() < Duration::from_secs(60), "they do not start");
        std::thread::sleep(Duration::from_millis(10));
    }
    started.send(libc::SIGKILL);
    started.ended();
    let pids = all.map(|mark| pid_of(mark).unwrap());
    let runs = |pid: &i32| os::child::Stat::read(*pid).is_some_and(|line| !line.has_ended());
    let from = Instant::now();
    while pids.iter().any(runs) && from.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(20));
    }
    let left: Vec<&i32> = pids.iter().filter(|pid| runs(pid)).collect();
    // SAFETY: takes numbers.
    left.iter().for_each(|pid| unsafe {
        libc::kill(**pid, libc::SIGKILL);
    });
    assert!(left.is_empty(), "of {pids:?} are left {left:?}");
}

/// As nobody, where no other process or thread can be started.
fn alone_in_the_world(args: &[&str]) -> Command {
    linespeed(args).by_nobody().step(|| {
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: reads a limit that outlives the call.
        match unsafe { libc::setrlimit(libc::RLIMIT_NPROC, &none) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    })
}

#[test]
fn where_no_thread_can_be_started_texts_are_read_and_records_compared() {
    if emulated() {
        return skipped("where_no_thread_can_be_started_texts_are_read_and_records_compared", "emulated");
    }
    let texts = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/tests/texts");
    let [one, other] =
        ["sysbench-1.0-cpu.txt", "sysbench-1.0-memory.txt"].map(|name| format!("{texts}/{name}"));
    let done = run(alone_in_the_world(&["import", "--json", &one, &other]));
    assert_eq!(done.code, Some(0), "{done:?}");
    let compared = run(alone_in_the_world(&["compare", "reference:hygon-5280", "reference:hygon-7280"]));
    assert_eq!(compared.code, Some(0), "{compared:?}");
    // What is kept is read by several threads where there are some.
    for command in [&["import", &one][..], &["records"], &["history"], &["run", "costs", "--quick", "-q"]] {
        let done = run(alone_in_the_world(command));
        assert!(done.code.is_some_and(|code| code < 100) && !done.stderr.contains("panicked"), "{done:?}");
    }
}

/// What a hostile record may be at most, and what memory it is read in.
const RECORD: usize = 63 << 20;
const MEMORY: u64 = 256 << 20;

/// A record with `item` as often as it may be in the list at `field`.
fn hostile(field: &str, item: &str) -> String {
    let head = "{\"schema\": 1, \"tool\": {\"name\": \"linespeed\", \"version\": \"0.1.0\"}, \
                \"started\": \"2026-01-01T00:00:00Z\", ";
    let (open, close) = match field {
        "siblings" => ("\"machine\": {\"cpus\": [{\"id\": 0, \"siblings\": [", "]}]}}"),
        "samples" => (
            "\"measurements\": [{\"metric\": \"core.clock\", \"unit\": \"Hz\", \"better\": \"higher\", \
                       \"where\": {}, \"samples\": [",
            "]}]}",
        ),
        "cpus" => ("\"machine\": {\"cpus\": [", "]}}"),
        "features" => ("\"machine\": {\"features\": [", "]}}"),
        "notes" => ("\"machine\": {\"notes\": [", "]}}"),
        _ => ("\"command\": [", "]}"),
    };
    let times = (RECORD - head.len() - open.len() - close.len()) / (item.len() + 1);
    format!("{head}{open}{}{item}{close}", format!("{item},").repeat(times - 1))
}

#[test]
fn a_record_that_would_fill_the_memory_is_refused_and_nothing_is_killed() {
    if emulated() {
        return skipped("a_record_that_would_fill_the_memory_is_refused_and_nothing_is_killed", "emulated");
    }
    let folder = folder();
    let path = folder.path().join("hostile.json");
    let shapes = [
        ("siblings", "1"),
        ("samples", "1"),
        ("cpus", "{\"id\":0}"),
        ("features", "\"\""),
        ("notes", "\"\""),
        ("command", "\"\""),
    ];
    for (field, item) in shapes {
        std::fs::write(&path, hostile(field, item)).unwrap();
        for command in [&["show"][..], &["compare", "reference:hygon-5280"]] {
            let confined = linespeed(command.iter().copied().chain([path.to_str().unwrap()])).step(|| {
                let most = libc::rlimit { rlim_cur: MEMORY, rlim_max: MEMORY };
                // SAFETY: reads a limit that outlives the call.
                match unsafe { libc::setrlimit(libc::RLIMIT_AS, &most) } {
                    0 => Ok(()),
                    _ => Err(std::io::Error::last_os_error()),
                }
            });
            let done = run(confined);
            assert!(done.signal.is_none() && !matches!(done.code, Some(0 | 101)), "{field}: {done:?}");
            assert!(!done.stderr.is_empty(), "{field}: {done:?}");
        }
    }
}

#[test]
fn root_writes_nothing_into_another_users_state_folder() {
    use std::os::unix::fs::{chown, symlink};
    if let Some(why) = no_mounts() {
        return skipped("root_writes_nothing_into_another_users_state_folder", &why);
    }
    let (folder, theirs) = (folder(), folder());
    let (copy, state) = (folder.path().join("linespeed"), theirs.path().join("linespeed"));
    copied_to(&copy);
    let victim = folder.path().join("victim");
    std::fs::write(&victim, "precious").unwrap();
    std::fs::create_dir(&state).unwrap();
    chown(&state, Some(NOBODY), Some(NOBODY)).unwrap();
    for name in ["noise.json", "ceilings.json"] {
        symlink(&victim, state.join(name)).unwrap();
    }
    let mut command = program(&copy, ["run", "costs", "--quick"]).with_empty("/root");
    command.env("XDG_STATE_HOME", theirs.path());
    let done = run(command);
    assert_eq!(done.code, Some(0), "{done:?}");
    let told: Vec<&str> =
        done.stderr.lines().filter(|line| line.contains("other users can modify")).collect();
    assert!(matches!(told[..], [line] if line.contains("/root/.local/state/linespeed")), "{done:?}");
    assert!(done.stdout.contains("Record: /root/.local/state/linespeed/"), "{done:?}");
    assert_eq!(std::fs::read_to_string(victim).unwrap(), "precious");
    let left = std::fs::read_dir(state).unwrap().count();
    assert_eq!(left, 2, "something was written there");
}
