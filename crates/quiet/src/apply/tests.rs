//! Tests applying and restoring with kills at every step, refused writes, and files that misbehave.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::Path;

use machine::Root;

use super::*;
use crate::files::Refusal;
use crate::journal::{self, JournalHeader};
use crate::value_syntax::ValueSyntax;

/// Files of a tree, some of which misbehave; the process is killed at one step.
struct Odd<'a> {
    root: &'a Root,
    /// Errors of writes by path.
    refuse: BTreeMap<&'static str, i32>,
    /// Files that accept every value but keep the value that they have.
    stubborn: Vec<&'static str>,
    /// Files that store a different value than the one written.
    rounding: Vec<&'static str>,
    /// A write to the first file sets the second, as a governor resets `no_turbo`.
    moves_others: Option<(&'static str, &'static str, &'static str)>,
    /// The clock of a program is writable only with the governor `userspace`, which starts with another clock.
    has_clock: bool,
    /// The process is killed after this many operations.
    dies_after: Cell<Option<u32>>,
}

// SAFETY: each test's files belong to its own thread.
unsafe impl Sync for Odd<'_> {}

impl<'a> Odd<'a> {
    fn new(root: &'a Root) -> Self {
        Self {
            root,
            refuse: BTreeMap::new(),
            stubborn: Vec::new(),
            rounding: Vec::new(),
            moves_others: None,
            has_clock: false,
            dies_after: Cell::new(None),
        }
    }

    fn step(&self) {
        if let Some(left) = self.dies_after.get() {
            if left == 0 {
                // SAFETY: ends this process, which is a child created for this purpose.
                unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
            }
            self.dies_after.set(Some(left.saturating_sub(1)));
        }
    }
}

impl Files for Odd<'_> {
    fn root(&self) -> &Root {
        self.root
    }

    fn read(&self, path: &str) -> Result<String, Refusal> {
        self.step();
        self.root.read(path)
    }

    fn write(&self, path: &str, value: &str) -> Result<(), Refusal> {
        self.step();
        if let Some(errno) = self.refuse.get(path) {
            return Err(Refusal::new(path, &std::io::Error::from_raw_os_error(*errno)));
        }
        let is_userspace = |governor: &str| governor.trim() == "userspace";
        if self.has_clock && path == CLOCK && !is_userspace(&self.root.read(GOVERNOR)?) {
            return Err(Refusal::new(path, &std::io::Error::from_raw_os_error(libc::EINVAL)));
        }
        if self.has_clock && path == GOVERNOR {
            self.root.write(CLOCK, if is_userspace(value) { "3000000" } else { "<unsupported>" })?;
        }
        if self.stubborn.contains(&path) {
            return Ok(());
        }
        let rounded = format!("{value}00");
        let value = if self.rounding.contains(&path) && value != "7" { rounded.as_str() } else { value };
        self.root.write(path, value)?;
        if let Some((from, to, moved_by_governor)) = self.moves_others
            && from == path
        {
            self.root.write(to, moved_by_governor)?;
        }
        self.step();
        Ok(())
    }

    fn list(&self, folder: &str) -> Vec<String> {
        self.root.list(folder)
    }

    fn writable(&self, path: &str) -> bool {
        self.root.writable(path)
    }
}

const GOVERNOR: &str = "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor";
const CLOCK: &str = "/sys/devices/system/cpu/cpufreq/policy0/scaling_setspeed";
const TURBO: &str = "/sys/devices/system/cpu/intel_pstate/no_turbo";
const THP: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
const IRQ: &str = "/proc/irq/24/smp_affinity_list";
const WATCHDOG: &str = "/proc/sys/kernel/nmi_watchdog";
const ALL: [(&str, &str); 5] =
    [(GOVERNOR, "powersave"), (TURBO, "0"), (THP, "madvise"), (IRQ, "0-3"), (WATCHDOG, "1")];

fn tree() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, value) in ALL {
        let real = folder.path().join(&path[1..]);
        std::fs::create_dir_all(real.parent().unwrap()).unwrap();
        std::fs::write(real, format!("{value}\n")).unwrap();
    }
    folder
}

