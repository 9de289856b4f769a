//! Why a run does not count.

use std::fmt;
use std::path::PathBuf;

use os::child::{Exit, SpawnError};
use record::{Text, text};

use crate::recipes::score::Unusable;

/// Characters of output that an error shows.
const SHOWN: usize = 600;

/// How a command failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// How it ended.
    pub exit: Exit,
    /// Its program, where it is not what is measured but a command of its service.
    pub program: Option<String>,
    /// Copies that failed, of all.
    pub copies: (usize, usize),
    /// What it printed last, bounded.
    pub last_output: String,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(program) = &self.program {
            write!(f, "{program} ")?;
        }
        self.exit.fmt(f)?;
        if let (failed, all @ 2..) = self.copies {
            write!(f, " in {failed} of {all} copies")?;
        }
        LastOutput(&self.last_output).fmt(f)
    }
}

/// The end of a sentence about a program that has ended: what it printed last, or that it printed nothing.
struct LastOutput<'a>(&'a str);

impl fmt::Display for LastOutput<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            "" => f.write_str(" and said nothing"),
            output => write!(f, "; its last words: {output}"),
        }
    }
}

/// Why a recipe's service cannot be used.
#[derive(Clone, Debug, PartialEq)]
pub enum ServiceError {
    /// There is no folder for it.
    NoFolder {
        /// Where it was to be.
        place: PathBuf,
        /// The system's error.
        error: String,
    },
    /// Its log cannot be written.
    Log {
        /// The file.
        file: PathBuf,
        /// The system's error.
        error: String,
    },
    /// It did not get ready in time.
    NotReady {
        /// Its program.
        program: String,
        /// How long it was waited for, seconds.
        seconds: f64,
        /// What it printed last.
        last_output: String,
    },
    /// It has ended before the run did.
    Ended {
        /// Its program.
        program: String,
        /// How.
        exit: Exit,
        /// What it printed last.
        last_output: String,
    },
}

impl fmt::Display for ServiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFolder { place, error } => {
                let place = place.display();
                write!(
                    f,
                    "{place}: cannot create a temporary folder: {error}; name another place with TMPDIR"
                )
            }
            Self::Log { file, error } => write!(f, "{}: cannot be written: {error}", file.display()),
            Self::NotReady { program, seconds, last_output } => {
                write!(f, "{program} was not ready within {seconds} s{}", LastOutput(last_output))
            }
            Self::Ended { program, exit, last_output } => {
                write!(f, "{program} ")?;
                match exit {
                    Exit::Code(0) => f.write_str("ended by itself")?,
                    exit => exit.fmt(f)?,
                }
                write!(f, " in the middle of the run{}", LastOutput(last_output))
            }
        }
    }
}

/// Why a run does not count.
#[derive(Clone, Debug, PartialEq)]
pub enum Trouble {
    /// We were asked to stop by this signal.
    Stopped(i32),
    /// The command cannot be started.
    CannotStart(SpawnError),
    /// It failed, or was killed.
    Failed(Failed),
    /// It failed in every run, though failures count: there is no work to tell the rate of.
    AllFailed(Failed),
    /// It took longer than allowed, seconds.
    TimedOut(f64),
    /// Its output has no score, or not what must stand in it: which pattern, and the output, bounded.
    Unreadable {
        /// The patterns that were looked for.
        wanted: String,
        /// The output.
        output: String,
    },
    /// Its score is no number to compute with: zero, negative, `nan`, too large.
    Unusable(Unusable),
    /// The program beside it is gone, or did not start.
    Service(ServiceError),
    /// Its copies need more memory than there is.
    NoRoom(Text),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::Stopped(signal) => write!(f, "stopped by signal {signal}"),
            Trouble::CannotStart(error) => error.fmt(f),
            Trouble::Failed(failed) => write!(f, "the command {failed}"),
            Trouble::AllFailed(failed) => {
                write!(f, "every run failed, so there is no throughput: the command {failed}")
            }
            Trouble::TimedOut(seconds) => {
                write!(f, "the command took longer than the {seconds} s that --timeout allows, and was ended")
            }
            Trouble::Unreadable { wanted, output } if output.is_empty() => {
                write!(f, "the command printed nothing, {wanted} was expected")
            }
            Trouble::Unreadable { wanted, output } => {
                write!(f, "{wanted} not found in the command's output: {output}")
            }
            Trouble::Unusable(Unusable { number, line }) => write!(
                f,
                "the score {number} is not a usable number (one above 0 is needed); the command's line: {}",
                shorten(line)
            ),
            Trouble::Service(error) => error.fmt(f),
            Trouble::NoRoom(why) => why.fmt(f),
        }
    }
}

impl Trouble {
    /// The way out, where there is one that the words do not tell: the measured command's own exit code may be meant.
    pub fn way_out(&self) -> Option<Text> {
        match self {
            Trouble::Failed(Failed { exit: Exit::Code(_), program: None, .. }) => {
                Some(text!("scale-count-failures", "with -i, failed runs count too, unless all fail"))
            }
            Trouble::AllFailed(Failed { exit: Exit::Code(_), .. }) => Some(text!(
                "scale-hide-exit-code",
                "where this exit code is no failure, run it in a shell: -- sh -c 'COMMAND; exit 0'"
            )),
            _ => None,
        }
    }
}

/// The last characters of a program's output on one line.
pub(crate) fn shorten(output: &str) -> String {
    let line = output.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.chars().count().checked_sub(SHOWN) {
        Some(over @ 1..) => format!("… {}", line.chars().skip(over).collect::<String>()),
        _ => line,
    }
}
