//! The kernel's own work that is bound to no CPU.

use record::CpuList;

use super::interrupts::mask;
use crate::change::Change;
use crate::knob::{Adjustment, Inspection, Knob, KnobClass, KnobContext};
use crate::value_syntax::{ValueSyntax, name_cpus};

/// `/sys/devices/virtual/workqueue/cpumask` (Documentation/core-api/workqueue.rst).
#[derive(Debug)]
pub struct Workqueues;

const FILE: &str = "/sys/devices/virtual/workqueue/cpumask";

impl Knob for Workqueues {
    fn name(&self) -> &'static str {
        "workqueues"
    }

    fn glossary(&self) -> &'static str {
        "
            Work that the kernel puts off and that is bound to no CPU, kept away from the CPUs that are to be
            quiet.
            How: `/sys/devices/virtual/workqueue/cpumask`.
        "
    }

    fn class(&self) -> KnobClass {
        KnobClass::Kernel
    }

    fn effect(&self) -> &'static str {
        "work that the kernel puts off (writing back, networking, drivers) runs on any CPU, also on one that measures"
    }

    fn needs_cpus(&self) -> bool {
        true
    }

    fn inspect(&self, context: &KnobContext) -> Inspection {
        if context.quiet.is_empty() {
            return match context.files.read(FILE) {
                Ok(_) => Inspection::steady("on all CPUs").note("with --cpus LIST it is kept to the others"),
                Err(refusal) if refusal.is_missing() => {
                    Inspection::absent("this kernel does not tell where it runs its work")
                }
                Err(refusal) => Inspection::unseen(&refusal),
            };
        }
        let rest = context.rest();
        match Change::plan(context.files, self.name(), FILE, ValueSyntax::CpuMask, &mask(&rest)) {
            Ok(None) => Inspection::steady(format!("on {}", name_cpus(&rest))),
            Ok(Some(change))
                if CpuList::from_mask(&change.old)
                    .is_ok_and(|cpus| cpus.intersection(&context.quiet).is_empty()) =>
            {
                Inspection::steady("not on the quiet CPUs")
            }
            Ok(Some(change)) => Inspection::noisy(
                "on all CPUs",
                format!("on {}", name_cpus(&rest)),
                Adjustment::Write(vec![change]),
            ),
            Err(refusal) if refusal.is_missing() => {
                Inspection::absent("this kernel does not tell where it runs its work")
            }
            Err(refusal) => Inspection::unseen(&refusal),
        }
    }
}
