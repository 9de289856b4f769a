//! Memory that has gone to disk.

use crate::compound_change::CompoundChange;
use crate::compound_change::swap::SwapAreas;
use crate::knob::{Adjustment, Inspection, Knob, KnobContext};
use record::{Text, text};

/// Swap in use, from `/proc/meminfo`. Turning it off reads everything back, so that is done only when it is named.
#[derive(Debug)]
pub struct Swap;

impl Knob for Swap {
    fn name(&self) -> &'static str {
        "swap"
    }

    fn effect(&self) -> Text {
        text!(
            "quiet-swap-effect",
            "a page that was swapped out is read back from disk in the middle of a run"
        )
    }

    fn only_when_named(&self) -> bool {
        true
    }

    fn inspect(&self, context: &KnobContext) -> Inspection {
        let Some(meminfo) = context.text("/proc/meminfo") else {
            return Inspection::absent(text!("quiet-swap-absent", "no /proc/meminfo"));
        };
        let kib = |key: &str| {
            let line = meminfo.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
            line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
        };
        match (kib("SwapTotal"), kib("SwapFree")) {
            (Some(0), _) => Inspection::steady("none"),
            (Some(all), Some(free)) if free < all => {
                let used = (all - free).saturating_mul(1024);
                let areas = SwapAreas::parse(&context.text("/proc/swaps").unwrap_or_default());
                Inspection::noisy(
                    format!("{} in use", record::units::bytes(used)),
                    "off",
                    Adjustment::Compound(CompoundChange::Swap(areas)),
                )
                .note(text!(
                    "quiet-swap-only-when-named",
                    "turned off only when named: all of it is read back first, which takes time and memory"
                ))
            }
            (Some(_), Some(_)) => Inspection::steady("none in use"),
            _ => Inspection::absent(text!(
                "quiet-swap-unknown",
                "the kernel does not show how much swap is in use"
            )),
        }
    }
}
