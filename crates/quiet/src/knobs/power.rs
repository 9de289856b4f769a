//! The battery.

use crate::knob::{Knob, Look, Scene, Way};

/// `/sys/class/power_supply`: on battery, firmware lowers clocks.
#[derive(Debug)]
pub struct Power;

const FOLDER: &str = "/sys/class/power_supply";

impl Knob for Power {
    fn name(&self) -> &'static str {
        "power"
    }

    fn effect(&self) -> &'static str {
        "on battery the firmware and the governor lower clocks, the more the emptier it is"
    }

    fn look(&self, scene: &Scene) -> Look {
        let mut mains = None;
        for name in scene.files.list(FOLDER) {
            let kind = scene.text(&format!("{FOLDER}/{name}/type"));
            if matches!(kind.as_deref(), Some("Mains" | "USB")) {
                let online = scene.text(&format!("{FOLDER}/{name}/online")).as_deref() == Some("1");
                mains = Some(mains.unwrap_or(false) || online);
            }
        }
        match mains {
            None => Look::absent("no power supply is shown: a server, or a virtual machine"),
            Some(true) => Look::steady("mains"),
            Some(false) => Look::noisy("battery", "mains", Way::ByHand("plug it in".to_owned())),
        }
    }
}
