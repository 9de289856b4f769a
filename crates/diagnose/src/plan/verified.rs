//! Evaluates runs of a command both pinned and unpinned: compares the work done in the same time, round by round.

use record::difference::{Scale, Verdict, compare_pairs};
use record::plan::{Gain, Plan, Verification};
use record::statistics::Summary;
use record::text;
use record::text::Value;

use crate::figures::median;
use crate::turns;

/// Plausible run times in seconds; all others are ignored.
const SECONDS: std::ops::RangeInclusive<f64> = 1e-9..=1e9;

/// Fills in the ratios, the verdict and the sentence. `planned` and `unbound` contain each round's run times in seconds; `planned_first`
/// returns whether the planned layout ran first in a round.
pub fn judge_verification(verified: &mut Verification, plan: &Plan, planned_first: impl Fn(usize) -> bool) {
    let rounds = verified.unbound.iter().copied().zip(verified.planned.iter().copied());
    let pairs: Vec<(f64, f64)> =
        rounds.filter(|(unbound, planned)| SECONDS.contains(unbound) && SECONDS.contains(planned)).collect();
    verified.ratio = Summary::from_samples(
        &pairs.iter().map(|(unbound, planned)| unbound / planned).collect::<Vec<f64>>(),
    );
    verified.noise = noise(&pairs, planned_first);
    let found = compare_pairs(&pairs, Scale::Ratio, 1, None);
    let (verdict, slower) = found.verdict.clone().of_slower();
    verified.slower = slower == Some(true);
    let result = turns::describe(&found, ["running unpinned", "the planned layout"], 1);
    verified.says = text!("plan-verified", "Result: {result}.");
    let expected = plan.gains.iter().max_by(|a, b| a.factor.total_cmp(&b.factor));
    match (&verdict, expected) {
        (Verdict::Costs { .. }, _) if verified.slower => {
            verified.says.push(text!("plan-verified-slower", "Do not pin this command."));
        }
        (Verdict::Costs { .. } | Verdict::NotResolved { .. }, Some(Gain { factor, program, .. })) => {
            let factor = Value::Factor(*factor);
            let expected =
                text!("plan-verified-expected", "Expected: up to {factor} for a {program} program.", program);
            verified.says.push(expected);
        }
        _ => {}
    }
    verified.verdict = Some(verdict);
}

/// The median difference between two consecutive runs of the same layout. With alternating order (A B, B A, A B …), the last run of a round
/// and the first run of the next use the same layout.
fn noise(pairs: &[(f64, f64)], planned_first: impl Fn(usize) -> bool) -> Option<f64> {
    let apart = (1..pairs.len()).map(|round| {
        let (before, now) = (pairs[round - 1], pairs[round]);
        let ratio = if planned_first(round) { now.1 / before.1 } else { now.0 / before.0 };
        ratio.ln().abs()
    });
    median(apart).map(|apart| 1.0 - (-apart).exp())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use record::Text;

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

    fn result(verified: &Verification) -> Text {
        match verified.says.value("result") {
            Some(Value::Sentence(result)) => (**result).clone(),
            _ => panic!("{verified:?}"),
        }
    }

    #[test]
    fn a_layout_that_helps_is_reported_with_its_interval_and_what_was_expected() {
        let verified = judged(&[1.0; 8], &[1.4, 1.42, 1.38, 1.4, 1.41, 1.39, 1.4, 1.4], Some(1.41));
        let Some(Verdict::Costs { share, interval }) = verified.verdict else { panic!("{verified:?}") };
        assert!((share - (1.0 - 1.0 / 1.4)).abs() < 1e-9 && interval.0 < share && share < interval.1);
        let codes: Vec<_> = verified.says.sentences().iter().filter_map(Text::code).collect();
        assert_eq!(codes, ["plan-verified", "plan-verified-expected"]);
        assert!(!verified.slower);
        let result = result(&verified);
        assert_eq!((result.code(), result.value("ratio")), (Some("turns-faster"), Some(&"1.400".into())));
        assert_eq!(verified.says.sentences()[1].value("factor"), Some(&Value::Factor(1.41)));
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
        assert_eq!(verified.says.sentences().len(), 1, "{}", verified.says);
        assert!(verified.noise.is_some_and(|noise| noise < 0.03));
    }

    #[test]
    fn few_or_wild_rounds_tell_nothing() {
        let few = judged(&[1.0; 3], &[2.0; 3], None);
        assert_eq!(few.verdict, Some(Verdict::TooNoisy { rounds_needed: Some(3) }));
        assert_eq!(result(&few).code(), Some("turns-too-few-rounds"));
        let wild = judged(&[1.0, 2.0, 1.0, 2.0, 1.0, 2.0], &[2.0, 1.0, 2.0, 1.0, 2.0, 1.0], None);
        assert_eq!(result(&wild).code(), Some("turns-too-noisy"));
    }

    #[test]
    fn one_round_far_off_asks_for_few_more() {
        // Consecutive runs are equal except one: with six rounds, the interval is the full range.
        let planned = [0.505, 0.51, 0.50, 0.505, 0.50, 0.505];
        let unbound = [0.388, 0.39, 0.385, 0.39, 0.74, 0.388];
        let verified = judged(&planned, &unbound, None);
        assert!(verified.noise.is_some_and(|noise| noise < 0.05), "{:?}", verified.noise);
        let Some(Verdict::TooNoisy { rounds_needed: Some(more) }) = verified.verdict else {
            panic!("{verified:?}")
        };
        assert!((1..=20).contains(&more), "{more}");
        let shown = |name| result(&verified).value(name).map(Value::to_string);
        assert_eq!(shown("interval").as_deref(), Some("0.676–1.31"));
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
