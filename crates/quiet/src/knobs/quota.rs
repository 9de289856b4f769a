//! The quota of the own cgroup.

use crate::knob::{Adjustment, Inspection, Knob, KnobClass, KnobContext, State};

/// A CPU quota stops whoever has used it up until the next period (Documentation/scheduler/sched-bwc.rst).
#[derive(Debug)]
pub struct Quota;

impl Knob for Quota {
    fn name(&self) -> &'static str {
        "quota"
    }

    fn class(&self) -> KnobClass {
        KnobClass::OtherTasks
    }

    fn effect(&self) -> &'static str {
        "the kernel stops the command for the rest of each period in which it has used its share up"
    }

    fn inspect(&self, context: &KnobContext) -> Inspection {
        match (&context.quota, context.live) {
            (Some(cpus), _) => Inspection::noisy(
                if *cpus == 1.0 { "1 CPU".to_owned() } else { format!("{cpus} CPUs") },
                "none",
                Adjustment::Manual("run outside of the container, or give it no limit on CPUs".to_owned()),
            ),
            (None, true) => Inspection::steady("none"),
            (None, false) => Inspection {
                state: State::Absent("a captured tree does not tell the cgroup of a command".to_owned()),
                ..Inspection::absent("")
            },
        }
    }
}
