//! Kills sessions at every point and in every order. Afterwards, the next start restores leftover settings, and every
//! file is compared with its original contents.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use quiet::change::Change;
use quiet::files::Files;
use quiet::session::{self, Request, Session};
use quiet::standing::{Leftover, find_leftover};

use crate::tracer::{self, Followed, Shot, Victim};

/// The boot ID used in all trials.
const BOOT: &str = "this-boot";

/// A machine, and the changes to make on it.
pub struct Bench<'a> {
    pub files: &'a dyn Files,
    pub changes: Vec<Change>,
    /// The directory of journal and lock.
    pub folder: PathBuf,
    /// Reads the contents of the files that must not differ afterwards.
    pub read_files: &'a dyn Fn() -> BTreeMap<String, Vec<u8>>,
    /// Their contents before any change.
    pub before: BTreeMap<String, Vec<u8>>,
    /// The program to test, instead of this one with the library. It uses its own state directory.
    pub program: Option<PathBuf>,
    /// Called after each trial with the numbers of trials and kills.
    pub on_tally: &'a dyn Fn(&Tally),
    /// Files that change by themselves.
    pub moving: BTreeSet<String>,
}

/// The results of many trials.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Number of signals that hit.
    pub kills: u32,
    pub trials: u32,
    /// Number of trials whose process could not be traced and was killed after a delay instead.
    pub untraced: u32,
    /// Differences from the original state, with the trial.
    pub wrong: Vec<String>,
}

/// The arguments with which the program restores leftover settings.
const RESTORE: [&str; 3] = ["quiet", "--restore", "--quiet-output"];

/// Replaces this process with the program, or exits.
fn become_program(program: &OsStr, arguments: &[&OsStr]) {
    use std::os::unix::process::CommandExt;
    let nowhere = std::process::Stdio::null;
    let error =
        std::process::Command::new(program).args(arguments).stdout(nowhere()).stderr(nowhere()).exec();
    eprintln!("{}: {error}", program.display());
    // SAFETY: ends a copy that was created for the program.
    unsafe { libc::_exit(96) };
}

/// Reproducible pseudo-random numbers (xorshift, Marsaglia 2003).
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end.max(1)
    }
}

