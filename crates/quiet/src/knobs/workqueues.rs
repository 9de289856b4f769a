//! The kernel's own work that is bound to no CPU.

use record::text;

use super::interrupts::mask;
use crate::knob::{Adjustment, Inspect, Inspection, Knob, KnobClass, KnobContext, Seen, SetWhen};
use crate::value_syntax::{ValueSyntax, name_cpus};

/// `/sys/devices/virtual/workqueue/cpumask` (Documentation/core-api/workqueue.rst).
pub(super) const KNOB: Knob = Knob {
    name: "workqueues",
    class: KnobClass::Kernel,
    set: SetWhen::CpusNamed,
    effect: "deferred kernel work (writeback, networking, drivers) runs on any CPU, also on a measured one",
    absent: "the kernel does not show the CPUs of its work queues",
    inspect: Inspect::With(inspect),
    ..Knob::ORDINARY
};

const FILE: &str = "/sys/devices/virtual/workqueue/cpumask";

fn inspect(knob: &Knob, context: &KnobContext) -> Seen {
    if context.quiet.is_empty() {
        context.files.read(FILE)?;
        return Ok(Some(
            Inspection::steady("on all CPUs").note(text!("--cpus LIST keeps this work to the other CPUs")),
        ));
    }
    let rest = context.rest();
    let elsewhere = format!("on {}", name_cpus(&rest));
    Ok(Some(match knob.plan(context, FILE, ValueSyntax::CpuMask, &mask(&rest))? {
        None => Inspection::steady(elsewhere),
        Some(change) if context.is_clear(&change.old) => Inspection::steady(text!("not on the quiet CPUs")),
        Some(change) => Inspection::noisy("on all CPUs", elsewhere, Adjustment::Write(vec![change])),
    }))
}
