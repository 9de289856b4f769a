//! `--fail-on`: what ends a command with 1.

use std::path::PathBuf;

use clap::ValueEnum;
use record::diagnosis::Severity;
use record::gate::Terms;
use record::metrics;

use super::Measuring;
use crate::failure::Failure;

/// The share of speed that may be lost where nobody says.
const BOUND: f64 = 0.05;

/// The help of `--fail-on` where records are compared.
pub(super) const OF_COMPARE: &str = "Exit with 1 if a record has lost PERCENT of the baseline's speed (1.25× as long: 20%), its whole 95 % interval, \
in any figure or in METRIC (load.latency, or load for all of load) [PERCENT: 5%]; noisy: if noise hides that. May be given for both";
/// And where commands run in turn.
pub(super) const OF_STAT: &str = "Of OLD ::: NEW: exit with 1 if NEW has lost PERCENT of OLD's speed (1.25× as long: 20%), its whole 95 % interval \
[PERCENT: 5%]; noisy: if noise hides that. May be given for both";
/// The value's name there.
pub(super) const OF_STAT_VALUE: &str = "slower[:PERCENT]|noisy";
/// The value's name of compare's.
pub(super) const OF_COMPARE_VALUE: &str = "slower[:PERCENT][,METRIC…]|noisy";

/// One thing to fail on.
#[derive(Clone, Debug, PartialEq)]
pub enum FailOn {
    /// A finding at or above this level.
    Finding(Level),
    /// A loss of speed of this share, of these metrics or of all.
    Slower(f64, Vec<String>),
    /// Figures that are too noisy to tell.
    Noisy,
}

/// Levels of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Level {
    /// Any finding
    Note,
    /// Findings that cost speed
    Warning,
    /// Findings that cost much speed or make figures wrong
    Serious,
}

impl From<Level> for Severity {
    fn from(level: Level) -> Self {
        match level {
            Level::Note => Severity::Note,
            Level::Warning => Severity::Warning,
            Level::Serious => Severity::Serious,
        }
    }
}

/// Reads a value.
pub(super) fn parse(text: &str) -> Result<FailOn, String> {
    if let Ok(level) = Level::from_str(text, false) {
        return Ok(FailOn::Finding(level));
    }
    if text == "noisy" {
        return Ok(FailOn::Noisy);
    }
    let mut parts = text.split(',');
    let first = parts.next().unwrap_or_default();
    let bound = match first.strip_prefix("slower") {
        Some("") => BOUND,
        Some(rest) => parse_bound(rest.strip_prefix(':').unwrap_or_default())?,
        None => {
            return Err("write slower:5%, slower:5%,METRIC or noisy (compare, stat); note, warning or serious (run, scale, show, import, quiet)"
                .to_owned());
        }
    };
    parts.map(check_metric).collect::<Result<_, _>>().map(|metrics| FailOn::Slower(bound, metrics))
}

fn parse_bound(text: &str) -> Result<f64, String> {
    let least = diagnose::LEAST_BOUND * 100.0;
    let percent = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    percent
        .filter(|percent| (least..100.0).contains(percent))
        .map(|percent| percent / 100.0)
        .ok_or_else(|| format!("write slower:5%, from {least:.0}% (less is not resolved) to below 100%"))
}

fn check_metric(name: &str) -> Result<String, String> {
    let is_known = |metric: &metrics::Definition| metric.metric().is_called(name);
    if metrics::all().any(is_known) {
        return Ok(name.to_owned());
    }
    if name == "noisy" {
        return Err("noisy is no metric; write --fail-on noisy beside it".to_owned());
    }
    let names: Vec<&str> = metrics::all().map(|metric| metric.name).collect();
    let near = record::glossary::find_nearest(name, names.iter().copied());
    let hint = near.map_or(String::new(), |near| format!(" (did you mean {near}?)"));
    Err(format!("there is no metric {name:?}{hint}; linespeed explain lists them"))
}

impl Measuring {
    /// The least level of findings that ends with 1.
    pub fn failing_level(&self) -> Option<Severity> {
        let levels = self.fail_on.iter().filter_map(|one| match one {
            FailOn::Finding(level) => Some(Severity::from(*level)),
            FailOn::Slower(..) | FailOn::Noisy => None,
        });
        levels.min()
    }

    /// The terms of a gate; `None` where none is asked for.
    ///
    /// # Errors
    ///
    /// Two bounds.
    pub fn gate_terms(&self) -> Result<Option<Terms>, Failure> {
        let bounds: Vec<_> = self.fail_on.iter().filter(|one| matches!(one, FailOn::Slower(..))).collect();
        let noisy = self.fail_on.contains(&FailOn::Noisy);
        match bounds.as_slice() {
            [] => Ok(noisy.then(|| Terms { bound: BOUND, metrics: Vec::new(), slower: false, noisy })),
            [FailOn::Slower(bound, metrics)] => {
                Ok(Some(Terms { bound: *bound, metrics: metrics.clone(), slower: true, noisy }))
            }
            _ => Err(Failure::usage(
                "--fail-on slower is given twice: name all metrics in one, slower:5%,METRIC,METRIC",
            )),
        }
    }

    /// Refuses a report of a gate that nobody asked for.
    pub(super) fn check_junit(&self, junit: Option<&PathBuf>) -> Result<(), Failure> {
        match junit {
            Some(_) if self.fail_on.is_empty() => Err(Failure::usage(
                "--junit FILE tells what --fail-on held: add --fail-on slower:5%, or leave --junit out",
            )),
            _ => Ok(()),
        }
    }

    /// Refuses what the command has no use for.
    pub(super) fn check_fail_on(&self, command: &str) -> Result<(), Failure> {
        let of_findings = |one: &FailOn| matches!(one, FailOn::Finding(_));
        let of_metrics = |one: &FailOn| matches!(one, FailOn::Slower(_, metrics) if !metrics.is_empty());
        let words = if command == "stat" && self.fail_on.iter().any(of_metrics) {
            Some("stat holds the commands' time and no other metric: --fail-on slower:5%")
        } else if matches!(command, "compare" | "stat") {
            let levels = self.fail_on.iter().any(of_findings);
            levels.then_some("findings are not held here: --fail-on slower:5% or --fail-on noisy")
        } else {
            let gate = !self.fail_on.iter().all(of_findings);
            gate.then_some(
                "--fail-on takes note, warning or serious here; slower and noisy are for compare and stat",
            )
        };
        words.map_or(Ok(()), |words| Err(Failure::usage(words)))
    }
}
