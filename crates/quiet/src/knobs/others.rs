//! Other work on the machine.

use crate::knob::{Adjustment, Inspect, Inspection, Knob, KnobClass, KnobContext, Seen};
use record::text;

/// The load average of the last minute. What runs is somebody's, so nothing is stopped.
pub(super) const KNOB: Knob = Knob {
    name: "others",
    class: KnobClass::OtherTasks,
    effect: "other tasks take CPU time, cache capacity, memory bandwidth and clock",
    absent: "no load average is visible",
    inspect: Inspect::With(inspect),
    ..Knob::ORDINARY
};

/// Load that a machine at rest shows.
const AT_REST: f64 = 0.3;

fn inspect(_: &Knob, context: &KnobContext) -> Seen {
    let load = context.text("/proc/loadavg").and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    Ok(load.filter(|load| load.is_finite() && *load >= 0.0).map(|load| {
        let now = format!("load average {load:.2}");
        if load <= AT_REST {
            return Inspection::steady(now);
        }
        let wait = text!("see top -b -n1 | head -20; wait until it has ended");
        Inspection::noisy(now, "an idle machine", Adjustment::Manual(wait))
    }))
}
