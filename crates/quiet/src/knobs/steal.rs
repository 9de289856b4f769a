//! Time that a hypervisor gives to others.

use crate::knob::{Adjustment, Inspection, Knob, KnobClass, KnobContext};
use record::text::Value;
use record::{Text, text};

/// Stolen ticks since boot, from `/proc/stat`.
#[derive(Debug)]
pub struct Steal;

/// Below this share it does not show in a median.
const WORTH_TELLING: f64 = 0.001;

impl Knob for Steal {
    fn name(&self) -> &'static str {
        "steal"
    }

    fn class(&self) -> KnobClass {
        KnobClass::Hypervisor
    }

    fn effect(&self) -> Text {
        text!(
            "quiet-steal-effect",
            "the hypervisor runs other guests on the CPU while the clock goes on (steal time)"
        )
    }

    fn inspect(&self, context: &KnobContext) -> Inspection {
        let stat = context.text("/proc/stat").unwrap_or_default();
        let line = stat.lines().find_map(|line| line.strip_prefix("cpu "));
        let ticks: Vec<u64> =
            line.unwrap_or("").split_ascii_whitespace().take(8).map_while(|word| word.parse().ok()).collect();
        let Some(stolen) = ticks.get(7) else {
            return Inspection::absent(text!("quiet-steal-absent", "no steal time is visible"));
        };
        let all: u64 = ticks.iter().fold(0u64, |sum, ticks| sum.saturating_add(*ticks));
        let share = *stolen as f64 / all.max(1) as f64;
        let now = text!("quiet-steal-share", "{share} of all time since boot", share = Value::Share(share));
        if share < WORTH_TELLING {
            return Inspection::steady(now);
        }
        Inspection::noisy(
            now,
            "none",
            Adjustment::Manual(text!(
                "quiet-steal-dedicated",
                "use dedicated CPUs or bare metal, or measure at another hour"
            )),
        )
    }
}
