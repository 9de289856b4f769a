//! What one might hold for the reason, and whether the figures carry it.

use record::Label;
use record::comparison::{Claim, Support};
use record::detail;
use record::text::Value;
use record::{Machine, Record, Template, Text, text};

use super::{Pair, clock as clocks};

/// Shares of stolen time that differ by less than this say nothing.
const STOLEN: f64 = 0.001;
/// The least part of what the slower one loses that a difference in stolen time must be to be held for its reason.
const WORTH: f64 = 0.1;

/// The slower one's name and record, then the faster one's.
fn sides<'a>(pair: &'a Pair, speed: f64) -> ((&'a str, &'a Record), (&'a str, &'a Record)) {
    let this = (pair.this_name, pair.this.record);
    let base = (pair.base_name, pair.base.record);
    if speed < 1.0 { (this, base) } else { (base, this) }
}

/// A claim and how the figures judge it.
pub(super) fn judged(claim: Text, support: Support, why: Text) -> Claim {
    let code = claim.code().unwrap_or_default().to_owned();
    Claim { claim, code, support, why }
}

/// A claim that more of something makes faster.
fn more_is_faster(claim: Text, slow: f64, fast: f64, figures: Text) -> Option<Claim> {
    if !(slow > 0.0 && fast > 0.0) || slow == fast {
        return None;
    }
    Some(if slow > fast {
        let why = text!("comparison-slower-has-more", "the slower one has more: {figures}", figures);
        judged(claim, Support::Contradicted, why)
    } else {
        let why = text!(
            "comparison-slower-has-less",
            "the slower one has less ({figures}); the effect was not measured",
            figures
        );
        judged(claim, Support::NotSupported, why)
    })
}

/// A figure of each side.
fn figures(slow: impl Into<Value>, slow_name: &str, fast: impl Into<Value>, fast_name: &str) -> Text {
    let (slow_name, fast_name) = (slow_name.to_owned(), fast_name.to_owned());
    text!(
        "comparison-claim-figures",
        "{slow} on {slow_name}, {fast} on {fast_name}",
        slow = slow.into(),
        slow_name,
        fast = fast.into(),
        fast_name
    )
}

fn last_level(machine: &Machine) -> (u32, u64) {
    let level = machine.last_level();
    // Each cache of a level once; a virtual machine may list one for each CPU.
    (level, machine.data_caches(level).filter_map(|cache| cache.bytes).max().unwrap_or(0))
}

/// Bigger caches.
pub(super) fn caches(pair: &Pair, speed: f64) -> Vec<Claim> {
    let ((slow_name, slow), (fast_name, fast)) = sides(pair, speed);
    let ((slow_level, slow_bytes), (fast_level, fast_bytes)) =
        (last_level(&slow.machine), last_level(&fast.machine));
    if slow_level != fast_level {
        return Vec::new();
    }
    let sizes = figures(Value::Bytes(slow_bytes), slow_name, Value::Bytes(fast_bytes), fast_name);
    let figures = text!("comparison-claim-cache-sizes", "L{level} {sizes}", level = slow_level, sizes);
    let claim = text!("comparison-claim-caches", "the caches");
    more_is_faster(claim, slow_bytes as f64, fast_bytes as f64, figures).into_iter().collect()
}

/// More CPUs.
pub(super) fn cpus(pair: &Pair, speed: f64) -> Option<Claim> {
    let ((slow_name, slow), (fast_name, fast)) = sides(pair, speed);
    let count = |record: &Record| record.machine.counts.cpus_online.unwrap_or(0);
    let (slow, fast) = (count(slow), count(fast));
    let claim = text!("comparison-claim-cpus", "the number of CPUs");
    more_is_faster(claim, slow.into(), fast.into(), figures(slow, slow_name, fast, fast_name))
}

/// A higher clock.
pub(super) fn clock(pair: &Pair, speed: f64) -> Option<Claim> {
    let (this, base) = (clocks::best(pair.this)?.datum.value, clocks::best(pair.base)?.datum.value);
    let (slow, fast) = if speed < 1.0 { (this, base) } else { (base, this) };
    let ((slow_name, _), (fast_name, _)) = sides(pair, speed);
    let figures = figures(Value::Figure(slow, "Hz"), slow_name, Value::Figure(fast, "Hz"), fast_name);
    more_is_faster(text!("comparison-claim-clock", "the core clock"), slow, fast, figures)
}

