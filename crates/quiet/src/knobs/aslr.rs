//! Addresses that differ from run to run.

use crate::knob::{Adjustment, Inspection, Knob, KnobContext, ProcessSetting};
use record::{Text, text};

/// Address space layout randomization, off for one command by `personality(ADDR_NO_RANDOMIZE)`.
#[derive(Debug)]
pub struct Aslr;

impl Knob for Aslr {
    fn name(&self) -> &'static str {
        "aslr"
    }

    fn effect(&self) -> Text {
        text!(
            "quiet-aslr-effect",
            "each run has a new memory layout: lines and pages fall into other cache sets, which changes times by some percent now and then"
        )
    }

    fn only_when_named(&self) -> bool {
        true
    }

    fn inspect(&self, context: &KnobContext) -> Inspection {
        match context.text("/proc/sys/kernel/randomize_va_space").as_deref() {
            None => Inspection::absent(text!("quiet-aslr-absent", "the kernel does not show randomize_va_space")),
            Some("0") => Inspection::steady(text!("quiet-aslr-off", "off for all programs")),
            Some(_) => Inspection::noisy("on", text!("quiet-aslr-off-for-command", "off for the command"), Adjustment::ProcessSetting(ProcessSetting::FixedAddresses)).note(text!(
                "quiet-aslr-disputed",
                "experts disagree: off, every run has the same layout, lucky or unlucky; on, many runs give the average over \
                 layouts"
            )),
        }
    }
}
