//! What running a command both ways says: round by round the work in the same time, its median, its exact interval.

use record::plan::{Plan, Verification};
use record::statistics::{Summary, Verdict, median_interval, median_of_sorted};
use record::text::Value;
use record::{Text, text};

/// Rounds below which there is no interval of the median at 95 %.
const LEAST_ROUNDS: usize = 6;
/// Where less than this share could have been resolved, nothing was: the runs differ too much.
const TOO_NOISY: f64 = 0.25;
/// With so small a difference left to either side there is none worth a further run.
const WORTH: f64 = 0.05;
/// The most rounds that -r takes.
const MOST_ROUNDS: usize = 10_000;

/// Times that runs can have, seconds.
const SECONDS: std::ops::RangeInclusive<f64> = 1e-9..=1e9;

/// Fills in the ratios, the verdict and the sentence. `planned` and `unbound` hold the seconds of each round;
/// `planned_first` says which of them came first in a round.
pub fn judge_verification(verified: &mut Verification, plan: &Plan, planned_first: impl Fn(usize) -> bool) {
    let pairs: Vec<(f64, f64)> = verified
        .planned
        .iter()
        .copied()
        .zip(verified.unbound.iter().copied())
        .filter(|(planned, unbound)| SECONDS.contains(planned) && SECONDS.contains(unbound))
        .collect();
    let ratios: Vec<f64> = pairs.iter().map(|(planned, unbound)| unbound / planned).collect();
    verified.ratio = Summary::from_samples(&ratios);
    verified.noise = noise(&pairs, planned_first);
    let mut logs: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
    logs.sort_by(f64::total_cmp);
    let (verdict, slower) = verdict(&logs);
    verified.slower = slower;
    verified.says = says(&verdict, slower, &logs, plan);
    verified.verdict = Some(verdict);
}

/// The share of time that unbound, or when that is less the layout, costs.
fn verdict(logs: &[f64]) -> (Verdict, bool) {
    let Some((low, high)) = median_interval(logs) else {
        let needed = (LEAST_ROUNDS - logs.len().min(LEAST_ROUNDS)) as u64;
        return (Verdict::TooNoisy { rounds_needed: Some(needed) }, false);
    };
    let middle = median_of_sorted(logs);
    if low > 0.0 {
        return (Verdict::Costs { share: share(middle), interval: (share(low), share(high)) }, false);
    }
    if high < 0.0 {
        return (Verdict::Costs { share: share(-middle), interval: (share(-high), share(-low)) }, true);
    }
    let smaller_than = share(high).max(share(-low));
    if smaller_than <= TOO_NOISY {
        return (Verdict::NotResolved { smaller_than }, false);
    }
    (Verdict::TooNoisy { rounds_needed: more_rounds(logs) }, false)
}

/// The share of time that goes with a ratio's logarithm.
fn share(log: f64) -> f64 {
    1.0 - (-log).exp()
}

/// About how many more rounds would resolve it: the fewest whose interval leaves out "no difference", or leaves hardly any, were they
/// to scatter as these did. The root of the number of rounds says too much: of six rounds the interval goes from the
/// least to the most, and a single one that is far off counts no longer once there are a few more. `None` where no number
/// that can be asked for would do.
fn more_rounds(logs: &[f64]) -> Option<u64> {
    let mut rounds = logs.len();
    while rounds < MOST_ROUNDS {
        rounds = (rounds + (rounds / 16).max(1)).min(MOST_ROUNDS);
        let (low, high) = median_interval(&stretched(logs, rounds))?;
        if low > 0.0 || high < 0.0 || share(high).max(share(-low)) <= WORTH {
            return Some((rounds - logs.len()) as u64);
        }
    }
    None
}

/// So many values, ascending, that are distributed as `sorted` ones, straight lines between them.
fn stretched(sorted: &[f64], count: usize) -> Vec<f64> {
    let last = sorted.len().saturating_sub(1);
    let at = |index: usize| sorted.get(index.min(last)).copied().unwrap_or(0.0);
    (0..count)
        .map(|index| {
            let place = ((index as f64 + 0.5) / count as f64 * sorted.len() as f64 - 0.5).max(0.0);
            let below = place.floor();
            at(below as usize) + (place - below) * (at(below as usize + 1) - at(below as usize))
        })
        .collect()
}