impl Bench<'_> {
    fn request(&self, stays: bool) -> Request {
        Request {
            folder: self.folder.clone(),
            boot: BOOT.to_owned(),
            command: "kills".to_owned(),
            date: "2026-01-01T00:00:00Z".to_owned(),
            stays,
        }
    }

    /// Applies the changes, and restores them unless they should persist.
    fn whole(&self, stays: bool) {
        if let Some(program) = &self.program {
            let program = program.as_os_str();
            let rest: &[&OsStr] = if stays {
                &[OsStr::new("--apply")]
            } else {
                &[OsStr::new("--"), program, OsStr::new("--version")]
            };
            become_program(program, &[&[OsStr::new("quiet"), OsStr::new("--quiet-output")], rest].concat());
        }
        let request = self.request(stays);
        let Ok(lock) = session::lock(&request) else { return };
        let Ok((session, _)) = Session::start(self.files, lock, &request, self.changes.clone()) else {
            return;
        };
        if stays {
            session.leave();
        } else {
            let _ = session.end(self.files);
        }
    }

    /// Runs the next start in a separate process.
    fn again(&self) {
        if let Some(program) = &self.program {
            become_program(program.as_os_str(), &RESTORE.map(OsStr::new));
        }
        let _ = self.next_start();
    }

    /// The next start: handles leftover settings.
    fn next_start(&self) -> Result<(), Box<dyn std::error::Error>> {
        if let Some(program) = &self.program {
            let ran = std::process::Command::new(program).args(RESTORE).output();
            return match ran {
                Ok(output) if output.status.success() => Ok(()),
                Ok(output) => Err(String::from_utf8_lossy(&output.stderr).into_owned().into()),
                Err(error) => Err(error.into()),
            };
        }
        let request = self.request(false);
        let began = Instant::now();
        let _lock = loop {
            match session::lock(&request) {
                Ok(lock) => break lock,
                // A guardian may still be restoring.
                Err(_) if began.elapsed() < Duration::from_secs(60) => {
                    std::thread::sleep(Duration::from_micros(200));
                }
                Err(why) => return Err(why.into()),
            }
        };
        match find_leftover(&self.folder, BOOT)? {
            Leftover::Nothing => Ok(()),
            Leftover::OtherBoot(_) => Err("the journal tells of another boot".into()),
            Leftover::Standing(_) | Leftover::Orphaned(_) => {
                Ok(session::restore(self.files, &self.folder).map(drop)?)
            }
        }
    }

    /// Runs one trial: shots at a session, further shots at each subsequent start, then an undisturbed start.
    fn trial(&self, stays: bool, shots: &[Shot], later: &[Shot], limit: Option<u64>, tally: &mut Tally) {
        tally.trials += 1;
        let work = || {
            if let Some(bytes) = limit {
                full_after(bytes);
            }
            self.whole(stays);
        };
        match tracer::follow(work, shots) {
            Some(followed) => tally.kills += followed.shots,
            None => {
                tally.untraced += 1;
                tally.kills += self.killed_by_the_clock(stays, shots.first().map_or(0, |shot| shot.at));
            }
        }
        for shot in later {
            if let Some(followed) = tracer::follow(|| self.again(), &[*shot]) {
                tally.kills += followed.shots;
            }
        }
        let on_tally = |what: String| {
            format!("{shots:?}, then {later:?}, stays {stays}, disk full after {limit:?}: {what}")
        };
        if let Err(why) = self.next_start() {
            tally.wrong.push(on_tally(why.to_string()));
        }
        if self.folder.join(quiet::state_directory::JOURNAL).exists() {
            tally.wrong.push(on_tally("the journal is still there".to_owned()));
            let _ = std::fs::remove_file(self.folder.join(quiet::state_directory::JOURNAL));
        }
        let differ = crate::settings::differences(&self.before, &(self.read_files)());
        tally.wrong.extend(
            differ.into_iter().filter(|line| !self.moves(line)).map(|line| on_tally(line.to_owned())),
        );
    }

    fn moves(&self, line: &str) -> bool {
        line.split_once(": ").is_some_and(|(path, _)| self.moving.contains(path))
    }

    /// Kills after some microseconds, for systems without tracing.
    fn killed_by_the_clock(&self, stays: bool, at: u64) -> u32 {
        // SAFETY: the copy has one thread; it reads and writes files and exits.
        let child = unsafe { libc::fork() };
        if child == 0 {
            self.whole(stays);
            // SAFETY: ends the copy.
            unsafe { libc::_exit(0) };
        }
        std::thread::sleep(Duration::from_micros(at * 2));
        let mut status = 0;
        // SAFETY: the child was just created, and is waited for once.
        unsafe {
            libc::kill(child, libc::SIGKILL);
            libc::waitpid(child, &mut status, 0);
        }
        u32::from(libc::WIFSIGNALED(status))
    }

    /// Kills until this many signals have hit or the time is over, and then simulates a full disk at several points.
    /// Every stop of a session is hit in turn, if the number of kills suffices.
    pub fn kill(&self, kills: u32, until: Instant, dice: &mut Dice) -> Tally {
        let mut tally = Tally::default();
        let whole = tracer::follow(|| self.whole(false), &[]).unwrap_or_default();
        let left = self.stops_of_a_restore();
        let all = whole.stops[0].max(64);
        // So that a shot moves from one end to the other in about half of the trials.
        let step = (all / u64::from(kills / 2).max(1)).max(1);
        let mut next = dice.below(step);
        while tally.kills < kills && Instant::now() < until && tally.wrong.len() < 20 {
            (self.on_tally)(&tally);
            let at = next % all;
            next += step;
            let later =
                |dice: &mut Dice| Shot { victim: Victim::Main, at: dice.below(left), signal: libc::SIGKILL };
            let kill = |victim: Victim, at: u64| Shot { victim, at, signal: libc::SIGKILL };
            match tally.trials % 6 {
                0 => self.trial(false, &[kill(Victim::Main, at)], &[], None, &mut tally),
                1 => {
                    // The guardian dies while it restores.
                    let second = kill(Victim::Guardian, dice.below(left));
                    let more = [later(dice)];
                    self.trial(false, &[kill(Victim::Main, at), second], &more, None, &mut tally);
                }
                2 => {
                    let more = [later(dice), later(dice)];
                    self.trial(false, &[kill(Victim::Both, at)], &more, None, &mut tally);
                }
                3 => {
                    let signal = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP][dice.below(3) as usize];
                    self.trial(false, &[Shot { victim: Victim::Main, at, signal }], &[], None, &mut tally);
                }
                4 => {
                    // The guardian dies first, and the session ends normally.
                    let shot = kill(Victim::Guardian, dice.below(whole.stops[1].max(1)));
                    self.trial(false, &[shot], &[], None, &mut tally);
                }
                _ => {
                    let more = [later(dice), later(dice)];
                    self.trial(true, &[kill(Victim::Main, at)], &more, None, &mut tally);
                }
            }
        }
        self.fill(u64::from(kills / 10).max(1), &mut tally);
        tally
    }

    /// Number of stops of a start that restores everything.
    fn stops_of_a_restore(&self) -> u64 {
        let _: Option<Followed> = tracer::follow(|| self.whole(true), &[]);
        let followed = tracer::follow(|| self.again(), &[]);
        let _ = self.next_start();
        followed.map_or(64, |followed| followed.stops[0])
    }

    /// Simulates a full disk at each of this many positions in the journal.
    fn fill(&self, places: u64, tally: &mut Tally) {
        let longest = 400 * self.changes.len() as u64;
        for place in 0..places {
            self.trial(false, &[], &[], Some(FIRST_FULL + longest * place / places.max(1)), tally);
        }
    }
}

/// Minimum file size limit, so that setting values, which have a few bytes, can still be written.
const FIRST_FULL: u64 = 64;

/// Limits all files of this process to this many bytes, to simulate a full disk.
fn full_after(bytes: u64) {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
    // SAFETY: the structure outlives the call.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        libc::setrlimit(libc::RLIMIT_FSIZE, &limit);
    }
}

/// All changes of this machine's knobs, including knobs that are only set when named.
pub fn all_changes(context: &quiet::knob::KnobContext) -> Vec<Change> {
    let rows = quiet::audit::audit(context, &[]);
    rows.into_iter()
        .filter_map(|row| match row.inspection.adjustment {
            quiet::knob::Adjustment::Write(changes) => Some(changes),
            _ => None,
        })
        .flatten()
        .collect()
}
