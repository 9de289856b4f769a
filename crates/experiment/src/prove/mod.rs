//! Measures the gain from setting knobs. Blocks of measurements, or runs of a command, alternate between the states
//! before and after the change. Each result has an interval and is compared with the machine's noise floor.

mod command;
mod comparison;
mod figure;
mod knobs;
mod measured;

use os::Stop;
use os::child::{Exit, SpawnError};
use quiet::error::Error;
use quiet::page_cache::PageCacheError;
use quiet::process_settings::process::SettingRefusal;
use quiet::tuned_session::TunedSession;
use record::difference::{Scale, Verdict, least_rounds};
use record::{CpuList, KnobValue, Text};
use serde_json::{Value, json};

pub use command::{ProvenCommand, prove_command};
pub use figure::{Compared, Figure, Unit};
pub use knobs::{measured_cpus, prove_knobs};
pub use measured::{ProvenFigure, prove_figure};

/// Explanations of the compared results, in the format of [`record::glossary`]. Steal time is explained in the glossary
/// of the inventory.
pub const GLOSSARY: &str = include_str!("glossary.md");

/// A request for a proof.
#[derive(Clone, Copy)]
pub struct ProofRequest<'a> {
    /// Knobs by name; empty for all settable knobs.
    pub names: &'a [&'static str],
    /// The value for the single specified knob, if it differs from the default for quiet operation.
    pub value: Option<&'a KnobValue>,
    /// The CPUs to keep quiet.
    pub cpus: Option<&'a CpuList>,
    /// The number of rounds; by default, as many as needed.
    pub rounds: Option<usize>,
    /// The stop request that ends the proof early.
    pub stop: &'a Stop,
    /// Sets knobs for the duration of a measurement.
    pub begin_session: &'a dyn Fn(&[&'static str]) -> Result<TunedSession, Error>,
    /// Is notified of progress and the expected duration.
    pub tell: &'a dyn Fn(&str),
}

/// The outcome of a proof.
#[derive(Debug, Default)]
pub struct Proof {
    /// The title of the comparison.
    pub title: &'static str,
    /// The heading of the column with the rows' names.
    pub head: &'static str,
    /// Number of completed rounds.
    pub rounds: usize,
    /// Each comparison for each result.
    pub compared: Vec<(Text, Figure, Compared)>,
    /// Settings for which there is no comparison, with the reasons.
    pub missing: Vec<(Text, Text)>,
    /// Remarks for the reader.
    pub remarks: Vec<Text>,
    /// The signal that ended the proof early.
    pub interrupted: Option<i32>,
}

/// The number of rounds for this many comparisons. It is always even, because the order alternates between rounds.
fn choose_rounds(comparisons: usize, duplicate: usize) -> usize {
    (least_rounds(comparisons) + duplicate).next_multiple_of(2)
}

impl Proof {
    /// The proof as JSON.
    pub fn to_json(&self) -> Value {
        let row = |(name, figure, compared): &(Text, Figure, Compared)| {
            let comparison = &compared.comparison;
            json!({
                self.head: name,
                "figure": figure.name,
                "unit": figure.unit.symbol(),
                "compared_by": if figure.scale == Scale::Ratio { "ratio" } else { "difference" },
                "rounds": comparison.rounds,
                "before": comparison.before,
                "after": comparison.after,
                "less_by": comparison.less_by,
                "interval": comparison.interval,
                "floor": comparison.floor,
                "verdict": comparison.verdict,
                "samples": compared.rounds,
            })
        };
        let why = |(name, why): &(Text, Text)| {
            let verdict = Verdict::NotMeasurable { reason: why.clone() };
            json!({self.head: name, "why": why, "verdict": verdict})
        };
        json!({
            "rounds": self.rounds,
            "compared": self.compared.iter().map(row).collect::<Vec<_>>(),
            "not_compared": self.missing.iter().map(why).collect::<Vec<_>>(),
            "remarks": self.remarks,
        })
    }
}

/// The reason why a proof or one of its settings is impossible.
#[derive(Debug, thiserror::Error)]
pub enum ProofError {
    /// Knobs cannot be set.
    #[error(transparent)]
    Session(#[from] quiet::error::Error),
    /// The page cache cannot be dropped or warmed.
    #[error(transparent)]
    PageCache(#[from] PageCacheError),
    /// A setting cannot be applied to a process.
    #[error(transparent)]
    Setting(#[from] SettingRefusal),
    /// The command cannot be started.
    #[error(transparent)]
    CannotStart(SpawnError),
    /// The command failed; contains how it exited.
    #[error("the command {0}: failed runs cannot be compared")]
    CommandFailed(Exit),
    /// A measurement has no result here.
    #[error("{0} cannot be measured here; linespeed run {0} shows the reason")]
    NoFigure(&'static str),
}
