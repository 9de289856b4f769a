//! The older preference of Intel's processors between speed and saving.

use crate::change::Change;
use crate::form::Form;
use crate::knob::{Knob, Look, Scene, Way};

/// `energy_perf_bias` of each CPU, 0 for speed to 15 for saving (Documentation/admin-guide/pm/intel_epb.rst).
#[derive(Debug)]
pub struct Epb;

impl Knob for Epb {
    fn name(&self) -> &'static str {
        "epb"
    }

    fn effect(&self) -> &'static str {
        "the processor lowers clocks and the uncore's clock to save energy, by its own guess of what will come"
    }

    fn look(&self, scene: &Scene) -> Look {
        let mut changes = Vec::new();
        let mut values = std::collections::BTreeSet::new();
        for cpu in scene.online.iter() {
            let path = format!("/sys/devices/system/cpu/cpu{cpu}/power/energy_perf_bias");
            match Change::to(scene.files, self.name(), &path, Form::Word, "0") {
                Ok(None) => {
                    values.insert("0".to_owned());
                }
                Ok(Some(change)) => {
                    values.insert(change.old.clone());
                    changes.push(change);
                }
                Err(refusal) if refusal.is_missing() => {}
                Err(refusal) => return Look::unseen(&refusal),
            }
        }
        if values.is_empty() {
            return Look::absent("the processor here takes no such bias");
        }
        let now = values.into_iter().collect::<Vec<_>>().join(", ");
        if changes.is_empty() { Look::steady(now) } else { Look::noisy(now, "0", Way::Write(changes)) }
    }
}
