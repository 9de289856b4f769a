//! What running a command both ways says: round by round the work in the same time, and whether the layouts differ.

use record::difference::{Difference, MUCH, Scale, Verdict, compare_pairs, least_rounds};
use record::plan::{Plan, Verification};
use record::statistics::{Summary, median_of_sorted};
use record::text::Value;
use record::{Text, text};

/// What a run can take: others are no times.
const SECONDS: std::ops::RangeInclusive<f64> = 1e-9..=1e9;

/// Fills in the ratios, the verdict and the sentence. `planned` and `unbound` hold the seconds of each round;
/// `planned_first` says which of them came first in a round.
pub fn judge_verification(verified: &mut Verification, plan: &Plan, planned_first: impl Fn(usize) -> bool) {
    let rounds = verified.unbound.iter().copied().zip(verified.planned.iter().copied());
    let pairs: Vec<(f64, f64)> =
        rounds.filter(|(unbound, planned)| SECONDS.contains(unbound) && SECONDS.contains(planned)).collect();
    verified.ratio = Summary::from_samples(
        &pairs.iter().map(|(unbound, planned)| unbound / planned).collect::<Vec<f64>>(),
    );
    verified.noise = noise(&pairs, planned_first);
    let mut found = compare_pairs(&pairs, Scale::Ratio, 1, None);
    let (verdict, slower) = found.verdict.clone().of_slower();
    found.verdict = verdict;
    verified.slower = slower == Some(true);
    verified.says = says(&found, verified.slower, plan);
    verified.verdict = Some(found.verdict);
}

fn says(found: &Difference, slower: bool, plan: &Plan) -> Text {
    let expected = plan.gains.iter().max_by(|a, b| a.factor.total_cmp(&b.factor));
    let work = |less_by: f64| 1.0 / (1.0 - less_by);
    let (least, most) = found.interval.map_or((1.0, 1.0), |(low, high)| (work(low), work(high)));
    let [factor, low, high] = [work(found.less_by), least, most].map(Value::Factor);
    let rounds = found.rounds as u64;
    let (mut says, more) = match &found.verdict {
        Verdict::Costs { share, interval } => {
            let first = text!(
                "plan-verified-factor",
                "The planned layout did {factor} the work in the same time ({low} to {high})."
            );
            let [share, low, high] = [*share, interval.0, interval.1].map(Value::Share);
            let costs = if slower {
                text!(
                    "plan-verified-slower",
                    "It costs {share} ({low} to {high}) of the speed. Leave this command unbound."
                )
            } else {
                text!("plan-verified-faster", "Running unbound costs {share} ({low} to {high}) of the speed.")
            };
            let expected = expected.map(|gain| {
                text!(
                    "plan-verified-expected",
                    "Expected: up to {factor} for a {program} program.",
                    factor = Value::Factor(gain.factor),
                    program = &gain.program
                )
            });
            (first, Text::sequence([costs].into_iter().chain(expected)))
        }
        Verdict::NotResolved { smaller_than } => (
            text!(
                "plan-verified-no-difference",
                "No difference resolved (smaller than {smaller_than}).",
                smaller_than = Value::Share(*smaller_than)
            ),
            match expected {
                Some(gain) => text!(
                    "Expected: up to {factor} for a {program} program; this command is not one, or the kernel places it well \
                     by itself.",
                    factor = Value::Factor(gain.factor),
                    program = &gain.program
                ),
                None => text!("None was expected."),
            },
        ),
        Verdict::TooNoisy { rounds_needed } if found.interval.is_none() => {
            return text!(
                "plan-verified-too-few",
                "Too few rounds for an interval ({rounds}): {needed} more needed (-r {least}).",
                needed = rounds_needed.unwrap_or_default(),
                least = least_rounds(1)
            );
        }
        Verdict::TooNoisy { rounds_needed } => (
            text!(
                "plan-verified-too-noisy",
                "Too noisy: the planned layout did {factor} the work in the same time, but {rounds} rounds allow {low} to \
                 {high}."
            ),
            match rounds_needed {
                Some(more) => text!(
                    "plan-verified-rounds-needed",
                    "If further rounds scatter alike, about {more} more (-r {all}) resolve a difference, or show that it is \
                     smaller than {worth}.",
                    all = rounds + more,
                    worth = Value::Share(MUCH)
                ),
                None => text!(
                    "plan-verified-no-rounds-suffice",
                    "With such scatter no number of rounds resolves a difference."
                ),
            },
        ),
        Verdict::NotMeasurable { reason } => return reason.clone(),
    };
    says.push(more);
    says
}

