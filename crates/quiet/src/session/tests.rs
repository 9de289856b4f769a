//! Tests all ways in which sessions end: killed, with the guardian killed, on a full disk, after another boot.

use std::time::{Duration, Instant};

use machine::Root;

use super::*;
use crate::standing::{Leftover, find_leftover};
use crate::value_syntax::ValueSyntax;

const FILES: [(&str, ValueSyntax, &str, &str); 3] = [
    ("/sys/devices/system/cpu/intel_pstate/no_turbo", ValueSyntax::Word, "0", "1"),
    ("/sys/kernel/mm/transparent_hugepage/enabled", ValueSyntax::Chosen, "always", "never"),
    ("/proc/sys/kernel/nmi_watchdog", ValueSyntax::Word, "1", "0"),
];

struct Machine {
    tree: tempfile::TempDir,
    state: tempfile::TempDir,
    root: Root,
}

fn machine() -> Machine {
    let tree = tempfile::tempdir().unwrap();
    for (path, _, old, _) in FILES {
        let real = tree.path().join(&path[1..]);
        std::fs::create_dir_all(real.parent().unwrap()).unwrap();
        std::fs::write(real, format!("{old}\n")).unwrap();
    }
    let root = Root::captured(tree.path()).unwrap();
    Machine { tree, state: tempfile::tempdir().unwrap(), root }
}

impl Machine {
    fn values(&self) -> Vec<String> {
        let text = |path: &str| std::fs::read_to_string(self.tree.path().join(&path[1..])).unwrap();
        FILES.iter().map(|(path, ..)| text(path).trim().to_owned()).collect()
    }

    fn request(&self, stays: bool) -> Request {
        Request {
            folder: self.state.path().to_owned(),
            boot: "this-boot".to_owned(),
            command: "linespeed quiet".to_owned(),
            date: "2026-01-01T00:00:00Z".to_owned(),
            stays,
        }
    }

    fn changes(&self) -> Vec<Change> {
        let change = |(path, syntax, _, new): &(&str, ValueSyntax, &str, &str)| {
            Change::plan(&self.root, "test", path, *syntax, new).unwrap()
        };
        FILES.iter().filter_map(change).collect()
    }

