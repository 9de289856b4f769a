//! Nanoseconds that a load from memory takes.

use record::text::Value;
use record::{Text, text};

use super::Steps;
use crate::findings::Case;

/// From the hardware's latency on huge pages of the own node over page walks and other nodes' memory to what a program
/// gets that cares for neither.
pub(super) fn descend(case: &Case, steps: &mut Steps) -> Option<Text> {
    let (small, huge) = case.pages()?;
    let cause = text!("page walks: ordinary pages instead of huge ones");
    steps.between(cause, Some("page-walk"), huge, small);
    let numa = case.numa?;
    let (local, remote) = (numa.local_ns?, numa.remote_ns?);
    // As the finding has it: the mean over all accesses.
    let of_medians = || numa.remote_share * (remote - local);
    let takes = numa.ignoring_factor.map_or_else(of_medians, |factor| local * (factor - 1.0));
    if !(takes.is_finite() && takes > 0.0) {
        return None;
    }
    let share = Value::Share(numa.remote_share);
    let cause = text!("{share} of loads from other nodes' memory");
    if !steps.take(cause, Some("numa-latency"), takes, None, false) {
        return None;
    }
    steps.breakdown.delivered += takes;
    Some(text!(
        "breakdown-ignores-nodes",
        "{latency}, by a program that ignores nodes",
        latency = &steps.breakdown.delivered_is
    ))
}