/// The load average of the last minute: before the run, or as another tool printed it beside its figures.
pub(crate) fn load(record: &Record) -> Option<f64> {
    let beside = || {
        let text = record.measurements_of("wakeup.average").find_map(|m| m.detail.get(detail::LOADAVG))?;
        text.split_whitespace().next()?.parse().ok().filter(|load: &f64| load.is_finite() && *load >= 0.0)
    };
    record.conditions.before.load.map(|load| load[0]).or_else(beside)
}

/// What ran on the machine itself.
pub(super) fn own_load(pair: &Pair, speed: f64) -> Option<Claim> {
    let ((slow_name, slow), (fast_name, fast)) = sides(pair, speed);
    let (slow_load, fast_load) = (load(slow)?, load(fast)?);
    let averages = figures(format!("{slow_load:.2}"), slow_name, format!("{fast_load:.2}"), fast_name);
    let claim = text!("comparison-claim-own-load", "its own load");
    Some(if slow_load < fast_load {
        let why = text!(
            "comparison-slower-has-less-load",
            "load average lower on the slower one: {averages}",
            averages
        );
        judged(claim, Support::Contradicted, why)
    } else {
        let why = text!(
            "comparison-load-without-effect",
            "load average {averages}; the effect was not measured",
            averages
        );
        judged(claim, Support::NotSupported, why)
    })
}

/// Steal time: measured from inside, or as the hypervisor accounts it.
fn stolen(record: &Record) -> Option<f64> {
    let below =
        record.measurements_of("stolen.share").filter(|m| m.labels.word(Label::Cause) == Some("below"));
    let below = crate::figures::median(below.map(|m| m.value()));
    below.or_else(|| record.conditions.after.as_ref().and_then(|after| after.steal_share))
}

/// The claim that other guests of the same host take time.
pub(crate) const NEIGHBOURS: Template =
    Template { code: "comparison-claim-neighbours", words: "neighbours on the host" };

/// Other guests of the same host.
pub(super) fn neighbours(pair: &Pair, speed: f64) -> Option<Claim> {
    let ((slow_name, slow), (fast_name, fast)) = sides(pair, speed);
    let guest = |record: &Record| {
        record.machine.virtualization.hypervisor.as_deref().is_some_and(|name| name != "none")
    };
    if !guest(slow) && !guest(fast) {
        return None;
    }
    let (of_slow, of_fast) = (stolen(slow), stolen(fast));
    let (support, why) = match (of_slow, of_fast) {
        (Some(of_slow), Some(of_fast)) => {
            let shares = figures(Value::Share(of_slow), slow_name, Value::Share(of_fast), fast_name);
            let loss = 1.0 - speed.min(1.0 / speed);
            let steal = |shares| text!("comparison-steal-time", "steal time {shares}", shares);
            if of_slow > of_fast + STOLEN && of_slow - of_fast < WORTH * loss {
                let why = text!(
                    "comparison-little-steal-time",
                    "steal time {shares}: too little for a loss of {loss}",
                    shares,
                    loss = Value::Share(loss)
                );
                (Support::NotSupported, why)
            } else if of_slow > of_fast + STOLEN {
                (Support::Supported, steal(shares))
            } else if of_slow + STOLEN < of_fast {
                (Support::Contradicted, steal(shares))
            } else {
                let why =
                    text!("comparison-similar-steal-time", "steal time {shares}: no difference", shares);
                (Support::NotSupported, why)
            }
        }
        (of_slow, of_fast) => {
            let without = [(of_slow, slow_name), (of_fast, fast_name)];
            let missing: Vec<Text> =
                without.iter().filter(|(of, _)| of.is_none()).map(|(_, name)| Text::from(*name)).collect();
            let why = text!("comparison-no-steal-time", "steal time was not measured on {missing}", missing);
            (Support::NotSupported, why)
        }
    };
    Some(judged(text!(NEIGHBOURS), support, why))
}

/// Another hypervisor.
pub(super) fn hypervisor(pair: &Pair) -> Option<Claim> {
    let name = |record: &Record| record.machine.virtualization.hypervisor.clone();
    let (base, this) = (name(pair.base.record)?, name(pair.this.record)?);
    (base != this).then(|| {
        let names = figures(base, pair.base_name, this, pair.this_name);
        let why = text!("comparison-other-hypervisor", "{names}; the effect was not measured", names);
        judged(text!("comparison-claim-hypervisor", "the hypervisor"), Support::NotSupported, why)
    })
}
