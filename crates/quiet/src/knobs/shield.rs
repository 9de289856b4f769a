//! CPUs that only the command runs on, for as long as it runs.

use crate::compound_change::CompoundChange;
use crate::knob::{Adjustment, Inspection, Knob, KnobClass, KnobContext};
use record::{Text, text};

/// A cpuset for the command, and everybody else on the other CPUs.
#[derive(Debug)]
pub struct Shield;

impl Knob for Shield {
    fn name(&self) -> &'static str {
        "shield"
    }

    fn glossary(&self) -> &'static str {
        "
            CPUs that only the command runs on, while it runs: what `cset shield` does.
            How: An isolated partition of control groups, version 2, read back, since the kernel may call it
            invalid; two cpusets with version 1. Tasks that somebody has bound to CPUs stay where they are,
            and so do the kernel's own that belong to one CPU.
            Moves: Other tasks do not take the CPU, its caches and its sibling from the command.
        "
    }

    fn class(&self) -> KnobClass {
        KnobClass::OtherTasks
    }

    fn effect(&self) -> Text {
        text!("quiet-shield-effect", "other tasks of the machine run on the command's CPUs too")
    }

    fn needs_cpus(&self) -> bool {
        true
    }

    fn inspect(&self, context: &KnobContext) -> Inspection {
        match &context.shield {
            None if !context.live => Inspection::absent(text!(
                "quiet-cgroup-unknown",
                "a captured tree does not show the cgroup of a command"
            )),
            None => Inspection::steady("none").note(text!(
                "quiet-shield-needs-cpus",
                "--cpus LIST with a command reserves those CPUs for the command"
            )),
            Some(Err(why)) => Inspection::absent(why.to_string()),
            Some(Ok(shield)) => Inspection::noisy(
                "everybody's",
                "the command's",
                Adjustment::Compound(CompoundChange::Shield(shield.clone())),
            )
            .note(if shield.version == 2 {
                text!("quiet-shield-v2", "an isolated partition of cgroups, version 2")
            } else {
                text!(
                    "quiet-shield-v1",
                    "two cpusets of cgroups, version 1; tasks already bound to CPUs stay there"
                )
            }),
        }
    }
}
