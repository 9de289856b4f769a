//! Nanoseconds until a sleeping thread runs.

use super::{BreakdownInputs, Steps};
use crate::resources;
use record::{Text, text};

/// From real-time threads without idle states over idle states and ordinary scheduling to ordinary threads as the machine
/// is, whose timer slack is the rest of what tuning gains.
pub(super) fn descend(inputs: BreakdownInputs, steps: &mut Steps) -> Option<Text> {
    let at = |policy: &str, setting: &str| resources::wake_up_at(inputs.index, policy, setting);
    let as_is = at("other", "as-is")?;
    let tuned = at("other", "tuned");
    match (at("fifo", "tuned"), at("fifo", "as-is"), tuned) {
        (Some(best), Some(idle), Some(tuned)) if best.value() <= tuned.value() => {
            steps.between(
                text!("breakdown-not-real-time", "ordinary scheduling instead of real-time"),
                None,
                best,
                tuned,
            );
            let before = steps.level;
            steps.between(text!("breakdown-idle-states", "idle states"), Some("idle-states"), best, idle);
            let idle = steps.level - before;
            let slack = as_is.value() - tuned.value() - idle;
            steps.take(text!("breakdown-timer-slack", "timer slack"), Some("timer-slack"), slack, None, true);
        }
        // Real-time threads were not allowed: what tuning gains is known in one piece.
        (_, _, Some(tuned)) if tuned.value() <= as_is.value() => {
            steps.between(
                text!("breakdown-idle-and-slack", "idle states and timer slack"),
                Some("timer-slack"),
                tuned,
                as_is,
            );
        }
        _ => {}
    }
    None
}
