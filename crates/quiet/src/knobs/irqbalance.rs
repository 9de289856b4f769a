//! The daemon that moves interrupts.

use crate::knob::{Knob, Look, Scene, Way};

/// `irqbalance` moves interrupts back to CPUs that were cleared of them.
#[derive(Debug)]
pub struct Irqbalance;

impl Knob for Irqbalance {
    fn name(&self) -> &'static str {
        "irqbalance"
    }

    fn effect(&self) -> &'static str {
        "every ten seconds it may move interrupts, also onto the CPUs that measure"
    }

    fn look(&self, scene: &Scene) -> Look {
        let processes = scene.files.list("/proc");
        let numbered = processes.iter().filter(|name| name.parse::<u32>().is_ok());
        let mut any = false;
        for pid in numbered {
            any = true;
            if scene.text(&format!("/proc/{pid}/comm")).as_deref() == Some("irqbalance") {
                let stop = "sudo systemctl stop irqbalance; afterwards: sudo systemctl start irqbalance";
                return Look::noisy(format!("runs (process {pid})"), "stopped", Way::ByHand(stop.to_owned()));
            }
        }
        if any { Look::steady("does not run") } else { Look::absent("this tree tells nothing of processes") }
    }
}