    /// Applies in a separate process, which then calls `then` with its guardian's PID and never restores anything.
    /// Returns whether there is a guardian: there is none if the process has further threads, as under an emulator.
    fn in_a_process(&self, stays: bool, then: impl Fn(Option<i32>)) -> bool {
        let unguarded = self.tree.path().join("unguarded");
        // SAFETY: the copy has one thread; it reads and writes files, and exits without running exit handlers of the
        // original.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let request = self.request(stays);
            let lock = lock(&request).unwrap();
            let (session, _) = Session::start(&self.root, lock, &request, self.changes()).unwrap();
            if session.guardian().is_none() {
                std::fs::write(&unguarded, "").unwrap();
            }
            then(session.guardian());
            if stays {
                session.leave();
            }
            // SAFETY: as above.
            unsafe { libc::_exit(0) };
        }
        let mut status = 0;
        // SAFETY: waits for the child that was just created.
        unsafe { libc::waitpid(child, &mut status, 0) };
        !unguarded.exists()
    }

    /// Waits until the lock is free.
    fn settled(&self) {
        let from = Instant::now();
        while lock(&self.request(false)).is_err() {
            assert!(from.elapsed() < Duration::from_secs(60), "the guardian does not end");
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// A session of this process.
fn begun(machine: &Machine, request: &Request) -> Session {
    let begun = Session::start(&machine.root, lock(request).unwrap(), request, machine.changes());
    begun.unwrap().0
}

fn kill_me() {
    // SAFETY: ends this process, which was created for this purpose.
    unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
}

#[test]
fn killed_the_guardian_puts_everything_back() {
    let machine = machine();
    let before = machine.values();
    let guarded = machine.in_a_process(false, |_| {
        assert_eq!(machine.values(), FILES.map(|(.., new)| new.to_owned()));
        kill_me();
    });
    machine.settled();
    if guarded {
        assert_eq!(machine.values(), before);
    } else {
        restore(&machine.root, machine.state.path()).unwrap();
        assert_eq!(machine.values(), before, "the next start restores the values");
    }
    assert!(matches!(find_leftover(machine.state.path(), "this-boot"), Ok(Leftover::Nothing)));
}

#[test]
fn with_the_guardian_killed_too_the_next_start_finds_what_was_left_and_puts_it_back() {
    let machine = machine();
    let before = machine.values();
    machine.in_a_process(false, |guardian| {
        if let Some(guardian) = guardian {
            // SAFETY: the guardian is this process's child.
            unsafe { libc::kill(guardian, libc::SIGKILL) };
        }
        kill_me();
    });
    machine.settled();
    assert_ne!(machine.values(), before);
    assert!(matches!(find_leftover(machine.state.path(), "this-boot"), Ok(Leftover::Orphaned(_))));
    let restored = restore(&machine.root, machine.state.path()).unwrap();
    assert!(restored.iter().all(|(_, restored)| *restored == RestoreOutcome::Back), "{restored:?}");
    assert_eq!(machine.values(), before);
}

#[test]
fn what_is_to_stay_stays_until_it_is_put_back_by_hand() {
    let machine = machine();
    let before = machine.values();
    machine.in_a_process(true, |_| {});
    machine.settled();
    assert_ne!(machine.values(), before);
    assert!(matches!(find_leftover(machine.state.path(), "this-boot"), Ok(Leftover::Standing(_))));
    assert!(matches!(find_leftover(machine.state.path(), "another"), Ok(Leftover::OtherBoot(_))));
    restore(&machine.root, machine.state.path()).unwrap();
    assert_eq!(machine.values(), before);
}

#[test]
fn a_journal_that_somebody_removes_is_written_again_and_everything_comes_back() {
    let machine = machine();
    let before = machine.values();
    let request = machine.request(false);
    let session = begun(&machine, &request);
    assert_ne!(machine.values(), before);
    std::fs::remove_dir_all(machine.state.path()).unwrap();
    let restored = session.end(&machine.root).unwrap();
    assert!(
        restored.len() == FILES.len()
            && restored.iter().all(|(_, restored)| *restored == RestoreOutcome::Back),
        "{restored:?}"
    );
    assert_eq!(machine.values(), before);
    assert!(!machine.state.path().join(state_directory::JOURNAL).exists());
}

#[test]
fn a_journal_that_somebody_empties_or_cuts_takes_nothing_from_putting_back() {
    for length in [0, 40, 700] {
        let machine = machine();
        let before = machine.values();
        let request = machine.request(false);
        let session = begun(&machine, &request);
        let path = machine.state.path().join(state_directory::JOURNAL);
        std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(length).unwrap();
        let restored = session.end(&machine.root).unwrap();
        assert!(
            restored.len() == FILES.len()
                && restored.iter().all(|(_, restored)| *restored == RestoreOutcome::Back),
            "{restored:?}"
        );
        assert_eq!(machine.values(), before);
        assert!(!path.exists());
    }
}

#[test]
fn killed_with_its_journal_cut_the_guardian_knows_the_plan_and_puts_everything_back() {
    for length in [0, 40, 700] {
        let machine = machine();
        let before = machine.values();
        let path = machine.state.path().join(state_directory::JOURNAL);
        let guarded = machine.in_a_process(false, |_| {
            std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(length).unwrap();
            kill_me();
        });
        machine.settled();
        if guarded {
            assert_eq!(machine.values(), before, "cut to {length} bytes");
        }
    }
}

#[test]
fn an_empty_journal_is_none_and_stands_in_nobodys_way() {
    let machine = machine();
    let path = machine.state.path().join(state_directory::JOURNAL);
    std::fs::write(&path, "").unwrap();
    assert!(matches!(find_leftover(machine.state.path(), "this-boot"), Ok(Leftover::Nothing)));
    let before = machine.values();
    machine.in_a_process(true, |_| {});
    machine.settled();
    assert_ne!(machine.values(), before);
    restore(&machine.root, machine.state.path()).unwrap();
    assert_eq!(machine.values(), before);
}

#[test]
fn what_a_command_was_given_is_nobody_elses_business() {
    assert_eq!(for_everybody("linespeed quiet --apply"), "linespeed quiet --apply");
    assert_eq!(for_everybody("linespeed quiet -- make"), "linespeed quiet -- make");
    assert_eq!(for_everybody("linespeed quiet -- mysql -psecret"), "linespeed quiet -- mysql …");
}

#[test]
fn a_journal_that_is_over_is_not_written_again() {
    let machine = machine();
    let request = machine.request(false);
    let session = begun(&machine, &request);
    let duplicate = session.journal.duplicate().unwrap();
    session.end(&machine.root).unwrap();
    duplicate.rewrite_if_missing().unwrap();
    assert!(matches!(find_leftover(machine.state.path(), "this-boot"), Ok(Leftover::Nothing)));
}

#[test]
fn killed_with_its_journal_removed_the_guardian_puts_everything_back() {
    let machine = machine();
    let before = machine.values();
    let state = machine.state.path().to_owned();
    let guarded = machine.in_a_process(false, |_| {
        std::fs::remove_file(state.join(state_directory::JOURNAL)).unwrap();
        kill_me();
    });
    machine.settled();
    if guarded {
        assert_eq!(machine.values(), before);
    }
}

#[test]
fn what_processes_left_that_died_while_they_wrote_is_cleared_away() {
    let machine = machine();
    let left = machine.state.path().join(format!("{}.4711", state_directory::JOURNAL));
    std::fs::write(&left, "{").unwrap();
    machine.in_a_process(true, |_| {});
    machine.settled();
    assert!(!left.exists());
}

#[test]
fn what_somebody_else_has_changed_since_is_left_alone_and_named() {
    let machine = machine();
    machine.in_a_process(true, |_| {});
    machine.settled();
    let theirs = machine.tree.path().join(&FILES[1].0[1..]);
    std::fs::write(&theirs, "always [madvise] never\n").unwrap();
    let restored = restore(&machine.root, machine.state.path()).unwrap();
    assert_eq!(restored[1].1, RestoreOutcome::Theirs("madvise".to_owned()));
    assert_eq!((restored[0].1.clone(), restored[2].1.clone()), (RestoreOutcome::Back, RestoreOutcome::Back));
    assert_eq!(std::fs::read_to_string(theirs).unwrap(), "always [madvise] never\n");
}

#[test]
fn without_room_for_the_journal_nothing_is_changed() {
    let machine = machine();
    let before = machine.values();
    let mut request = machine.request(false);
    let lock = lock(&request).unwrap();
    request.folder = std::path::PathBuf::from("/proc/self");
    Session::start(&machine.root, lock, &request, machine.changes()).unwrap_err();
    assert_eq!(machine.values(), before);
}

#[test]
fn a_journal_that_others_could_have_written_is_not_believed() {
    use std::os::unix::fs::PermissionsExt;
    let machine = machine();
    machine.in_a_process(true, |_| {});
    machine.settled();
    let path = machine.state.path().join(state_directory::JOURNAL);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666)).unwrap();
    let refused = || match find_leftover(machine.state.path(), "this-boot") {
        Err(Error::Journal(refused)) => refused,
        other => panic!("{other:?}"),
    };
    assert!(matches!(refused(), journal::Error::Untrusted(_, "other users can write to it")));
    std::fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", &path).unwrap();
    assert!(matches!(refused(), journal::Error::Untrusted(_, "it is a symbolic link")));
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, "{\n").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    assert!(matches!(refused(), journal::Error::Corrupt(_, why) if why.starts_with("line 1: ")));
}

