//! The governor: who decides on the clock, and how late.

use record::{Text, text};
use std::collections::BTreeSet;

use super::boost::policies;
use crate::change::Change;
use crate::knob::{Adjustment, Inspection, Knob, KnobClass, KnobContext};
use crate::value_syntax::ValueSyntax;

/// `scaling_governor` of each policy (Documentation/admin-guide/pm/cpufreq.rst).
#[derive(Debug)]
pub struct Governor;

impl Knob for Governor {
    fn name(&self) -> &'static str {
        "governor"
    }

    fn class(&self) -> KnobClass {
        KnobClass::Clock
    }

    fn effect(&self) -> Text {
        text!(
            "quiet-governor-effect",
            "the core clock follows the load with a delay: a short run is slow, a run right after another is fast"
        )
    }

    fn inspect(&self, context: &KnobContext) -> Inspection {
        inspect_policies(context, self.name(), "scaling_governor", "performance", |policy| {
            let available = context.text(&format!("{policy}/scaling_available_governors"));
            available.is_none_or(|all| all.split_ascii_whitespace().any(|word| word == "performance"))
        })
        .unwrap_or_else(|| {
            Inspection::absent(text!(
                "quiet-governor-absent",
                "no governor here: the firmware or the host controls the clock"
            ))
        })
    }
}

/// A word of each policy, all of which are to be the same; `None` where no policy has the file.
pub(super) fn inspect_policies(
    context: &KnobContext,
    knob: &str,
    file: &str,
    steadier: &str,
    takes: impl Fn(&str) -> bool,
) -> Option<Inspection> {
    let mut changes = Vec::new();
    let mut words = BTreeSet::new();
    let mut untaken = 0;
    for policy in policies(context) {
        let path = format!("{policy}/{file}");
        match Change::plan(context.files, knob, &path, ValueSyntax::Word, steadier) {
            Ok(None) => {
                words.insert(steadier.to_owned());
            }
            Ok(Some(change)) => {
                words.insert(change.old.clone());
                if takes(&policy) { changes.push(change) } else { untaken += 1 }
            }
            Err(refusal) if refusal.is_missing() => {}
            Err(refusal) => return Some(Inspection::unseen(&refusal)),
        }
    }
    if words.is_empty() {
        return None;
    }
    let now = words.into_iter().collect::<Vec<_>>().join(", ");
    Some(match (changes.is_empty(), untaken) {
        (true, 0) => Inspection::steady(now),
        (true, _) => Inspection::noisy(
            now,
            steadier,
            Adjustment::Manual(text!(
                "quiet-driver-lacks",
                "the driver here has no {steadier}",
                steadier = steadier.to_owned()
            )),
        ),
        (false, _) => Inspection::noisy(now, steadier, Adjustment::Write(changes)),
    })
}
