//! Possible reasons for a speed difference between this machine and the baseline, and whether the results support them.

use record::comparison::{Claim, Support};
use record::difference::MUCH;
use record::text::Value;
use record::{Label, Measurement, Record, Template, Text, detail, metrics, text};

use super::{Pair, find_best_clock};
use crate::comparison::Known;
use crate::comparison::datum::Datum;
use crate::comparison::nodes::last_level_cache;
use crate::cpu_accounting::used_by_others;

/// Smaller differences in steal time (as a share) are insignificant.
const STOLEN: f64 = 0.001;
/// Smaller differences in other processes' share of all CPU time are insignificant.
const USED: f64 = 0.02;
/// A difference in lost time counts as a cause if it explains at least this share of the slower machine's loss.
const WORTH: f64 = 0.1;

/// Builds a claim with its verdict.
pub(super) fn build_claim(claim: Text, support: Support, why: Text) -> Claim {
    let code = claim.code().unwrap_or_default().to_owned();
    Claim { claim, code, support, why }
}

/// Judges the claim that the faster machine is faster because it has more of some resource.
fn judge_more(claim: Text, slow: f64, fast: f64, figures: Text) -> Option<Claim> {
    if !(slow > 0.0 && fast > 0.0) || slow == fast {
        return None;
    }
    // A similar amount does not contradict the claim.
    Some(if (fast / slow).ln().abs() <= MUCH {
        build_claim(claim, Support::NotSupported, text!("{figures}: no difference"))
    } else if slow > fast {
        let why = text!("the slower machine has more: {figures}");
        build_claim(claim, Support::Contradicted, why)
    } else {
        let why = text!("the slower machine has less ({figures}); the effect was not measured");
        build_claim(claim, Support::NotSupported, why)
    })
}

/// Describes one result from each side.
fn state_figures(pair: &Pair, fast: impl Into<Value>, slow: impl Into<Value>) -> Text {
    text!(
        "{slow} on {slow_name}, {fast} on {fast_name}",
        slow = slow.into(),
        slow_name = &pair.base.name,
        fast = fast.into(),
        fast_name = &pair.this.name
    )
}

/// Judges larger caches as the cause.
pub(super) fn judge_caches(pair: &Pair) -> Option<Claim> {
    let ((level, fast), (slow_level, slow)) =
        (last_level_cache(&pair.this.record.machine), last_level_cache(&pair.base.record.machine));
    let sizes = state_figures(pair, Value::Bytes(fast), Value::Bytes(slow));
    let figures = text!("L{level} {sizes}");
    let claim = text!("comparison-claim-caches", "the caches");
    let judged =
        (level == slow_level).then(|| judge_more(claim, slow as f64, fast as f64, figures)).flatten()?;
    let guests = [pair.base, pair.this].into_iter().filter(|side| side.record.machine.has_hosts_cache(level));
    let guests: Vec<Text> = guests.map(|side| Text::from(side.name.as_str())).collect();
    Some(match guests.is_empty() {
        true => judged,
        false => Claim {
            why: text!(
                "comparison-hosts-cache",
                "{why}; the L{level} cache of {guests} belongs to the host and is shared with other guests",
                why = judged.why
            ),
            ..judged
        },
    })
}

/// Judges more CPUs as the cause.
pub(super) fn judge_cpus(pair: &Pair) -> Option<Claim> {
    let count = |record: &Record| record.machine.counts.cpus_online.unwrap_or(0);
    let (fast, slow) = (count(pair.this.record), count(pair.base.record));
    let claim = text!("comparison-claim-cpus", "the number of CPUs");
    judge_more(claim, slow.into(), fast.into(), state_figures(pair, fast, slow))
}

/// Judges a higher clock as the cause.
pub(super) fn judge_clock(pair: &Pair) -> Option<Claim> {
    let (fast, slow) = (find_best_clock(pair.this)?.datum.value, find_best_clock(pair.base)?.datum.value);
    let figures = state_figures(pair, Value::Figure(fast, "Hz"), Value::Figure(slow, "Hz"));
    let claim = text!("comparison-claim-clock", "the core clock");
    judge_more(claim, slow, fast, figures)
}

/// The one-minute load average: before the run, or as printed by another tool with its results.
pub(crate) fn load_average(record: &Record) -> Option<f64> {
    let beside = || {
        let text =
            record.measurements_of(metrics::WAKEUP_AVERAGE).find_map(|m| m.detail.get(detail::LOADAVG))?;
        text.split_whitespace().next()?.parse().ok().filter(|load: &f64| load.is_finite() && *load >= 0.0)
    };
    record.conditions.before.load.map(|load| load[0]).or_else(beside)
}

