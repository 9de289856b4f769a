//! The daemon that moves interrupts.

use crate::knob::{Adjustment, Inspect, Inspection, Knob, KnobClass, KnobContext, Seen};
use record::text;

/// `irqbalance` moves interrupts back to CPUs that were cleared of them.
pub(super) const KNOB: Knob = Knob {
    name: "irqbalance",
    class: KnobClass::Kernel,
    effect: "the daemon may move IRQs every ten seconds, also onto the measured CPUs",
    absent: "no processes are visible",
    inspect: Inspect::With(inspect),
    ..Knob::ORDINARY
};

fn inspect(_: &Knob, context: &KnobContext) -> Seen {
    let processes: Vec<String> =
        context.files.list("/proc").into_iter().filter(|name| name.parse::<u32>().is_ok()).collect();
    let is_it = |pid: &&String| context.text(&format!("/proc/{pid}/comm")).as_deref() == Some("irqbalance");
    Ok(match processes.iter().find(is_it) {
        Some(pid) => {
            let stop = text!("sudo systemctl stop irqbalance; afterwards: sudo systemctl start irqbalance");
            Some(Inspection::noisy(format!("runs (process {pid})"), "stopped", Adjustment::Manual(stop)))
        }
        None => (!processes.is_empty()).then(|| Inspection::steady("does not run")),
    })
}
