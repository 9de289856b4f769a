//! A compared result: its name, its format, and the method of comparison.

use record::difference::{Difference, Scale, Verdict, compare_pairs};
use record::phrase::count_noun;
use record::{Text, text, units};

/// The names of the results compared in a block. These results are explained in `glossary.md`.
pub(crate) mod names {
    pub(crate) const WORK: &str = "p95 of same work";
    pub(crate) const OS: &str = "taken by the OS";
    /// CPU time that the hypervisor stole from a virtual machine.
    pub(crate) const STEAL: &str = "steal";
    /// CPU time lost below the kernel without a hypervisor.
    pub(crate) const FIRMWARE: &str = "taken by firmware";
    pub(crate) const ANYBODY: &str = "taken, unknown cause";
    pub(crate) const WAKEUP: &str = "wake-up p99";
    pub(crate) const CLOCK: &str = "clock's movement";
    /// The results compared for a command.
    pub(crate) const TIME: &str = "wall time";
    pub(crate) const CORE: &str = "core clock";
    pub(crate) const SWITCHES: &str = "context switches";
    pub(crate) const MIGRATIONS: &str = "migrations";
    #[cfg(test)]
    pub(crate) const ALL: [&str; 11] =
        [WORK, OS, STEAL, FIRMWARE, ANYBODY, WAKEUP, CLOCK, TIME, CORE, SWITCHES, MIGRATIONS];
}

/// The quantity and unit of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A share of something.
    Share,
    /// A ratio of two values of the same kind.
    Ratio,
    /// Events.
    Count,
    /// A unit used in records: `s`, `Hz`.
    Of(&'static str),
}

impl Unit {
    /// The unit's symbol, as in a record.
    pub fn symbol(self) -> &'static str {
        match self {
            Unit::Share | Unit::Ratio => "ratio",
            Unit::Count => "count",
            Unit::Of(unit) => unit,
        }
    }
}

/// A compared result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// The name of the result.
    pub name: &'static str,
    /// The unit of the result.
    pub unit: Unit,
    /// The scale on which two values are compared.
    pub scale: Scale,
    /// Whether a smaller value is better.
    pub less_is_better: bool,
}

/// A result, and the function that reads it from the outcome of a trial.
pub(super) type FigureOf<R> = (Figure, fn(&R) -> Option<f64>);

/// The values of all rounds, and the comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// The values before and after the change, by round.
    pub rounds: Vec<(f64, f64)>,
    /// The comparison.
    pub comparison: Difference,
}

impl Figure {
    /// A result, with its name, its unit and the method of comparison.
    pub(super) const fn new(name: &'static str, unit: Unit, scale: Scale, less_is_better: bool) -> Self {
        Self { name, unit, scale, less_is_better }
    }

    /// Compares the rounds, as one of this many comparisons. `None` if no round contains the result.
    pub fn compare(
        &self,
        rounds: Vec<(f64, f64)>,
        comparisons: usize,
        floor: Option<f64>,
    ) -> Option<Compared> {
        let comparison = compare_pairs(&rounds, self.scale, comparisons, floor);
        (comparison.rounds > 0).then_some(Compared { rounds, comparison })
    }

    /// A value with its unit.
    pub fn value(&self, value: f64) -> String {
        match self.unit {
            Unit::Of(unit) => units::figure(value, unit),
            Unit::Share => units::percent(value),
            Unit::Ratio => format!("{} ×", units::significant(value)),
            Unit::Count => units::significant(value),
        }
    }

    /// The upper limit of a difference, for sentences that state a limit.
    fn bound(&self, amount: f64) -> f64 {
        if matches!(self.scale, Scale::Ratio) { units::bound(amount) } else { amount }
    }

    /// Formats a difference.
    fn amount(&self, amount: f64) -> String {
        match (self.scale, self.unit) {
            (Scale::Ratio, _) => units::percent(amount),
            (_, Unit::Share) => units::significant(amount * 100.0),
            _ => self.value(amount),
        }
    }

