//! The scaling of a workload, from the thread counts in a single record.

use std::collections::BTreeMap;

use record::text::Value;
use record::{Text, text};

use super::work::{OnCores, Work, find_works};
use crate::comparison::Known;
use crate::comparison::work::is_loop;

/// Describes each workload with at least two thread counts, in one or two sentences.
pub(crate) fn describe_scaling(known: &Known) -> Vec<Text> {
    // Workloads with a fitted scaling curve are skipped, because the fit describes them better.
    let fitted = |name: &str| known.record.diagnosis.scaling.iter().any(|fit| fit.workload == name);
    let mut works: BTreeMap<&str, Vec<(&str, Work)>> = BTreeMap::new();
    for (name, work) in find_works(known).into_iter().filter(|(name, _)| !fitted(name)) {
        works.entry(work.workload).or_default().push((name, work));
    }
    works.values_mut().for_each(|sizes| sizes.sort_by_key(|(_, work)| work.bytes));
    works.values().filter_map(|sizes| describe_work(sizes, &known.name)).collect()
}

/// Formats a share, or the range of shares for several block sizes.
fn between(shares: impl Iterator<Item = f64> + Clone) -> Value {
    let (least, most) = (shares.clone().fold(f64::MAX, f64::min), shares.fold(f64::MIN, f64::max));
    let (least, most) = (Value::Share(least), Value::Share(most));
    match least.to_string() == most.to_string() {
        true => most,
        false => text!("{least} to {most}").into(),
    }
}

/// The share of linear scaling reached on cores, and the gain from further CPUs.
fn measure(work: &Work) -> Option<(OnCores, u64, [f64; 2])> {
    let (one, (most, all)) = (work.steps.get(&1)?, work.steps.iter().next_back()?);
    let on_cores = work.on_cores().filter(|_| *most > 1 && one.unfit.is_none())?;
    let shares = [on_cores.rate / one.value, all.value / (work.cores as f64 * on_cores.rate) - 1.0];
    Some((on_cores, *most, shares))
}

fn describe_work(sizes: &[(&str, Work)], who: &String) -> Option<Text> {
    let (name, work) = sizes.last()?;
    let (OnCores { threads, whole, .. }, most, _) = measure(work)?;
    let cores = work.cores;
    let alike = sizes.iter().filter_map(|(_, work)| measure(work));
    let alike = alike.filter(|(on_cores, all, _)| (on_cores.threads, *all) == (threads, most));
    let shares = |at: usize| between(alike.clone().filter_map(move |(.., shares)| shares.get(at).copied()));
    let mut says = Text::default();
    if threads > 1 {
        says.push(text!(
            "comparison-scaling-cores",
            "{share} of linear scaling with {threads} threads.",
            share = shares(0)
        ));
    }
    if most > cores {
        let gain = shares(1);
        says.push(match (whole, threads) {
            (true, 1) => text!("SMT on 1 core adds {gain}."),
            (true, _) => text!("comparison-scaling-siblings", "SMT on {cores} cores adds {gain}."),
            (false, measured) => text!(
                "comparison-scaling-siblings-about",
                "SMT adds about {gain} if all {cores} cores are as fast as the {measured} measured ones."
            ),
        });
    }
    let work = match (sizes.first().and_then(|(_, work)| work.bytes), work.bytes) {
        (Some(from), Some(to)) if from < to => {
            let (work, from, to) = (work.workload.to_owned(), Value::Bytes(from), Value::Bytes(to));
            text!("{work} ({from} to {to})").into()
        }
        // For published work, only the name is used, because that program did not run here.
        _ if is_loop(work.workload) => Value::from(work.workload.to_owned()),
        _ => Value::from((*name).to_owned()),
    };
    (!says.is_empty()).then(|| text!("{who}, {work}: {says}"))
}
