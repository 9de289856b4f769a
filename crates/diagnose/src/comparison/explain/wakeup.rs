//! Explains wake-up latency: the part of a difference due to idle states and timer slack, and other possible causes.

use record::text::Value;
use record::{Better, Metric, Template, metrics, text};

use super::{OneSided, Pair, Speed, are_comparable, cause, claims, explain_by_factors, find_difference};
use crate::comparison::Known;
use crate::comparison::datum::Datum;
use crate::comparison::ratio::differs_from_1;
use crate::comparison::rows::{RowEntry, RowKey, find_wakeups};

/// The causes of wake-up delays that can be disabled.
pub(in crate::comparison) const IDLE_STATES: Template =
    Template::new("comparison-cause-idle-states", "idle states and timer slack");

/// Metrics in order of preference.
const METRICS: &[Metric] = &[metrics::WAKEUP_LATENCY, metrics::WAKEUP_AVERAGE];

/// The kind of wake-up latency to explain, measured on the untuned machine. Ordinary threads are preferred to real-time threads.
pub(super) fn find_shared_wakeup<'a>(pair: &Pair<'a>) -> Option<(&'a RowKey, &'a RowEntry)> {
    METRICS.iter().find_map(|metric| {
        let rows = pair.base.rows.iter().filter(|(key, entry)| {
            key.metric == *metric && entry.setting() != "tuned" && find_usable(pair.this, key).is_some()
        });
        rows.min_by_key(|(_, entry)| {
            (entry.policy() == "fifo", entry.setting() != "as-is", entry.policy() != "other")
        })
    })
}

/// Explains a kind of wake-up latency that both records have.
pub(super) fn explain_wakeup(pair: &Pair, (key, entry): (&RowKey, &RowEntry)) -> Option<OneSided> {
    let (base, this) = (find_usable(pair.base, key)?, find_usable(pair.this, key)?);
    let speed = find_difference(this, base, Better::Lower)?;
    let ns = |datum: &Datum| Value::Figure(datum.value, "ns");
    let held_off = find_tuned(pair.base, key, entry).zip(find_tuned(pair.this, key, entry));
    let idle =
        held_off.filter(|(base, this)| are_comparable(this, base)).and_then(|(base_tuned, this_tuned)| {
            // The cost of idle states and timer slack is the time saved by disabling them.
            let cost = this.over_another(this_tuned, 1.0, "");
            let base_cost = base.over_another(base_tuned, 1.0, "");
            differs_from_1(&base_cost, &cost).then_some(())?;
            let evidence = pair.evidence(this_tuned, base_tuned);
            let [this_then, this, base_then, base] = [this_tuned, this, base_tuned, base].map(ns);
            let says = text!(
                "with both off, {this_then} instead of {this}; on the other machine, {base_then} instead of {base}"
            );
            cause(IDLE_STATES, says, base_cost.value / cost.value, evidence)
        });
    let judged = [
        claims::judge_caches(pair),
        claims::judge_cpus(pair),
        claims::judge_clock(pair),
        claims::judge_own_load(pair, speed),
        claims::judge_neighbours(pair, speed),
        claims::judge_hypervisor(pair),
    ];
    let figures = text!("Latency: {this} compared with {base}.", this = ns(this), base = ns(base));
    let claims = judged.into_iter().flatten().collect();
    Some(explain_by_factors(
        pair,
        key.name.clone().into(),
        Speed::new(speed, this, base),
        figures,
        [idle],
        claims,
    ))
}

/// The wake-up latency with idle states and timer slack disabled.
fn find_tuned<'a>(known: &'a Known, key: &RowKey, entry: &RowEntry) -> Option<&'a Datum> {
    find_wakeups(&known.rows, key.metric, entry.policy(), "tuned")
        .filter(|datum| entry.setting() == "as-is" && datum.unfit.is_none())
}

fn find_usable<'a>(known: &'a Known, key: &RowKey) -> Option<&'a Datum> {
    known.rows.get(key).map(|entry| &entry.datum).filter(|datum| datum.unfit.is_none())
}
