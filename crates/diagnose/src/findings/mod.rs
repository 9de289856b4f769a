//! The rules that turn a record into findings, and the order in which findings are told.

use record::diagnosis::Finding;
use record::{Level, Record};

/// What a rule sees.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// The record.
    pub record: &'a Record,
    /// The levels of the memory hierarchy found in it.
    pub levels: &'a [Level],
}

/// One rule: it names what it looks for, and stays silent when its inputs are missing.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Its name, stable: findings carry it.
    pub name: &'static str,
    /// What it finds.
    pub find: fn(&Case) -> Vec<Finding>,
}

/// Every rule.
pub const RULES: &[Rule] = &[];

/// The findings of all rules, the largest loss first; of equal losses the worse one, then by the rule's name.
pub fn findings(record: &Record, levels: &[Level]) -> Vec<Finding> {
    let case = Case { record, levels };
    let mut found: Vec<Finding> = RULES.iter().flat_map(|rule| (rule.find)(&case)).collect();
    let share = |finding: &Finding| crate::figures::share_of(&finding.loss);
    found.sort_by(|a, b| {
        share(b).total_cmp(&share(a)).then(b.severity.cmp(&a.severity)).then_with(|| a.rule.cmp(&b.rule))
    });
    found
}
