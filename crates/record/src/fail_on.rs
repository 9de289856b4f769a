//! `--fail-on`: conditions for exit status 1.

use crate::difference::{MUCH, WORTH_TELLING};
use crate::finding::Severity;
use crate::gate::Terms;
use crate::glossary::find_nearest;
use crate::metrics;

/// One condition for failure.
#[derive(Clone, Debug, PartialEq)]
pub enum FailOn {
    /// Fails on a finding of at least this severity.
    Finding(Severity),
    /// Fails if any of these metrics loses at least this share of speed; an empty list means all metrics.
    Slower(f64, Vec<String>),
    /// Fails on inconclusive results.
    Noisy,
}

impl FailOn {
    /// Reads `note`, `warning`, `serious`, `noisy` or `slower[:PERCENT][,METRIC…]`.
    ///
    /// # Errors
    ///
    /// The text is not a valid condition; the error lists the accepted forms.
    pub fn parse(text: &str) -> Result<Self, String> {
        if let Ok(level) = text.parse() {
            return Ok(Self::Finding(level));
        }
        if text == "noisy" {
            return Ok(Self::Noisy);
        }
        let mut parts = text.split(',');
        let bound = match parts.next().unwrap_or_default().strip_prefix("slower") {
            Some("") => MUCH,
            Some(rest) => parse_bound(rest.strip_prefix(':').unwrap_or_default())?,
            None => {
                return Err("use slower:5%, slower:5%,METRIC or noisy (compare, stat); note, warning or serious (run, scale, show, import, quiet)"
                    .to_owned());
            }
        };
        Ok(Self::Slower(bound, parts.map(check_metric).collect::<Result<_, _>>()?))
    }

    /// The lowest severity at which a finding causes exit status 1.
    pub fn failing_level(all: &[Self]) -> Option<Severity> {
        let levels = all.iter().filter_map(|one| match one {
            Self::Finding(level) => Some(*level),
            Self::Slower(..) | Self::Noisy => None,
        });
        levels.min()
    }

    /// The terms of the gate that these conditions specify; `None` if they specify no gate.
    ///
    /// # Errors
    ///
    /// Two bounds are specified.
    pub fn terms(all: &[Self]) -> Result<Option<Terms>, &'static str> {
        let noisy = all.contains(&Self::Noisy);
        let mut bounds = all.iter().filter_map(|one| match one {
            Self::Slower(bound, metrics) => Some((*bound, metrics.clone())),
            Self::Finding(_) | Self::Noisy => None,
        });
        match (bounds.next(), bounds.next()) {
            (None, _) => Ok(noisy.then(|| Terms { bound: MUCH, metrics: Vec::new(), slower: false, noisy })),
            (Some((bound, metrics)), None) => Ok(Some(Terms { bound, metrics, slower: true, noisy })),
            (Some(_), Some(_)) => {
                Err("use --fail-on slower only once, with all metrics, as in slower:5%,METRIC,METRIC")
            }
        }
    }

    /// Why a command cannot use these conditions; `None` if it can use all of them.
    pub fn refused(all: &[Self], command: &str) -> Option<&'static str> {
        let of_findings = |one: &Self| matches!(one, Self::Finding(_));
        let of_metrics = |one: &Self| matches!(one, Self::Slower(_, metrics) if !metrics.is_empty());
        match command {
            "stat" if all.iter().any(of_metrics) => {
                Some("stat compares only the run time of the commands; use --fail-on slower:5%")
            }
            "compare" | "stat" => all
                .iter()
                .any(of_findings)
                .then_some("findings do not apply here; use --fail-on slower:5% or --fail-on noisy"),
            _ => (!all.iter().all(of_findings)).then_some(
                "--fail-on accepts note, warning or serious here; slower and noisy are for compare and stat",
            ),
        }
    }
}

fn parse_bound(text: &str) -> Result<f64, String> {
    let least = WORTH_TELLING * 100.0;
    let percent = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    percent
        .filter(|percent| (least..100.0).contains(percent))
        .map(|percent| percent / 100.0)
        .ok_or_else(|| format!("use slower:5%; the bound must be at least {least:.0}% (smaller differences cannot be resolved) and below 100%"))
}

fn check_metric(name: &str) -> Result<String, String> {
    if metrics::all().any(|metric| metric.metric().is_called(name)) {
        return Ok(name.to_owned());
    }
    if name == "noisy" {
        return Err("noisy is not a metric; add --fail-on noisy".to_owned());
    }
    let near = find_nearest(name, metrics::all().map(|metric| metric.name));
    let hint = near.map_or(String::new(), |near| format!(" (did you mean {near}?)"));
    Err(format!("there is no metric {name:?}{hint}; linespeed explain lists them"))
}
