//! Groups samples by CPU placement, to explain noise that consists of two results, one per placement.

use std::collections::BTreeMap;

use record::difference::WORTH_TELLING;
use record::shape::ShapeState;
use record::text::Value;
use record::{CpuList, Label, Measurement, Summary, Text, detail, text};

/// Minimum number of samples per state for computing an interval.
const LEAST: usize = 6;

/// The state of a result's CPUs before and after a sample, if it is the same; `None` if they moved in between or the state is unknown. For
/// a pair, which is measured right after a check, only the state before the sample counts.
fn state(m: &Measurement, cpus: &CpuList, states: &[Option<ShapeState>], look: u32) -> Option<ShapeState> {
    let after = look as usize;
    let before = among(states.get(after.checked_sub(1)?)?.as_ref()?, cpus);
    match states.get(after).filter(|_| !is_of_pair(m)) {
        Some(next) => next.as_ref().map(|next| among(next, cpus)).filter(|next| *next == before),
        None => Some(before),
    }
}

fn is_of_pair(m: &Measurement) -> bool {
    m.labels.get(Label::From).is_some()
}

/// The CPUs of a result: those of a program, of threads, or of a pair; empty if unknown.
fn cpus_of(m: &Measurement) -> CpuList {
    let list = || m.labels.word(Label::Cpus)?.parse().ok();
    let one = |label: Label| m.labels.count(label).and_then(|cpu| u32::try_from(cpu).ok());
    let known = m.detail.get(detail::CPUS).and_then(|cpus| cpus.parse().ok()).or_else(list);
    known.unwrap_or_else(|| [Label::Cpu, Label::From, Label::To].into_iter().filter_map(one).collect())
}

/// The part of a state that concerns these CPUs. A single CPU may share cores and caches with any others, so for a single CPU this is the
/// complete state.
fn among(state: &ShapeState, cpus: &CpuList) -> ShapeState {
    if cpus.len() < 2 {
        return state.clone();
    }
    let inside = |of: &[CpuList]| -> Vec<CpuList> {
        of.iter().map(|one| one.intersection(cpus)).filter(|one| one.len() > 1).collect()
    };
    let domains = state.domains.iter().map(|of| inside(of)).collect();
    ShapeState {
        cores: inside(&state.cores),
        domains,
        far_from_memory: state.far_from_memory.intersection(cpus),
    }
}

/// The change of placement between the checks before and after a measurement: the CPU moved to another package or die or away from its
/// memory, or the CPUs occupied a different number of cores. `None` if nothing changed or if this is unknown.
pub(crate) fn moved_during(m: &Measurement, states: &[Option<ShapeState>]) -> Option<Text> {
    let (first, last) = (*m.looks.first()? as usize, *m.looks.last()? as usize);
    let span: Vec<&ShapeState> = states
        .get(first.checked_sub(1)?..=last.min(states.len().checked_sub(1)?))?
        .iter()
        .flatten()
        .collect();
    let differs = |of: &dyn Fn(&ShapeState) -> usize| span.windows(2).any(|pair| of(pair[0]) != of(pair[1]));
    let Some(cpu) = m.labels.count(Label::Cpu).and_then(|cpu| u32::try_from(cpu).ok()) else {
        let shared = |state: &ShapeState| state.cores.iter().map(|core| core.len().saturating_sub(1)).sum();
        return differs(&shared)
            .then(|| text!("moved-cores", "CPUs started or stopped sharing cores during the measurement"));
    };
    if differs(&|state| usize::from(state.far_from_memory.contains(cpu))) {
        return Some(text!(
            "moved-from-memory",
            "CPU {cpu} moved to another node during the measurement: its memory was partly local, partly remote"
        ));
    }
    let with = |state: &ShapeState| {
        let own = state.domains.last().and_then(|of| of.iter().find(|domain| domain.contains(cpu)));
        own.map_or(0, |own| own.iter().fold(1, |all, cpu| all * 31 + cpu as usize))
    };
    differs(&with)
        .then(|| text!("moved-domain", "CPU {cpu} moved to another package or die during the measurement"))
}

