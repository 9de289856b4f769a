//! Throttling for heat.

use crate::knob::{Adjustment, Inspection, Knob, KnobClass, KnobContext};
use record::{Text, text};

/// `thermal_throttle` of each CPU counts how often heat lowered its clock since boot.
#[derive(Debug)]
pub struct Throttling;

impl Knob for Throttling {
    fn name(&self) -> &'static str {
        "throttling"
    }

    fn glossary(&self) -> &'static str {
        "
            Clocks lowered for heat since boot: the machine is too hot for what it does. Found, not changed.
        "
    }

    fn class(&self) -> KnobClass {
        KnobClass::Clock
    }

    fn effect(&self) -> Text {
        text!(
            "quiet-throttling-effect",
            "a processor that is too hot lowers its clock: long runs are slower than short ones"
        )
    }

    fn inspect(&self, context: &KnobContext) -> Inspection {
        let mut counts = Vec::new();
        for cpu in context.online.iter() {
            // The last is the name before Linux 2.6.32.
            for name in ["core_throttle_count", "package_throttle_count", "count"] {
                let path = format!("/sys/devices/system/cpu/cpu{cpu}/thermal_throttle/{name}");
                counts.extend(context.text(&path).and_then(|text| text.parse::<u64>().ok()));
            }
        }
        match counts.iter().max() {
            None => Inspection::absent(text!("quiet-throttling-absent", "no throttle counts are visible")),
            Some(0) => Inspection::steady("not since boot"),
            Some(most) => Inspection::noisy(
                text!("quiet-throttling-count", "up to {most} times on a CPU since boot", most = *most),
                "never",
                Adjustment::Manual(text!(
                    "quiet-throttling-cool",
                    "improve cooling (fans, filters, room), or lower the power limits"
                )),
            ),
        }
    }
}
