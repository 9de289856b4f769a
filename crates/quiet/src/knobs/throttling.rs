//! Throttling for heat.

use crate::knob::{Adjustment, Inspection, Knob, KnobClass, KnobContext};

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

    fn effect(&self) -> &'static str {
        "the processor lowers its clock when it is too hot: long runs are slower than short ones"
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
            None => Inspection::absent("no count of throttling is shown"),
            Some(0) => Inspection::steady("not since boot"),
            Some(most) => Inspection::noisy(
                format!("up to {most} times on a CPU since boot"),
                "never",
                Adjustment::Manual("cooling: fans, filters, the room; or lower power limits".to_owned()),
            ),
        }
    }
}
