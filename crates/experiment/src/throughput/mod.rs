//! Runs commands on many CPUs: either copies of a command, each pinned to a CPU and started together, or a single
//! command that receives the number of CPUs. The steps and placements of a plan are run in interleaved rounds.

mod coverage;
mod figures;
mod fixed_time;
pub mod plan;
mod rounds;
mod run;
mod service;
mod with_recipe;

use std::ffi::OsString;

pub use measure::fill_order::Step;
pub use plan::Plan;
pub use rounds::{Observer, Results};
pub use run::Run;
pub use with_recipe::measure_job;

use crate::recipes::Recipe;
use crate::recipes::template::{Values, fill_all};

/// A command to measure on many CPUs.
#[derive(Clone, Debug)]
pub struct Job {
    /// The recipe for running it and reading its score.
    pub recipe: Recipe,
    /// The values for the recipe's placeholders, except for `threads` and `cpus`, which each step sets.
    pub values: Values,
    /// Whether failed runs also count.
    pub ignore_failure: bool,
}

impl Job {
    /// A job for a command typed by the user.
    pub fn from_command(command: &[OsString]) -> Self {
        Self { recipe: Recipe::from_command(command), values: Values::new(), ignore_failure: false }
    }

    /// The command for display, with all placeholders filled in except for those of each step and copy.
    pub fn command_line(&self) -> Vec<String> {
        let mut values = self.values.clone();
        for name in ["threads", "cpus"] {
            values.insert(name.to_owned(), format!("{{{name}}}"));
        }
        let words = fill_all(&self.recipe.command, &values);
        words.into_iter().map(|word| word.to_string_lossy().into_owned()).collect()
    }
}

#[cfg(test)]
mod tests;
