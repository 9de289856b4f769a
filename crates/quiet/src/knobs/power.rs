//! The battery.

use crate::knob::{Adjustment, Inspect, Inspection, Knob, KnobContext, Seen};

/// `/sys/class/power_supply`: on battery, firmware lowers clocks.
pub(super) const KNOB: Knob = Knob {
    name: "power",
    effect: "on battery the firmware and the governor lower the clock, more so as the battery empties",
    absent: "no power supply is visible (server or virtual machine)",
    inspect: Inspect::With(inspect),
    ..Knob::ORDINARY
};

const FOLDER: &str = "/sys/class/power_supply";

fn inspect(_: &Knob, context: &KnobContext) -> Seen {
    let file = |name: &str, file: &str| context.text(&format!("{FOLDER}/{name}/{file}"));
    let mut supplies = context.files.list(FOLDER);
    supplies.retain(|name| matches!(file(name, "type").as_deref(), Some("Mains" | "USB")));
    let is_online = |name: &String| file(name, "online").as_deref() == Some("1");
    Ok((!supplies.is_empty()).then(|| match supplies.iter().any(is_online) {
        true => Inspection::steady("mains"),
        false => Inspection::noisy("battery", "mains", Adjustment::Manual("plug it in".into())),
    }))
}
