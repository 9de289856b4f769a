//! Time that a hypervisor gives to others.

use crate::knob::{Adjustment, Inspect, Inspection, Knob, KnobClass, KnobContext, Seen};
use record::text;
use record::text::Value;

/// Stolen ticks since boot, from `/proc/stat`.
pub(super) const KNOB: Knob = Knob {
    name: "steal",
    class: KnobClass::Hypervisor,
    effect: "the hypervisor runs other guests on the CPU while the clock goes on (steal time)",
    absent: "no steal time is visible",
    inspect: Inspect::With(inspect),
    ..Knob::ORDINARY
};

/// Below this share it does not show in a median.
const WORTH_TELLING: f64 = 0.001;

fn inspect(_: &Knob, context: &KnobContext) -> Seen {
    let stat = context.text("/proc/stat").unwrap_or_default();
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu ")).unwrap_or_default();
    let ticks: Vec<u64> = line.split_ascii_whitespace().take(8).map_while(|word| word.parse().ok()).collect();
    let Some(stolen) = ticks.get(7) else { return Ok(None) };
    let all: u64 = ticks.iter().fold(0u64, |sum, ticks| sum.saturating_add(*ticks));
    let share = *stolen as f64 / all.max(1) as f64;
    let now = text!("{share} of all time since boot", share = Value::Share(share));
    if share < WORTH_TELLING {
        return Ok(Some(Inspection::steady(now)));
    }
    let dedicated = text!("use dedicated CPUs or bare metal, or measure at another hour");
    Ok(Some(Inspection::noisy(now, "none", Adjustment::Manual(dedicated))))
}
