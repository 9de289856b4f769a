//! The daemon that moves interrupts.

use crate::knob::{Adjustment, Inspection, Knob, KnobClass, KnobContext};
use record::{Text, text};

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

    fn effect(&self) -> Text {
        text!(
            "quiet-irqbalance-effect",
            "the daemon may move IRQs every ten seconds, also onto the measured CPUs"
        )
    }

    fn inspect(&self, context: &KnobContext) -> Inspection {
        let processes = context.files.list("/proc");
        let numbered = processes.iter().filter(|name| name.parse::<u32>().is_ok());
        let mut any = false;
        for pid in numbered {
            any = true;
            if context.text(&format!("/proc/{pid}/comm")).as_deref() == Some("irqbalance") {
                let stop = text!(
                    "quiet-irqbalance-stop",
                    "sudo systemctl stop irqbalance; afterwards: sudo systemctl start irqbalance"
                );
                return Inspection::noisy(
                    format!("runs (process {pid})"),
                    "stopped",
                    Adjustment::Manual(stop),
                );
            }
        }
        if any {
            Inspection::steady("does not run")
        } else {
            Inspection::absent(text!("quiet-irqbalance-absent", "no processes are visible"))
        }
    }
}
