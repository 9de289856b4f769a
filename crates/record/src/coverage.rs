//! Coverage: which measurements are available, and for each missing one, the reason and the remedy.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::{JsonSchema, Template, Text};

/// The degree of coverage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum State {
    /// Measured completely.
    Measured,
    /// Measured in part, or under conditions that limit the result.
    Degraded,
    /// Omitted: not requested, out of time, out of memory, interrupted.
    Skipped,
    /// Not possible on this machine, or not for this user.
    Impossible,
}

impl State {
    /// The word in text and JSON.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

/// The coverage of a measurement or fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "Written", into = "Written")]
pub struct Coverage {
    /// The measurement (`latency`), or a part of it (`latency 2MiB`), or a part of the inventory
    /// (`memory devices`).
    pub what: String,
    /// The degree of coverage.
    pub state: State,
    /// Why the coverage is incomplete; absent if it is complete.
    pub reason: Option<Text>,
    /// The remedy, as an instruction.
    pub remedy: Option<Text>,
}

/// The form in which a coverage entry is written to JSON.
#[skip_serializing_none]
#[derive(Serialize, Deserialize, JsonSchema)]
struct Written {
    /// The measurement (`latency`), or a part of it (`latency 2MiB`), or a part of the inventory
    /// (`memory devices`).
    what: String,
    /// The degree of coverage.
    state: State,
    /// The code of the reason, for use by programs: the code stays the same if the wording changes. Absent in records written
    /// by version 0.1.
    code: Option<String>,
    /// Why the coverage is incomplete; absent if it is complete.
    reason: Option<String>,
    /// The remedy, as an instruction.
    remedy: Option<String>,
}

impl From<Written> for Coverage {
    fn from(written: Written) -> Self {
        let Written { what, state, code, reason, remedy } = written;
        Self {
            what,
            state,
            reason: reason.map(|words| Text::read(code, words)),
            remedy: remedy.map(Text::from),
        }
    }
}

impl From<Coverage> for Written {
    fn from(coverage: Coverage) -> Self {
        let Coverage { what, state, reason, remedy } = coverage;
        let code = reason.as_ref().and_then(Text::code).map(str::to_owned);
        let words = |text: Text| text.to_string();
        Self { what, state, code, reason: reason.map(words), remedy: remedy.map(words) }
    }
}

impl Coverage {
    /// Reason: the measurement is omitted because the user selected other measurements.
    pub const NOT_ASKED_FOR: Template = Template::new("not-asked-for", "not requested");

    /// Reason: a result is withheld when its record is read.
    pub const CHANGED_OR_DAMAGED: Template =
        Template::new("record-damaged", "withheld: the record was changed or damaged ({why})");

    /// Reason: wake-ups were measured with idle states enabled, because these could not be disabled.
    pub const IDLE_STATES_NOT_HELD: Template =
        Template::new("idle-states-not-held", "idle states cannot be disabled (/dev/cpu_dma_latency: {why})");

    /// Reason: cells of a matrix are missing because the measurement ran out of time.
    pub const TIME_ENDED: Template = Template::new("time-ended", "out of time {when}");

    /// Reason: the results for all pairs of CPUs are missing because other tasks occupied the CPUs.
    pub const NO_PAIR_AT_ONCE: Template =
        Template::new("no-pair-at-once", "no two CPUs ran at the same time: other processes kept them busy");

    /// Reason: the results for some pairs of CPUs are missing because other tasks occupied the CPUs.
    pub const PAIRS_NOT_AT_ONCE: Template = Template::new(
        "pairs-not-at-once",
        "in {pairs}, the two threads did not run at the same time: other processes used their CPUs",
    );

    /// Reason: cells of a matrix are missing because the planned time was too short for all of them.
    pub const MOST_TELLING_FIRST: Template = Template::new(
        "most-telling-first",
        "{measured} of {all} node pairs were measured, the most informative first",
    );

    /// Reason: results are missing because a signal ended the run.
    pub const INTERRUPTED: Template = Template::new("interrupted", "interrupted {when}");

