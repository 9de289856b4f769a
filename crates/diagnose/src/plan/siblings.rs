//! Decides whether to use the SMT siblings of a core.

use std::collections::BTreeMap;

use record::diagnosis::{Evidence, SiblingsAdd};
use record::plan::Siblings;
use record::text::Value;
use record::{CpuList, Label, Measurement, Template, Text, metrics, text};

use super::available_resources::AvailableResources;
use crate::figures::{RESOLUTION, cite_fact, median, spread};
use crate::record_index::RecordIndex;
use crate::siblings::{Steps, find_steps};

/// Maximum number of workloads listed as evidence.
const MOST_EVIDENCE: usize = 8;

/// The decision if siblings do not pay off.
const ONE_A_CORE: Template =
    Template::new("plan-one-thread-per-core", "The plan therefore uses one thread per core.");

/// The throughput of all siblings of a core relative to that of one sibling, for one workload.
#[derive(Debug)]
struct Yield {
    workload: String,
    value: f64,
    between: Option<(f64, f64)>,
    evidence: Vec<Evidence>,
}

/// Makes the decision; `None` if no core has several usable CPUs.
pub(super) fn choose(index: &RecordIndex, available: &AvailableResources) -> Option<Siblings> {
    if available.per_core < 2 {
        return None;
    }
    let cores = available.seats.iter().flat_map(|seat| &seat.cores);
    let one_a_core: CpuList = cores.filter_map(|core| core.first().copied()).collect();
    let mut siblings =
        Siblings { per_core: available.per_core, used: true, one_a_core, ..Siblings::default() };
    let mut yields = measured(index);
    if yields.is_empty() {
        yields = from_scaling(index);
    }
    siblings.evidence = yields.iter().flat_map(|one| one.evidence.clone()).take(MOST_EVIDENCE).collect();
    let value = median(yields.iter().map(|one| one.value));
    match value {
        None => {
            if let Some(SiblingsAdd { workload, adds, says, .. }) = extrapolated(index) {
                siblings.used = adds > RESOLUTION;
                siblings.why = text!("{workload}: {says}");
                siblings.why.push(if siblings.used {
                    text!("The plan uses all siblings.")
                } else {
                    text!(ONE_A_CORE)
                });
                return Some(siblings);
            }
            if let Some(why) = available.places.one_a_core() {
                (siblings.used, siblings.measured) = (false, true);
                siblings.why = Text::sequence([why, text!(ONE_A_CORE)]);
                return Some(siblings);
            }
            siblings.why = text!(
                "The SMT yield was not measured, so the plan uses all CPUs, as the kernel would; the alternative is one thread per \
                 core."
            );
        }
        Some(value) => {
            let above = yields
                .iter()
                .filter(|one| one.between.is_none_or(|b| b.0 > 1.0) && one.value > 1.0 + RESOLUTION);
            let below = yields
                .iter()
                .filter(|one| one.between.is_none_or(|b| b.1 < 1.0) && one.value < 1.0 - RESOLUTION);
            let (above, below) = (above.count(), below.count());
            siblings.measured = true;
            siblings.used = value > 1.0 + RESOLUTION && above > below && above * 2 > yields.len();
            siblings.why = why(&yields, value, siblings.used, available.per_core);
        }
    }
    Some(siblings)
}

