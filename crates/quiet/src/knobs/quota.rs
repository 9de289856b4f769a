//! The quota of the own cgroup.

use super::CGROUP_UNKNOWN;
use crate::knob::{Adjustment, Inspect, Inspection, Knob, KnobClass, KnobContext, Seen};
use record::text;

/// A CPU quota stops whoever has used it up until the next period (Documentation/scheduler/sched-bwc.rst).
pub(super) const KNOB: Knob = Knob {
    name: "quota",
    class: KnobClass::OtherTasks,
    effect: "a command that has used up its quota is throttled for the rest of the period",
    absent: CGROUP_UNKNOWN,
    inspect: Inspect::With(inspect),
    ..Knob::ORDINARY
};

fn inspect(_: &Knob, context: &KnobContext) -> Seen {
    let Some(cpus) = context.quota else { return Ok(context.live.then(|| Inspection::steady("none"))) };
    let now = if cpus == 1.0 { "1 CPU".to_owned() } else { format!("{cpus} CPUs") };
    let remove = text!("run outside of the container, or remove its CPU limit");
    Ok(Some(Inspection::noisy(now, "none", Adjustment::Manual(remove))))
}
