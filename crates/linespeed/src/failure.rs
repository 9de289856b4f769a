//! Errors and their exit codes. Each error is one line with the problem, its place and the remedy.

use std::io;
use std::path::{Path, PathBuf};

use os::child::{Exit, SpawnError};
use record::phrase::visible;

/// Exit code if a condition of `--fail-on` was met: a finding of the specified level or above, or a loss of speed.
pub const FOUND: u8 = 1;

/// The exit code after a signal, as in shells.
pub fn signal_code(signal: i32) -> u8 {
    Exit::Signal(signal).code()
}

/// The error for an unknown name. It contains the nearest known name, or all names.
pub fn unknown_name<'a>(kind: &str, name: &str, names: impl Iterator<Item = &'a str> + Clone) -> Failure {
    let near = record::glossary::find_nearest(name, names.clone());
    let hint = near.map_or(".".to_owned(), |near| format!("; did you mean {near}?"));
    let all = names.collect::<Vec<_>>().join(", ");
    Failure::Usage(format!("there is no {kind} {name:?}{hint} Available: {all}"))
}

/// Why linespeed stopped.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The command line is wrong, for example because it requests something that does not exist. Exit code 2.
    #[error("{0}")]
    Usage(String),
    /// A file specified by the user cannot be used.
    // The message may quote several lines of a file.
    #[error("{}: {}", visible(.path), .why.split_whitespace().collect::<Vec<_>>().join(" "))]
    Input {
        /// The file.
        path: PathBuf,
        /// The problem, and the remedy.
        why: String,
    },
    /// Something cannot be written.
    #[error("{}", cannot_be_written(.path.as_deref(), .error, .way_out))]
    Output {
        /// The file, `None` for standard output.
        path: Option<PathBuf>,
        /// The system's error.
        error: io::Error,
        /// The remedy.
        way_out: &'static str,
    },
    /// A record could not be written to its destination, and was saved elsewhere.
    #[error(
        "{}: cannot be written: {error}; the record was saved as {} instead",
        visible(.path),
        visible(.saved)
    )]
    Rescued {
        /// The intended path of the record.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
        /// The path at which the record was saved.
        saved: PathBuf,
    },
    /// The request cannot be fulfilled on this machine. Exit code 3.
    #[error("{0}")]
    Cannot(String),
    /// The command cannot be started. Exit code 127 or 126, as in shells.
    #[error("{0}")]
    Refused(SpawnError),
}

impl Failure {
    /// The error for a wrong command line.
    pub fn usage(words: impl Into<String>) -> Self {
        Failure::Usage(words.into())
    }

    /// The error for a request that cannot be fulfilled on this machine.
    pub fn cannot(words: impl Into<String>) -> Self {
        Failure::Cannot(words.into())
    }

    /// The exit code: 2 for wrong usage, 3 for a failure, 127 and 126 for a command that cannot be started.
    pub fn code(&self) -> u8 {
        match self {
            Failure::Usage(_) => 2,
            Failure::Refused(refused) => refused.code(),
            failure if failure.is_broken_pipe() => 0,
            _ => 3,
        }
    }

    /// Adds a remedy to the error, if the error is about a failed write.
    pub fn with_way_out(self, way_out: &'static str) -> Self {
        match self {
            Failure::Output { path, error, .. } => Failure::Output { path, error, way_out },
            other => other,
        }
    }

    /// Whether the reader of standard output has exited, which is not an error (`linespeed inspect | head -3`).
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, Failure::Output { path: None, error, .. } if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

fn cannot_be_written(path: Option<&Path>, error: &io::Error, way_out: &str) -> String {
    match path {
        Some(path) => format!("{}: cannot be written: {error}; {way_out}", visible(path)),
        None => format!("standard output cannot be written: {error}"),
    }
}
