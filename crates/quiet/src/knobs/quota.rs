//! The quota of the own cgroup.

use crate::knob::{Adjustment, Inspection, Knob, KnobClass, KnobContext};
use record::{Text, text};

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

    fn effect(&self) -> Text {
        text!(
            "quiet-quota-effect",
            "a command that has used up its quota is throttled for the rest of the period"
        )
    }

    fn inspect(&self, context: &KnobContext) -> Inspection {
        match (&context.quota, context.live) {
            (Some(cpus), _) => Inspection::noisy(
                if *cpus == 1.0 { "1 CPU".to_owned() } else { format!("{cpus} CPUs") },
                "none",
                Adjustment::Manual(text!(
                    "quiet-quota-remove",
                    "run outside of the container, or remove its CPU limit"
                )),
            ),
            (None, true) => Inspection::steady("none"),
            (None, false) => Inspection::absent(text!(
                "quiet-cgroup-unknown",
                "a captured tree does not show the cgroup of a command"
            )),
        }
    }
}