/// Judges other work on the machine itself as the cause of a result that is `speed` times as fast, if such work was measured during both
/// runs. If it was measured during neither run, the load average from before the run is used instead.
pub(super) fn judge_own_load(pair: &Pair, speed: f64) -> Option<Claim> {
    let claim = text!("comparison-claim-own-load", "local load");
    match (used_by_others(pair.base.record), used_by_others(pair.this.record)) {
        (Some(slow), Some(fast)) => {
            let of_all = |used: f64, side: &Known| {
                used / f64::from(side.record.machine.counts.cpus_online.unwrap_or(1).max(1))
            };
            let cpus = |used: f64| text!("{used} CPUs", used = format!("{used:.1}"));
            let used = state_figures(pair, cpus(fast), cpus(slow));
            let used = text!("comparison-own-load-used", "other processes used {used} during the run");
            let more = of_all(slow, pair.base) - of_all(fast, pair.this);
            let (support, why) = judge_taken(more, USED, 1.0 - 1.0 / speed, used);
            Some(build_claim(claim, support, why))
        }
        (None, None) => judge_load_averages(pair, claim),
        _ => None,
    }
}

fn judge_load_averages(pair: &Pair, claim: Text) -> Option<Claim> {
    let (fast, slow) = (load_average(pair.this.record)?, load_average(pair.base.record)?);
    let averages = state_figures(pair, format!("{fast:.2}"), format!("{slow:.2}"));
    let (support, why) = if slow < fast {
        (Support::Contradicted, text!("load average lower on the slower machine: {averages}"))
    } else {
        (Support::NotSupported, text!("load average {averages}; the effect was not measured"))
    };
    Some(build_claim(claim, support, why))
}

/// Steal time of both machines: the hypervisor's accounting for the whole run, as in the list of differences, or otherwise the time
/// measured in the guest.
fn steal_shares(pair: &Pair) -> [Option<f64>; 2] {
    let accounted = |side: &Known| side.record.conditions.after.as_ref().and_then(|after| after.steal_share);
    let both = [pair.base, pair.this].map(accounted);
    if let [Some(base), Some(this)] = both
        && base + this > 0.0
    {
        return both;
    }
    [pair.base, pair.this].map(|side| {
        let all = side.record.measurements_of(metrics::STOLEN_SHARE);
        let below: Vec<&Measurement> = all.filter(|m| m.labels.word(Label::Cause) == Some("below")).collect();
        Datum::mean_of(&below).map(|mean| mean.value).or_else(|| accounted(side))
    })
}

/// The claim that other guests on the same host use CPU time.
pub(crate) const NEIGHBOURS: Template = Template::new("comparison-claim-neighbours", "neighbors on the host");

/// Judges other guests on the same host as the cause of a result that is `speed` times as fast on one side.
pub(super) fn judge_neighbours(pair: &Pair, speed: f64) -> Option<Claim> {
    if !pair.base.record.machine.is_virtual() && !pair.this.record.machine.is_virtual() {
        return None;
    }
    let (support, why) = match steal_shares(pair) {
        [Some(slow), Some(fast)] => {
            // Two digits, as in the list of changes.
            let [fast_share, slow_share] =
                [fast, slow].map(|share| Value::Rounded(Box::new(Value::Share(share)), 2));
            let shares = state_figures(pair, fast_share, slow_share);
            let shares = text!("steal time {shares}");
            judge_taken(slow - fast, STOLEN, 1.0 - 1.0 / speed, shares)
        }
        [slow, fast] => {
            let sides = [(slow, pair.base), (fast, pair.this)];
            let missing: Vec<Text> = sides
                .iter()
                .filter(|(share, _)| share.is_none())
                .map(|(_, side)| Text::from(side.name.as_str()))
                .collect();
            let why = text!("comparison-no-steal-time", "steal time was not measured on {missing}");
            (Support::NotSupported, why)
        }
    };
    Some(build_claim(text!(NEIGHBOURS), support, why))
}

/// Judges whether additional lost time on the slower machine explains its loss; a difference below `least` is
/// insignificant.
fn judge_taken(more: f64, least: f64, loss: f64, taken: Text) -> (Support, Text) {
    if more.abs() <= least {
        return (Support::NotSupported, text!("comparison-as-much-taken", "{taken}: no difference"));
    }
    if (0.0..WORTH * loss).contains(&more) {
        let loss = Value::Share(loss);
        let why = text!("comparison-little-taken", "{taken}: too little to explain a loss of {loss}");
        return (Support::NotSupported, why);
    }
    (if more > 0.0 { Support::Supported } else { Support::Contradicted }, taken)
}

/// Judges another hypervisor as the cause.
pub(super) fn judge_hypervisor(pair: &Pair) -> Option<Claim> {
    let name = |record: &Record| record.machine.virtualization.hypervisor.clone();
    let (slow, fast) = (name(pair.base.record)?, name(pair.this.record)?);
    (slow != fast).then(|| {
        let names = state_figures(pair, fast, slow);
        let why = text!("{names}; the effect was not measured");
        build_claim(text!("the hypervisor"), Support::NotSupported, why)
    })
}
