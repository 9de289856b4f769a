//! The CPUs of the command.

use super::COMMAND_UNKNOWN;
use crate::knob::{Adjustment, Inspect, Inspection, Knob, KnobContext, ProcessSetting, Seen, SetWhen};
use crate::value_syntax::name_cpus;
use record::text;

/// The command bound to the quiet CPUs (sched_setaffinity(2)).
pub(super) const KNOB: Knob = Knob {
    name: "affinity",
    set: SetWhen::CpusNamed,
    effect: "a task that migrates to another CPU finds cold caches there, and its memory may be remote",
    absent: COMMAND_UNKNOWN,
    inspect: Inspect::With(inspect),
    ..Knob::ORDINARY
};

fn inspect(_: &Knob, context: &KnobContext) -> Seen {
    let quiet = &context.quiet;
    if quiet.is_empty() {
        return Ok(Some(
            Inspection::steady("on all CPUs").note(text!("--cpus LIST binds a command to those CPUs")),
        ));
    }
    let bound = context.own.as_ref().map(|own| &own.affinity).filter(|cpus| !cpus.is_empty());
    Ok(Some(match bound.filter(|cpus| cpus.is_subset(quiet)) {
        Some(cpus) => Inspection::steady(format!("on {}", name_cpus(cpus))),
        None => Inspection::noisy(
            "on all CPUs",
            format!("on {}", name_cpus(quiet)),
            Adjustment::ProcessSetting(ProcessSetting::Affinity(quiet.clone())),
        ),
    }))
}
