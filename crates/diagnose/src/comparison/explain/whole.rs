//! Results of whole machines of which no single thread was measured: cores and clock are what one sees of such a machine,
//! memory is what holds it back.

use record::comparison::{Cause, Explanation, HeldBack};
use record::units::{figure, significant};

use super::{Maker, Pair, cite_fact, comparable, differs, memory, sort, standing};
use crate::comparison::datum::Datum;
use crate::comparison::rows::{Group, RowKey, RowKind};

/// From this ratio on more cores ought to do more.
const MORE: f64 = 1.2;
/// Results that differ by less than this are alike.
const ALIKE: f64 = 0.05;

/// Explanations of results of all CPUs without those of one thread.
pub(super) fn explanations(pair: &Pair) -> Vec<Explanation> {
    let rows = pair.base.rows.iter().filter(|(key, _)| {
        key.group == Group::Workloads && key.metric == "workload.throughput" && key.kind == RowKind::AllCpus
    });
    let mut all = Vec::new();
    for (key, base) in rows {
        let Some(this) = pair.this.rows.get(key) else { continue };
        let alone = |rows: &crate::comparison::rows::Rows| {
            let one = |other: &RowKey| other.kind == RowKind::OneThread && other.subject == key.subject;
            rows.keys().any(|other| other.metric == key.metric && one(other))
        };
        if alone(&pair.base.rows) && alone(&pair.this.rows) || !comparable(&this.datum, &base.datum) {
            continue;
        }
        all.extend(explanation(pair, &key.subject, &this.datum, &base.datum));
    }
    all
}

fn explanation(pair: &Pair, name: &str, this: &Datum, base: &Datum) -> Option<Explanation> {
    let speed = this.value / base.value;
    let cores = cores(pair);
    let ratio = cores.as_ref().map_or(1.0, |cause| cause.factor);
    // More cores that do no more, on whichever side they are.
    let sides = if ratio > 1.0 { (pair.this_name, pair.base_name) } else { (pair.base_name, pair.this_name) };
    let held_back = (speed.ln().abs() < ALIKE && ratio.ln().abs() > MORE.ln()).then_some(sides);
    if held_back.is_none() && !differs(speed) {
        return None;
    }
    let clock = memory::clock_cause(pair);
    let mut causes: Vec<Cause> = [
        memory::reach_cause(pair).or_else(|| memory::level_cause(pair)),
        memory::devices_cause(pair),
        cores.clone(),
        clock.clone(),
    ]
    .into_iter()
    .flatten()
    .collect();
    // The parts stand with what memory does by itself.
    causes.iter_mut().for_each(|cause| cause.parts.clear());
    let Some((big, small)) = held_back else {
        sort(&mut causes, speed, true);
        let says = standing(pair, &format!("{name}, all CPUs"), speed);
        let mut reported = build_explanation(pair, format!("{name}, all CPUs"), speed, says, causes);
        reported.says.push(super::words::factors(&reported).trim_start());
        return Some(reported);
    };
    // What speaks against the bigger one explains it.
    sort(&mut causes, 1.0 / ratio, true);
    let oriented = |factor: f64| if ratio > 1.0 { factor } else { 1.0 / factor };
    let mut with = format!("{} times the cores", significant(oriented(ratio)));
    if let Some(clock) = clock.filter(|clock| oriented(clock.factor) > 1.0) {
        with.push_str(&format!(" at {} times the clock", significant(oriented(clock.factor))));
    }
    let mut says = format!(
        "{big} does no more than {small} ({} against {}) with {with}.",
        figure(this.value, &this.unit),
        figure(base.value, &base.unit)
    );
    let held_back = HeldBack { work: name.to_owned(), says: says.clone().into() };
    says.push_str(&super::words::held_back(&causes));
    let result = format!("{name}, no more with more cores");
    Some(Explanation { held_back: Some(held_back), ..build_explanation(pair, result, speed, says, causes) })
}

fn build_explanation(
    pair: &Pair,
    result: String,
    speed: f64,
    says: String,
    causes: Vec<Cause>,
) -> Explanation {
    Explanation {
        result: result.into(),
        subject: pair.index,
        speed,
        says: says.into(),
        // What a program makes of cores and of memory is not known without steps between one thread and all.
        adds_up: false,
        causes,
        unexplained: None,
        held_back: None,
        claims: Vec::new(),
    }
}

fn cores(pair: &Pair) -> Option<Cause> {
    let count = |known: &crate::comparison::Known| {
        let counts = &known.record.machine.counts;
        counts.cores.or(counts.cpus_online).filter(|cores| *cores > 0)
    };
    let (base, this) = (count(pair.base)?, count(pair.this)?);
    Maker {
        name: "number of cores",
        says: format!("{this} against {base}"),
        factor: f64::from(this) / f64::from(base),
        measured: false,
        evidence: vec![
            cite_fact(format!("{}: {base} cores", pair.base_name), "machine.counts.cores"),
            cite_fact(format!("{}: {this} cores", pair.this_name), "machine.counts.cores"),
        ],
        parts: Vec::new(),
    }
    .make()
}
