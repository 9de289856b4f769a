//! Fixes for findings: the knob, the changes that it would make here, and its gain.

use machine::Root;
use quiet::audit::AuditRow;
use quiet::error::Error;
use quiet::knob::State;
use quiet::tuning_plan::{Planned, Purpose, TuningPlan, Wanted};
use record::diagnosis::Finding;
use record::difference::Verdict;
use record::{KnobValue, Machine, Measurement, Record, Text, text};

use crate::prove::{Compared, Proof, ProvenFigure};

/// A finding that can be fixed with a knob.
pub struct Fix<'a> {
    /// The number of the finding in the report, from 1.
    pub number: usize,
    /// The finding.
    pub finding: &'a Finding,
    /// The knob, and its new value.
    pub value: &'a KnobValue,
    /// The result that shows the gain; `None` if only a program can show it.
    pub figure: Option<ProvenFigure>,
}

/// The reason why a finding is not fixed.
#[derive(Debug, thiserror::Error)]
pub enum FixError {
    /// The finding has no fix; contains the reason, and an alternative.
    #[error("{0}")]
    NoFix(String),
    /// The knob cannot be set on this machine; contains the reason.
    #[error("{0}")]
    CannotBeSet(String),
    /// The machine cannot be read.
    #[error(transparent)]
    Session(#[from] Error),
}

fn name_findings(found: usize) -> String {
    match found {
        0 => "no findings".to_owned(),
        1 => "one finding".to_owned(),
        more => format!("findings 1 to {more}"),
    }
}

/// Selects the fix for the finding with this number or rule, from a record of this machine. `cited` returns the
/// measurement on which a finding relies.
pub fn choose<'a>(
    record: &'a Record,
    here: &Machine,
    asked: &str,
    cited: impl Fn(&'a Finding) -> Option<&'a Measurement>,
) -> Result<Fix<'a>, FixError> {
    let findings = &record.diagnosis.findings;
    let out_of_range = |number: usize| {
        let has = name_findings(findings.len());
        FixError::NoFix(format!(
            "there is no finding {number}: the record has {has} (linespeed show lists them)"
        ))
    };
    let number = match asked.parse::<usize>() {
        Ok(number) => number,
        Err(_) if findings.is_empty() => return Err(out_of_range(1)),
        Err(_) => {
            // If a rule has several findings, one that can be fixed is preferred.
            let mut of_rule = (1..).zip(findings).filter(|(_, finding)| finding.rule == asked);
            let first = of_rule.clone().next();
            let found = of_rule.find(|(_, finding)| finding.knob().is_some()).or(first);
            found.map(|(number, _)| number).ok_or_else(|| {
                let rules: Vec<&str> = findings.iter().map(|finding| finding.rule.as_str()).collect();
                let rules = rules.join(", ");
                FixError::NoFix(format!("the record has no finding called {asked}; it has {rules}"))
            })?
        }
    };
    let at = number.checked_sub(1).and_then(|at| findings.get(at));
    let finding = at.ok_or_else(|| out_of_range(number))?;
    let Some(value) = finding.knob() else {
        let remedy = finding.remedy.first().map_or("none is known".to_owned(), ToString::to_string);
        let what = &finding.what;
        return Err(FixError::NoFix(format!("no knob fixes finding {number} ({what}). Remedy: {remedy}")));
    };
    if !here.is_same_hardware(&record.machine) {
        let other = record.machine.hostname.as_deref().filter(|name| here.hostname.as_deref() != Some(name));
        let of = other.unwrap_or("other hardware");
        return Err(FixError::CannotBeSet(format!(
            "the record is from {of}, not from this machine: run linespeed here first"
        )));
    }
    Ok(Fix { number, finding, value, figure: ProvenFigure::of(value, cited(finding)) })
}

/// The effect of a fix on this machine.
pub struct Outlook {
    /// The knob's current value.
    pub now: Text,
    /// The new value of the knob.
    pub then: Text,
    /// The changes that the fix makes; empty if the knob already has the new value.
    pub plan: TuningPlan,
    /// Notes about the fix.
    pub notes: Vec<Text>,
}

impl Outlook {
    /// Whether the knob already has the new value.
    pub fn is_done(&self) -> bool {
        self.plan == TuningPlan::default()
    }
}

impl Fix<'_> {
    /// The effect of the fix on the machine below this root. If `keep` is set, the values stay set after the
    /// measurement.
    pub fn look(&self, root: &Root, keep: bool) -> Result<Outlook, FixError> {
        let purpose = if keep { Purpose::Persistent } else { Purpose::Measuring };
        let wanted =
            Wanted { names: &[self.value.knob.name()], purpose, cpus: None, value: Some(self.value) };
        let Planned { rows, plan, .. } = wanted.plan(root)?;
        let refused = |why: &str| FixError::CannotBeSet(format!("{}: {why}", self.value.knob.name()));
        let Some(AuditRow { inspection, .. }) = rows.into_iter().next() else {
            return Err(refused("this version has no such knob"));
        };
        if let State::Absent(why) | State::Unseen(why) = &inspection.state {
            return Err(refused(&why.to_string()));
        }
        let then = inspection.steadier.unwrap_or_else(|| inspection.now.clone());
        Ok(Outlook { now: inspection.now, then, plan, notes: inspection.notes })
    }

    /// The reason why nothing can be set, if any.
    pub fn refusal(&self, outlook: &Outlook) -> Option<FixError> {
        let (knob, why) = outlook.plan.not_set.first()?;
        Some(FixError::CannotBeSet(format!("{knob}: {why}")))
    }
}

/// The gain from a fix.
#[derive(Clone, Debug, PartialEq)]
pub struct Gain {
    /// The speedup factor; a factor below 1 is a slowdown.
    pub factor: f64,
    /// The confidence interval of the factor, if any.
    pub interval: Option<(f64, f64)>,
    /// The verdict.
    pub verdict: Verdict,
}

impl Gain {
    /// The gain according to the first comparison of the proof that is not the A/A control.
    pub fn of(proof: &Proof) -> Self {
        // The first row belongs to the control. All rows of the control have the same name.
        let control = proof.compared.first().map(|(name, ..)| name);
        let row = proof.compared.iter().find(|(name, ..)| Some(name) != control);
        let Some((_, figure, Compared { comparison, .. })) = row else {
            let why = proof.missing.first().map(|(_, why)| why.clone());
            let reason = why.unwrap_or_else(|| text!("no round was completed"));
            return Self { factor: 1.0, interval: None, verdict: Verdict::NotMeasurable { reason } };
        };
        // If the result is a time, a decrease is a speedup; if it is a clock, a decrease is a slowdown.
        let faster = |less: f64| if figure.less_is_better { 1.0 / (1.0 - less) } else { 1.0 - less };
        let interval = comparison.interval.map(|(one, other)| (faster(one), faster(other)));
        Self {
            factor: faster(comparison.less_by),
            interval: interval.map(|(one, other)| (one.min(other), one.max(other))),
            verdict: comparison.verdict.clone(),
        }
    }
}

#[cfg(test)]
mod tests;
