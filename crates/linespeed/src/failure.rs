//! What can go wrong, as one line that shows what, where and the way out, and the exit code that goes with it.

use std::io;
use std::path::{Path, PathBuf};

use os::child::{Exit, SpawnError};
use record::phrase::visible;

/// Exit code for what `--fail-on` asks for: a finding at or above a level, a loss of speed.
pub const FOUND: u8 = 1;

/// The exit code of who was ended by a signal, as shells have it.
pub fn signal_code(signal: i32) -> u8 {
    Exit::Signal(signal).code()
}

/// A name that nothing has: with the nearest that something has, and with all.
pub fn unknown_name<'a>(kind: &str, name: &str, names: impl Iterator<Item = &'a str> + Clone) -> Failure {
    let near = record::glossary::find_nearest(name, names.clone());
    let hint = near.map_or(".".to_owned(), |near| format!("; did you mean {near}?"));
    let all = names.collect::<Vec<_>>().join(", ");
    Failure::Usage(format!("there is no {kind} {name:?}{hint} There are: {all}"))
}

/// Why linespeed stopped.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The command line asks for something that does not exist. Exit code 2.
    #[error("{0}")]
    Usage(String),
    /// A file of the user's cannot be used.
    #[error("{}: {}", visible(.path), one_line(.why))]
    Input {
        /// The file.
        path: PathBuf,
        /// What is the matter with it, and the way out.
        why: String,
    },
    /// Something cannot be written.
    #[error("{}", cannot_be_written(.path.as_deref(), .error, .way_out))]
    Output {
        /// The file, `None` for standard output.
        path: Option<PathBuf>,
        /// The system's error.
        error: io::Error,
        /// The way out.
        way_out: &'static str,
    },
    /// A record cannot be written where it should be, and lies elsewhere.
    #[error(
        "{}: cannot be written: {error}; the record was saved as {} instead",
        visible(.path),
        visible(.saved)
    )]
    Rescued {
        /// Where it should be.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
        /// Where it lies.
        saved: PathBuf,
    },
    /// It cannot be done on this machine.
    #[error("{0}")]
    Cannot(String),
    /// The command that was to be run cannot be started. Exit code 127 or 126, as shells have it.
    #[error("{0}")]
    Refused(SpawnError),
}

impl Failure {
    /// The command line asks for something that does not exist.
    pub fn usage(words: impl Into<String>) -> Self {
        Failure::Usage(words.into())
    }

    /// It cannot be done on this machine.
    pub fn cannot(words: impl Into<String>) -> Self {
        Failure::Cannot(words.into())
    }

    /// The exit code: 2 for wrong usage, 3 when it could not be done, 127 and 126 for a command that cannot be started.
    pub fn code(&self) -> u8 {
        match self {
            Failure::Usage(_) => 2,
            Failure::Refused(refused) => refused.code(),
            failure if failure.is_broken_pipe() => 0,
            _ => 3,
        }
    }

    /// The same with this way out, where it is of something that cannot be written.
    pub fn with_way_out(self, way_out: &'static str) -> Self {
        match self {
            Failure::Output { path, error, .. } => Failure::Output { path, error, way_out },
            other => other,
        }
    }

    /// Whether the reader of standard output has left, which is no error (`linespeed inspect | head -3`).
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, Failure::Output { path: None, error, .. } if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

/// One line, whatever a file brought into the words.
fn one_line(words: &str) -> String {
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn cannot_be_written(path: Option<&Path>, error: &io::Error, way_out: &str) -> String {
    match path {
        Some(path) => format!("{}: cannot be written: {error}; {way_out}", visible(path)),
        None => format!("standard output cannot be written: {error}"),
    }
}
