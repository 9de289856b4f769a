//! What `--fail-on` ends a comparison with.

use diagnose::Ungated;
use record::gate::Gate;
use record::phrase::count_noun;

use crate::failure::{FOUND, Failure};

/// The exit code: 1 where it failed.
pub(super) fn code(gate: Option<&Gate>) -> u8 {
    if gate.is_none_or(|gate| gate.passed) { 0 } else { FOUND }
}

/// What was held; where that is nothing, why, and the way out.
pub(super) fn held(gate: Result<Gate, Ungated>) -> Result<Gate, Failure> {
    gate.map_err(|ungated| {
        let why = match ungated {
            Ungated::SameRecord => "all are the same record".to_owned(),
            Ungated::NothingShared { why: Some(why) } => format!("no such figure is shared ({why})"),
            Ungated::NothingShared { why: None } => "no such figure is shared".to_owned(),
            Ungated::NoInterval { figures } => format!(
                "too few samples for an interval in {}; measure more (stat -r 10, run --full)",
                count_noun(figures, "figure")
            ),
        };
        Failure::Cannot(format!("--fail-on has nothing to hold: {why}"))
    })
}
