//! The older preference of Intel's processors between speed and saving.

use crate::change::Change;
use crate::knob::{Adjustment, Inspection, Knob, KnobClass, KnobContext};
use crate::value_syntax::ValueSyntax;
use record::{Text, text};

/// `energy_perf_bias` of each CPU, 0 for speed to 15 for saving (Documentation/admin-guide/pm/intel_epb.rst).
#[derive(Debug)]
pub struct Epb;

impl Knob for Epb {
    fn name(&self) -> &'static str {
        "epb"
    }

    fn class(&self) -> KnobClass {
        KnobClass::Clock
    }

    fn effect(&self) -> Text {
        text!(
            "quiet-epb-effect",
            "the processor lowers core and uncore clocks to save energy, by its own prediction of the load"
        )
    }

    fn inspect(&self, context: &KnobContext) -> Inspection {
        let mut changes = Vec::new();
        let mut values = std::collections::BTreeSet::new();
        for cpu in context.online.iter() {
            let path = format!("/sys/devices/system/cpu/cpu{cpu}/power/energy_perf_bias");
            match Change::plan(context.files, self.name(), &path, ValueSyntax::Word, "0") {
                Ok(None) => {
                    values.insert("0".to_owned());
                }
                Ok(Some(change)) => {
                    values.insert(change.old.clone());
                    changes.push(change);
                }
                Err(refusal) if refusal.is_missing() => {}
                Err(refusal) => return Inspection::unseen(&refusal),
            }
        }
        if values.is_empty() {
            return Inspection::absent(text!("quiet-epb-absent", "the processor has no energy_perf_bias"));
        }
        let now = values.into_iter().collect::<Vec<_>>().join(", ");
        if changes.is_empty() {
            Inspection::steady(now)
        } else {
            Inspection::noisy(now, "0", Adjustment::Write(changes))
        }
    }
}
