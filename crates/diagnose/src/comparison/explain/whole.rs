//! Explains results of entire machines without a single-thread measurement: only the cores and the clock are known, and
//! memory is assumed to be the limit.

use record::comparison::{Cause, Explanation, HeldBack};
use record::difference::MUCH;
use record::text::Value;
use record::units::figure;
use record::{Label, Measurement, Template, Text, metrics, text};

use super::{
    OneSided, Pair, Speed, against, are_comparable, differs, explain_faster, memory, sort_causes, words,
};
use crate::comparison::Known;
use crate::comparison::datum::Datum;
use crate::comparison::rows::{RowKey, RowKind, Rows};

/// Above this ratio of core counts, the larger machine should do more work.
const MORE: f64 = 1.2;

/// Explanations of all-CPU results without single-thread results.
pub(super) fn explain_machines(pair: &Pair) -> Vec<Option<OneSided>> {
    let of_all = |key: &RowKey| key.metric == metrics::WORKLOAD_THROUGHPUT && key.kind == RowKind::AllCpus;
    let rows = pair.base.rows.iter().filter(|(key, _)| of_all(key));
    let shared = rows.filter_map(|(key, base)| Some((key, &pair.this.rows.get(key)?.datum, &base.datum)));
    shared.map(|(key, this, base)| explain_machine(pair, key, this, base)).collect()
}

fn explain_machine(pair: &Pair, key: &RowKey, this: &Datum, base: &Datum) -> Option<OneSided> {
    let alone = |rows: &Rows| {
        let one = |other: &RowKey| other.kind == RowKind::OneThread && other.subject == key.subject;
        rows.keys().any(|other| other.metric == key.metric && one(other))
    };
    if alone(&pair.base.rows) && alone(&pair.this.rows) || !are_comparable(this, base) {
        return None;
    }
    let speed = this.value / base.value;
    let cores = memory::cores_cause(pair);
    let ratio = cores.as_ref().map_or(1.0, |cause| cause.factor);
    let memory = memory::reach_cause(pair).or_else(|| memory::level_cause(pair));
    let causes = [memory, memory::devices_cause(pair, true), cores, memory::clock_cause(pair)];
    let mut causes: Vec<Cause> = causes.into_iter().flatten().collect();
    // The parts of a cause are listed in the separate explanation of memory.
    causes.iter_mut().for_each(|cause| cause.parts.clear());
    let work = &key.subject;
    // One side has more cores but does not do more work.
    if speed.ln().abs() < MUCH && ratio.ln().abs() > MORE.ln() {
        // The disadvantages of the larger machine explain why it is not faster.
        sort_causes(&mut causes, 1.0 / ratio, true);
        let mut says = describe_no_more(pair, this, base, ratio);
        says.push(state_as_much(pair.this, work));
        let result = text!("{work}: no gain from more cores");
        let held_back = Some(HeldBack { work: work.clone(), says: says.clone() });
        let mut explanation =
            Explanation { result, speed, says, causes, held_back, ..Explanation::default() };
        let causes = &explanation.causes;
        explanation.says.push(words::list_limits(causes, usize::MAX, words::with_own_factor));
        explanation.says.push(words::list_opposing(causes, usize::MAX, words::with_own_factor));
        explanation.says.push(words::state_limits_rest(&explanation));
        return Some(OneSided { leads: ratio > 1.0, explanation });
    }
    let result = text!("comparison-result-all-cpus", "{work}, all CPUs");
    differs(speed).then(|| explain_faster(pair, result, Speed::new(speed, this, base), causes))
}

const NO_MORE: Template = Template::new(
    "comparison-no-more",
    "{big} is no faster than {small} ({figures}), although it has {cores} the cores.",
);
const NO_MORE_WITH_CLOCK: Template = Template::new(
    "comparison-no-more-with-clock",
    "{big} is no faster than {small} ({figures}), although it has {cores} the cores at {clock} the clock.",
);

/// An explanation from the perspective of the machine with more cores.
fn describe_no_more(pair: &Pair, this: &Datum, base: &Datum, ratio: f64) -> Text {
    let shown = |datum: &Datum| figure(datum.value, &datum.unit);
    let (this_shown, base_shown) = (shown(this), shown(base));
    let figures = match this_shown == base_shown {
        true => text!("same work"),
        false => against(this_shown, base_shown),
    };
    let cores = Value::Factor(ratio);
    let clock = memory::clock_cause(pair).map_or(1.0, |clock| clock.factor);
    let template = if clock > 1.0 { NO_MORE_WITH_CLOCK } else { NO_MORE };
    let (big, small, clock) = (&pair.this.name, &pair.base.name, Value::Factor(clock));
    text!(template, big, small, figures, cores, clock)
}

/// The smallest number of threads with the same throughput as the largest number.
fn state_as_much(known: &Known, work: &str) -> Text {
    let of_work = |m: &&Measurement| m.labels.word(Label::Workload) == Some(work) && m.value() > 0.0;
    let steps = known.record.measurements_of(metrics::WORKLOAD_THROUGHPUT).filter(of_work);
    let steps: Vec<_> = steps.filter_map(|m| Some((m.labels.count(Label::Threads)?, m.value()))).collect();
    let Some((most, all)) = steps.iter().max_by_key(|(threads, _)| *threads).copied() else {
        return Text::default();
    };
    let as_much = steps.iter().filter(|(threads, rate)| *threads < most && *rate >= all * (1.0 - MUCH));
    let Some(fewest) = as_much.map(|(threads, _)| *threads).min() else { return Text::default() };
    let name = &known.name;
    text!("On {name}, {fewest} threads are as fast as {most}.")
}
