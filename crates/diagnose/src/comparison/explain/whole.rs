//! Results of whole machines of which no single thread was measured: cores and clock are what one sees of such a machine,
//! memory is what holds it back.

use record::comparison::{Cause, Explanation, HeldBack};
use record::text::Value;
use record::units::figure;
use record::{Text, text};

use super::{CORES, Maker, Pair, against, cite, comparable, differs, memory, sort, standing, words};
use crate::comparison::Known;
use crate::comparison::datum::Datum;
use crate::comparison::rows::{Group, RowKey, RowKind, Rows};

/// From this ratio on more cores ought to do more.
const MORE: f64 = 1.2;
/// Results that differ by less than this are alike.
const ALIKE: f64 = 0.05;

/// Explanations of results of all CPUs without those of one thread.
pub(super) fn explanations(pair: &Pair) -> Vec<Explanation> {
    let rows = pair.base.rows.keys().filter(|key| {
        key.group == Group::Workloads && key.metric == "workload.throughput" && key.kind == RowKind::AllCpus
    });
    rows.filter_map(|key| explanation(pair, key)).collect()
}

fn explanation(pair: &Pair, key: &RowKey) -> Option<Explanation> {
    let (this, base) = figures(pair, key)?;
    let alone = |rows: &Rows| {
        let one = |other: &RowKey| other.kind == RowKind::OneThread && other.subject == key.subject;
        rows.keys().any(|other| other.metric == key.metric && one(other))
    };
    if alone(&pair.base.rows) && alone(&pair.this.rows) || !comparable(this, base) {
        return None;
    }
    let speed = this.value / base.value;
    let ratio = cores(pair).map_or(1.0, |cause| cause.factor);
    // More cores that do no more, on whichever side they are.
    if speed.ln().abs() < ALIKE && ratio.ln().abs() > MORE.ln() {
        return pair.seen_from_leader(ratio > 1.0, |pair| more_cores_do_no_more(pair, key));
    }
    differs(speed).then(|| pair.seen_from_leader(speed >= 1.0, |pair| faster(pair, key))).flatten()
}

/// This one's figure and the baseline's.
fn figures<'a>(pair: &'a Pair, key: &RowKey) -> Option<(&'a Datum, &'a Datum)> {
    Some((&pair.this.rows.get(key)?.datum, &pair.base.rows.get(key)?.datum))
}

/// What could make one faster, without what it consists of: that stands with what memory does by itself.
fn causes(pair: &Pair) -> Vec<Cause> {
    let memory = memory::reach_cause(pair).or_else(|| memory::level_cause(pair));
    let all = [memory, memory::devices_cause(pair), cores(pair), memory::clock_cause(pair)];
    let mut causes: Vec<Cause> = all.into_iter().flatten().collect();
    causes.iter_mut().for_each(|cause| cause.parts.clear());
    causes
}

/// From the side of the faster one.
fn faster(pair: &Pair, key: &RowKey) -> Option<Explanation> {
    let (this, base) = figures(pair, key)?;
    let speed = this.value / base.value;
    let mut causes = causes(pair);
    sort(&mut causes, speed, true);
    let result = text!("comparison-result-all-cpus", "{work}, all CPUs", work = &key.subject);
    let says = standing(pair, &result, speed);
    let mut reported = build_explanation(pair, result, speed, says, causes);
    reported.says.push(words::with_factors(&reported));
    Some(reported)
}

/// From the side of the one with more cores.
fn more_cores_do_no_more(pair: &Pair, key: &RowKey) -> Option<Explanation> {
    let (this, base) = figures(pair, key)?;
    let ratio = cores(pair)?.factor;
    let mut causes = causes(pair);
    // What speaks against the bigger one explains it.
    sort(&mut causes, 1.0 / ratio, true);
    let shown = |datum: &Datum| figure(datum.value, &datum.unit);
    let (big, small) = (pair.this_name.to_owned(), pair.base_name.to_owned());
    let (figures, cores) = (against(shown(this), shown(base)), Value::Factor(ratio));
    let says = match memory::clock_cause(pair).filter(|clock| clock.factor > 1.0) {
        Some(clock) => text!(
            "comparison-no-more-with-clock",
            "{big} does no more than {small} ({figures}) with {cores} the cores at {clock} the clock.",
            big,
            small,
            figures,
            cores,
            clock = Value::Factor(clock.factor)
        ),
        None => text!(
            "comparison-no-more",
            "{big} does no more than {small} ({figures}) with {cores} the cores.",
            big,
            small,
            figures,
            cores
        ),
    };
    let held_back = HeldBack { work: key.subject.clone(), says: says.clone() };
    let result = text!("comparison-result-no-more", "{work}, no gain from more cores", work = &key.subject);
    let speed = this.value / base.value;
    let mut reported = build_explanation(pair, result, speed, says, causes);
    reported.held_back = Some(held_back);
    reported.says.push(words::held_back(&reported.causes, usize::MAX, words::with_own_factor));
    reported.says.push(words::opposing(&reported.causes, usize::MAX, words::with_own_factor));
    Some(reported)
}

fn build_explanation(pair: &Pair, result: Text, speed: f64, says: Text, causes: Vec<Cause>) -> Explanation {
    Explanation {
        result,
        subject: pair.index,
        speed,
        says,
        // What a program makes of cores and of memory is not known without steps between one thread and all.
        adds_up: false,
        causes,
        unexplained: None,
        held_back: None,
        claims: Vec::new(),
    }
}

fn cores(pair: &Pair) -> Option<Cause> {
    let count = |known: &Known| {
        let counts = &known.record.machine.counts;
        counts.cores.or(counts.cpus_online).filter(|cores| *cores > 0)
    };
    let (base, this) = (count(pair.base)?, count(pair.this)?);
    Maker {
        name: text!(CORES),
        says: against(this, base),
        factor: f64::from(this) / f64::from(base),
        measured: false,
        evidence: vec![
            cite(
                pair.base_name,
                text!("comparison-cores", "{cores} cores", cores = base),
                "machine.counts.cores",
            ),
            cite(
                pair.this_name,
                text!("comparison-cores", "{cores} cores", cores = this),
                "machine.counts.cores",
            ),
        ],
        parts: Vec::new(),
    }
    .make()
}
