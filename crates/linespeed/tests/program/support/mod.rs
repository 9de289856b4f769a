//! Runs the program as a person would, and says what every outcome must have.

pub mod cgroup;
pub mod confine;
mod emulator;
pub mod machines;
pub mod schema;
pub mod sound;
pub mod started;
pub mod terminal;

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use record::Record;

/// Nothing here takes this long on the slowest machine; a program that hangs must not hang the tests.
const PATIENCE: Duration = Duration::from_secs(120);

static MACHINE: RwLock<()> = RwLock::new(());

/// Held by a test that measures; others may at the same time.
pub fn beside_others() -> RwLockReadGuard<'static, ()> {
    MACHINE.read().unwrap_or_else(PoisonError::into_inner)
}

/// Held by a test that changes the machine under everybody.
pub fn alone() -> RwLockWriteGuard<'static, ()> {
    MACHINE.write().unwrap_or_else(PoisonError::into_inner)
}

/// A folder that goes when the test ends, readable by all users, and written by all as the one for temporary files is.
pub fn folder() -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::Builder::new().prefix("linespeed-test-").tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o1777)).unwrap();
    folder
}

/// Whether the program under test runs under an emulator, where sandboxes would hold the emulator instead.
pub fn emulated() -> bool {
    runner().is_some()
}

/// The emulator that cargo was given for this target, with its arguments.
fn runner() -> Option<String> {
    let arch = if cfg!(target_arch = "aarch64") { "AARCH64" } else { "X86_64" };
    let reported = std::env::var(format!("CARGO_TARGET_{arch}_UNKNOWN_LINUX_GNU_RUNNER")).ok()?;
    (!reported.trim().is_empty()).then_some(reported)
}

