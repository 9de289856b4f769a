//! Memory that has gone to disk.

use crate::compound_change::CompoundChange;
use crate::compound_change::swap::SwapAreas;
use crate::knob::{Adjustment, Inspection, Knob, KnobContext, Seen, SetWhen};
use machine::text::bytes_field;
use record::text;

/// Swap in use, from `/proc/meminfo`. Turning it off reads everything back, so that is done only when it is named.
pub(super) const KNOB: Knob = Knob {
    name: "swap",
    set: SetWhen::Named,
    effect: "a page that was swapped out is read back from disk in the middle of a run",
    disputed: Some("turned off only when named: all of it is read back first, which takes time and memory"),
    absent: "no /proc/meminfo",
    ..Knob::looked_at(inspect)
};

fn inspect(_: &Knob, context: &KnobContext) -> Seen {
    let Some(meminfo) = context.text("/proc/meminfo") else { return Ok(None) };
    Ok(Some(match ["SwapTotal", "SwapFree"].map(|key| bytes_field(&meminfo, key)) {
        [Some(0), _] => Inspection::steady("none"),
        [Some(all), Some(free)] if free < all => {
            let areas = SwapAreas::parse(&context.text("/proc/swaps").unwrap_or_default());
            let now = format!("{} in use", record::units::bytes(all - free));
            Inspection::noisy(now, "off", Adjustment::Compound(CompoundChange::Swap(areas)))
        }
        [Some(_), Some(_)] => Inspection::steady("none in use"),
        _ => Inspection::absent(text!("the kernel does not show how much swap is in use")),
    }))
}
