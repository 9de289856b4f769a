//! The runs of one step.

use super::run::Run;
use crate::failure::Trouble;

/// The runs of one step.
#[derive(Debug, Default)]
pub(super) struct StepRuns {
    /// By round; `None` where there is none.
    pub(super) runs: Vec<Option<Run>>,
    /// Why there are no more.
    pub(super) trouble: Option<Trouble>,
}

impl StepRuns {
    /// Those that count.
    pub(super) fn good(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter().flatten()
    }
}
