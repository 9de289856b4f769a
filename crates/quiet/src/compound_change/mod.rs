//! Changes that consist of more than a value in a file and persist until they are undone: control groups, disabled
//! swap. Each change is recorded in the journal before it begins, and can be undone from any intermediate point, even
//! repeatedly.

pub mod bound_tasks;
pub mod shield;
pub mod swap;

use std::io;

use record::Text;
use serde::{Deserialize, Serialize};

use crate::change::Change;
use crate::value_syntax::ValueSyntax;

/// A compound change, with all information needed to undo it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CompoundChange {
    /// CPUs on which only the command runs.
    Shield(shield::Shield),
    /// Disabled swap.
    Swap(swap::SwapAreas),
}

impl CompoundChange {
    /// Adds all information that must be recorded before the change begins.
    pub fn prepared(&self) -> Self {
        match self {
            CompoundChange::Shield(shield) => CompoundChange::Shield(shield.prepared()),
            CompoundChange::Swap(areas) => CompoundChange::Swap(areas.clone()),
        }
    }

    /// Applies the change and returns remarks. After an error, it must be undone.
    pub fn begin(&self) -> Result<Vec<Text>, CompoundError> {
        match self {
            CompoundChange::Shield(shield) => Ok(shield.make()?.into_iter().collect()),
            CompoundChange::Swap(areas) => areas.switch_off().map(|()| Vec::new()),
        }
    }

    /// Undoes the completed parts of the change, if any.
    pub fn undo(&self) -> Result<(), CompoundError> {
        match self {
            CompoundChange::Shield(shield) => shield.remove(),
            CompoundChange::Swap(areas) => areas.switch_on(),
        }
    }

    /// A path in the change that no valid change of this kind can contain; `None` if all paths are valid.
    pub fn foreign_path(&self) -> Option<&str> {
        match self {
            CompoundChange::Shield(shield) => shield.foreign_path(),
            CompoundChange::Swap(areas) => areas.foreign_path(),
        }
    }

    /// Represents the compound change as a change of one value, so that the outcome can be reported.
    pub fn as_change(&self) -> Change {
        let (knob, path, old, new) = match self {
            CompoundChange::Shield(shield) => {
                ("shield", shield.quiet_folder(), "none".to_owned(), "made".to_owned())
            }
            CompoundChange::Swap(areas) => {
                ("swap", "/proc/swaps".to_owned(), areas.to_string(), "off".to_owned())
            }
        };
        Change { knob: knob.to_owned(), path, syntax: ValueSyntax::Word, old, new }
    }
}

/// Whether a path is absolute and without `..`.
fn is_plain(path: &str) -> bool {
    path.starts_with('/') && !path.split('/').any(|part| part == "..")
}

/// The reason why a compound change cannot be applied or undone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CompoundError(String);

impl CompoundError {
    /// Builds an error that concerns a path.
    fn at(path: &str, error: &io::Error) -> Self {
        Self(format!("{path}: {error}"))
    }

    /// Combines any number of errors into one.
    fn all(errors: &[Self]) -> Result<(), Self> {
        let words: Vec<&str> = errors.iter().map(|error| error.0.as_str()).collect();
        if words.is_empty() { Ok(()) } else { Err(Self(words.join("; "))) }
    }
}
