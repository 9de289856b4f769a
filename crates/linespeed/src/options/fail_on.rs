//! `--fail-on`: the conditions under which a command exits with 1.

use std::path::PathBuf;

use record::diagnosis::Severity;
use record::fail_on::FailOn;
use record::gate::Terms;

use super::Measuring;
use crate::failure::Failure;

impl Measuring {
    /// The lowest level of findings that causes exit code 1.
    pub fn failing_level(&self) -> Option<Severity> {
        FailOn::failing_level(&self.fail_on)
    }

    /// The conditions of a gate; `None` if no gate was requested.
    pub fn gate_terms(&self) -> Result<Option<Terms>, Failure> {
        FailOn::terms(&self.fail_on).map_err(Failure::usage)
    }

    /// Rejects `--junit`, the file for the result of a gate, if there is no gate.
    pub(super) fn check_junit(&self, junit: Option<&PathBuf>) -> Result<(), Failure> {
        match junit {
            Some(_) if self.fail_on.is_empty() => Err(Failure::usage(
                "--junit FILE reports the result of --fail-on: add --fail-on slower:5% or omit --junit",
            )),
            _ => Ok(()),
        }
    }

    /// Rejects conditions that do not apply to the command.
    pub(super) fn check_fail_on(&self, command: &str) -> Result<(), Failure> {
        FailOn::refused(&self.fail_on, command).map_or(Ok(()), |words| Err(Failure::usage(words)))
    }
}
