//! What a record's own steps of a workload say of its scaling.

use record::text::Value;
use record::{Template, Text, text};

use super::work::works;
use crate::comparison::Known;

/// Siblings of all cores.
pub(in crate::comparison) const SIBLINGS: Template =
    Template { code: "comparison-scaling-siblings", words: "SMT on {cores} cores adds {gain}." };
/// Siblings of the only core.
const SIBLINGS_OF_ONE: Template =
    Template { code: "comparison-scaling-siblings-of-one", words: "SMT on 1 core adds {gain}." };
/// Siblings where not all cores were measured without them.
pub(in crate::comparison) const SIBLINGS_ABOUT: Template = Template {
    code: "comparison-scaling-siblings-about",
    words: "SMT adds about {gain}, if all {cores} cores are as fast as the {measured} measured.",
};
/// How several cores scale.
pub(in crate::comparison) const CORES_SCALE: Template =
    Template { code: "comparison-scaling-cores", words: "{share} of linear scaling on {threads} threads." };

/// Each workload of at least two steps, in a sentence or two.
pub(crate) fn describe_scaling(known: &Known, who: &str) -> Vec<Text> {
    let mut says = Vec::new();
    for (name, work) in works(known) {
        // A fit of the record's own says it better.
        if known.record.diagnosis.scaling.iter().any(|fit| fit.workload == name) {
            continue;
        }
        let (Some(one), Some((most, all))) = (work.steps.get(&1), work.steps.iter().next_back()) else {
            continue;
        };
        let Some((threads, rate, whole)) = work.on_cores().filter(|_| *most > 1 && one.unfit.is_none())
        else {
            continue;
        };
        let cores = work.cores;
        let mut said = Text::default();
        if threads > 1 {
            let share = Value::Share(rate / one.value);
            said.push(text!(CORES_SCALE, share, threads));
        }
        if *most > cores {
            let gain = Value::Share(all.value / (cores as f64 * rate) - 1.0);
            said.push(match (whole, threads) {
                (true, 1) => text!(SIBLINGS_OF_ONE, gain),
                (true, _) => text!(SIBLINGS, cores, gain),
                (false, measured) => {
                    text!(SIBLINGS_ABOUT, gain, cores, measured)
                }
            });
        }
        if !said.is_empty() {
            let who = who.to_owned();
            says.push(text!("comparison-scaling", "{who}, {work}: {says}", who, work = &name, says = said));
        }
    }
    says
}
