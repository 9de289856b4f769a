//! Time that a hypervisor gives to others.

use crate::knob::{Knob, Look, Scene, Way};

/// Stolen ticks since boot, from `/proc/stat`.
#[derive(Debug)]
pub struct Steal;

/// Below this share it does not show in a median.
const WORTH_TELLING: f64 = 0.001;

impl Knob for Steal {
    fn name(&self) -> &'static str {
        "steal"
    }

    fn effect(&self) -> &'static str {
        "the hypervisor runs somebody else on the CPU, and the clock goes on"
    }

    fn look(&self, scene: &Scene) -> Look {
        let stat = scene.text("/proc/stat").unwrap_or_default();
        let line = stat.lines().find_map(|line| line.strip_prefix("cpu "));
        let ticks: Vec<u64> =
            line.unwrap_or("").split_ascii_whitespace().take(8).map_while(|word| word.parse().ok()).collect();
        let Some(stolen) = ticks.get(7) else {
            return Look::absent("this tree tells nothing of stolen time");
        };
        let all: u64 = ticks.iter().fold(0u64, |sum, ticks| sum.saturating_add(*ticks));
        let share = *stolen as f64 / all.max(1) as f64;
        if share < WORTH_TELLING {
            return Look::steady(format!("{} of all time since boot", record::units::percent(share)));
        }
        Look::noisy(
            format!("{} of all time since boot", record::units::percent(share)),
            "none",
            Way::ByHand("a machine with CPUs of its own (dedicated, bare metal), or another hour".to_owned()),
        )
    }
}
