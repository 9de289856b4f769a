//! For each rule, the resource that its findings reduce and the data that it needs from a record: `rules.txt`.

use record::{Label, metrics};
use serde_json::Value;

use super::{CONDITIONS, Case};
use crate::comparison::facts::{inventory, look_up};
use crate::figures::has_labels;
use crate::tables::rows;

/// The table of affected resources and required data.
pub(super) const RULES: &str = include_str!("rules.txt");

/// The resource that a rule's findings reduce.
pub(super) fn resource(rule: &str) -> Option<&'static str> {
    rows(RULES, rule).first()?.first().copied().filter(|name| *name != "-")
}

/// The first requirement of a rule that the record does not meet.
pub(super) fn missing(rule: &str, case: &Case) -> Option<&'static str> {
    let unmet = |need: Vec<&'static str>| {
        let (what, ways) = need.split_first()?;
        (!ways.iter().any(|way| is_met(case, way))).then_some(*what)
    };
    rows(RULES, rule).into_iter().skip(1).find_map(unmet)
}

/// Whether the record satisfies this alternative of a need: it has a value at this path or a result of this metric with
/// these labels, or this condition holds.
fn is_met(case: &Case, way: &str) -> bool {
    if let Some((_, holds)) = CONDITIONS.iter().find(|(name, _)| *name == way) {
        return holds(case);
    }
    let (metric, labels) = way.split_once(' ').unwrap_or((way, ""));
    let Some(known) = metrics::find(metric) else {
        let inventory = case.inventory.get_or_init(|| inventory(case.record));
        let is_there = |value: &Value| !value.is_null() && value.as_object().is_none_or(|of| !of.is_empty());
        return look_up(inventory, way).into_iter().any(is_there);
    };
    let words = labels.split_whitespace().filter_map(|word| word.split_once('='));
    let labels: Vec<_> = words.filter_map(|(key, word)| Some((Label::from_name(key)?, word))).collect();
    case.figures_of(known.name.into()).any(|m| has_labels(m, &labels))
}