/// Explains a result whose value depends on CPU placement, if its samples show this dependence.
pub(crate) fn explain(m: &Measurement, states: &[Option<ShapeState>]) -> Option<Text> {
    (m.looks.len() == m.samples.len()).then_some(())?;
    let cpus = cpus_of(m);
    let cpu = cpus.iter().next().filter(|_| cpus.len() == 1);
    let known = m.samples.iter().zip(&m.looks);
    let known = known.filter_map(|(value, look)| Some((*value, state(m, &cpus, states, *look)?)));
    let (mut by_memory, mut by_state) =
        (BTreeMap::<bool, Vec<f64>>::new(), BTreeMap::<ShapeState, Vec<f64>>::new());
    for (value, state) in known {
        let far = cpu.is_some_and(|cpu| state.far_from_memory.contains(cpu));
        by_memory.entry(far).or_default().push(value);
        by_state.entry(state).or_default().push(value);
    }
    let figure = |summary: &Summary| Value::from(record::units::figure(summary.median, &m.unit));
    if let (Some(near), Some(far)) = (by_memory.get(&false), by_memory.get(&true))
        && let Some([one, other]) = differ(near, far)
    {
        return Some(text!(
            "noise-by-memory",
            "{near} with local memory, {far} with remote memory ({share} of the samples), because CPU {cpu} moved",
            near = figure(&one),
            cpu = cpu.unwrap_or(0),
            far = figure(&other),
            share = Value::Share(other.n as f64 / (one.n + other.n) as f64)
        ));
    }
    // For several CPUs, the number of cores that they occupy matters most. The check right after the sample shows the number while all CPUs
    // were busy; for a pair, the check before the sample is used.
    let mut by_cores = BTreeMap::<usize, Vec<f64>>::new();
    for (value, look) in m.samples.iter().zip(&m.looks).filter(|_| cpus.len() > 1) {
        let at = (*look as usize).checked_sub(usize::from(is_of_pair(m)));
        let Some(state) = at.and_then(|at| states.get(at)?.as_ref()) else { continue };
        by_cores.entry(state.cores_of(&cpus)).or_default().push(*value);
    }
    if let (Some((few, less)), Some((many, more))) = (by_cores.first_key_value(), by_cores.last_key_value())
        && let Some([one, other]) = differ(less, more)
    {
        return Some(text!(
            "noise-by-cores",
            "{one} while the {cpus} CPUs were on {few} cores, {other} while they were on {many} ({share} of the samples)",
            one = figure(&one),
            cpus = cpus.len(),
            few = *few,
            other = figure(&other),
            many = *many,
            share = Value::Share(other.n as f64 / m.samples.len() as f64)
        ));
    }
    let mut states: Vec<Vec<f64>> = by_state.into_values().collect();
    states.sort_by_key(|samples| std::cmp::Reverse(samples.len()));
    let [one, other] = differ(states.first()?, states.get(1)?)?;
    Some(text!(
        "noise-by-placement",
        "the CPUs moved: {one} in one placement ({share} of the samples), {other} in another",
        one = figure(&one),
        share = Value::Share(one.n as f64 / m.samples.len() as f64),
        other = figure(&other)
    ))
}

