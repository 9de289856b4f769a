//! Errors of setting and restoring knobs.

use os::child::Obstacle;
use record::{CpuList, Text};

use crate::compound_change::CompoundError;
use crate::journal;
use crate::lock_holder::Holder;
use crate::state_directory::DirectoryError;

/// The reason why an operation of a session failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The location of the state directory is unknown.
    #[error("cannot save the original settings: set XDG_STATE_HOME or HOME")]
    NoStateDirectory,
    /// The state directory cannot be written or trusted.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// Another process has the lock.
    #[error("the knobs are in use by {}; {}", .0, .0.way_out())]
    Held(Holder),
    /// This option is unavailable until the session of a parent process has ended.
    #[error("process {pid} runs this command and restores its knobs when it ends; use {option} after that")]
    Nested {
        /// The PID of the parent process.
        pid: u32,
        /// The option.
        option: &'static str,
    },
    /// The journal cannot be read or written.
    #[error(transparent)]
    Journal(#[from] journal::Error),
    /// Nothing could restore the settings if this process were killed, or restoring them at the end would fail.
    #[error("nothing was changed, because changes could not be restored: {0}")]
    Unguarded(Obstacle),
    /// A compound change cannot be applied.
    #[error(transparent)]
    Compound(#[from] CompoundError),
    /// The list of quiet CPUs is empty.
    #[error("the list of --cpus is empty; use, for example, --cpus 2,3")]
    NoCpus,
    /// These CPUs cannot be kept quiet.
    #[error("--cpus {0}: {1}")]
    Cpus(CpuList, String),
    /// An existing session does not provide the requested settings; the text names the missing settings and the remedy.
    #[error("{0}")]
    Existing(String),
    /// Named knobs that cannot be set, each with the reason.
    #[error("{}{}", list_unset(.knobs), if *.restored { "; nothing was changed" } else { "" })]
    NotSet {
        /// The knobs.
        knobs: Vec<(&'static str, Text)>,
        /// Whether other knobs had already been set and were restored.
        restored: bool,
    },
    /// An earlier session left its settings in place on request; the text names the owner of that session.
    #[error("knobs are already set: {0}. First restore them with linespeed quiet --restore")]
    Standing(String),
    /// Leftover settings of an earlier session cannot be restored.
    #[error("leftover settings cannot be restored; linespeed quiet --status lists them")]
    LeftoverStays,
}

impl Error {
    /// Whether this is a usage error, that is, the command line requested something that does not exist.
    pub fn is_usage(&self) -> bool {
        matches!(self, Error::NoCpus | Error::Cpus(..))
    }
}

fn list_unset(knobs: &[(&'static str, Text)]) -> String {
    let each: Vec<String> = knobs.iter().map(|(knob, why)| format!("{knob}: {why}")).collect();
    each.join("; ")
}
