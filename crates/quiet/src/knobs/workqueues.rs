//! The kernel's own work that is bound to no CPU.

use record::{CpuList, Template, Text, text};

use super::interrupts::mask;
use crate::change::Change;
use crate::knob::{Adjustment, Inspection, Knob, KnobClass, KnobContext};
use crate::value_syntax::{ValueSyntax, name_cpus};

/// `/sys/devices/virtual/workqueue/cpumask` (Documentation/core-api/workqueue.rst).
#[derive(Debug)]
pub struct Workqueues;

const ABSENT: Template = Template {
    code: "quiet-workqueues-absent",
    words: "the kernel does not show the CPUs of its work queues",
};
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

    fn effect(&self) -> Text {
        text!(
            "quiet-workqueues-effect",
            "deferred kernel work (writeback, networking, drivers) runs on any CPU, also on a measured one"
        )
    }

    fn needs_cpus(&self) -> bool {
        true
    }

    fn inspect(&self, context: &KnobContext) -> Inspection {
        if context.quiet.is_empty() {
            return match context.files.read(FILE) {
                Ok(_) => Inspection::steady("on all CPUs").note(text!(
                    "quiet-workqueues-need-cpus",
                    "--cpus LIST keeps this work to the other CPUs"
                )),
                Err(refusal) if refusal.is_missing() => Inspection::absent(ABSENT),
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
                Inspection::steady(text!("quiet-workqueues-elsewhere", "not on the quiet CPUs"))
            }
            Ok(Some(change)) => Inspection::noisy(
                "on all CPUs",
                format!("on {}", name_cpus(&rest)),
                Adjustment::Write(vec![change]),
            ),
            Err(refusal) if refusal.is_missing() => Inspection::absent(ABSENT),
            Err(refusal) => Inspection::unseen(&refusal),
        }
    }
}
