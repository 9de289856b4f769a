//! A virtual CPU's halt: it leaves for the host, and comes back when the host lets it.

use record::{Template, text};

use super::idle_states::{hold_off, latency_limit};
use crate::knob::{Inspection, Knob, KnobClass, KnobContext, Seen, SetWhen};

/// Where the guest's idle driver is `haltpoll` (Documentation/virt/guest-halt-polling.rst), its one state below polling is a
/// halt, which the driver says takes 1 µs to leave (drivers/cpuidle/cpuidle-haltpoll.c). That is no figure of the machine's:
/// the host takes the CPU back, and its own idle states and scheduler decide when the guest goes on. A latency of 0 leaves
/// polling alone.
///
/// Only when it is named: a CPU that polls is never idle for the host, which counts it, may bill it, and gives a sibling of
/// it less.
pub(super) const KNOB: Knob = Knob {
    name: "guest-halt",
    class: KnobClass::WakeUp,
    set: SetWhen::Named,
    effect: "an idle virtual CPU halts: it exits to the host, and its wake-up waits for the host's",
    disputed: Some(
        "experts disagree: polling takes the host's wake-up out of every latency, but makes the guest look busy to the \
                host, the bill and the SMT sibling",
    ),
    absent: "the kernel shows no idle driver",
    ..Knob::looked_at(inspect)
};

pub(crate) const NOT_A_GUESTS: Template = Template {
    code: "quiet-guest-halt-other-driver",
    words: "the idle driver is {driver}, not the guest's (haltpoll)",
};
const DRIVER: &str = "/sys/devices/system/cpu/cpuidle/current_driver";

fn inspect(knob: &Knob, context: &KnobContext) -> Seen {
    let Some(driver) = context.text(DRIVER) else { return Ok(None) };
    if driver != "haltpoll" {
        return Ok(Some(Inspection::absent(text!(NOT_A_GUESTS, driver))));
    }
    let held = context.own.as_ref().and_then(|own| own.latency_us);
    let open: Vec<u32> =
        context.targets().iter().filter(|cpu| latency_limit(context, *cpu) != Some(0)).collect();
    if held == Some(0) || open.is_empty() {
        return Ok(Some(Inspection::steady("held off")));
    }
    hold_off(knob, context, open, text!("halts exit to the host"), 0)
}
