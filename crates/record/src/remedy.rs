//! A remedy for a finding: a text, a command to paste, or both, and the knob that it sets, if any.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::JsonSchema;
use crate::cpu_list::CpuList;
use crate::metrics::{self, Metric};
use crate::text::Text;

/// A knob of `linespeed quiet` that remedies can set, by its name in that command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum KnobName {
    /// Boost: `on` or `off`.
    Boost,
    /// The governor of each policy.
    Governor,
    /// The energy-performance preference (EPP) of each policy.
    Epp,
    /// The energy-performance bias of each CPU, 0 to 15.
    Epb,
    /// The maximum clock of each policy, kHz.
    ClockRange,
    /// The long-term power limit of each package, µW.
    PowerLimit,
    /// Deep idle states.
    IdleStates,
    /// How long a guest polls before it halts.
    GuestHalt,
    /// SMT control: `on` or `off`.
    Smt,
    /// Automatic NUMA balancing.
    NumaBalancing,
    /// Transparent huge pages: `always`, `madvise` or `never`.
    Thp,
}

impl KnobName {
    /// The knob's name in `linespeed quiet`.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A knob and its new value, for `linespeed fix`.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KnobValue {
    /// The knob.
    pub knob: KnobName,
    /// The value; absent for the value that `linespeed quiet` sets.
    pub value: Option<String>,
    /// The CPUs to which it applies; absent for all CPUs.
    pub cpus: Option<CpuList>,
}

impl KnobValue {
    /// A value for all CPUs.
    pub fn new(knob: KnobName, value: impl Into<String>) -> Self {
        Self { knob, value: Some(value.into()), cpus: None }
    }

    /// The value that `linespeed quiet` sets, for all CPUs.
    pub const fn as_quiet(knob: KnobName) -> Self {
        Self { knob, value: None, cpus: None }
    }

    /// The linespeed metric that shows the gain; `None` if only a user's program can show the gain, for example the gain
    /// from huge pages in a program that does not request them.
    pub fn metric_of_gain(&self) -> Option<Metric> {
        match self.knob {
            KnobName::Boost
            | KnobName::Governor
            | KnobName::Epp
            | KnobName::Epb
            | KnobName::ClockRange
            | KnobName::PowerLimit => Some(metrics::CORE_CLOCK),
            KnobName::IdleStates | KnobName::GuestHalt => Some(metrics::WAKEUP_LATENCY),
            KnobName::Thp if self.value.as_deref() == Some("madvise") => Some(metrics::LOAD_LATENCY),
            KnobName::Thp | KnobName::Smt | KnobName::NumaBalancing => None,
        }
    }
}

/// An action that fixes a finding, or that undoes the fix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remedy {
    /// The action, or when to use the command.
    pub text: Option<Text>,
    /// A command to paste.
    pub command: Option<String>,
    /// The knob that the action sets.
    pub sets: Option<KnobValue>,
}

impl Remedy {
    /// A command that needs no explanation.
    pub fn command(command: impl Into<String>) -> Self {
        Self { text: None, command: Some(command.into()), sets: None }
    }

    /// A text without a command.
    pub fn advice(text: impl Into<Text>) -> Self {
        Self { text: Some(text.into()), command: None, sets: None }
    }

    /// A command with its purpose.
    pub fn both(text: impl Into<Text>, command: impl Into<String>) -> Self {
        Self { text: Some(text.into()), command: Some(command.into()), sets: None }
    }

    /// Adds the knob that the remedy sets.
    pub fn sets(self, value: KnobValue) -> Self {
        Self { sets: Some(value), ..self }
    }

    /// Reads remedies from a record: the texts, and the commands in them.
    pub(crate) fn read_all(words: Vec<String>, commands: Vec<Option<String>>) -> Vec<Self> {
        let read = |(words, command): (String, Option<String>)| {
            let before = command.as_ref().and_then(|command| words.strip_suffix(command.as_str()));
            match before.map(|before| before.strip_suffix(": ")) {
                Some(None) => Self { text: None, command, sets: None },
                Some(Some(before)) => Self { text: Some(before.into()), command, sets: None },
                None => Self::advice(words),
            }
        };
        words.into_iter().zip(commands.into_iter().chain(std::iter::repeat(None))).map(read).collect()
    }

    /// The texts, as written to a record.
    pub(crate) fn write_all(all: &[Self]) -> (Vec<String>, Vec<Option<String>>) {
        all.iter().map(|one| (one.to_string(), one.command.clone())).unzip()
    }

    /// Splits a text into its prose and its command. A command begins with one of the programs that remedies use.
    pub fn of_words(words: &str) -> Self {
        if is_command(words) {
            return Self::command(words);
        }
        match words.split_once(": ") {
            Some((text, command)) if is_command(command) => Self::both(text, command),
            _ => Self::advice(words),
        }
    }
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.text, &self.command) {
            (Some(text), Some(command)) => write!(f, "{text}: {command}"),
            (Some(text), None) => text.fmt(f),
            (None, command) => f.write_str(command.as_deref().unwrap_or_default()),
        }
    }
}

/// Programs and shell words with which a command may begin.
const PROGRAMS: &str = "cat chrt cpupower docker echo export for grep linespeed mount nice numactl numastat perf ps sudo sysctl \
                        systemctl taskset top ulimit";

fn is_command(words: &str) -> bool {
    let begins = |step: &str| {
        let first = step.trim_start().split(' ').next().unwrap_or_default();
        PROGRAMS.split(' ').any(|program| program == first) || first.starts_with('/')
    };
    // A command contains neither ", " nor ": ", which occur only in prose; after "; ", another command must follow.
    let mut steps = words.split("; ");
    steps.next().is_some_and(begins)
        && steps.all(|step| begins(step) || ["do ", "done"].iter().any(|word| step.starts_with(word)))
        && !words.contains(", ")
        && !words.contains(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let all = vec![
            Remedy::command("sudo sysctl a=1"),
            Remedy::advice("fit equal devices: on every channel"),
            Remedy::both("for every program", "echo always | sudo tee /sys/x"),
        ];
        let words = all.iter().map(Remedy::to_string).collect();
        let commands = all.iter().map(|one| one.command.clone()).collect();
        assert_eq!(Remedy::read_all(words, commands), all);
    }

    #[test]
    fn in_words_alone_only_commands_are_offered_for_pasting() {
        let paste = "echo always | sudo tee /sys/kernel/mm/transparent_hugepage/enabled";
        assert_eq!(Remedy::of_words(paste), Remedy::command(paste));
        assert_eq!(Remedy::of_words("at boot: sudo x --args=x"), Remedy::both("at boot", "sudo x --args=x"));
        for advice in
            ["size working sets by what is measured", "who: ps -e | head; which: cat /proc/interrupts"]
        {
            assert_eq!(Remedy::of_words(advice), Remedy::advice(advice));
        }
    }
}