/// Says on standard error why a test did nothing. Written past the capture that hides what passing tests print.
pub fn skipped(test: &str, why: &str) {
    // In one piece: standard error has no buffer, and other tests write beside this one.
    let line = format!("skipped {test}: {why}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// Whether one of `all` that take long has its turn this time: all do with LINESPEED_TEST_EVERYTHING, otherwise one, which
/// LINESPEED_TEST_SHARE draws.
pub fn has_its_turn(all: &[&str], one: &str) -> bool {
    let share =
        std::env::var("LINESPEED_TEST_SHARE").ok().and_then(|text| text.parse::<usize>().ok()).unwrap_or(0);
    let everything = std::env::var_os("LINESPEED_TEST_EVERYTHING").is_some_and(|value| !value.is_empty());
    let turn = everything || all[share % all.len()] == one;
    if !turn {
        skipped(one, "not in this share; ./test everything runs all");
    }
    turn
}

/// One in `parts` of `all`, drawn by LINESPEED_TEST_SHARE; all of them with LINESPEED_TEST_EVERYTHING.
pub fn share_of<T>(test: &str, parts: usize, all: impl IntoIterator<Item = T>) -> Vec<T> {
    let names: Vec<String> = (1..=parts).map(|part| format!("{test} (part {part} of {parts})")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let turns: Vec<bool> = names.iter().map(|name| has_its_turn(&names, name)).collect();
    all.into_iter().enumerate().filter(|(at, _)| turns[at % parts]).map(|(_, one)| one).collect()
}

/// Whether the tests run as root.
pub fn root() -> bool {
    os::is_root()
}

/// `linespeed ARGS`, with a home that does not exist and none of the caller's settings.
pub fn linespeed<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Command {
    program(Path::new(env!("CARGO_BIN_EXE_linespeed")), args)
}

/// Copies the program to a file. Not by this process: while another test's child stands between fork and exec, it has what is
/// written to open too, and nobody may execute that (ETXTBSY).
pub fn copied_to(file: &Path) {
    let copied = Command::new("cp").args([Path::new(env!("CARGO_BIN_EXE_linespeed")), file]).status();
    assert!(copied.expect("cp starts").success(), "{}", file.display());
}

/// Where records go that no test looks at.
pub const HOME: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/home");

/// As [`linespeed`], from a copy of the program.
pub fn program<A: AsRef<OsStr>>(path: &Path, args: impl IntoIterator<Item = A>) -> Command {
    let reported = runner().unwrap_or_default();
    if !reported.is_empty() {
        emulator::watch();
    }
    let mut words = reported.split_whitespace().map(OsStr::new).chain([path.as_os_str()]);
    let mut command = Command::new(words.next().unwrap_or(path.as_os_str()));
    command.args(words).args(args);
    for name in ["NO_COLOR", "COLUMNS", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "CLICOLOR_FORCE"] {
        command.env_remove(name);
    }
    command.env("HOME", HOME).env("TERM", "xterm");
    command
}

/// What a run left.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub signal: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl From<std::process::Output> for Ran {
    fn from(output: std::process::Output) -> Self {
        Self {
            code: output.status.code(),
            signal: output.status.signal(),
            stdout: String::from_utf8(output.stdout).expect("standard output is UTF-8"),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// Runs a command to its end.
pub fn run(command: Command) -> Ran {
    run_with(command, "")
}

/// Runs a command to its end with `input` on its standard input.
pub fn run_with(command: Command, input: impl Into<Vec<u8>>) -> Ran {
    let mut command = assert_cmd::Command::from_std(command);
    command.timeout(PATIENCE).write_stdin(input);
    loop {
        let hung = emulator::ended();
        let ran = Ran::from(command.output().expect("the program starts and ends in time"));
        let said = !(ran.stdout.is_empty() && ran.stderr.is_empty());
        if said || ran.signal != Some(libc::SIGKILL) || emulator::ended() == hung {
            return ran;
        }
    }
}

/// Runs `linespeed ARGS`.
pub fn ran<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Ran {
    run(linespeed(args))
}

/// Runs a command that measures.
pub fn measured(command: Command) -> Ran {
    let _beside = beside_others();
    run(command)
}

impl Ran {
    /// It ended with 0 and said nothing on standard error.
    #[track_caller]
    pub fn succeeds(self) -> Self {
        assert_eq!((self.code, self.stderr.as_str()), (Some(0), ""), "{self:?}");
        self
    }

    /// It ended with `code` and one line on standard error that has all `words`, and printed nothing else.
    #[track_caller]
    pub fn fails(self, code: i32, words: &[&str]) -> Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert_eq!(self.stdout, "", "output beside an error");
        let lines: Vec<&str> = self.stderr.lines().collect();
        assert!(lines.len() == 1 && lines[0].starts_with("linespeed: "), "not one line: {:?}", self.stderr);
        for word in words {
            assert!(lines[0].contains(word), "no {word:?} in: {}", lines[0]);
        }
        self
    }

    /// Wrong usage that the parser of the command line finds: exit code 2, says `words` and where help is.
    #[track_caller]
    pub fn misused(self, words: &[&str]) -> Self {
        assert_eq!((self.code, self.stdout.as_str()), (Some(2), ""), "{self:?}");
        let lines: Vec<&str> = self.stderr.lines().collect();
        assert!(
            lines.len() == 1 && lines[0].starts_with("linespeed: ") && lines[0].ends_with("--help"),
            "{}",
            self.stderr
        );
        for word in words {
            assert!(self.stderr.contains(word), "no {word:?} in: {}", self.stderr);
        }
        self
    }

    /// Standard output is one sound record and nothing else.
    #[track_caller]
    pub fn record(&self) -> Record {
        sound::record(self.stdout.as_bytes())
    }
}

/// The coverage entries that begin with `what` and are not in full, as text with the code of the reason.
pub fn lost(record: &Record, what: &str) -> Vec<String> {
    record
        .coverage
        .iter()
        .filter(|c| c.what.starts_with(what) && c.state != record::State::Measured)
        .map(|c| {
            let code = c.reason.as_ref().and_then(record::Text::code).unwrap_or("no code");
            format!("{} {}: {} ({code})", c.state.word(), c.what, c.why())
        })
        .collect()
}

/// Fails when the coverage of `what` has no reason with the code or the words `why`.
#[track_caller]
pub fn says_lost(record: &Record, what: &str, why: &str) {
    let lost = lost(record, what);
    assert!(lost.iter().any(|line| line.contains(why)), "no {why:?} in the coverage of {what}: {lost:#?}");
}

/// The number of figures of a metric.
pub fn figures(record: &Record, metric: &str) -> usize {
    record.measurements_of(metric).count()
}
