//! The daemon that moves interrupts.

use crate::knob::{Adjustment, Inspection, Knob, KnobClass, KnobContext};

/// `irqbalance` moves interrupts back to CPUs that were cleared of them.
#[derive(Debug)]
pub struct Irqbalance;

impl Knob for Irqbalance {
    fn name(&self) -> &'static str {
        "irqbalance"
    }

    fn glossary(&self) -> &'static str {
        "
            The daemon that moves interrupts between CPUs, every ten seconds. Found, not stopped: `systemctl
            stop irqbalance`.
        "
    }

    fn class(&self) -> KnobClass {
        KnobClass::Kernel
    }

    fn effect(&self) -> &'static str {
        "every ten seconds it may move interrupts, also onto the CPUs that measure"
    }

    fn inspect(&self, context: &KnobContext) -> Inspection {
        let processes = context.files.list("/proc");
        let numbered = processes.iter().filter(|name| name.parse::<u32>().is_ok());
        let mut any = false;
        for pid in numbered {
            any = true;
            if context.text(&format!("/proc/{pid}/comm")).as_deref() == Some("irqbalance") {
                let stop = "sudo systemctl stop irqbalance; afterwards: sudo systemctl start irqbalance";
                return Inspection::noisy(
                    format!("runs (process {pid})"),
                    "stopped",
                    Adjustment::Manual(stop.to_owned()),
                );
            }
        }
        if any {
            Inspection::steady("does not run")
        } else {
            Inspection::absent("this tree tells nothing of processes")
        }
    }
}
