//! The kernel's own work that is bound to no CPU.

use record::CpuList;

use super::interrupts::mask;
use crate::change::Change;
use crate::form::{Form, cpus};
use crate::knob::{Knob, Look, Scene, Way};

/// `/sys/devices/virtual/workqueue/cpumask` (Documentation/core-api/workqueue.rst).
#[derive(Debug)]
pub struct Workqueues;

const FILE: &str = "/sys/devices/virtual/workqueue/cpumask";

impl Knob for Workqueues {
    fn name(&self) -> &'static str {
        "workqueues"
    }

    fn effect(&self) -> &'static str {
        "work that the kernel puts off (writing back, networking, drivers) runs on any CPU, also on one that measures"
    }

    fn needs_cpus(&self) -> bool {
        true
    }

    fn look(&self, scene: &Scene) -> Look {
        if scene.quiet.is_empty() {
            return match scene.files.read(FILE) {
                Ok(_) => Look::steady("on all CPUs").note("with --cpus LIST it is kept to the others"),
                Err(refusal) if refusal.is_missing() => {
                    Look::absent("this kernel does not tell where it runs its work")
                }
                Err(refusal) => Look::unseen(&refusal),
            };
        }
        let rest = scene.rest();
        match Change::to(scene.files, self.name(), FILE, Form::CpuMask, &mask(&rest)) {
            Ok(None) => Look::steady(format!("on {}", cpus(&rest))),
            Ok(Some(change))
                if CpuList::from_mask(&change.old)
                    .is_ok_and(|cpus| cpus.intersection(&scene.quiet).is_empty()) =>
            {
                Look::steady("not on the quiet CPUs")
            }
            Ok(Some(change)) => {
                Look::noisy("on all CPUs", format!("on {}", cpus(&rest)), Way::Write(vec![change]))
            }
            Err(refusal) if refusal.is_missing() => {
                Look::absent("this kernel does not tell where it runs its work")
            }
            Err(refusal) => Look::unseen(&refusal),
        }
    }
}
