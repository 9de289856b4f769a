//! Why nothing can be proven.

use os::child::{Exit, SpawnError};
use quiet::page_cache::PageCacheError;
use quiet::process_settings::process::SettingRefusal;

/// Why a proof, or one of its settings, cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum ProofError {
    /// Knobs cannot be set.
    #[error(transparent)]
    Session(#[from] quiet::error::Error),
    /// The page cache cannot be dropped or warmed.
    #[error(transparent)]
    PageCache(#[from] PageCacheError),
    /// A process cannot have a setting.
    #[error(transparent)]
    Setting(#[from] SettingRefusal),
    /// The command cannot be started.
    #[error(transparent)]
    CannotStart(SpawnError),
    /// The command failed, with how.
    #[error("the command {0}: runs that fail cannot be compared")]
    CommandFailed(Exit),
    /// A measurement has no figure here.
    #[error("{0} cannot be measured here; linespeed run {0} says why")]
    NoFigure(&'static str),
}

impl ProofError {
    /// Whether nothing can be proven at all, and not one setting alone.
    pub(super) fn ends_all(&self) -> bool {
        matches!(self, ProofError::CannotStart(_) | ProofError::CommandFailed(_))
    }
}
