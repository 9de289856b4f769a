//! The breakdown of each resource from the hardware's ceiling down to the delivered result: one step per cause, and the part that no cause
//! explains. All of these add up to the total loss.

mod bandwidth;
mod core;

use record::diagnosis::CeilingSource;
use record::loss_breakdown::{LossBreakdown, LossStep};
use record::{Better, Text};

use crate::figures::RESOLUTION;
use crate::findings::Case;
use crate::resources::{self, Headline};

/// One breakdown per resource whose ceiling is derived from this machine's own hardware. If the ceiling is that of a processor family, or
/// the best result on this machine, the loss is unknown. Each resource's ceiling and share are replaced by those of the breakdown, so that
/// both agree.
pub(crate) fn break_down(case: &Case, headlines: &mut [Headline]) -> Vec<LossBreakdown> {
    let mut breakdowns = Vec::new();
    for headline in headlines {
        let Some(mut steps) = Steps::from_headline(headline) else { continue };
        match headline.resource.name.as_str() {
            resources::CORE => core::descend(case, &mut steps),
            resources::MEMORY_BANDWIDTH => bandwidth::descend(case, &mut steps),
            _ => continue,
        }
        let breakdown = steps.end();
        let share = breakdown.delivered / breakdown.ceiling;
        if [breakdown.ceiling, breakdown.unexplained, share].iter().any(|figure| !figure.is_finite()) {
            continue;
        }
        headline.resource.ceiling = Some(breakdown.ceiling);
        headline.resource.share = Some(share);
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
    /// The level that remains after the steps so far.
    level: f64,
}

impl Steps {
    /// A breakdown that starts at the ceiling of a resource; `None` if the resource has no ceiling.
    fn from_headline(Headline { resource, delivered_is, ceiling_is }: &Headline) -> Option<Self> {
        let source = resource.source.filter(|source| *source == CeilingSource::Parts)?;
        let ceiling = resource.ceiling.filter(|ceiling| ceiling.is_finite() && *ceiling > 0.0)?;
        if !(resource.delivered.is_finite() && resource.delivered > 0.0) {
            return None;
        }
        let breakdown = LossBreakdown {
            resource: resource.name.clone(),
            unit: resource.unit.clone(),
            better: Better::Higher,
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

    /// Subtracts the loss of a cause, in the breakdown's unit. A loss below the resolution of the measurements is omitted.
    fn take(
        &mut self,
        cause: Text,
        rule: Option<&str>,
        takes: f64,
        between: Option<(f64, f64)>,
        measured: bool,
    ) {
        let least = RESOLUTION * self.breakdown.ceiling.min(self.breakdown.delivered);
        if !takes.is_finite() || takes < least {
            return;
        }
        self.level -= takes;
        self.breakdown.steps.push(LossStep {
            cause,
            rule: rule.map(str::to_owned),
            takes,
            interval: between.filter(|(low, high)| low.is_finite() && high.is_finite()),
            leaves: self.level,
            measured,
        });
    }

    /// The finished breakdown. The gap between the last step and the delivered result is unexplained.
    fn end(self) -> LossBreakdown {
        let mut breakdown = self.breakdown;
        breakdown.unexplained = self.level - breakdown.delivered;
        // Sums of values around 1e11 leave rounding errors.
        if breakdown.unexplained.abs() < 1e-9 * breakdown.ceiling.max(breakdown.delivered) {
            breakdown.unexplained = 0.0;
        }
        breakdown
    }
}

#[cfg(test)]
mod tests;
