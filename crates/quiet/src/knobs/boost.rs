//! Boost: a clock above the nominal one, for as long as heat, power and the other cores allow.

use crate::knob::{Adjustment, Inspect, Inspection, Knob, KnobClass, KnobContext, Seen};
use crate::value_syntax::ValueSyntax;
use record::{Template, text};

/// Turbo, boost, core performance boost: `no_turbo` of intel_pstate, the global `boost` of acpi-cpufreq and amd-pstate, or a
/// `boost` for each policy (Linux 6.11).
pub(super) const KNOB: Knob = Knob {
    name: "boost",
    class: KnobClass::Clock,
    effect: Template {
        code: "quiet-boost-effect",
        words: "the core clock depends on temperature, power and load of the other cores: a run is faster on a cool machine",
    },
    absent: Template {
        code: "quiet-boost-absent",
        words: "no file here controls boost: the firmware or the host may",
    },
    inspect: Inspect::With(inspect),
    ..Knob::ORDINARY
};

pub(crate) const NO_TURBO: &str = "/sys/devices/system/cpu/intel_pstate/no_turbo";
pub(crate) const GLOBAL: &str = "/sys/devices/system/cpu/cpufreq/boost";
const POLICIES: &str = "/sys/devices/system/cpu/cpufreq";

/// A file of each policy.
pub(crate) fn policy_files(context: &KnobContext, file: &str) -> Vec<String> {
    let names = context.files.list(POLICIES);
    let numbered = |name: &&String| name.strip_prefix("policy").is_some_and(|n| n.parse::<u32>().is_ok());
    names.iter().filter(numbered).map(|name| format!("{POLICIES}/{name}/{file}")).collect()
}

fn inspect(knob: &Knob, context: &KnobContext) -> Seen {
    for (path, off) in [(NO_TURBO, "1"), (GLOBAL, "0")] {
        match knob.plan(context, path, ValueSyntax::Word, off) {
            Ok(None) => return Ok(Some(Inspection::steady("off"))),
            Ok(Some(change)) => {
                return Ok(Some(Inspection::noisy("on", "off", Adjustment::Write(vec![change]))));
            }
            Err(refusal) if refusal.is_missing() => {}
            Err(refusal) => return Err(refusal),
        }
    }
    let planned = knob.plan_words(context, policy_files(context, "boost"), "0")?;
    let (all, on) = (planned.now.len(), planned.changes.len());
    let write = Adjustment::Write(planned.changes);
    Ok(match (all, on) {
        (0, _) => None,
        (_, 0) => Some(Inspection::steady("off")),
        _ if on == all => Some(Inspection::noisy("on", "off", write)),
        _ => {
            let now = text!("on for {on} of {all} policies", on, all);
            Some(Inspection::noisy(now, "off", write))
        }
    })
}
