//! What a record's own steps of a workload say of its scaling.

use record::text::Value;
use record::{Template, Text, text};

use super::work::{OnCores, Work, find_works};
use crate::comparison::Known;

/// Siblings of all cores.
pub(in crate::comparison) const SIBLINGS: Template =
    Template { code: "comparison-scaling-siblings", words: "SMT on {cores} cores adds {gain}." };
/// Siblings where not all cores were measured without them.
pub(in crate::comparison) const SIBLINGS_ABOUT: Template = Template {
    code: "comparison-scaling-siblings-about",
    words: "SMT adds about {gain}, if all {cores} cores are as fast as the {measured} measured.",
};
/// How several cores scale.
pub(in crate::comparison) const CORES_SCALE: Template =
    Template { code: "comparison-scaling-cores", words: "{share} of linear scaling on {threads} threads." };

/// Each workload of at least two steps, in a sentence or two.
pub(crate) fn describe_scaling(known: &Known) -> Vec<Text> {
    // A fit of the record's own says it better.
    let fitted = |name: &str| known.record.diagnosis.scaling.iter().any(|fit| fit.workload == name);
    let works = find_works(known).into_iter().filter(|(name, _)| !fitted(name));
    works.filter_map(|(name, work)| describe_work(name, &work, &known.name)).collect()
}

fn describe_work(name: &str, work: &Work, who: &String) -> Option<Text> {
    let (one, (most, all)) = (work.steps.get(&1)?, work.steps.iter().next_back()?);
    let OnCores { threads, rate, whole } = work.on_cores().filter(|_| *most > 1 && one.unfit.is_none())?;
    let cores = work.cores;
    let mut says = Text::default();
    if threads > 1 {
        says.push(text!(CORES_SCALE, share = Value::Share(rate / one.value), threads));
    }
    if *most > cores {
        let gain = Value::Share(all.value / (cores as f64 * rate) - 1.0);
        says.push(match (whole, threads) {
            (true, 1) => text!("comparison-scaling-siblings-of-one", "SMT on 1 core adds {gain}.", gain),
            (true, _) => text!(SIBLINGS, cores, gain),
            (false, measured) => text!(SIBLINGS_ABOUT, gain, cores, measured),
        });
    }
    let work = name.to_owned();
    (!says.is_empty()).then(|| text!("comparison-scaling", "{who}, {work}: {says}", who, work, says))
}
