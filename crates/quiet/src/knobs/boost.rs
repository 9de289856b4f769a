//! Boost: a clock above the nominal one, for as long as heat, power and the other cores allow.

use crate::change::Change;
use crate::knob::{Adjustment, Inspection, Knob, KnobClass, KnobContext};
use crate::value_syntax::ValueSyntax;
use record::{Text, text};

/// Turbo, boost, core performance boost: `no_turbo` of intel_pstate, the global `boost` of acpi-cpufreq and amd-pstate, or a
/// `boost` for each policy (Linux 6.11).
#[derive(Debug)]
pub struct Boost;

pub(crate) const NO_TURBO: &str = "/sys/devices/system/cpu/intel_pstate/no_turbo";
const GLOBAL: &str = "/sys/devices/system/cpu/cpufreq/boost";
pub(super) const POLICIES: &str = "/sys/devices/system/cpu/cpufreq";

/// The folders of all policies.
pub(super) fn policies(context: &KnobContext) -> Vec<String> {
    let names = context.files.list(POLICIES);
    let numbered = |name: &&String| name.strip_prefix("policy").is_some_and(|n| n.parse::<u32>().is_ok());
    names.iter().filter(numbered).map(|name| format!("{POLICIES}/{name}")).collect()
}

impl Knob for Boost {
    fn name(&self) -> &'static str {
        "boost"
    }

    fn class(&self) -> KnobClass {
        KnobClass::Clock
    }

    fn effect(&self) -> Text {
        text!(
            "quiet-boost-effect",
            "the core clock depends on temperature, power and load of the other cores: a run is faster on a cool machine"
        )
    }

    fn inspect(&self, context: &KnobContext) -> Inspection {
        for (path, off) in [(NO_TURBO, "1"), (GLOBAL, "0")] {
            match Change::plan(context.files, self.name(), path, ValueSyntax::Word, off) {
                Ok(None) => return Inspection::steady("off"),
                Ok(Some(change)) => return Inspection::noisy("on", "off", Adjustment::Write(vec![change])),
                Err(refusal) if refusal.is_missing() => {}
                Err(refusal) => return Inspection::unseen(&refusal),
            }
        }
        let mut changes = Vec::new();
        let mut seen = 0;
        for policy in policies(context) {
            match Change::plan(context.files, self.name(), &format!("{policy}/boost"), ValueSyntax::Word, "0")
            {
                Ok(change) => {
                    seen += 1;
                    changes.extend(change);
                }
                Err(refusal) if refusal.is_missing() => {}
                Err(refusal) => return Inspection::unseen(&refusal),
            }
        }
        match (seen, changes.len()) {
            (0, _) => Inspection::absent(text!(
                "quiet-boost-absent",
                "no file here controls boost: the firmware or the host may"
            )),
            (_, 0) => Inspection::steady("off"),
            (all, on) if on == all => Inspection::noisy("on", "off", Adjustment::Write(changes)),
            (all, on) => Inspection::noisy(
                text!("quiet-boost-partly-on", "on for {on} of {all} policies", on, all = all as u64),
                "off",
                Adjustment::Write(changes),
            ),
        }
    }
}
