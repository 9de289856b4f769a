//! Other work on the machine.

use crate::knob::{Adjustment, Inspection, Knob, KnobClass, KnobContext};
use record::{Text, text};

/// The load average of the last minute. What runs is somebody's, so nothing is stopped.
#[derive(Debug)]
pub struct Others;

/// Load that a machine at rest shows.
const AT_REST: f64 = 0.3;

impl Knob for Others {
    fn name(&self) -> &'static str {
        "others"
    }

    fn glossary(&self) -> &'static str {
        "
            Whoever else runs: the load average of the last minute. Found, not stopped.
        "
    }

    fn class(&self) -> KnobClass {
        KnobClass::OtherTasks
    }

    fn effect(&self) -> Text {
        text!("quiet-others-effect", "other tasks take CPU time, cache capacity, memory bandwidth and clock")
    }

    fn inspect(&self, context: &KnobContext) -> Inspection {
        let load = context.text("/proc/loadavg").and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
        match load.filter(|load| load.is_finite() && *load >= 0.0) {
            None => Inspection::absent(text!("quiet-others-absent", "no load average is visible")),
            Some(load) if load <= AT_REST => Inspection::steady(format!("load average {load:.2}")),
            Some(load) => Inspection::noisy(
                format!("load average {load:.2}"),
                "an idle machine",
                Adjustment::Manual(text!(
                    "quiet-others-wait",
                    "see top -b -n1 | head -20; wait until it has ended"
                )),
            ),
        }
    }
}
