//! Boost: a clock above the nominal one, for as long as heat, power and the other cores allow.

use crate::knob::{Inspection, Knob, KnobClass, KnobContext, Seen};
use crate::value_syntax::ValueSyntax;
use record::{CpuList, Text, text};

/// Turbo, boost, core performance boost: `no_turbo` of intel_pstate, the global `boost` of acpi-cpufreq and amd-pstate, or a
/// `boost` for each policy (Linux 6.11).
pub(super) const KNOB: Knob = Knob {
    name: "boost",
    class: KnobClass::Clock,
    effect: "the core clock depends on temperature, power and load of the other cores: a run is faster on a cool machine",
    absent: "no file here controls boost: the firmware or the host may",
    set_to: Some(set_to),
    ..Knob::looked_at(inspect)
};

pub(crate) const NO_TURBO: &str = "/sys/devices/system/cpu/intel_pstate/no_turbo";
const GLOBAL: &str = "/sys/devices/system/cpu/cpufreq/boost";
const POLICIES: &str = "/sys/devices/system/cpu/cpufreq";

/// A file of each policy; of those alone that one of these CPUs belongs to, where some are named.
pub(super) fn policy_files(context: &KnobContext, cpus: Option<&CpuList>, file: &str) -> Vec<String> {
    let concerns = |policy: &&String| {
        policy.strip_prefix("policy").is_some_and(|number| number.parse::<u32>().is_ok())
            && cpus.is_none_or(|cpus| {
                let related = context.text(&format!("{POLICIES}/{policy}/related_cpus")).unwrap_or_default();
                let mut named = related.split_ascii_whitespace().filter_map(|cpu| cpu.parse().ok());
                named.any(|cpu| cpus.contains(cpu))
            })
    };
    let policies = context.files.list(POLICIES);
    policies.iter().filter(concerns).map(|policy| format!("{POLICIES}/{policy}/{file}")).collect()
}

/// Intel's file says the opposite of all others.
fn set_to(knob: &Knob, context: &KnobContext, value: &str, _: Option<&CpuList>) -> Seen {
    let (digit, opposite, other) = if value == "on" { ("1", "0", "off") } else { ("0", "1", "on") };
    for (path, new) in [(NO_TURBO, opposite), (GLOBAL, digit)] {
        match knob.plan(context, path, ValueSyntax::Word, new) {
            Ok(change) => return Ok(Some(Inspection::towards(other, value, change.into_iter().collect()))),
            Err(refusal) if refusal.is_missing() => {}
            Err(refusal) => return Err(refusal),
        }
    }
    let planned = knob.plan_words(context, policy_files(context, None, "boost"), digit)?;
    let (all, open) = (planned.now.len(), planned.changes.len());
    let now: Text = if open == all { other.into() } else { text!("{other} for {open} of {all} policies") };
    Ok((all > 0).then(|| Inspection::towards(now, value, planned.changes)))
}

fn inspect(knob: &Knob, context: &KnobContext) -> Seen {
    set_to(knob, context, "off", None)
}
