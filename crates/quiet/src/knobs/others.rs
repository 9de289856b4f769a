//! Other work on the machine.

use crate::knob::{Adjustment, Inspect, Inspection, Knob, KnobClass, KnobContext, Seen};
use record::{Template, text};

/// The load average of the last minute. What runs is somebody's, so nothing is stopped.
pub(super) const KNOB: Knob = Knob {
    name: "others",
    glossary: "
        Whoever else runs: the load average of the last minute. Found, not stopped. The row of that name in the table of
        `live` is the CPU time that no other row has (`screen`).
    ",
    class: KnobClass::OtherTasks,
    effect: Template {
        code: "quiet-others-effect",
        words: "other tasks take CPU time, cache capacity, memory bandwidth and clock",
    },
    absent: Template { code: "quiet-others-absent", words: "no load average is visible" },
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
