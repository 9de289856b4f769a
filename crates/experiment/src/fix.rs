//! A finding's remedy that is a knob: which it is, what it would write here, and what it gained.

use machine::Root;
use quiet::audit::AuditRow;
use quiet::error::Error;
use quiet::files::Tree;
use quiet::knob::State;
use quiet::tuning_plan::{Purpose, TuningPlan, prepare_context};
use quiet::wanted_value;
use record::diagnosis::Finding;
use record::difference::Verdict;
use record::{KnobValue, Machine, Measurement, Record, Text, text};

use crate::prove::{Compared, Proof, ProvenFigure};

/// A finding that a knob mends.
pub struct Fix<'a> {
    /// Its number in the report, from 1.
    pub number: usize,
    /// The finding.
    pub finding: &'a Finding,
    /// The knob, and the value that it is to have.
    pub value: &'a KnobValue,
    /// The figure that shows what it gains; `None` where only a program can.
    pub figure: Option<ProvenFigure>,
}

/// Why a finding is not fixed.
#[derive(Debug, thiserror::Error)]
pub enum FixError {
    /// No finding has this number.
    #[error("there is no finding {asked}: the record has {}; linespeed show lists them", name_findings(*.found))]
    OutOfRange {
        /// The number.
        asked: usize,
        /// How many there are.
        found: usize,
    },
    /// No finding is of this rule.
    #[error("the record has no finding called {asked}; it has {}", .found.join(", "))]
    NoSuchRule {
        /// The rule's name.
        asked: String,
        /// The rules of its findings.
        found: Vec<String>,
    },
    /// Nothing that linespeed sets mends it.
    #[error("no knob fixes finding {number} ({what}); do: {}", .remedy.as_deref().unwrap_or("nothing is known"))]
    NoKnob {
        /// Its number.
        number: usize,
        /// What it is.
        what: Text,
        /// Its first remedy.
        remedy: Option<String>,
    },
    /// The record is of another machine.
    #[error("the record is of {0}, not of this machine: run linespeed here first")]
    OtherMachine(String),
    /// This machine has no such knob, or it cannot be seen or set, with why.
    #[error("{knob}: {why}")]
    CannotBeSet {
        /// The knob.
        knob: &'static str,
        /// Why.
        why: Text,
    },
    /// Only a program shows what it gains.
    #[error(
        "what {knob} gains depends on the program: linespeed fix {number}{of} -- COMMAND measures yours, \
         linespeed fix {number}{of} --dry-run shows what would be written"
    )]
    NeedsCommand {
        /// The knob.
        knob: &'static str,
        /// The finding's number.
        number: usize,
        /// What names its record, after a space; nothing for this machine's.
        of: String,
    },
    /// The machine cannot be looked at.
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

/// The finding with this number or rule, from a record of this machine, as a fix. `cited` tells which figure a finding rests
/// on.
pub fn choose<'a>(
    record: &'a Record,
    here: &Machine,
    asked: &str,
    cited: impl Fn(&'a Finding) -> Option<&'a Measurement>,
) -> Result<Fix<'a>, FixError> {
    let findings = &record.diagnosis.findings;
    let at = match asked.parse::<usize>() {
        Ok(number) if (1..=findings.len()).contains(&number) => number - 1,
        Ok(number) => return Err(FixError::OutOfRange { asked: number, found: findings.len() }),
        Err(_) => {
            // Of several findings of a rule the one that can be fixed.
            let of_rule = || findings.iter().enumerate().filter(|(_, finding)| finding.rule == asked);
            let found = of_rule().find(|(_, finding)| finding.knob().is_some()).or_else(|| of_rule().next());
            let rules = || findings.iter().map(|finding| finding.rule.clone()).collect();
            found.map(|(at, _)| at).ok_or_else(|| match findings.is_empty() {
                true => FixError::OutOfRange { asked: 1, found: 0 },
                false => FixError::NoSuchRule { asked: asked.to_owned(), found: rules() },
            })?
        }
    };
    let (number, finding) = (at + 1, &findings[at]);
    let Some(value) = finding.knob() else {
        let remedy = finding.remedy.first().map(ToString::to_string);
        return Err(FixError::NoKnob { number, what: finding.what.clone(), remedy });
    };
    if !here.is_same_hardware(&record.machine) {
        let other = record.machine.hostname.clone().filter(|name| here.hostname.as_ref() != Some(name));
        return Err(FixError::OtherMachine(other.unwrap_or_else(|| "other hardware".to_owned())));
    }
    Ok(Fix { number, finding, value, figure: ProvenFigure::of(value, cited(finding)) })
}

/// What a fix would do here.
pub struct Outlook {
    /// The knob's value now.
    pub now: Text,
    /// The value that it is to have.
    pub then: Text,
    /// What would be written or held; nothing where the knob has its value already.
    pub plan: TuningPlan,
    /// What should be known of it.
    pub notes: Vec<Text>,
}

impl Outlook {
    /// Whether the knob has its value already.
    pub fn is_done(&self) -> bool {
        self.plan == TuningPlan::default()
    }
}

impl Fix<'_> {
    /// What it would do below this root, whose values are to stay or not.
    pub fn look(&self, root: &Root, keep: bool) -> Result<Outlook, FixError> {
        let tree = Tree::new(root);
        let purpose = if keep { Purpose::Persistent } else { Purpose::Measuring };
        let mut context = prepare_context(root, &tree, None, purpose)?;
        context.stays = keep;
        let refused = |why| FixError::CannotBeSet { knob: self.value.knob.name(), why };
        let Some(row) = wanted_value::look_at(&context, self.value) else {
            return Err(refused(text!("this version has no such knob")));
        };
        if let State::Absent(why) | State::Unseen(why) = &row.inspection.state {
            return Err(refused(why.clone()));
        }
        let rows = [row];
        let plan = TuningPlan::from_audit(&rows, true, purpose, &tree);
        let [AuditRow { inspection, .. }] = rows;
        let then = inspection.steadier.unwrap_or_else(|| inspection.now.clone());
        Ok(Outlook { now: inspection.now, then, plan, notes: inspection.notes })
    }

    /// Why nothing of it can be set, where that is so.
    pub fn refusal(&self, outlook: &Outlook) -> Option<FixError> {
        let (knob, why) = outlook.plan.not_set.first()?;
        Some(FixError::CannotBeSet { knob, why: why.clone() })
    }
}

/// What a fix gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Gain {
    /// So many times as fast; below 1 it is slower.
    pub factor: f64,
    /// The interval of that, where there is one.
    pub interval: Option<(f64, f64)>,
    /// What can be said of it.
    pub verdict: Verdict,
}

impl Gain {
    /// Of the proof's first figure that is not of the machine against itself.
    pub fn of(proof: &Proof) -> Self {
        // The control has the name of the first row.
        let control = proof.compared.first().map(|(name, ..)| name);
        let row = proof.compared.iter().find(|(name, ..)| Some(name) != control);
        let Some((_, figure, Compared { comparison, .. })) = row else {
            let why = proof.missing.first().map(|(_, why)| why.clone());
            let reason = why.unwrap_or_else(|| text!("no round was completed"));
            return Self { factor: 1.0, interval: None, verdict: Verdict::NotMeasurable { reason } };
        };
        // Of what is less afterwards a time is faster, a clock slower.
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
