//! Addresses that differ from run to run.

use crate::knob::{Adjustment, Inspection, Knob, KnobContext, ProcessSetting};

/// Address space layout randomization, off for one command by `personality(ADDR_NO_RANDOMIZE)`.
#[derive(Debug)]
pub struct Aslr;

impl Knob for Aslr {
    fn name(&self) -> &'static str {
        "aslr"
    }

    fn effect(&self) -> &'static str {
        "each run lays memory out anew: lines and pages share sets of the caches differently, by some percent now and then"
    }

    fn only_when_named(&self) -> bool {
        true
    }

    fn inspect(&self, context: &KnobContext) -> Inspection {
        match context.text("/proc/sys/kernel/randomize_va_space").as_deref() {
            None => Inspection::absent("this tree does not tell whether addresses are randomized"),
            Some("0") => Inspection::steady("off for all programs"),
            Some(_) => Inspection::noisy("on", "off for the command", Adjustment::ProcessSetting(ProcessSetting::FixedAddresses)).note(
                "experts disagree: off, every run has the same layout, which may be a lucky or an unlucky one; on, many runs \
                 together tell the average over layouts",
            ),
        }
    }
}
