//! A finding in words: its severity, cost, place and remedy.

use record::diagnosis::Finding;
use record::phrase::quote_word;
use record::source::HERE;
use record::{KnobValue, Text, Verdict, units};

use crate::text::range;

/// The command that fixes the finding with this number by setting this knob. `shown_by`: the name that `linespeed show`
/// accepts for the record, if known.
pub(crate) fn fix_command(number: usize, knob: &KnobValue, shown_by: Option<&str>) -> String {
    let of = match shown_by {
        Some(HERE) => String::new(),
        Some(name) => format!(" --record {}", quote_word(name)),
        None => " --record RECORD".to_owned(),
    };
    // The gain of some knobs depends on the program.
    let measured = if knob.metric_of_gain().is_some() { "" } else { " -- COMMAND" };
    format!("sudo linespeed fix {number}{of}{measured}")
}

/// The command that explains a finding.
pub(crate) fn explain_command(finding: &Finding) -> String {
    format!("linespeed explain {}", finding.rule)
}

/// The cost of a finding and its confidence, in words.
pub fn loss(finding: &Finding) -> String {
    let sure = finding.confidence.word();
    let how = if finding.measured { "" } else { ", modelled" };
    let of = match finding.resource.as_deref() {
        Some("core") => " of the core clock".to_owned(),
        Some("wake-up") if diagnose::takes_from_tail(&finding.rule) => {
            " of the 99th percentile of wake-up latency".to_owned()
        }
        Some("wake-up") => " of the wake-up latency".to_owned(),
        Some(resource) => format!(" of {resource}"),
        // This share refers to the time of the listed CPUs; the share in the title refers to the entire machine.
        None if diagnose::takes_cpu_time(&finding.rule) => match place(finding) {
            Some(place) => format!(" of the time of {place}"),
            None => " of CPU time".to_owned(),
        },
        None => String::new(),
    };
    let cost = match &finding.loss {
        Verdict::Costs { share, interval } if (interval.1 - interval.0).abs() > f64::EPSILON => {
            let digits = units::digits_of_share(*share, *interval);
            let [share, low, high] = [*share, interval.0, interval.1].map(|of| units::percent_to(of, digits));
            let between = range(&low, &high);
            format!("costs {share}{of} [{between}]{how}")
        }
        Verdict::Costs { share, .. } => format!("costs {}{of}{how}", units::percent_to(*share, 2)),
        Verdict::NotResolved { smaller_than } => {
            format!("no loss resolved (any loss is below {})", units::percent(smaller_than.max(1e-3)))
        }
        Verdict::TooNoisy { rounds_needed: Some(rounds) } => {
            format!("unreliable; about {rounds} more rounds needed")
        }
        Verdict::TooNoisy { rounds_needed: None } => "unreliable".to_owned(),
        Verdict::NotMeasurable { reason } => format!("cost unknown: {reason}"),
    };
    format!("{cost}, {sure} confidence")
}

/// Whether a loss is resolved: its interval excludes 0. Only such a loss may be colored.
pub(crate) fn resolved(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Costs { interval, .. } if interval.0 > 0.0 || interval.1 < 0.0)
}

/// The place of a finding; empty for the whole machine.
pub(crate) fn place(finding: &Finding) -> Option<&Text> {
    finding.place.as_ref().filter(|place| !place.is(&Finding::WHOLE_MACHINE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_that_may_be_none_is_not_resolved() {
        assert!(!resolved(&Verdict::Costs { share: 0.1, interval: (-0.01, 0.2) }));
        assert!(resolved(&Verdict::Costs { share: 0.1, interval: (0.01, 0.2) }));
        assert!(!resolved(&Verdict::TooNoisy { rounds_needed: None }));
    }
}
