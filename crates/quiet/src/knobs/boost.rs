//! Boost: a clock above the nominal clock, as long as temperature, power and the other cores allow.

use crate::knob::{Inspection, Knob, KnobContext, Seen};
use crate::value_syntax::ValueSyntax;
use record::{CpuList, Text, text};

pub(crate) const NO_TURBO: &str = "/sys/devices/system/cpu/intel_pstate/no_turbo";
const GLOBAL: &str = "/sys/devices/system/cpu/cpufreq/boost";

/// Intel's file (`no_turbo`) has the opposite meaning of all other files.
pub(super) fn set_to(knob: &Knob, context: &KnobContext, value: &str, _: Option<&CpuList>) -> Seen {
    let (digit, opposite, other) = if value == "on" { ("1", "0", "off") } else { ("0", "1", "on") };
    for (path, new) in [(NO_TURBO, opposite), (GLOBAL, digit)] {
        match knob.plan(context, path, ValueSyntax::Word, new) {
            Ok(change) => return Ok(Some(Inspection::towards(other, value, change.into_iter().collect()))),
            Err(refusal) if refusal.is_missing() => {}
            Err(refusal) => return Err(refusal),
        }
    }
    let planned = knob.plan_words(context, context.policy_files(None, "boost"), digit)?;
    let (all, open) = (planned.now.len(), planned.changes.len());
    let now: Text = if open == all { other.into() } else { text!("{other} for {open} of {all} policies") };
    Ok((all > 0).then(|| Inspection::towards(now, value, planned.changes)))
}

pub(super) fn inspect(knob: &Knob, context: &KnobContext) -> Seen {
    set_to(knob, context, "off", None)
}
