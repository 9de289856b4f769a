//! Why nothing can be proven.

use std::fmt;

use os::child::{Exit, SpawnError};
use quiet::page_cache::PageCacheError;
use quiet::process_settings::process::SettingRefusal;

/// Why a proof, or one of its settings, cannot be had.
#[derive(Debug)]
pub enum ProofError {
    /// Knobs cannot be set.
    Session(quiet::error::Error),
    /// The page cache cannot be dropped or warmed.
    PageCache(PageCacheError),
    /// A process cannot have a setting.
    Setting(SettingRefusal),
    /// The command cannot be started.
    CannotStart(SpawnError),
    /// The command failed, with how.
    CommandFailed(Exit),
}

impl fmt::Display for ProofError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProofError::Session(error) => error.fmt(f),
            ProofError::PageCache(error) => error.fmt(f),
            ProofError::Setting(refusal) => refusal.fmt(f),
            ProofError::CannotStart(error) => error.fmt(f),
            ProofError::CommandFailed(exit) => {
                write!(f, "the command {exit}: runs that fail cannot be compared")
            }
        }
    }
}

impl std::error::Error for ProofError {}

impl From<quiet::error::Error> for ProofError {
    fn from(error: quiet::error::Error) -> Self {
        Self::Session(error)
    }
}

impl From<PageCacheError> for ProofError {
    fn from(error: PageCacheError) -> Self {
        Self::PageCache(error)
    }
}

impl From<SettingRefusal> for ProofError {
    fn from(refusal: SettingRefusal) -> Self {
        Self::Setting(refusal)
    }
}