/// Summaries of two groups of samples, if the intervals of their medians do not overlap.
fn differ(one: &[f64], other: &[f64]) -> Option<[Summary; 2]> {
    (one.len().min(other.len()) >= LEAST).then_some(())?;
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
        // Samples between two states belong to neither.
        let share = crate::samples::figure_in(&says, "share");
        assert!((share - 8.0 / 18.0).abs() < 1e-9, "{share}");
        // The same samples in one state are noise.
        assert_eq!(explain(&latency(samples.clone(), vec![1; 23]), &states), None);
        assert_eq!(explain(&latency(samples, Vec::new()), &states), None);
    }

    #[test]
    fn a_program_is_slower_while_its_cpus_share_a_core() {
        // Other CPUs move all the time, so no two states are equal.
        let state = |look: u32| {
            let cores = if look.is_multiple_of(2) { vec!["0-1".parse().unwrap()] } else { Vec::new() };
            Some(ShapeState {
                cores,
                far_from_memory: [9 + look].into_iter().collect(),
                ..ShapeState::default()
            })
        };
        let states: Vec<_> = (0..17).map(state).collect();
        let place = Labels::new().with_label(Label::Threads, 2u32);
        let rate = |look: u32| (if look.is_multiple_of(2) { 105.0 } else { 190.0 }) + f64::from(look % 3);
        let m = Measurement::new(metrics::WORKLOAD_THROUGHPUT, place, (1..17).map(rate).collect());
        let m = Measurement { looks: (1..17).collect(), ..m.with_detail(detail::CPUS, "0-1") };
        let says = explain(&m, &states).unwrap();
        assert_eq!(
            (says.code(), says.value("few"), says.value("many")),
            (Some("noise-by-cores"), Some(&1usize.into()), Some(&2usize.into()))
        );
        // Bandwidth lists its CPUs in a label.
        let place = Labels::new().with_label(Label::Cpus, "0-1");
        let rates = m.samples.iter().map(|rate| rate * 1e8).collect();
        let bandwidth = Measurement::new(metrics::MEMORY_BANDWIDTH, place, rates).with_looks(m.looks.clone());
        assert_eq!(explain(&bandwidth, &states).unwrap().code(), Some("noise-by-cores"));
        // Nothing is reported for CPUs that did not share a core.
        assert_eq!(explain(&m.clone().with_detail(detail::CPUS, "2-3"), &states), None);
        assert_eq!(explain(&m.with_detail(detail::CPUS, "0"), &states), None);
    }

    #[test]
    fn a_move_between_the_looks_around_a_figure_is_said() {
        let at = |domains: &[&str], far: &str| {
            let domains = vec![domains.iter().map(|of| of.parse().unwrap()).collect()];
            Some(ShapeState {
                domains,
                far_from_memory: far.parse().unwrap_or_default(),
                ..ShapeState::default()
            })
        };
        let states = [at(&["0-1", "2"], ""), at(&["0", "1-2"], ""), at(&["0", "1-2"], "2"), None];
        let gap = |cpu: u32, looks: Vec<u32>| {
            let place = Labels::new().with_label(Label::Cpu, cpu);
            Measurement { looks, ..Measurement::new(metrics::STOLEN_GAP, place, vec![9e4; 3]) }
        };
        let said = |m: Measurement| moved_during(&m, &states).map(|says| says.code().map(str::to_owned));
        let code = |m: Measurement| said(m).flatten();
        assert_eq!(code(gap(1, vec![1])).as_deref(), Some("moved-domain"));
        assert_eq!(code(gap(2, vec![2])).as_deref(), Some("moved-from-memory"));
        assert_eq!(code(gap(1, vec![2])), None, "only another CPU moved away from its memory");
        assert_eq!(code(gap(1, vec![1, 2, 3])).as_deref(), Some("moved-domain"));
        // There is no check before the measurement, or none after it.
        assert_eq!(
            (code(gap(1, vec![0])), code(gap(1, vec![3])), code(gap(1, vec![9])), code(gap(1, Vec::new()))),
            (None, None, None, None)
        );
        let all = Measurement {
            looks: vec![1],
            ..Measurement::new(metrics::WORKLOAD_THROUGHPUT, Labels::new(), vec![1.0])
        };
        let sharing =
            |cores: &str| Some(ShapeState { cores: vec![cores.parse().unwrap()], ..ShapeState::default() });
        assert_eq!(
            moved_during(&all, &[sharing("0-1"), Some(ShapeState::default())]).unwrap().code(),
            Some("moved-cores")
        );
    }

    #[test]
    fn states_that_make_no_difference_explain_nothing() {
        let states = states(&[false, false, true, true]);
        let samples: Vec<f64> = about(141.0, 10).chain(about(142.0, 10)).collect();
        assert_eq!(explain(&latency(samples, [vec![1; 10], vec![3; 10]].concat()), &states), None);
    }
}