#[test]
fn a_forged_journal_neither_moves_tasks_nor_removes_folders_nor_swaps_to_anything() {
    let machine = machine();
    machine.in_a_process(true, |_| {});
    machine.settled();
    let path = machine.state.path().join(state_directory::JOURNAL);
    let whole = std::fs::read_to_string(&path).unwrap();
    let victim = machine.tree.path().join("linespeed-quiet-1");
    std::fs::create_dir(&victim).unwrap();
    let here = machine.tree.path().to_str().unwrap();
    let shield = |parent: &str, mark: &str| {
        format!(
            r#"{{"undertaking":{{"shield":{{"version":1,"parent":"{parent}","home":"/","mark":"{mark}","quiet":[1],"rest":[0],"mems":"0","switched":false}}}}}}"#
        )
    };
    let swap = |path: &str| format!(r#"{{"undertaking":{{"swap":[{{"path":"{path}","priority":0}}]}}}}"#);
    let nowhere = "/no/such/folder";
    for (forged, named) in [
        (shield(here, "1"), here),
        (shield("/no/../folder", "1"), "/no/../folder"),
        (shield(nowhere, "1/../../x"), "1/../../x"),
        (swap("/dev/null"), "/dev/null"),
        (swap("swap"), "swap"),
    ] {
        std::fs::write(&path, format!("{whole}{forged}\n")).unwrap();
        match restore(&machine.root, machine.state.path()) {
            Err(Error::Journal(journal::Error::Corrupt(_, why))) => {
                assert_eq!(why, format!("it lists {named}, which is not a kernel file"));
            }
            other => panic!("{forged}: {other:?}"),
        }
    }
    assert!(victim.exists());
    std::fs::write(&path, whole).unwrap();
    restore(&machine.root, machine.state.path()).unwrap();
}
