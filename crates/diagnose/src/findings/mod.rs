//! The rules that turn a record into findings, and the order in which findings are told. A new rule is one new file
//! here and its line in [`RULES`].

mod bandwidth_below_parts;
mod cache_smaller;
mod clock_limit;
mod clocksource;
mod cpu_quota;
mod cpuset_smaller;
mod idle_states;
mod memory_population;
mod memory_pressure;
mod memory_speed;
mod offline_cpus;
mod other_load;
mod page_walk;
mod steal;
mod stolen_below;
mod stolen_os;
mod swap;
mod throttled;
mod timer_slack;
mod vector_clock;

use record::diagnosis::{Confidence, Evidence, Finding, Severity};
use record::statistics::Verdict;
use record::{Level, Record};

use crate::figures::{place, severity, share_of, told};

/// What a rule sees.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// The record.
    pub record: &'a Record,
    /// The levels of the memory hierarchy found in it.
    pub levels: &'a [Level],
}

/// One rule: it names what it looks for, and stays silent when its inputs are missing or its loss is not resolved.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Its name, stable: findings carry it.
    pub name: &'static str,
    /// What it finds.
    pub find: fn(&Case) -> Vec<Finding>,
}

/// Every rule.
pub const RULES: &[Rule] = &[
    bandwidth_below_parts::RULE,
    cache_smaller::RULE,
    clock_limit::RULE,
    clocksource::RULE,
    cpu_quota::RULE,
    cpuset_smaller::RULE,
    idle_states::RULE,
    memory_population::RULE,
    memory_pressure::RULE,
    memory_speed::RULE,
    offline_cpus::RULE,
    other_load::RULE,
    page_walk::RULE,
    steal::RULE,
    stolen_below::RULE,
    stolen_os::RULE,
    swap::RULE,
    throttled::RULE,
    timer_slack::RULE,
    vector_clock::RULE,
];

/// The findings of all rules, the worst first; of those equally bad the largest loss, then by the rule's name.
pub fn findings(record: &Record, levels: &[Level]) -> Vec<Finding> {
    let case = Case { record, levels };
    let mut found: Vec<Finding> = RULES.iter().flat_map(|rule| (rule.find)(&case)).collect();
    for finding in &mut found {
        weaken(record, finding);
    }
    found.sort_by(|a, b| {
        b.severity
            .cmp(&a.severity)
            .then_with(|| share_of(&b.loss).total_cmp(&share_of(&a.loss)))
            .then_with(|| a.rule.cmp(&b.rule))
    });
    found
}

/// A finding that leans on a measurement which says of itself that it should not be leaned on is a note, and says so.
fn weaken(record: &Record, finding: &mut Finding) {
    let doubts: Vec<Evidence> = finding
        .evidence
        .iter()
        .filter_map(|seen| {
            let measurement =
                record.measurements.iter().find(|m| m.doubt.is_some() && place(m) == seen.from)?;
            Some(told(format!("in doubt: {}", measurement.doubt.as_deref()?), seen.from.clone()))
        })
        .collect();
    if !doubts.is_empty() {
        finding.severity = Severity::Note;
        finding.evidence.extend(doubts);
    }
}

/// A finding of a measured loss, without evidence and remedy yet; its severity follows from the loss.
fn finding(rule: &Rule, loss: Verdict, what: impl Into<String>) -> Finding {
    Finding {
        rule: rule.name.to_owned(),
        severity: severity(&loss),
        what: what.into(),
        place: None,
        evidence: Vec::new(),
        loss,
        measured: true,
        confidence: Confidence::Medium,
        resource: None,
        remedy: Vec::new(),
        undo: Vec::new(),
    }
}

/// The verdict when it says that something is lost.
fn costs(loss: Verdict) -> Option<Verdict> {
    matches!(loss, Verdict::Costs { .. }).then_some(loss)
}

/// The severity of a loss that only some programs feel, or that somebody chose: never serious.
fn at_most_warning(loss: &Verdict) -> Severity {
    severity(loss).min(Severity::Warning)
}

/// Whether the record is of a virtual machine.
fn is_virtual(record: &Record) -> bool {
    record.machine.virtualization.hypervisor.as_deref().is_some_and(|name| name != "none")
}

/// Several lines as a list of texts.
fn lines<const N: usize>(texts: [&str; N]) -> Vec<String> {
    texts.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests;