    /// The unit of a difference, if the formatted difference does not include it.
    fn points(&self) -> &'static str {
        if let (Scale::Difference { .. }, Unit::Share) = (self.scale, self.unit) { " points" } else { "" }
    }

    /// Formats the noise floor, which is the difference between two measurements of the same state.
    pub fn floor(&self, comparison: &Difference) -> String {
        match comparison.floor {
            None => String::new(),
            // Above 100 %, the exact amount does not matter.
            Some(floor) if self.scale == Scale::Ratio && floor > 1.0 => "> 100 %".to_owned(),
            Some(floor) if self.points().is_empty() => self.amount(floor),
            Some(floor) => format!("{} pts", self.amount(floor)),
        }
    }

    /// The outcome in words.
    pub fn result(&self, comparison: &Difference) -> Text {
        let amount = |amount: f64| format!("{}{}", self.amount(amount), self.points());
        match &comparison.verdict {
            Verdict::Costs { share, interval: (low, high) } => {
                let less = *share >= 0.0;
                let (low, high) = if less { (*low, *high) } else { (-high, -low) };
                let (by, low, high) = (amount(share.abs()), self.amount(low), self.amount(high));
                if less { text!("{by} less ({low} to {high})") } else { text!("{by} more ({low} to {high})") }
            }
            Verdict::NotResolved { smaller_than } if *smaller_than > 0.0 => {
                text!("no effect (< {bound})", bound = amount(self.bound(*smaller_than)))
            }
            Verdict::NotResolved { .. } => text!("none"),
            Verdict::TooNoisy { rounds_needed: Some(more) } if comparison.interval.is_none() => {
                let rounds = count_noun(*more, "round");
                text!("too few (+{rounds})")
            }
            Verdict::TooNoisy { rounds_needed: Some(more) } => {
                let rounds = count_noun(*more, "round");
                text!("too noisy (+{rounds})")
            }
            Verdict::TooNoisy { rounds_needed: None } => text!("too noisy"),
            Verdict::NotMeasurable { reason } => reason.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: Figure =
        Figure { name: names::TIME, unit: Unit::Of("s"), scale: Scale::Ratio, less_is_better: true };
    const SHARE: Figure = Figure {
        name: names::OS,
        unit: Unit::Share,
        scale: Scale::Difference { worth: 0.01 },
        less_is_better: true,
    };

    fn result_of(figure: Figure, rounds: &[(f64, f64)]) -> String {
        figure.result(&figure.compare(rounds.to_vec(), 1, None).unwrap().comparison).to_string()
    }

    #[test]
    fn what_is_less_or_more_is_reported_with_its_interval() {
        assert_eq!(result_of(TIME, &[(2.0, 1.0); 8]), "50.0 % less (50.0 % to 50.0 %)");
        assert_eq!(result_of(TIME, &[(1.0, 1.5); 8]), "50.0 % more (50.0 % to 50.0 %)");
        assert_eq!(result_of(SHARE, &[(0.02, 0.005); 8]), "1.50 points less (1.50 to 1.50)");
    }

    #[test]
    fn where_nothing_was_resolved_it_says_so() {
        assert_eq!(result_of(SHARE, &[(0.0, 0.0); 8]), "none");
        let rounds = [(1.0, 1.1), (1.1, 1.0), (1.0, 1.1), (1.1, 1.0), (1.0, 1.1), (1.1, 1.0)];
        assert!(result_of(TIME, &rounds).starts_with("no effect (< 9"), "{}", result_of(TIME, &rounds));
        let wild = [(1.0, 1.3), (1.3, 1.0)].repeat(3);
        assert!(result_of(TIME, &wild).starts_with("too noisy (+"), "{}", result_of(TIME, &wild));
        let wilder = [(1.0, 9e9), (9e9, 1.0)].repeat(3);
        assert_eq!(result_of(TIME, &wilder), "too noisy");
        assert_eq!(result_of(TIME, &[(1.0, 2.0); 4]), "too few (+2 rounds)");
        assert_eq!(result_of(TIME, &[(1.0, 2.0); 5]), "too few (+1 round)");
        let mut noisy = TIME.compare(wild, 1, None).unwrap().comparison;
        noisy.verdict = Verdict::TooNoisy { rounds_needed: Some(1) };
        assert_eq!(TIME.result(&noisy).to_string(), "too noisy (+1 round)");
        assert!(TIME.compare(vec![(0.0, f64::NAN)], 1, None).is_none());
    }

    #[test]
    fn a_bound_of_thousands_of_points_is_never_result_of() {
        let shares = [(27.0, 0.1), (0.1, 27.0)].repeat(6);
        assert!(result_of(SHARE, &shares).starts_with("too noisy"), "{}", result_of(SHARE, &shares));
    }

    #[test]
    fn the_floor_stands_beside_in_the_same_terms() {
        let floor = |figure: Figure, floor| {
            figure.floor(&figure.compare(vec![(0.5, 0.5); 8], 1, floor).unwrap().comparison)
        };
        assert_eq!(floor(TIME, Some(0.031)), "3.10 %");
        assert_eq!(floor(SHARE, Some(0.0042)), "0.42 pts");
        assert_eq!(floor(TIME, Some(16.48)), "> 100 %");
        assert_eq!(floor(TIME, None), "");
    }

    #[test]
    fn every_figure_of_a_proof_is_explained() {
        let entries = record::glossary::Group::new("Proofs", super::super::GLOSSARY).entries;
        for name in names::ALL.into_iter().filter(|name| *name != names::STEAL) {
            let entry = entries.iter().find(|(entry, _)| *entry == name);
            assert!(entry.is_some_and(|(_, text)| !text.is_empty()), "{name}");
        }
    }
}
