//! A figure that is compared: how it is named, written and judged.

use diagnose::gain::{Gain, Scale, gain};
use record::statistics::Verdict;
use record::units;

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Seconds,
    Hertz,
    Share,
    Count,
}

impl Unit {
    /// As in a record.
    pub fn symbol(self) -> &'static str {
        match self {
            Unit::Seconds => "s",
            Unit::Hertz => "Hz",
            Unit::Share => "ratio",
            Unit::Count => "count",
        }
    }
}

/// A figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figure {
    pub name: &'static str,
    pub unit: Unit,
    pub scale: Scale,
    pub less_is_better: bool,
}

/// Its rounds (before, after), and what they say.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    pub rounds: Vec<(f64, f64)>,
    pub gain: Gain,
}

impl Figure {
    /// Compares rounds of it. `None` where no round had it.
    pub fn compare(&self, rounds: Vec<(f64, f64)>, comparisons: usize) -> Option<Compared> {
        let gain = gain(&rounds, self.scale, comparisons);
        (gain.rounds > 0).then_some(Compared { rounds, gain })
    }

    /// A value with its unit.
    pub fn value(&self, value: f64) -> String {
        match self.unit {
            Unit::Seconds | Unit::Hertz => units::figure(value, self.unit.symbol()),
            Unit::Share => units::percent(value),
            Unit::Count => units::significant(value),
        }
    }

    /// How two values are compared, in JSON.
    pub fn scale_word(&self) -> &'static str {
        match self.scale {
            Scale::Ratio => "ratio",
            Scale::Difference => "difference",
        }
    }

    /// An amount by which it differs.
    fn amount(&self, amount: f64) -> String {
        match (self.scale, self.unit) {
            (Scale::Ratio, _) => units::percent(amount),
            (Scale::Difference, Unit::Share) => units::significant(amount * 100.0),
            (Scale::Difference, _) => self.value(amount),
        }
    }

    /// In words what came of it.
    pub fn result(&self, gain: &Gain) -> String {
        let unit = match (self.scale, self.unit) {
            (Scale::Difference, Unit::Share) => " points",
            _ => "",
        };
        match &gain.verdict {
            Verdict::Costs { share, interval: (low, high) } => {
                let (word, share, low, high) =
                    if *share >= 0.0 { ("less", *share, *low, *high) } else { ("more", -share, -high, -low) };
                let (low, high) = (self.amount(low), self.amount(high));
                format!("{}{unit} {word} ({low} to {high})", self.amount(share))
            }
            Verdict::NotResolved { smaller_than } if *smaller_than > 0.0 => {
                format!("none resolved (at most {}{unit})", self.amount(*smaller_than))
            }
            Verdict::NotResolved { .. } => "none".to_owned(),
            Verdict::TooNoisy { rounds_needed: Some(more) } if gain.interval.is_none() => {
                format!("too few rounds: {more} more are needed")
            }
            Verdict::TooNoisy { .. } => "too noisy to tell".to_owned(),
            Verdict::NotMeasurable { reason } => reason.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: Figure =
        Figure { name: "wall time", unit: Unit::Seconds, scale: Scale::Ratio, less_is_better: true };
    const SHARE: Figure =
        Figure { name: "stolen time", unit: Unit::Share, scale: Scale::Difference, less_is_better: true };

    fn told(figure: Figure, rounds: &[(f64, f64)]) -> String {
        figure.result(&figure.compare(rounds.to_vec(), 1).unwrap().gain)
    }

    #[test]
    fn what_is_less_or_more_is_told_with_its_interval() {
        assert_eq!(told(TIME, &[(2.0, 1.0); 8]), "50.0 % less (50.0 % to 50.0 %)");
        assert_eq!(told(TIME, &[(1.0, 1.5); 8]), "50.0 % more (50.0 % to 50.0 %)");
        assert_eq!(told(SHARE, &[(0.02, 0.005); 8]), "1.50 points less (1.50 to 1.50)");
    }

    #[test]
    fn where_nothing_was_resolved_it_says_so() {
        assert_eq!(told(SHARE, &[(0.0, 0.0); 8]), "none");
        let rounds = [(1.0, 1.1), (1.1, 1.0), (1.0, 1.1), (1.1, 1.0), (1.0, 1.1), (1.1, 1.0)];
        assert!(told(TIME, &rounds).starts_with("none resolved (at most 10"), "{}", told(TIME, &rounds));
        let wild = [(1.0, 9.0), (9.0, 1.0), (1.0, 9.0), (9.0, 1.0), (1.0, 9.0), (9.0, 1.0)];
        assert_eq!(told(TIME, &wild), "too noisy to tell");
        assert_eq!(told(TIME, &[(1.0, 2.0); 4]), "too few rounds: 2 more are needed");
        assert!(TIME.compare(vec![(0.0, f64::NAN)], 1).is_none());
    }
}
