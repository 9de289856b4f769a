//! Wake-up latency: how much of its difference idle states and timer slack make, and what else might be held for it.

use record::Better;
use record::comparison::{Claim, Explanation};
use record::units::figure;

use super::{Maker, Pair, adding_up, claims, comparable, differs, evidence, resolved, standing};
use crate::comparison::Known;
use crate::comparison::datum::Datum;
use crate::comparison::ratio::of_medians_is_told_from_1;

/// Kinds of figures in the order in which they are preferred, with what their rows begin with.
const KINDS: &[(&str, &str)] = &[("wakeup.latency", "median"), ("wakeup.average", "average")];

/// A kind of wake-up latency that both have, as it is and not tuned: ordinary tasks before real-time ones.
fn shared(pair: &Pair) -> Option<(&'static str, String)> {
    KINDS.iter().find_map(|(metric, kind)| {
        let rows = pair.base.rows.keys().filter(|key| key.metric == *metric && key.what.starts_with(kind));
        let untuned = rows.filter(|key| !key.what.contains("tuned"));
        let both = untuned.filter(|key| row(pair.this, metric, &key.what).is_some());
        let best = both.min_by_key(|key| (key.what.contains("fifo"), key.what.len()))?;
        Some((*metric, best.what.clone()))
    })
}

/// The first kind of wake-up latency that both have, explained.
pub fn explanation(pair: &Pair) -> Option<Explanation> {
    let (metric, what) = shared(pair)?;
    let tuned = format!("{what}, tuned");
    let (base, this) = (row(pair.base, metric, &what)?, row(pair.this, metric, &what)?);
    if !comparable(this, base) || !resolved(this, base, Better::Lower) {
        return None;
    }
    let speed = base.value / this.value;
    if !differs(speed) {
        return None;
    }
    let held_off = row(pair.base, metric, &tuned).zip(row(pair.this, metric, &tuned));
    let idle = held_off.filter(|(base, this)| comparable(this, base)).and_then(|(base_tuned, this_tuned)| {
        // What holding them off takes away is what they cost.
        let (cost, base_cost) = (this.value / this_tuned.value, base.value / base_tuned.value);
        if !of_medians_is_told_from_1(base_cost / cost, &[this, this_tuned, base, base_tuned]) {
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

fn row<'a>(known: &'a Known, metric: &str, what: &str) -> Option<&'a Datum> {
    let found = known.rows.iter().find(|(key, _)| key.metric == metric && key.what == what);
    found.map(|(_, entry)| &entry.datum).filter(|datum| datum.unfit.is_none())
}