/// By how much two runs of one kind in a row differ, in the median. With sides in turn (A B, B A, A B …) the second of a
/// round and the first of the next are of one kind.
fn noise(pairs: &[(f64, f64)], planned_first: impl Fn(usize) -> bool) -> Option<f64> {
    let mut differences: Vec<f64> = (1..pairs.len())
        .map(|round| {
            let (before, now) = (pairs[round - 1], pairs[round]);
            let ratio = if planned_first(round) { now.1 / before.1 } else { now.0 / before.0 };
            ratio.ln().abs()
        })
        .collect();
    differences.sort_by(f64::total_cmp);
    (!differences.is_empty()).then(|| 1.0 - (-median_of_sorted(&differences)).exp())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use record::plan::Gain;

    fn judged(planned: &[f64], unbound: &[f64], factor: Option<f64>) -> Verification {
        let gains = factor.map(|factor| Gain {
            program: "memory-latency-bound".to_owned(),
            factor,
            ..Gain::default()
        });
        let plan = Plan { gains: gains.into_iter().collect(), ..Plan::default() };
        let mut verified =
            Verification { planned: planned.to_vec(), unbound: unbound.to_vec(), ..Verification::default() };
        judge_verification(&mut verified, &plan, |round| round.is_multiple_of(2));
        verified
    }

    #[test]
    fn a_layout_that_helps_is_reported_with_its_interval_and_what_was_expected() {
        let verified = judged(&[1.0; 8], &[1.4, 1.42, 1.38, 1.4, 1.41, 1.39, 1.4, 1.4], Some(1.41));
        let Some(Verdict::Costs { share, interval }) = verified.verdict else { panic!("{verified:?}") };
        assert!((share - (1.0 - 1.0 / 1.4)).abs() < 1e-9 && interval.0 < share && share < interval.1);
        let codes: Vec<_> = verified.says.sentences().iter().filter_map(Text::code).collect();
        assert_eq!(codes, ["plan-verified-factor", "plan-verified-faster", "plan-verified-expected"]);
        assert!(!verified.slower);
        assert!(
            matches!(verified.says.value("factor"), Some(Value::Factor(factor)) if (factor - 1.4).abs() < 1e-9)
        );
        assert_eq!(verified.says.sentences()[2].value("factor"), Some(&Value::Factor(1.41)));
    }

    #[test]
    fn a_layout_that_hurts_is_reported_so() {
        let verified = judged(&[1.25; 6], &[1.0; 6], None);
        assert!(verified.slower && verified.says.sentences()[1].code() == Some("plan-verified-slower"));
        assert!(matches!(verified.verdict, Some(Verdict::Costs { share, .. }) if (share - 0.2).abs() < 1e-9));
    }

    #[test]
    fn a_difference_within_the_noise_is_none() {
        let planned = [1.0, 1.01, 0.99, 1.0, 1.02, 0.98, 1.0, 1.0];
        let unbound = [1.01, 1.0, 1.0, 0.99, 1.0, 1.0, 1.01, 0.99];
        let verified = judged(&planned, &unbound, None);
        let Some(Verdict::NotResolved { smaller_than }) = verified.verdict else { panic!("{verified:?}") };
        assert!(smaller_than < 0.03);
        assert_eq!(verified.says.code(), Some("plan-verified-no-difference"));
        assert_eq!(verified.says.value("smaller_than"), Some(&Value::Share(smaller_than)));
        assert!(verified.noise.is_some_and(|noise| noise < 0.03));
    }

    #[test]
    fn few_or_wild_rounds_tell_nothing() {
        let few = judged(&[1.0; 3], &[2.0; 3], None);
        assert_eq!(few.verdict, Some(Verdict::TooNoisy { rounds_needed: Some(3) }));
        assert_eq!(few.says.code(), Some("plan-verified-too-few"));
        assert_eq!(few.says.value("needed"), Some(&Value::Count(3)));
        let wild = judged(&[1.0, 2.0, 1.0, 2.0, 1.0, 2.0], &[2.0, 1.0, 2.0, 1.0, 2.0, 1.0], None);
        let codes: Vec<_> = wild.says.sentences().iter().filter_map(Text::code).collect();
        assert_eq!(codes, ["plan-verified-too-noisy", "plan-verified-no-rounds-suffice"]);
    }

    #[test]
    fn one_round_far_off_asks_for_few_more() {
        // Runs in a row are alike but for one: the interval of six goes from the least to the most.
        let planned = [0.505, 0.51, 0.50, 0.505, 0.50, 0.505];
        let unbound = [0.388, 0.39, 0.385, 0.39, 0.74, 0.388];
        let verified = judged(&planned, &unbound, None);
        assert!(verified.noise.is_some_and(|noise| noise < 0.05), "{:?}", verified.noise);
        let Some(Verdict::TooNoisy { rounds_needed: Some(more) }) = verified.verdict else {
            panic!("{verified:?}")
        };
        assert!((1..=20).contains(&more), "{more}");
        let shown = |name| verified.says.value(name).map(Value::to_string);
        let shown: Vec<_> = ["factor", "low", "high"].into_iter().filter_map(shown).collect();
        assert_eq!(shown, ["0.769×", "0.765×", "1.48×"]);
        let needed = &verified.says.sentences()[1];
        assert_eq!(needed.code(), Some("plan-verified-rounds-needed"));
        assert_eq!(needed.value("more"), Some(&Value::Count(more)));
        assert_eq!(needed.value("all"), Some(&Value::Count(6 + more)));
    }

    proptest! {
        #[test]
        fn any_rounds_say_something_finite(
            planned in proptest::collection::vec(proptest::num::f64::ANY, 0..12),
            unbound in proptest::collection::vec(1e-6f64..1e6, 0..12),
        ) {
            let verified = judged(&planned, &unbound, Some(1.4));
            prop_assert!(!verified.says.is_empty());
            if let Some(Verdict::Costs { share, interval }) = verified.verdict {
                prop_assert!((0.0..=1.0).contains(&share) && interval.0 <= share && share <= interval.1);
            }
        }
    }
}
