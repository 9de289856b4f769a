//! Samples by where the CPUs were: noise that is two figures, one for each place.

use std::collections::BTreeMap;

use record::difference::WORTH_TELLING;
use record::shape::ShapeState;
use record::text::Value;
use record::{Label, Measurement, Summary, Text, text};

/// Samples of a state, for an interval.
const LEAST: usize = 6;

/// The states before and after a sample that are the same; `None` where the CPUs moved meanwhile, or nobody knows.
fn state(states: &[Option<ShapeState>], look: u32) -> Option<&ShapeState> {
    let after = look as usize;
    let before = states.get(after.checked_sub(1)?)?.as_ref()?;
    match states.get(after) {
        Some(next) => next.as_ref().filter(|next| *next == before),
        None => Some(before),
    }
}

/// Says that a figure is one in one state of the CPUs and another in another, where its samples show that.
pub(crate) fn explain(m: &Measurement, states: &[Option<ShapeState>]) -> Option<Text> {
    if m.looks.len() != m.samples.len() {
        return None;
    }
    let cpu = m.labels.count(Label::Cpu).and_then(|cpu| u32::try_from(cpu).ok());
    let known = m.samples.iter().zip(&m.looks).filter_map(|(ns, look)| Some((*ns, state(states, *look)?)));
    let (mut by_memory, mut by_state) =
        (BTreeMap::<bool, Vec<f64>>::new(), BTreeMap::<&ShapeState, Vec<f64>>::new());
    for (ns, state) in known {
        let far = cpu.is_some_and(|cpu| state.far_from_memory.contains(cpu));
        by_memory.entry(far).or_default().push(ns);
        by_state.entry(state).or_default().push(ns);
    }
    let figure = |summary: &Summary| Value::from(record::units::figure(summary.median, &m.unit));
    if let (Some(near), Some(far)) = (by_memory.get(&false), by_memory.get(&true))
        && let Some([one, other]) = differ(near, far)
    {
        return Some(text!(
            "noise-by-memory",
            "{near} while CPU {cpu} was near the memory, {far} while it was far from it ({share} of the samples)",
            near = figure(&one),
            cpu = cpu.unwrap_or(0),
            far = figure(&other),
            share = Value::Share(other.n as f64 / (one.n + other.n) as f64)
        ));
    }
    let mut states: Vec<Vec<f64>> = by_state.into_values().collect();
    states.sort_by_key(|samples| std::cmp::Reverse(samples.len()));
    let [one, other] = differ(states.first()?, states.get(1)?)?;
    Some(text!(
        "noise-by-place",
        "the CPUs moved: {one} where they were in {share} of the samples, {other} where they were otherwise",
        one = figure(&one),
        share = Value::Share(one.n as f64 / m.samples.len() as f64),
        other = figure(&other)
    ))
}

/// Summaries of two groups of samples whose medians' intervals have nothing in common.
fn differ(one: &[f64], other: &[f64]) -> Option<[Summary; 2]> {
    if one.len().min(other.len()) < LEAST {
        return None;
    }
    let both = [Summary::from_samples(one), Summary::from_samples(other)];
    let (a, b) = (both[0].interval?, both[1].interval?);
    let apart = (both[0].median / both[1].median).ln().abs() >= WORTH_TELLING.ln_1p();
    (apart && (a.1 < b.0 || b.1 < a.0)).then_some(both)
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Labels, metrics};

    fn states(far: &[bool]) -> Vec<Option<ShapeState>> {
        let state = |far: &bool| {
            let cpus = if *far { "0" } else { "" };
            Some(ShapeState { far_from_memory: cpus.parse().unwrap_or_default(), ..ShapeState::default() })
        };
        far.iter().map(state).collect()
    }

    fn latency(samples: Vec<f64>, looks: Vec<u32>) -> Measurement {
        let place = Labels::new().with_label(Label::Cpu, 0u32);
        Measurement { looks, ..Measurement::new(metrics::LOAD_LATENCY, place, samples) }
    }

    fn about(middle: f64, n: usize) -> impl Iterator<Item = f64> {
        (0..n).map(move |at| middle * (1.0 + 0.01 * (at % 3) as f64))
    }

    #[test]
    fn a_latency_near_its_memory_and_far_from_it_is_two_figures() {
        let states = states(&[false, false, true, true]);
        let samples: Vec<f64> = about(141.0, 10).chain(about(170.0, 5)).chain(about(205.0, 8)).collect();
        let looks = [vec![1; 10], vec![2; 5], vec![3; 8]].concat();
        let says = explain(&latency(samples.clone(), looks), &states).unwrap();
        assert_eq!(says.code(), Some("noise-by-memory"));
        // Those between two states are of neither.
        let share = crate::samples::figure_in(&says, "share");
        assert!((share - 8.0 / 18.0).abs() < 1e-9, "{share}");
        // The same samples in one state are noise.
        assert_eq!(explain(&latency(samples.clone(), vec![1; 23]), &states), None);
        assert_eq!(explain(&latency(samples, Vec::new()), &states), None);
    }

    #[test]
    fn states_that_make_no_difference_explain_nothing() {
        let states = states(&[false, false, true, true]);
        let samples: Vec<f64> = about(141.0, 10).chain(about(142.0, 10)).collect();
        assert_eq!(explain(&latency(samples, [vec![1; 10], vec![3; 10]].concat()), &states), None);
    }
}
