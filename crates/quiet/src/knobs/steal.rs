//! Time that a hypervisor gives to others.

use crate::knob::{Adjustment, Inspection, Knob, KnobClass, KnobContext};

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

    fn effect(&self) -> &'static str {
        "the hypervisor runs somebody else on the CPU, and the clock goes on"
    }

    fn inspect(&self, context: &KnobContext) -> Inspection {
        let stat = context.text("/proc/stat").unwrap_or_default();
        let line = stat.lines().find_map(|line| line.strip_prefix("cpu "));
        let ticks: Vec<u64> =
            line.unwrap_or("").split_ascii_whitespace().take(8).map_while(|word| word.parse().ok()).collect();
        let Some(stolen) = ticks.get(7) else {
            return Inspection::absent("this tree tells nothing of stolen time");
        };
        let all: u64 = ticks.iter().fold(0u64, |sum, ticks| sum.saturating_add(*ticks));
        let share = *stolen as f64 / all.max(1) as f64;
        if share < WORTH_TELLING {
            return Inspection::steady(format!("{} of all time since boot", record::units::percent(share)));
        }
        Inspection::noisy(
            format!("{} of all time since boot", record::units::percent(share)),
            "none",
            Adjustment::Manual(
                "a machine with CPUs of its own (dedicated, bare metal), or another hour".to_owned(),
            ),
        )
    }
}
