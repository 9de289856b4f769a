//! Wake-up latency: how much of its difference idle states and timer slack make, and what else might be held for it.

use record::Better;
use record::comparison::{Claim, Explanation};
use record::text::Value;
use record::{Template, text};

use super::{Maker, Pair, adding_up, claims, comparable, differs, evidence, resolved, standing};
use crate::comparison::Known;
use crate::comparison::datum::Datum;
use crate::comparison::order::wakeup_of;
use crate::comparison::ratio::of_medians_differs_from_1;
use crate::comparison::rows::{RowEntry, RowKey, find_wakeups};

/// What delays wake-ups and can be disabled.
pub(in crate::comparison) const IDLE_STATES: Template =
    Template { code: "comparison-cause-idle-states", words: "idle states and timer slack" };

/// Metrics in the order in which they are preferred.
const METRICS: &[&str] = &["wakeup.latency", "wakeup.average"];

/// A kind of wake-up latency that both have, as it is and not tuned: ordinary tasks before real-time ones.
fn shared<'a>(pair: &Pair<'a>) -> Option<(&'a RowKey, &'a RowEntry)> {
    METRICS.iter().find_map(|metric| {
        let rows =
            pair.base.rows.iter().filter(|(key, entry)| key.metric == *metric && entry.setting() != "tuned");
        let both = rows.filter(|(key, _)| usable(pair.this, key).is_some());
        both.min_by_key(|(key, entry)| (entry.policy() == "fifo", key.what.len()))
    })
}

/// The first kind of wake-up latency that both have, explained.
pub(super) fn explanation(pair: &Pair) -> Option<Explanation> {
    let (key, entry) = shared(pair)?;
    let (base, this) = (usable(pair.base, key)?, usable(pair.this, key)?);
    if !comparable(this, base) || !resolved(this, base, Better::Lower) {
        return None;
    }
    let speed = base.value / this.value;
    differs(speed).then(|| pair.seen_from_leader(speed >= 1.0, |pair| faster(pair, key, entry))).flatten()
}

/// The same from the side of the faster one.
fn faster(pair: &Pair, key: &RowKey, entry: &RowEntry) -> Option<Explanation> {
    let (base, this) = (usable(pair.base, key)?, usable(pair.this, key)?);
    let speed = base.value / this.value;
    let (base_tuned, this_tuned) = (tuned(pair.base, key, entry), tuned(pair.this, key, entry));
    let held_off = base_tuned.zip(this_tuned);
    let idle = held_off.filter(|(base, this)| comparable(this, base)).and_then(|(base_tuned, this_tuned)| {
        // What holding them off takes away is what they cost.
        let (cost, base_cost) = (this.value / this_tuned.value, base.value / base_tuned.value);
        if !of_medians_differs_from_1(base_cost / cost, &[this, this_tuned, base, base_tuned]) {
            return None;
        }
        Maker {
            name: text!(IDLE_STATES),
            says: text!(
                "comparison-idle-states-disabled",
                "disabled, {this_then} instead of {this}, against {base_then} instead of {base}",
                this_then = ns(this_tuned),
                this = ns(this),
                base_then = ns(base_tuned),
                base = ns(base)
            ),
            factor: base_cost / cost,
            measured: true,
            evidence: vec![evidence(pair.base_name, base_tuned), evidence(pair.this_name, this_tuned)],
            parts: Vec::new(),
        }
        .make()
    });
    let mut judged: Vec<Claim> = claims::caches(pair, speed);
    judged.extend(claims::cpus(pair, speed));
    judged.extend(claims::clock(pair, speed));
    judged.extend(claims::own_load(pair, speed));
    judged.extend(claims::neighbours(pair, speed));
    judged.extend(claims::hypervisor(pair));
    let result = wakeup_of(&entry.name);
    let mut said = standing(pair, &result, speed);
    said.push(text!(
        "comparison-wakeup-figures",
        "Latency: {this} against {base}.",
        this = ns(this),
        base = ns(base)
    ));
    Some(adding_up(pair, result, speed, said, vec![idle], judged))
}

fn ns(datum: &Datum) -> Value {
    Value::Figure(datum.value, "ns")
}

/// The same with idle states and timer slack out of the way.
fn tuned<'a>(known: &'a Known, key: &RowKey, entry: &RowEntry) -> Option<&'a Datum> {
    find_wakeups(&known.rows, &key.metric, entry.policy(), "tuned")
        .filter(|datum| entry.setting() == "as-is" && datum.unfit.is_none())
}

fn usable<'a>(known: &'a Known, key: &RowKey) -> Option<&'a Datum> {
    known.rows.get(key).map(|entry| &entry.datum).filter(|datum| datum.unfit.is_none())
}
