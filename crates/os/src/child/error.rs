//! Why a command could not be started, in one line with the way out.

use std::fmt;

/// Why a command could not be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpawnError {
    /// There is no such program.
    NotFound {
        /// As it was given.
        program: String,
        /// The way out.
        hint: String,
    },
    /// There is such a file, but it cannot be run.
    NotExecutable {
        /// The file.
        program: String,
        /// Why, and the way out.
        why: String,
    },
    /// Something else was in the way.
    Other {
        /// As it was given.
        program: String,
        /// What.
        why: String,
    },
}

impl SpawnError {
    /// The exit code that shells, env and timeout have for it: 127 not found, 126 not executable.
    pub fn code(&self) -> u8 {
        match self {
            SpawnError::NotFound { .. } => 127,
            SpawnError::NotExecutable { .. } | SpawnError::Other { .. } => 126,
        }
    }
}

impl fmt::Display for SpawnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SpawnError::NotFound { program, hint } => write!(f, "{program:?}: command not found; {hint}"),
            SpawnError::NotExecutable { program, why } => write!(f, "{program:?}: cannot be run: {why}"),
            SpawnError::Other { program, why } => write!(f, "{program:?}: cannot be started: {why}"),
        }
    }
}

impl std::error::Error for SpawnError {}
