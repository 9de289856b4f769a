//! Throttling for heat.

use crate::knob::{Adjustment, Inspect, Inspection, Knob, KnobClass, KnobContext, Seen};
use record::text;

/// `thermal_throttle` of each CPU counts how often heat lowered its clock since boot.
pub(super) const KNOB: Knob = Knob {
    name: "throttling",
    class: KnobClass::Clock,
    effect: "a processor that is too hot lowers its clock: long runs are slower than short ones",
    absent: "no throttle counts are visible",
    inspect: Inspect::With(inspect),
    ..Knob::ORDINARY
};

/// The last is the name before Linux 2.6.32.
const COUNTS: [&str; 3] = ["core_throttle_count", "package_throttle_count", "count"];

fn inspect(_: &Knob, context: &KnobContext) -> Seen {
    let file = |cpu, name| format!("/sys/devices/system/cpu/cpu{cpu}/thermal_throttle/{name}");
    let files = context.online.iter().flat_map(|cpu| COUNTS.map(|name| file(cpu, name)));
    Ok(files.filter_map(|file| context.number(&file)).max().map(|most| {
        if most == 0 {
            return Inspection::steady("not since boot");
        }
        let now = text!("up to {most} times on a CPU since boot", most);
        let cool = text!("improve cooling (fans, filters, room), or lower the power limits");
        Inspection::noisy(now, "never", Adjustment::Manual(cool))
    }))
}
