//! The breakdown of each resource: from the hardware's ceiling down to the delivered result, one step per cause, and the part that no cause
//! explains. The values add up.

mod bandwidth;
mod core;

use record::diagnosis::CeilingSource;
use record::loss_breakdown::{LossBreakdown, LossStep};
use record::{Better, Measurement, Text};

use crate::figures::{RESOLUTION, spread};
use crate::findings::Case;
use crate::resources::{self, Headline};

/// One breakdown per resource with a ceiling from this machine's parts. With a family's ceiling, which lies anywhere between those of its
/// parts, or with the best result here, no loss is known. Each resource's ceiling, delivered result and share are set to the breakdown's,
/// so that both agree.
pub(crate) fn break_down(case: &Case, headlines: &mut [Headline]) -> Vec<LossBreakdown> {
    let mut breakdowns = Vec::new();
    for headline in headlines {
        let Some(mut steps) = Steps::from_headline(headline) else { continue };
        let resource = &mut headline.resource;
        let delivered_is = match resource.name.as_str() {
            resources::CORE => core::descend(case, &mut steps),
            resources::MEMORY_BANDWIDTH => bandwidth::descend(case, &mut steps),
            _ => continue,
        };
        let breakdown = steps.end(delivered_is);
        let figures = [
            breakdown.ceiling,
            breakdown.delivered,
            breakdown.unexplained,
            breakdown.delivered / breakdown.ceiling,
        ];
        if figures.iter().any(|figure| !figure.is_finite()) {
            continue;
        }
        resource.ceiling = Some(breakdown.ceiling);
        resource.delivered = breakdown.delivered;
        resource.share = Some(match breakdown.better {
            Better::Higher => breakdown.delivered / breakdown.ceiling,
            Better::Lower => breakdown.ceiling / breakdown.delivered,
        });
        headline.delivered_is = breakdown.delivered_is.clone();
        headline.ceiling_is = breakdown.ceiling_is.clone();
        headline.state_meaning();
        breakdowns.push(breakdown);
    }
    breakdowns
}

/// A breakdown under construction.
#[derive(Debug)]
struct Steps {
    breakdown: LossBreakdown,
    /// The level below the steps so far.
    level: f64,
}

impl Steps {
    /// The ceiling of a resource; `None` without one.
    fn from_headline(Headline { resource, delivered_is, ceiling_is }: &Headline) -> Option<Self> {
        let source = resource.source.filter(|source| *source == CeilingSource::Parts)?;
        let ceiling = resource.ceiling.filter(|ceiling| ceiling.is_finite() && *ceiling > 0.0)?;
        if !(resource.delivered.is_finite() && resource.delivered > 0.0) {
            return None;
        }
        let better = if resource.unit == "ns" { Better::Lower } else { Better::Higher };
        let breakdown = LossBreakdown {
            resource: resource.name.clone(),
            unit: resource.unit.clone(),
            better,
            ceiling,
            source,
            ceiling_is: ceiling_is.clone(),
            steps: Vec::new(),
            unexplained: 0.0,
            delivered: resource.delivered,
            delivered_is: delivered_is.clone(),
        };
        Some(Self { level: ceiling, breakdown })
    }

    /// Subtracts a cause's loss, in the breakdown's unit. A loss below the resolution of the measurements is dropped: then this is false.
    fn take(
        &mut self,
        cause: Text,
        rule: Option<&str>,
        takes: f64,
        between: Option<(f64, f64)>,
        measured: bool,
    ) -> bool {
        let least = RESOLUTION * self.breakdown.ceiling.min(self.breakdown.delivered);
        if !takes.is_finite() || takes < least {
            return false;
        }
        self.level = match self.breakdown.better {
            Better::Higher => self.level - takes,
            Better::Lower => self.level + takes,
        };
        self.breakdown.steps.push(LossStep {
            cause,
            rule: rule.map(str::to_owned),
            takes,
            interval: between.filter(|(low, high)| low.is_finite() && high.is_finite()),
            leaves: self.level,
            measured,
        });
        true
    }

    /// Attributes the gap between `better` and `worse` to this cause; measured, with the interval that both spreads allow.
    fn between(&mut self, cause: Text, rule: Option<&str>, better: &Measurement, worse: &Measurement) {
        let ((better_low, better_high), (worse_low, worse_high)) =
            (spread(&better.summary), spread(&worse.summary));
        let (takes, interval) = match self.breakdown.better {
            Better::Higher => {
                (better.value() - worse.value(), (better_low - worse_high, better_high - worse_low))
            }
            Better::Lower => {
                (worse.value() - better.value(), (worse_low - better_high, worse_high - better_low))
            }
        };
        self.take(cause, rule, takes, Some(interval), true);
    }

    /// The breakdown; the gap between the last step and the delivered result is unexplained.
    fn end(self, delivered_is: Option<Text>) -> LossBreakdown {
        let mut breakdown = self.breakdown;
        breakdown.unexplained = match breakdown.better {
            Better::Higher => self.level - breakdown.delivered,
            Better::Lower => breakdown.delivered - self.level,
        };
        // Sums of values around 1e11 leave rounding errors.
        if breakdown.unexplained.abs() < 1e-9 * breakdown.ceiling.max(breakdown.delivered) {
            breakdown.unexplained = 0.0;
        }
        if let Some(words) = delivered_is {
            breakdown.delivered_is = words;
        }
        breakdown
    }
}

#[cfg(test)]
mod tests;
