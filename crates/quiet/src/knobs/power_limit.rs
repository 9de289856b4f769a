//! The long-term power limit of a processor package: `constraint_N_power_limit_uw` of the constraint named `long_term`,
//! for each package and both interfaces (MSR and MMIO). The lower limit applies
//! (Documentation/power/powercap/powercap.rst).

use std::collections::BTreeSet;

use crate::knob::{Inspection, Knob, KnobContext, Seen};
use record::CpuList;

/// The files of long-term limits, with their values, µW.
fn long_limits(context: &KnobContext) -> Vec<(String, u64)> {
    let limits = machine::power_limits(context.files.root()).into_iter();
    let long = limits.filter(|limit| limit.window == "long_term");
    long.map(|limit| (limit.limit_file, (limit.watts * 1e6).round() as u64)).collect()
}

/// No value is steadier than others: the limit is set only to the value in a finding.
pub(super) fn inspect(_: &Knob, context: &KnobContext) -> Seen {
    let watts: BTreeSet<u64> = long_limits(context).into_iter().map(|(_, microwatts)| microwatts).collect();
    let words: Vec<String> =
        watts.iter().map(|microwatts| format!("{} W", *microwatts as f64 / 1e6)).collect();
    Ok((!words.is_empty()).then(|| Inspection::steady(words.join(", "))))
}

/// Raises limits below `microwatts` to that value; never lowers a limit.
pub(super) fn set_to(knob: &Knob, context: &KnobContext, microwatts: &str, _: Option<&CpuList>) -> Seen {
    let Ok(wanted) = microwatts.parse::<u64>() else { return Ok(None) };
    let limits = long_limits(context);
    let Some(lowest) = limits.iter().map(|(_, limit)| *limit).min() else { return Ok(None) };
    let low = limits.into_iter().filter(|(_, limit)| *limit < wanted).map(|(file, _)| file);
    let changes = knob.plan_words(context, low, microwatts)?.changes;
    Ok(Some(Inspection::towards(lowest.to_string(), microwatts, changes)))
}