fn state(folder: &Path) -> Vec<(&'static str, String)> {
    let text =
        |path: &str| std::fs::read_to_string(folder.join(&path[1..])).unwrap_or_default().trim().to_owned();
    ALL.iter().map(|(path, _)| (*path, text(path))).collect()
}

fn changes(files: &dyn Files) -> Vec<Change> {
    [
        (GOVERNOR, ValueSyntax::Word, "performance"),
        (TURBO, ValueSyntax::Word, "1"),
        (THP, ValueSyntax::Word, "never"),
        (IRQ, ValueSyntax::CpuList, "0"),
        (WATCHDOG, ValueSyntax::Word, "0"),
    ]
    .into_iter()
    .filter_map(|(path, syntax, new)| Change::plan(files, "test", path, syntax, new).unwrap())
    .collect()
}

fn plan(changes: Vec<Change>) -> JournalHeader {
    JournalHeader::new(
        "boot".to_owned(),
        "test".to_owned(),
        "2026-01-01T00:00:00Z".to_owned(),
        false,
        changes,
    )
}

/// Applies in a child that is killed after this many steps. Returns whether the child finished instead.
fn killed(root: &Root, folder: &Path, steps: u32, work: impl Fn(&Odd)) -> bool {
    let odd = Odd::new(root);
    let _ = folder;
    // SAFETY: the child only reads and writes files, and exits without running exit handlers of the parent.
    let child = unsafe { libc::fork() };
    if child == 0 {
        odd.dies_after.set(Some(steps));
        work(&odd);
        // SAFETY: as above.
        unsafe { libc::_exit(0) };
    }
    let mut status = 0;
    // SAFETY: waits for the child that was just created.
    unsafe { libc::waitpid(child, &mut status, 0) };
    libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
}

#[test]
fn whatever_step_apply_or_restore_dies_at_everything_comes_back() {
    let mut kills = 0;
    for first in 0.. {
        let folder = tree();
        let state_folder = tempfile::tempdir().unwrap();
        let root = Root::captured(folder.path()).unwrap();
        let before = state(folder.path());
        let planned = changes(&root);
        let ended = killed(&root, folder.path(), first, |odd| {
            let mut journal = Journal::begin(state_folder.path(), &plan(planned.clone())).unwrap();
            apply(odd, &mut journal, &planned).unwrap();
        });
        // Then a restore that is also killed, at a varying step; the next one is undisturbed.
        for second in [Some(first % 7), Some(first % 11), None] {
            let restoring = |files: &dyn Files| {
                let (mut journal, contents) = journal::Journal::resume(state_folder.path()).unwrap().unwrap();
                restore(files, &mut journal, &contents);
            };
            match second {
                Some(steps) => kills += u32::from(!killed(&root, folder.path(), steps, |odd| restoring(odd))),
                None => restoring(&root),
            }
        }
        assert_eq!(state(folder.path()), before, "killed at step {first}");
        if ended {
            break;
        }
        kills += 1;
    }
    assert!(kills > 40, "{kills}");
}