    /// Reason: times do not show the hardware's speed, because the machine is emulated.
    pub const EMULATED: Template = Template::new("emulated", "emulated machine: times are meaningless");

    /// The topic of the latency curve for pages of this size; the size has the format of the record's `page` key.
    pub fn latency_on(page: &str) -> String {
        format!("latency {page}")
    }

    /// A topic measured completely.
    pub fn measured(what: impl Into<String>) -> Self {
        Self { what: what.into(), state: State::Measured, reason: None, remedy: None }
    }

    fn not_measured(what: impl Into<String>, state: State, reason: impl Into<Text>) -> Self {
        Self { what: what.into(), state, reason: Some(reason.into()), remedy: None }
    }

    /// A topic measured in part.
    pub fn degraded(what: impl Into<String>, reason: impl Into<Text>) -> Self {
        Self::not_measured(what, State::Degraded, reason)
    }

    /// A topic skipped for this reason.
    pub fn skipped(what: impl Into<String>, reason: impl Into<Text>) -> Self {
        Self::not_measured(what, State::Skipped, reason)
    }

    /// A topic that cannot be measured here.
    pub fn impossible(what: impl Into<String>, reason: impl Into<Text>) -> Self {
        Self::not_measured(what, State::Impossible, reason)
    }

    /// The topic of a `linespeed scale` run and its steps.
    pub const SCALE: &str = "scale";

    /// The topic of wake-up measurements with timer slack and idle states disabled.
    pub const TUNED_WAKEUP: &str = "wakeup tuned";
    /// The topic of a `linespeed overhead` run.
    pub const OVERHEAD: &str = "overhead";
    /// The topic of the time that a command's threads spend in run queues.
    pub const RUNNABLE: &str = "runnable";
    /// The topic of a single counted event.
    pub const COUNTER: &str = "counter";
    /// The topic of all counted events of a command or, if preceded by the name of a measurement, of that measurement.
    pub const COUNTERS: &str = "counters";

    /// The topic of all counted events of a measurement: `workloads counters`.
    pub fn counters_of(measurement: &str) -> String {
        format!("{measurement} {}", Self::COUNTERS)
    }

    /// Whether this entry is about counters, of the whole run or of one measurement.
    pub fn is_about_counters(&self) -> bool {
        self.what.split(' ').next_back() == Some(Self::COUNTERS)
    }

    /// The topic of this entry without the part: `scale` for `scale: 4 CPUs`, `counter` for `counter cycles`.
    pub fn topic(&self) -> &str {
        self.split_subject().0
    }

    /// The part of the topic; empty if the entry is about the whole topic.
    pub fn part(&self) -> &str {
        self.split_subject().1
    }

    fn split_subject(&self) -> (&str, &str) {
        let end = self.what.find([':', ' ']).unwrap_or(self.what.len());
        let (topic, part) = self.what.split_at(end);
        (topic, part.trim_start_matches(':').trim_start())
    }

    /// Whether the entry has this reason.
    pub fn is_for(&self, template: &Template) -> bool {
        self.reason.as_ref().is_some_and(|reason| reason.is(template))
    }

    /// The reason in words; empty if there is none.
    pub fn why(&self) -> String {
        self.reason.as_ref().map(Text::to_string).unwrap_or_default()
    }

    /// Adds the remedy.
    pub fn with_remedy(mut self, remedy: impl Into<Text>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_is_a_topic_and_a_part_of_it() {
        for (what, topic, part) in [
            ("scale: 4 CPUs", Coverage::SCALE, "4 CPUs"),
            ("counter cycles", Coverage::COUNTER, "cycles"),
            ("overhead (kernel)", Coverage::OVERHEAD, "(kernel)"),
            ("scale", Coverage::SCALE, ""),
        ] {
            let coverage = Coverage::measured(what);
            assert_eq!((coverage.topic(), coverage.part()), (topic, part), "{what}");
        }
    }
}
