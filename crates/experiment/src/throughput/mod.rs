//! Commands on many CPUs: copies of one pinned to a CPU each and started together, or one that is told how many CPUs it
//! has; over the steps and placements of a plan, in interleaved rounds.

mod coverage;
mod fixed_time;
mod folder;
pub mod plan;
mod rounds;
pub(crate) mod run;
mod service;
mod with_recipe;

use std::ffi::OsString;

pub use plan::{Plan, Step};
pub use rounds::{Observer, Options, Results};
pub use run::{Failed, Run, RunObserver, Trouble, run};
pub use with_recipe::measure_with_recipe;

use crate::recipes::Recipe;
use crate::recipes::score::Score;
use crate::recipes::template::{Template, Values};

/// The workload's name of a command that is no recipe.
pub const COMMAND: &str = "command";

/// A command that is measured on many CPUs.
#[derive(Clone, Debug)]
pub struct Job {
    /// The workload's name in the record.
    pub name: String,
    /// The command.
    pub command: Vec<Template>,
    /// Its environment, beside ours.
    pub environment: Vec<(String, Template)>,
    /// What the places in both are filled with, beside `threads` and `cpus`, which each step sets.
    pub values: Values,
    /// Whether it runs once for each CPU; otherwise once for all CPUs of the step.
    pub copies: bool,
    /// Unit of the work of one run.
    pub unit: String,
    /// Units of work in one run.
    pub work: f64,
    /// Where its score stands; empty: the time of a run is its score.
    pub scores: Vec<Score>,
    /// What must stand in its output.
    pub expect: Option<String>,
    /// Whether a run whose command fails counts too.
    pub ignore_failure: bool,
}

impl Job {
    /// A command as a person typed it: one run of it is one unit of work. With `{threads}` in it, it is run once on all CPUs
    /// of a step; otherwise once for each CPU.
    pub fn from_command(command: &[OsString]) -> Self {
        let command: Vec<Template> = command.iter().map(|argument| Template::typed(argument)).collect();
        let copies = !command.iter().flat_map(Template::places).any(|name| name == "threads");
        Self {
            name: COMMAND.to_owned(),
            command,
            environment: Vec::new(),
            values: Values::new(),
            copies,
            unit: "runs".to_owned(),
            work: 1.0,
            scores: Vec::new(),
            expect: None,
            ignore_failure: false,
        }
    }

    /// The command as people read it: filled in, but for the places that each step and copy fills in itself.
    pub fn command_line(&self) -> Vec<String> {
        let mut values = self.values.clone();
        for name in ["threads", "cpus"] {
            values.insert(name.to_owned(), format!("{{{name}}}"));
        }
        let words = crate::recipes::template::fill_all(&self.command, &values);
        words.into_iter().map(|word| word.to_string_lossy().into_owned()).collect()
    }

    /// What a recipe says, with its settings' values.
    pub fn from_recipe(recipe: &Recipe, values: Values) -> Self {
        Self {
            name: recipe.name.clone(),
            command: recipe.command.clone(),
            environment: recipe.environment.clone(),
            values,
            copies: recipe.copies,
            unit: recipe.unit.clone(),
            work: recipe.work,
            scores: recipe.scores.clone(),
            expect: recipe.expect.clone(),
            ignore_failure: false,
        }
    }
}

#[cfg(test)]
mod tests;
