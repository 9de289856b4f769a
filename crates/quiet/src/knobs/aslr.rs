//! Addresses that differ from run to run.

use crate::knob::{Adjustment, Inspection, Knob, KnobContext, ProcessSetting, Seen, SetWhen};
use record::text;

/// Address space layout randomization, off for one command by `personality(ADDR_NO_RANDOMIZE)`.
pub(super) const KNOB: Knob = Knob {
    name: "aslr",
    set: SetWhen::Named,
    effect: "each run has a new memory layout: lines and pages fall into other cache sets, which changes times by some \
                percent now and then",
    disputed: Some(
        "experts disagree: off, every run has the same layout, lucky or unlucky; on, many runs give the average over \
                layouts",
    ),
    absent: "the kernel does not show randomize_va_space",
    ..Knob::looked_at(inspect)
};

fn inspect(_: &Knob, context: &KnobContext) -> Seen {
    Ok(context.text("/proc/sys/kernel/randomize_va_space").map(|value| match value.as_str() {
        "0" => Inspection::steady(text!("off for all programs")),
        _ => Inspection::noisy(
            "on",
            text!("off for the command"),
            Adjustment::ProcessSetting(ProcessSetting::FixedAddresses),
        ),
    }))
}
