//! The quota of the own cgroup.

use crate::knob::{Knob, Look, Scene, State, Way};

/// A CPU quota stops whoever has used it up until the next period (Documentation/scheduler/sched-bwc.rst).
#[derive(Debug)]
pub struct Quota;

impl Knob for Quota {
    fn name(&self) -> &'static str {
        "quota"
    }

    fn effect(&self) -> &'static str {
        "the kernel stops the command for the rest of each period in which it has used its share up"
    }

    fn look(&self, scene: &Scene) -> Look {
        match (&scene.quota, scene.live) {
            (Some(cpus), _) => Look::noisy(
                if *cpus == 1.0 { "1 CPU".to_owned() } else { format!("{cpus} CPUs") },
                "none",
                Way::ByHand("run outside of the container, or give it no limit on CPUs".to_owned()),
            ),
            (None, true) => Look::steady("none"),
            (None, false) => Look {
                state: State::Absent("a captured tree does not tell the cgroup of a command".to_owned()),
                ..Look::absent("")
            },
        }
    }
}
