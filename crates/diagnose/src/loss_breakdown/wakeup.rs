//! Nanoseconds until a sleeping thread runs.

use super::Steps;
use crate::findings::Case;
use crate::resources;
use record::{Text, text};

/// From real-time threads with idle states held off to those of the machine as it is; ordinary threads, of which timer slack is
/// a part, have no ceiling.
pub(super) fn descend(case: &Case, steps: &mut Steps) -> Option<Text> {
    let at = |setting: &str| resources::wake_up_at(case, "fifo", setting);
    if let (Some(tuned), Some(as_is)) = (at("tuned"), at("as-is")) {
        let cause = if case.record.machine.is_virtual() {
            text!("guest halt: the way back through the hypervisor")
        } else {
            text!("idle states")
        };
        steps.between(cause, Some("idle-states"), tuned, as_is);
    }
    None
}
