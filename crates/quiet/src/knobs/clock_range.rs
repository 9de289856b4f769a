//! The range of clocks, where boost cannot be switched: held at the nominal clock.

use super::boost::policies;
use crate::change::Change;
use crate::knob::{Adjustment, Inspection, Knob, KnobClass, KnobContext};
use crate::value_syntax::ValueSyntax;
use record::{Text, text};

/// `scaling_min_freq` and `scaling_max_freq` of each policy, in kHz (Documentation/admin-guide/pm/cpufreq.rst). The nominal
/// clock is `base_frequency`; without it the highest that the policy allows stands, and only the lowest is raised.
#[derive(Debug)]
pub struct ClockRange;

impl Knob for ClockRange {
    fn name(&self) -> &'static str {
        "clock-range"
    }

    fn glossary(&self) -> &'static str {
        "
            The lowest and the highest clock that the kernel may choose, both set to the nominal clock.
            How: `scaling_min_freq` and `scaling_max_freq` of each policy; the nominal clock is
            `base_frequency`.
            Moves: The clock neither falls when a core rests nor rises with boost, so a run does not depend on
            what ran before it.
        "
    }

    fn class(&self) -> KnobClass {
        KnobClass::Clock
    }

    fn effect(&self) -> Text {
        text!(
            "quiet-clock-range-effect",
            "the core clock moves within its range: a run that begins on an idle core waits until the clock has risen"
        )
    }

    fn inspect(&self, context: &KnobContext) -> Inspection {
        let number = |path: String| context.text(&path).and_then(|text| text.parse::<u64>().ok());
        let mut changes = Vec::new();
        let mut ranges = std::collections::BTreeSet::new();
        let mut nominals = std::collections::BTreeSet::new();
        for policy in policies(context) {
            let file = |name: &str| format!("{policy}/{name}");
            let Some(max) = number(file("scaling_max_freq")) else { continue };
            let Some(min) = number(file("scaling_min_freq")) else { continue };
            ranges.insert((min, max));
            let lowest = number(file("cpuinfo_min_freq")).unwrap_or(min);
            let nominal =
                number(file("base_frequency")).filter(|khz| (lowest..=max).contains(khz)).unwrap_or(max);
            nominals.insert(nominal);
            // The lower end first where it rises, so that it is never above the upper one on the way, nor on the way back.
            for (name, khz) in [("scaling_min_freq", nominal), ("scaling_max_freq", nominal)] {
                match Change::plan(
                    context.files,
                    self.name(),
                    &file(name),
                    ValueSyntax::Word,
                    &khz.to_string(),
                ) {
                    Ok(change) => changes.extend(change),
                    Err(refusal) => return Inspection::unseen(&refusal),
                }
            }
        }
        let mhz = |khz: u64| khz as f64 / 1000.0;
        let now = match (ranges.first(), ranges.last()) {
            (Some((min, _)), Some((_, max))) => format!("{} to {} MHz", mhz(*min), mhz(*max)),
            _ => {
                return Inspection::absent(text!(
                    "quiet-clock-range-absent",
                    "no clock can be set here: the firmware or the host controls it"
                ));
            }
        };
        if changes.is_empty() {
            return Inspection::steady(now);
        }
        // Kinds of cores have nominal clocks of their own.
        let nominals: Vec<String> = nominals.into_iter().map(|khz| mhz(khz).to_string()).collect();
        let steadier = format!("{} MHz", nominals.join(" or "));
        Inspection::noisy(now, steadier, Adjustment::Write(changes))
    }
}
