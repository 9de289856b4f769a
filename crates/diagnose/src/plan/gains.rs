//! The expected gain of a layout for a program that is currently NUMA-unaware. The model compares the mean access cost over all pairs of
//! nodes with the mean within the processes' own nodes.

use record::plan::{Gain, Process};
use record::text::Value;
use record::{Record, Template, text};

use super::available_resources::AvailableResources;
use crate::comparison::nodes::{Reach, Timed, find_reaches};
use crate::figures::RESOLUTION;
use crate::node_costs::{Cost, Costs, Matrix, mean};
use crate::observed::find_observed;

/// The note that results are unreliable.
pub(super) const IN_DOUBT: Template =
    Template::new("plan-gain-in-doubt", "Some of these results are unreliable.");

/// The gains, one per kind of program that gains.
pub(super) fn gains(
    record: &Record,
    available: &AvailableResources,
    costs: &Costs,
    processes: &[Process],
) -> Vec<Gain> {
    if available.memory.len() + available.seats.len() < 3 {
        return Vec::new();
    }
    // If there is no node matrix, the gain is based on the same results as the comparison and the finding, so that all three agree.
    let reach = find_reaches(record).into_iter().find(|reach| reach.other.is_some());
    let reach = reach.filter(|reach| {
        reach.timed != Timed::Matrix
            && reach.nodes as usize == available.seats.len().max(available.memory.len())
    });
    // Time per element, with many loads in flight, is not a latency.
    let waiting = match reach.as_ref().map(|reach| reach.timed) {
        Some(Timed::Stream(_)) => "memory-bound",
        _ => "memory-latency-bound",
    };
    let kinds = [(&costs.latency, waiting, reach), (&costs.bandwidth, "memory-bandwidth-bound", None)];
    let all = kinds.into_iter().filter_map(|(matrix, program, reach)| {
        gain((record, available), costs, matrix.as_ref()?, processes, program, reach.as_ref())
    });
    all.collect()
}

fn gain(
    (record, available): (&Record, &AvailableResources),
    costs: &Costs,
    matrix: &Matrix,
    processes: &[Process],
    program: &str,
    reach: Option<&Reach>,
) -> Option<Gain> {
    let everywhere: Vec<u32> = available.seats.iter().map(|seat| seat.node).collect();
    let ignoring = matrix.mean(&everywhere, &available.memory, costs)?;
    let planned = mean(processes.iter().filter_map(|process| {
        let from: Vec<u32> = process.nodes.iter().collect();
        let to: Vec<u32> = process.memory.iter().collect();
        matrix.mean(&from, &to, costs)
    }))?;
    let factor = match reach {
        Some(reach) => reach.ignoring() * matrix.own.value / planned.value,
        None => ignoring.value / planned.value,
    };
    if !factor.is_finite() || factor < 1.0 + RESOLUTION {
        return None;
    }
    let interval = between(&ignoring, &planned).filter(|(low, high)| (*low..=*high).contains(&factor));
    let own = everywhere.iter().filter(|node| available.memory.contains(node)).count();
    let remote = 1.0 - own as f64 / (everywhere.len() * available.memory.len()) as f64;
    let mut why = text!(
        "plan-gain-model",
        "Without the plan, {remote} of accesses are remote, and the mean access cost is {factor} the cost with the \
         plan ({what}).",
        remote = Value::Share(remote),
        factor = Value::Factor(factor),
        what = reach.map_or(&matrix.what, |reach| &reach.what)
    );
    if interval.is_none() {
        why.push(text!(
            "plan-gain-without-interval",
            "Each result is a single sample, so there is no confidence interval."
        ));
    }
    if let Some(observed) = find_observed(record) {
        why.push(observed.says());
    }
    if matrix.doubtful {
        why.push(text!(IN_DOUBT));
    }
    let evidence = reach.map_or_else(|| matrix.evidence.clone(), Reach::evidence);
    Some(Gain { program: program.to_owned(), factor, interval, why, evidence })
}

fn between(ignoring: &Cost, planned: &Cost) -> Option<(f64, f64)> {
    let (a, b) = (ignoring.between?, planned.between?);
    let between = (a.0 / b.1, a.1 / b.0);
    (between.0.is_finite() && between.1.is_finite()).then_some(between)
}
