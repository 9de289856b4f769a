//! CPUs that only the command runs on, for as long as it runs.

use crate::knob::{Knob, Look, Scene, Way};
use crate::undertaking::Undertaking;

/// A cpuset for the command, and everybody else on the other CPUs.
#[derive(Debug)]
pub struct Shield;

impl Knob for Shield {
    fn name(&self) -> &'static str {
        "shield"
    }

    fn effect(&self) -> &'static str {
        "whatever else runs on the machine runs on the command's CPUs too"
    }

    fn needs_cpus(&self) -> bool {
        true
    }

    fn look(&self, scene: &Scene) -> Look {
        match &scene.shield {
            None if !scene.live => Look::absent("a captured tree does not tell the cgroup of a command"),
            None => Look::steady("none").note("with --cpus LIST and a command those CPUs are kept for it"),
            Some(Err(why)) => Look::absent(why.clone()),
            Some(Ok(shield)) => Look::noisy(
                "everybody's",
                "the command's",
                Way::Undertake(Undertaking::Shield(shield.clone())),
            )
            .note(if shield.version == 2 {
                "an isolated partition of control groups, version 2"
            } else {
                "two cpusets of control groups, version 1; tasks that somebody bound to CPUs stay where they are"
            }),
        }
    }
}