/// Applies and restores with files that misbehave. Returns the outcomes of both, and the final state of the files.
#[allow(clippy::type_complexity)]
fn through(work: impl Fn(&mut Odd)) -> (Vec<WriteOutcome>, Vec<RestoreOutcome>, Vec<(&'static str, String)>) {
    let folder = tree();
    let state_folder = tempfile::tempdir().unwrap();
    let root = Root::captured(folder.path()).unwrap();
    let planned = changes(&root);
    let mut odd = Odd::new(&root);
    work(&mut odd);
    let mut journal = Journal::begin(state_folder.path(), &plan(planned.clone())).unwrap();
    let written = apply(&odd, &mut journal, &planned).unwrap();
    let (mut journal, contents) = journal::Journal::resume(state_folder.path()).unwrap().unwrap();
    let restored = restore(&odd, &mut journal, &contents);
    let after = state(folder.path());
    (written, restored, after)
}

fn as_it_was() -> Vec<(&'static str, String)> {
    ALL.iter().map(|(path, value)| (*path, (*value).to_owned())).collect()
}

#[test]
fn what_is_refused_is_reported_and_the_rest_is_set_and_put_back() {
    for (errno, why) in [
        (libc::EPERM, "permission denied"),
        (libc::EBUSY, "busy"),
        (libc::EINVAL, "the kernel does not accept this value"),
        (libc::EIO, "not supported by the kernel on this machine"),
        (libc::EROFS, "mounted read-only"),
    ] {
        let (written, restored, after) = through(|odd| {
            odd.refuse.insert(IRQ, errno);
        });
        for (at, (path, _)) in ALL.iter().enumerate() {
            let expected =
                if *path == IRQ { WriteOutcome::Refused(why.to_owned()) } else { WriteOutcome::Set };
            assert_eq!(written[at], expected, "{path}");
            assert!(
                matches!(restored[at], RestoreOutcome::Back | RestoreOutcome::WasBack),
                "{path}: {:?}",
                restored[at]
            );
        }
        assert_eq!(after, as_it_was());
    }
}

#[test]
fn a_value_that_is_taken_and_not_kept_is_found_by_reading_it_back() {
    let (written, _, after) = through(|odd| odd.stubborn.push(WATCHDOG));
    assert_eq!(written[4], WriteOutcome::NotKept("1".to_owned()));
    assert_eq!(after, as_it_was());
    // The kernel's modified value was not requested, and does not remain.
    let (written, _, after) = through(|odd| odd.rounding.push(THP));
    assert!(matches!(&written[2], WriteOutcome::NotKept(now) if now != "never"), "{written:?}");
    assert!(after[2].1.starts_with("madvise"), "{after:?}");
}

#[test]
fn a_value_that_another_one_moves_is_as_it_was_in_the_end() {
    let (written, _, after) = through(|odd| odd.moves_others = Some((GOVERNOR, TURBO, "0")));
    assert!(written.iter().all(|written| *written == WriteOutcome::Set), "{written:?}");
    assert_eq!(after, as_it_was());
}

#[test]
fn the_clock_that_a_program_set_is_restored_after_its_governor() {
    let folder = tree();
    for (path, value) in [(GOVERNOR, "userspace"), (CLOCK, "1200000")] {
        std::fs::write(folder.path().join(&path[1..]), format!("{value}\n")).unwrap();
    }
    let root = Root::captured(folder.path()).unwrap();
    let files = Odd { has_clock: true, ..Odd::new(&root) };
    let governor = Change::plan(&files, "governor", GOVERNOR, ValueSyntax::Word, "performance").unwrap();
    let planned = crate::session::add_watched(&files, governor.into_iter().collect());
    let state_folder = tempfile::tempdir().unwrap();
    let mut journal = Journal::begin(state_folder.path(), &plan(planned.clone())).unwrap();
    assert_eq!(apply(&files, &mut journal, &planned).unwrap()[0], WriteOutcome::Set);
    assert_eq!(files.read(CLOCK).unwrap().trim(), "<unsupported>");
    drop(journal);
    let (mut journal, contents) = journal::Journal::resume(state_folder.path()).unwrap().unwrap();
    restore(&files, &mut journal, &contents);
    let now = [GOVERNOR, CLOCK].map(|path| files.read(path).unwrap().trim().to_owned());
    assert_eq!(now, ["userspace", "1200000"]);
}

#[test]
fn what_goes_with_its_cpu_is_no_error_before_and_after() {
    for gone_before in [true, false] {
        let folder = tree();
        let state_folder = tempfile::tempdir().unwrap();
        let root = Root::captured(folder.path()).unwrap();
        let planned = changes(&root);
        let vanish = || std::fs::remove_file(folder.path().join(&GOVERNOR[1..])).unwrap();
        if gone_before {
            vanish();
        }
        let mut journal = Journal::begin(state_folder.path(), &plan(planned.clone())).unwrap();
        let written = apply(&root, &mut journal, &planned).unwrap();
        assert_eq!(written[0], if gone_before { WriteOutcome::Gone } else { WriteOutcome::Set });
        if !gone_before {
            vanish();
        }
        let (mut journal, contents) = journal::Journal::resume(state_folder.path()).unwrap().unwrap();
        let restored = restore(&root, &mut journal, &contents);
        assert_eq!(restored[0], RestoreOutcome::Gone);
        assert_eq!(state(folder.path())[1..], as_it_was()[1..]);
    }
}
