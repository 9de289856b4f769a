//! Why knobs cannot be set or restored.

use os::child::Obstacle;
use record::{CpuList, Text};

use crate::compound_change::CompoundError;
use crate::journal;
use crate::lock_holder::Holder;
use crate::state_directory::DirectoryError;

/// Why something of a session cannot be done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The place of the state directory is unknown.
    #[error("cannot save the original settings: set XDG_STATE_HOME or HOME")]
    NoStateDirectory,
    /// It cannot be written, or not be trusted.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// Another process has the lock.
    #[error("the knobs are in use by {}: {}", .0, .0.way_out())]
    Held(Holder),
    /// What this option does has to wait for the session of a process under which this one runs.
    #[error("this runs under process {pid}, which restores its knobs when it ends: use {option} after that")]
    Nested {
        /// That process.
        pid: u32,
        /// The option.
        option: &'static str,
    },
    /// The journal cannot be read or written.
    #[error(transparent)]
    Journal(#[from] journal::Error),
    /// Nothing would restore the settings if this process were killed, or restoring would fail at its end.
    #[error("nothing was changed, because changes could not be restored: {0}")]
    Unguarded(Obstacle),
    /// Something compound cannot be done.
    #[error(transparent)]
    Compound(#[from] CompoundError),
    /// An empty list of quiet CPUs.
    #[error("--cpus: the list is empty; use for example --cpus 2,3")]
    NoCpus,
    /// These CPUs cannot be made quiet.
    #[error("--cpus {0}: {1}")]
    Cpus(CpuList, String),
    /// An existing session does not provide the request: what is missing, and the remedy.
    #[error("{0}")]
    Existing(String),
    /// Named knobs that cannot be set, each with the reason.
    #[error("{}{}", list_unset(.knobs), if *.restored { "; nothing was changed" } else { "" })]
    NotSet {
        /// The knobs.
        knobs: Vec<(&'static str, Text)>,
        /// Whether others had been set, and are restored.
        restored: bool,
    },
    /// An earlier session's values persist on request; whose they are.
    #[error("knobs are already set: {0}; restore them first: linespeed quiet --restore")]
    Standing(String),
    /// What an earlier session left cannot be restored.
    #[error("leftover settings cannot be restored; linespeed quiet --status lists them")]
    LeftoverStays,
}

impl Error {
    /// Whether the command line asked for something that does not exist.
    pub fn is_usage(&self) -> bool {
        matches!(self, Error::NoCpus | Error::Cpus(..))
    }
}

fn list_unset(knobs: &[(&'static str, Text)]) -> String {
    let each: Vec<String> = knobs.iter().map(|(knob, why)| format!("{knob}: {why}")).collect();
    each.join("; ")
}
