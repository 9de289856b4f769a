//! The clock range. Both ends are set to the nominal clock or, if that is unknown, to the policy's maximum.

use std::collections::BTreeSet;

use crate::knob::{Adjustment, Inspection, Knob, KnobContext, Seen};
use record::CpuList;

pub(super) fn inspect(knob: &Knob, context: &KnobContext) -> Seen {
    let mut changes = Vec::new();
    let mut ranges = BTreeSet::new();
    let mut nominals = BTreeSet::new();
    for max_file in context.policy_files(None, "scaling_max_freq") {
        let file = |name: &str| max_file.replace("scaling_max_freq", name);
        let Some(max) = context.number(&max_file) else { continue };
        let Some(min) = context.number(&file("scaling_min_freq")) else { continue };
        ranges.insert((min, max));
        let lowest = context.number(&file("cpuinfo_min_freq")).unwrap_or(min);
        let base = context.number(&file("base_frequency"));
        let nominal = base.filter(|khz| (lowest..=max).contains(khz)).unwrap_or(max);
        nominals.insert(nominal);
        // The lower end, which rises, is written first and restored last, so that it never exceeds the upper end.
        let ends = [file("scaling_min_freq"), max_file];
        changes.extend(knob.plan_words(context, ends, &nominal.to_string())?.changes);
    }
    let mhz = |khz: u64| khz as f64 / 1000.0;
    let (Some((min, _)), Some((_, max))) = (ranges.first(), ranges.last()) else { return Ok(None) };
    let now = format!("{} to {} MHz", mhz(*min), mhz(*max));
    if changes.is_empty() {
        return Ok(Some(Inspection::steady(now)));
    }
    // Each kind of core has its own nominal clock.
    let nominals: Vec<String> = nominals.into_iter().map(|khz| mhz(khz).to_string()).collect();
    let steadier = format!("{} MHz", nominals.join(" or "));
    Ok(Some(Inspection::noisy(now, steadier, Adjustment::Write(changes))))
}

/// The highest allowed clock, kHz: the requested clock, but not more than the policy's maximum.
pub(super) fn set_to(knob: &Knob, context: &KnobContext, khz: &str, cpus: Option<&CpuList>) -> Seen {
    let Ok(wanted) = khz.parse::<u64>() else { return Ok(None) };
    let (mut any, mut changes) = (false, Vec::new());
    for path in context.policy_files(cpus, "scaling_max_freq") {
        let most = context.number(&path.replace("scaling_max_freq", "cpuinfo_max_freq")).unwrap_or(wanted);
        let planned = knob.plan_words(context, [path], &wanted.min(most).to_string())?;
        any |= !planned.now.is_empty();
        changes.extend(planned.changes);
    }
    let now = changes.last().map(|change| change.old.clone()).unwrap_or_default();
    Ok(any.then(|| Inspection::towards(now, khz, changes)))
}
