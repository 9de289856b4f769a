//! The ladder of each resource: from the fastest that the hardware could go down to what is delivered, one rung a
//! cause, and the part that no cause explains. The figures add up.

mod bandwidth;
mod core;
mod latency;
mod wakeup;

use record::Text;
use record::diagnosis::{CeilingSource, Finding, Numa};
use record::ladder::{Ladder, Rung};
use record::statistics::Verdict;
use record::{Better, Measurement};

use crate::figures::{RESOLUTION, spread};
use crate::record_index::RecordIndex;
use crate::resources::{self, Headline};

/// What a ladder is built from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BreakdownInputs<'a> {
    /// The record.
    pub index: &'a RecordIndex<'a>,
    /// What was found in it.
    pub findings: &'a [Finding],
    /// What its matrices say.
    pub numa: Option<&'a Numa>,
}

impl<'a> BreakdownInputs<'a> {
    /// The finding of a rule that says what it costs, with that share and its interval.
    fn found(&self, rule: &str) -> Option<(&'a Finding, f64, (f64, f64))> {
        let finding = self.findings.iter().find(|finding| finding.rule == rule)?;
        match &finding.loss {
            Verdict::Costs { share, interval } => Some((finding, *share, *interval)),
            _ => None,
        }
    }
}

/// One ladder a resource that has a ceiling. Each resource's ceiling, delivered figure and share become the ladder's, so
/// that both tell the same.
pub(crate) fn break_down(inputs: BreakdownInputs, headlines: &mut [Headline]) -> Vec<Ladder> {
    let mut ladders = Vec::new();
    for headline in headlines {
        let Some(mut steps) = Steps::from_headline(headline) else { continue };
        let resource = &mut headline.resource;
        let delivered_is = match resource.name.as_str() {
            resources::CORE => core::descend(inputs, &mut steps),
            resources::MEMORY_BANDWIDTH => bandwidth::descend(inputs, &mut steps),
            resources::MEMORY_LATENCY => latency::descend(inputs, &mut steps),
            resources::WAKE_UP => wakeup::descend(inputs, &mut steps),
            _ => continue,
        };
        let ladder = steps.end(delivered_is);
        let figures =
            [ladder.ceiling, ladder.delivered, ladder.unexplained, ladder.delivered / ladder.ceiling];
        if figures.iter().any(|figure| !figure.is_finite()) {
            continue;
        }
        resource.ceiling = Some(ladder.ceiling);
        resource.delivered = ladder.delivered;
        resource.share = Some(match ladder.better {
            Better::Higher => ladder.delivered / ladder.ceiling,
            Better::Lower => ladder.ceiling / ladder.delivered,
        });
        headline.delivered_is = ladder.delivered_is.clone();
        headline.ceiling_is = ladder.ceiling_is.clone();
        headline.state_meaning();
        ladders.push(ladder);
    }
    ladders
}

/// A ladder under construction.
#[derive(Debug)]
struct Steps {
    ladder: Ladder,
    /// What is left below the rungs so far.
    level: f64,
}

impl Steps {
    /// The ceiling of a resource; `None` where there is none to fall short of.
    fn from_headline(Headline { resource, delivered_is, ceiling_is }: &Headline) -> Option<Self> {
        let ceiling = resource.ceiling.filter(|ceiling| ceiling.is_finite() && *ceiling > 0.0)?;
        if !(resource.delivered.is_finite() && resource.delivered > 0.0) {
            return None;
        }
        let better = if resource.unit == "ns" { Better::Lower } else { Better::Higher };
        let ladder = Ladder {
            resource: resource.name.clone(),
            unit: resource.unit.clone(),
            better,
            ceiling,
            source: resource.source.unwrap_or(CeilingSource::Measured),
            ceiling_is: ceiling_is.clone(),
            rungs: Vec::new(),
            unexplained: 0.0,
            delivered: resource.delivered,
            delivered_is: delivered_is.clone(),
        };
        Some(Self { level: ceiling, ladder })
    }

    /// A cause that takes so much, in the ladder's unit. What lies below the resolution of the measurements is none.
    fn take(
        &mut self,
        cause: Text,
        rule: Option<&str>,
        takes: f64,
        between: Option<(f64, f64)>,
        measured: bool,
    ) {
        let least = RESOLUTION * self.ladder.ceiling.min(self.ladder.delivered);
        if !takes.is_finite() || takes < least {
            return;
        }
        self.level = match self.ladder.better {
            Better::Higher => self.level - takes,
            Better::Lower => self.level + takes,
        };
        self.ladder.rungs.push(Rung {
            cause,
            rule: rule.map(str::to_owned),
            takes,
            interval: between.filter(|(low, high)| low.is_finite() && high.is_finite()),
            leaves: self.level,
            measured,
        });
    }

    /// What `worse` falls short of `better` is taken by this cause; measured, with the interval that both spreads allow.
    fn between(&mut self, cause: Text, rule: Option<&str>, better: &Measurement, worse: &Measurement) {
        let ((better_low, better_high), (worse_low, worse_high)) =
            (spread(&better.summary), spread(&worse.summary));
        let (takes, interval) = match self.ladder.better {
            Better::Higher => {
                (better.value() - worse.value(), (better_low - worse_high, better_high - worse_low))
            }
            Better::Lower => {
                (worse.value() - better.value(), (worse_low - better_high, worse_high - better_low))
            }
        };
        self.take(cause, rule, takes, Some(interval), true);
    }

    /// The ladder; what lies between the last rung and what is delivered is what nobody explains.
    fn end(self, delivered_is: Option<Text>) -> Ladder {
        let mut ladder = self.ladder;
        ladder.unexplained = match ladder.better {
            Better::Higher => self.level - ladder.delivered,
            Better::Lower => ladder.delivered - self.level,
        };
        // Sums of figures in 1e11 leave dust.
        if ladder.unexplained.abs() < 1e-9 * ladder.ceiling.max(ladder.delivered) {
            ladder.unexplained = 0.0;
        }
        if let Some(words) = delivered_is {
            ladder.delivered_is = words;
        }
        ladder
    }
}

#[cfg(test)]
mod tests;
