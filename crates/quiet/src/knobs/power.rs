//! The battery.

use crate::knob::{Adjustment, Inspection, Knob, KnobContext};
use record::{Text, text};

/// `/sys/class/power_supply`: on battery, firmware lowers clocks.
#[derive(Debug)]
pub struct Power;

const FOLDER: &str = "/sys/class/power_supply";

impl Knob for Power {
    fn name(&self) -> &'static str {
        "power"
    }

    fn glossary(&self) -> &'static str {
        "
            Mains or battery. Found, not changed.
        "
    }

    fn effect(&self) -> Text {
        text!(
            "quiet-power-effect",
            "on battery the firmware and the governor lower the clock, more so as the battery empties"
        )
    }

    fn inspect(&self, context: &KnobContext) -> Inspection {
        let mut mains = None;
        for name in context.files.list(FOLDER) {
            let kind = context.text(&format!("{FOLDER}/{name}/type"));
            if matches!(kind.as_deref(), Some("Mains" | "USB")) {
                let online = context.text(&format!("{FOLDER}/{name}/online")).as_deref() == Some("1");
                mains = Some(mains.unwrap_or(false) || online);
            }
        }
        match mains {
            None => Inspection::absent(text!(
                "quiet-power-absent",
                "no power supply is visible (server or virtual machine)"
            )),
            Some(true) => Inspection::steady("mains"),
            Some(false) => Inspection::noisy("battery", "mains", Adjustment::Manual("plug it in".into())),
        }
    }
}
