//! The governor: who decides on the clock, and how late.

use std::collections::BTreeSet;

use super::boost::policies;
use crate::change::Change;
use crate::form::Form;
use crate::knob::{Knob, Look, Scene, Way};

/// `scaling_governor` of each policy (Documentation/admin-guide/pm/cpufreq.rst).
#[derive(Debug)]
pub struct Governor;

impl Knob for Governor {
    fn name(&self) -> &'static str {
        "governor"
    }

    fn effect(&self) -> &'static str {
        "the clock follows the load with a delay: a short run is slow, and one after another run is fast"
    }

    fn look(&self, scene: &Scene) -> Look {
        each(scene, self.name(), "scaling_governor", "performance", |policy| {
            let available = scene.text(&format!("{policy}/scaling_available_governors"));
            available.is_none_or(|all| all.split_ascii_whitespace().any(|word| word == "performance"))
        })
        .unwrap_or_else(|| Look::absent("no governor here: the clock is the firmware's or the host's"))
    }
}

/// A word of each policy, all of which are to be the same; `None` where no policy has the file.
pub(super) fn each(
    scene: &Scene,
    knob: &str,
    file: &str,
    steadier: &str,
    takes: impl Fn(&str) -> bool,
) -> Option<Look> {
    let mut changes = Vec::new();
    let mut words = BTreeSet::new();
    let mut untaken = 0;
    for policy in policies(scene) {
        let path = format!("{policy}/{file}");
        match Change::to(scene.files, knob, &path, Form::Word, steadier) {
            Ok(None) => {
                words.insert(steadier.to_owned());
            }
            Ok(Some(change)) => {
                words.insert(change.old.clone());
                if takes(&policy) { changes.push(change) } else { untaken += 1 }
            }
            Err(refusal) if refusal.is_missing() => {}
            Err(refusal) => return Some(Look::unseen(&refusal)),
        }
    }
    if words.is_empty() {
        return None;
    }
    let now = words.into_iter().collect::<Vec<_>>().join(", ");
    Some(match (changes.is_empty(), untaken) {
        (true, 0) => Look::steady(now),
        (true, _) => Look::noisy(now, steadier, Way::ByHand(format!("the driver here has no {steadier}"))),
        (false, _) => Look::noisy(now, steadier, Way::Write(changes)),
    })
}
