//! Nanoseconds that a load from memory takes.

use super::{BreakdownInputs, Steps};

/// From the hardware's latency on huge pages of the own node over page walks and other nodes' memory to what a program
/// gets that cares for neither.
pub(super) fn descend(inputs: BreakdownInputs, steps: &mut Steps) -> Option<String> {
    let (small, huge) = inputs.index.pages()?;
    steps.between("page walks: ordinary pages instead of huge ones", Some("page-walk"), huge, small);
    let numa = inputs.numa?;
    let (local, remote) = (numa.local_ns?, numa.remote_ns?);
    let takes = numa.remote_share * (remote - local);
    if !(takes.is_finite() && takes > 0.0) {
        return None;
    }
    let before = steps.ladder.rungs.len();
    let share = record::units::percent(numa.remote_share);
    steps.take(
        &format!("{share} of loads from other nodes' memory"),
        Some("numa-latency"),
        takes,
        None,
        false,
    );
    if steps.ladder.rungs.len() == before {
        return None;
    }
    steps.ladder.delivered += takes;
    Some(format!("{}, by a program that ignores nodes", steps.ladder.delivered_is))
}
