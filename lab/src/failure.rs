//! The reason why the lab stopped, in one line, with its exit code.

use std::io;
use std::path::Path;

/// Why the lab stopped.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// A shape, a file or an argument is invalid. Exit code 2.
    #[error("{0}")]
    Usage(String),
    /// A requirement is missing, or the machine did not complete its work. Exit code 3.
    #[error("{0}")]
    Cannot(String),
    /// The machine hung before its program started. Exit code 3.
    #[error("{0}")]
    NotBooted(String),
    /// A signal was received. Exit code 128 + its number.
    #[error("stopped by signal {0}; the machine was powered off")]
    Signal(i32),
}

impl Failure {
    /// An error with a file or a directory.
    pub fn of_path(path: &Path) -> impl Fn(io::Error) -> Self {
        let shown = path.display().to_string();
        move |error| Failure::Cannot(format!("{shown}: {error}"))
    }

    /// The exit code.
    pub fn code(&self) -> u8 {
        match self {
            Failure::Usage(_) => 2,
            Failure::Cannot(_) | Failure::NotBooted(_) => 3,
            Failure::Signal(signal) => 128u8.saturating_add(u8::try_from(*signal).unwrap_or(127)),
        }
    }
}
