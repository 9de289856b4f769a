//! The requested thoroughness of a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The requested thoroughness of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RunMode {
    /// Seconds: rougher results.
    Quick,
    /// The default.
    Normal,
    /// Minutes.
    Full,
}

impl RunMode {
    /// For a record of linespeed's own results without a mode: by the options of its command line.
    pub(crate) fn of_command(command: &[String]) -> Option<Self> {
        let own = || command.iter().skip(1).take_while(|word| *word != "--");
        let has = |option: &str| own().any(|word| word == option);
        match own().next().map(String::as_str) {
            _ if command.is_empty() => None,
            _ if has("--quick") => Some(Self::Quick),
            _ if has("--full") => Some(Self::Full),
            None | Some("run") => Some(Self::Normal),
            Some(word) => word.starts_with('-').then_some(Self::Normal),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Labels, Measurement, Record};

    #[test]
    fn a_record_that_does_not_say_is_known_by_its_own_options() {
        let mode = |command: &[&str]| {
            let command = command.iter().map(|word| (*word).to_owned()).collect();
            let mut record = Record::new("0.1.0", String::new(), command);
            record.measurements.push(Measurement::new("cost.syscall", Labels::new(), vec![80.0]));
            Record::from_json(record.to_json().unwrap().as_bytes()).unwrap().mode
        };
        assert_eq!(mode(&["linespeed", "--quick"]), Some(RunMode::Quick));
        assert_eq!(mode(&["linespeed", "run", "latency", "--full"]), Some(RunMode::Full));
        assert_eq!(mode(&["linespeed", "-q"]), Some(RunMode::Normal));
        assert_eq!(mode(&["linespeed", "stat", "--", "sleep", "--quick"]), None);
    }

    #[test]
    fn what_a_record_says_goes_over_its_command() {
        let mut record = Record::new("0.1.0", String::new(), vec!["linespeed".to_owned()]);
        record.mode = Some(RunMode::Quick);
        let read = Record::from_json(record.to_json().unwrap().as_bytes()).unwrap();
        assert_eq!(read.mode, Some(RunMode::Quick));
    }
}
