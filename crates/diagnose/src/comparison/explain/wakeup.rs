//! Wake-up latency: how much of its difference idle states and timer slack make, and what else might be held for it.

use record::Better;
use record::comparison::{Claim, Explanation};
use record::units::figure;

use super::{Maker, Pair, adding_up, claims, comparable, differs, evidence, resolved, standing};
use crate::comparison::Known;
use crate::comparison::datum::Datum;
use crate::comparison::ratio::of_medians_differs_from_1;
use crate::comparison::rows::{RowEntry, RowKey, find_wakeups};

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
pub(super) fn explanation<'a>(pair: &Pair<'a>) -> Option<Explanation> {
    let (key, entry) = shared(pair)?;
    let what = &key.what;
    let (base, this) = (usable(pair.base, key)?, usable(pair.this, key)?);
    if !comparable(this, base) || !resolved(this, base, Better::Lower) {
        return None;
    }
    let speed = base.value / this.value;
    if !differs(speed) {
        return None;
    }
    let tuned = |known: &'a Known| {
        let of = find_wakeups(&known.rows, &key.metric, entry.policy(), "tuned")
            .filter(|_| entry.setting() == "as-is");
        of.filter(|datum| datum.unfit.is_none())
    };
    let held_off = tuned(pair.base).zip(tuned(pair.this));
    let idle = held_off.filter(|(base, this)| comparable(this, base)).and_then(|(base_tuned, this_tuned)| {
        // What holding them off takes away is what they cost.
        let (cost, base_cost) = (this.value / this_tuned.value, base.value / base_tuned.value);
        if !of_medians_differs_from_1(base_cost / cost, &[this, this_tuned, base, base_tuned]) {
            return None;
        }
        Maker {
            name: "idle states and timer slack",
            says: format!(
                "held off, {} instead of {}, against {} instead of {}",
                figure(this_tuned.value, "ns"),
                figure(this.value, "ns"),
                figure(base_tuned.value, "ns"),
                figure(base.value, "ns")
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
    let result = format!("wake-up, {what}");
    let said = format!(
        "{} ({} against {})",
        standing(pair, &format!("Wake-up latency, {what}"), speed).trim_end_matches('.'),
        figure(this.value, "ns"),
        figure(base.value, "ns")
    );
    Some(adding_up(pair, &result, speed, said + ".", vec![idle], judged))
}

fn usable<'a>(known: &'a Known, key: &RowKey) -> Option<&'a Datum> {
    known.rows.get(key).map(|entry| &entry.datum).filter(|datum| datum.unfit.is_none())
}