fn why(yields: &[Yield], value: f64, used: bool, per_core: u32) -> Text {
    let gain = Value::Share((value - 1.0).abs());
    let mut says = if used {
        text!("plan-siblings-add", "SMT siblings ({per_core} per core) add {gain} to a core's throughput.")
    } else if value < 1.0 - RESOLUTION {
        text!("plan-siblings-cost", "SMT siblings ({per_core} per core) cost {gain} of a core's throughput.")
    } else {
        text!(
            "plan-siblings-no-gain",
            "SMT siblings ({per_core} per core) do not change a core's throughput beyond noise."
        )
    };
    says.push(match yields {
        [one] => match one.between.filter(|b| b.1 > b.0) {
            Some((low, high)) => text!(
                "95 % CI: {low} to {high}.",
                low = Value::Share(low - 1.0),
                high = Value::Share(high - 1.0)
            ),
            None => text!("These are single samples, so there is no confidence interval."),
        },
        several => match range(several) {
            Some((least, most)) => text!(
                "This is the median of {workloads} workloads, which range from {least} ({least_of}) to {most} ({most_of}).",
                workloads = several.len(),
                least = Value::Share(least.value - 1.0),
                least_of = &least.workload,
                most = Value::Share(most.value - 1.0),
                most_of = &most.workload
            ),
            None => Text::default(),
        },
    });
    says.push(if used { Text::default() } else { text!(ONE_A_CORE) });
    says
}

/// The workloads that gain least and most.
fn range(yields: &[Yield]) -> Option<(&Yield, &Yield)> {
    let by = |a: &&Yield, b: &&Yield| a.value.total_cmp(&b.value);
    Some((yields.iter().min_by(by)?, yields.iter().max_by(by)?))
}

/// The gain from siblings, extrapolated from results with fewer threads than cores: the median over workloads or sizes.
fn extrapolated(index: &RecordIndex) -> Option<SiblingsAdd> {
    let mut all = crate::siblings::siblings(index);
    all.retain(|one| one.adds.is_finite());
    all.sort_by(|a, b| a.adds.total_cmp(&b.adds));
    (!all.is_empty()).then(|| all.swap_remove(all.len() / 2))
}

/// Yields from `smt.yield`: the median over the measured cores.
fn measured(index: &RecordIndex) -> Vec<Yield> {
    let mut by_workload: BTreeMap<&str, Vec<&Measurement>> = BTreeMap::new();
    for m in index.figures_of(metrics::SMT_YIELD).filter(|m| m.value().is_finite() && m.value() > 0.0) {
        by_workload.entry(m.labels.word(Label::Workload).unwrap_or("workload")).or_default().push(m);
    }
    let one = |(workload, all): (&str, Vec<&Measurement>)| {
        let m = crate::figures::middle(all.iter().copied())?;
        let between = (m.summary.n > 1).then(|| spread(&m.summary));
        let says = text!("{workload}, all siblings of a core relative to one sibling: {ratio}", ratio = m);
        let evidence = vec![cite_fact(says, m)];
        Some(Yield { workload: workload.to_owned(), value: m.value(), between, evidence })
    };
    by_workload.into_iter().filter_map(one).collect()
}

/// Yields from scaling: throughput on all CPUs divided by throughput on one CPU of each core.
fn from_scaling(index: &RecordIndex) -> Vec<Yield> {
    let mut yields: BTreeMap<String, (u64, Yield)> = BTreeMap::new();
    for steps in find_steps(index).into_iter().filter(|steps| steps.threads == steps.cores) {
        let Steps { alone: one, all, cores, cpus, bytes, .. } = steps;
        let workload = steps.workload.to_owned();
        let between = (one.summary.n > 1 && all.summary.n > 1).then(|| {
            let (a, b) = (spread(&one.summary), spread(&all.summary));
            (b.0 / a.1, b.1 / a.0)
        });
        let of_cores = text!(
            "{workload}, one thread on each of {cores} cores: {rate}",
            workload = &workload,
            rate = one
        );
        let of_cpus = text!("{workload}, all {cpus} CPUs: {rate}", workload = &workload, rate = all);
        let evidence = vec![cite_fact(of_cores, one), cite_fact(of_cpus, all)];
        let value = all.value() / one.value();
        // If a workload was measured with several block sizes, the largest size is used, because it has the least call overhead.
        let bytes = bytes.unwrap_or(0);
        if value.is_finite() && yields.get(&workload).is_none_or(|(known, _)| bytes >= *known) {
            yields.insert(workload.clone(), (bytes, Yield { workload, value, between, evidence }));
        }
    }
    yields.into_values().map(|(_, one)| one).collect()
}