/// The median of the ratios and its interval.
fn middle(logs: &[f64]) -> [Value; 3] {
    let middle = median_of_sorted(logs);
    let (low, high) = median_interval(logs).unwrap_or((middle, middle));
    [middle, low, high].map(|log| Value::Factor(log.exp()))
}

fn says(verdict: &Verdict, slower: bool, logs: &[f64], plan: &Plan) -> Text {
    let expected = plan.gains.iter().max_by(|a, b| a.factor.total_cmp(&b.factor));
    match verdict {
        Verdict::Costs { share, interval } => {
            let [factor, low, high] = middle(logs);
            let mut text = text!(
                "plan-verified-factor",
                "The planned layout did {factor} the work in the same time ({low} to {high}).",
                factor,
                low,
                high
            );
            let (share, low, high) =
                (Value::Share(*share), Value::Share(interval.0), Value::Share(interval.1));
            text.push(if slower {
                text!(
                    "plan-verified-slower",
                    "It costs {share} ({low} to {high}) of the speed. Leave this command unbound.",
                    share,
                    low,
                    high
                )
            } else {
                text!(
                    "plan-verified-faster",
                    "Running unbound costs {share} ({low} to {high}) of the speed.",
                    share,
                    low,
                    high
                )
            });
            if let Some(gain) = expected {
                text.push(text!(
                    "plan-verified-expected",
                    "Expected: up to {factor} for a {program} program.",
                    factor = Value::Factor(gain.factor),
                    program = &gain.program
                ));
                let most = gain.interval.map_or(gain.factor, |interval| interval.1);
                if !slower && median_interval(logs).is_some_and(|(low, _)| low.exp() > most) {
                    text.push(text!(
                        "The gain exceeds the model, which counts accesses only and no migrations."
                    ));
                }
            }
            text
        }
        Verdict::NotResolved { smaller_than } => {
            let mut text = text!(
                "plan-verified-no-difference",
                "No difference resolved (smaller than {smaller_than}).",
                smaller_than = Value::Share(*smaller_than)
            );
            text.push(match expected {
                Some(gain) => text!(
                    "Expected: up to {factor} for a {program} program; this command is not one, or the kernel places it well \
                     by itself.",
                    factor = Value::Factor(gain.factor),
                    program = &gain.program
                ),
                None => text!("None was expected."),
            });
            text
        }
        Verdict::TooNoisy { rounds_needed } if logs.len() < LEAST_ROUNDS => text!(
            "plan-verified-too-few",
            "Too few rounds for an interval ({rounds}): {needed} more needed (-r {least}).",
            rounds = logs.len(),
            needed = rounds_needed.unwrap_or_default(),
            least = LEAST_ROUNDS
        ),
        Verdict::TooNoisy { rounds_needed } => {
            let [factor, low, high] = middle(logs);
            let rounds = logs.len() as u64;
            let mut text = text!(
                "plan-verified-too-noisy",
                "Too noisy: the planned layout did {factor} the work in the same time, but {rounds} rounds allow {low} to \
                 {high}.",
                factor,
                rounds,
                low,
                high
            );
            text.push(match rounds_needed {
                Some(more) => text!(
                    "plan-verified-rounds-needed",
                    "If further rounds scatter alike, about {more} more (-r {all}) resolve a difference, or show that it is \
                     smaller than {worth}.",
                    more = *more,
                    all = rounds + more,
                    worth = Value::Share(WORTH)
                ),
                None => text!(
                    "plan-verified-no-rounds-suffice",
                    "With such scatter no number of rounds resolves a difference."
                ),
            });
            text
        }
        Verdict::NotMeasurable { reason } => {
            text!("Not measurable: {reason}.", reason)
        }
    }
}

/// By how much two runs of one kind in a row differ, in the median. With sides in turn (A B, B A, A B …) the second of a
/// round and the first of the next are of one kind.
fn noise(pairs: &[(f64, f64)], planned_first: impl Fn(usize) -> bool) -> Option<f64> {
    let mut differences: Vec<f64> = (1..pairs.len())
        .map(|round| {
            let (before, now) = (pairs[round - 1], pairs[round]);
            let ratio = if planned_first(round) { now.0 / before.0 } else { now.1 / before.1 };
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
        // As many as that, scattered alike, resolve it.
        let logs: Vec<f64> = stretched(&[-0.27, -0.265, -0.264, -0.263, -0.26, 0.39], 6 + more as usize);
        assert!(matches!(super::verdict(&logs), (Verdict::Costs { .. }, true)), "{logs:?}");
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
