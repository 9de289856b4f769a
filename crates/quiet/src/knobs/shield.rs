//! CPUs that only the command runs on, for as long as it runs.

use super::CGROUP_UNKNOWN;
use crate::compound_change::CompoundChange;
use crate::knob::{Adjustment, Inspect, Inspection, Knob, KnobClass, KnobContext, Seen, SetWhen};
use record::text;

/// A cpuset for the command, and everybody else on the other CPUs.
pub(super) const KNOB: Knob = Knob {
    name: "shield",
    class: KnobClass::OtherTasks,
    set: SetWhen::CpusNamed,
    effect: "other tasks of the machine run on the command's CPUs too",
    absent: CGROUP_UNKNOWN,
    inspect: Inspect::With(inspect),
    ..Knob::ORDINARY
};

fn inspect(_: &Knob, context: &KnobContext) -> Seen {
    let shield = match &context.shield {
        None if !context.live => return Ok(None),
        None => {
            return Ok(Some(
                Inspection::steady("none")
                    .note(text!("--cpus LIST with a command reserves those CPUs for the command")),
            ));
        }
        Some(Err(why)) => return Ok(Some(Inspection::absent(why.clone()))),
        Some(Ok(shield)) => shield,
    };
    let how = if shield.version == 2 {
        text!("an isolated partition of cgroups, version 2")
    } else {
        text!("two cpusets of cgroups, version 1; tasks already bound to CPUs stay there")
    };
    let adjustment = Adjustment::Compound(CompoundChange::Shield(shield.clone()));
    Ok(Some(Inspection::noisy("everybody's", "the command's", adjustment).note(how)))
}
