//! What one might hold for the reason, and whether the figures carry it.

use record::Label;
use record::comparison::{Claim, Support};
use record::detail;
use record::units::{bytes, figure, percent};
use record::{Machine, Record};

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

/// A claim that more of something makes faster.
fn more_is_faster(claim: &str, slow: f64, fast: f64, figures: &str) -> Option<Claim> {
    if !(slow > 0.0 && fast > 0.0) || slow == fast {
        return None;
    }
    let (support, why) = if slow > fast {
        (Support::Contradicted, format!("the slower one has more: {figures}"))
    } else {
        (
            Support::NotSupported,
            format!("the slower one has less ({figures}), but nothing here measures what that does to it"),
        )
    };
    Some(Claim { claim: claim.into(), support, why: why.into() })
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
    let figures =
        format!("L{slow_level} {} on {slow_name}, {} on {fast_name}", bytes(slow_bytes), bytes(fast_bytes));
    more_is_faster("the caches", slow_bytes as f64, fast_bytes as f64, &figures).into_iter().collect()
}

/// More CPUs.
pub(super) fn cpus(pair: &Pair, speed: f64) -> Option<Claim> {
    let ((slow_name, slow), (fast_name, fast)) = sides(pair, speed);
    let count = |record: &Record| record.machine.counts.cpus_online.unwrap_or(0);
    let figures = format!("{} on {slow_name}, {} on {fast_name}", count(slow), count(fast));
    more_is_faster("the number of CPUs", count(slow).into(), count(fast).into(), &figures)
}

/// A higher clock.
pub(super) fn clock(pair: &Pair, speed: f64) -> Option<Claim> {
    let (this, base) = (clocks::best(pair.this)?.datum.value, clocks::best(pair.base)?.datum.value);
    let (slow, fast) = if speed < 1.0 { (this, base) } else { (base, this) };
    let ((slow_name, _), (fast_name, _)) = sides(pair, speed);
    let figures = format!("{} on {slow_name}, {} on {fast_name}", figure(slow, "Hz"), figure(fast, "Hz"));
    more_is_faster("the core clock", slow, fast, &figures)
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
    let figures = format!("load average {slow_load:.2} on {slow_name}, {fast_load:.2} on {fast_name}");
    let (support, why) = if slow_load < fast_load {
        (Support::Contradicted, format!("the slower one had less of it: {figures}"))
    } else {
        let why = format!("{figures}: tasks that wanted to run, not what they did to this figure");
        (Support::NotSupported, why)
    };
    Some(Claim { claim: "its own load".into(), support, why: why.into() })
}

/// Time that the hypervisor took: measured from inside, or told by it.
fn stolen(record: &Record) -> Option<f64> {
    let below =
        record.measurements_of("stolen.share").filter(|m| m.labels.word(Label::Cause) == Some("below"));
    let below = crate::figures::median(below.map(|m| m.value()));
    below.or_else(|| record.conditions.after.as_ref().and_then(|after| after.steal_share))
}

/// What other guests of the same host are called.
pub(crate) const NEIGHBOURS: &str = "neighbours on the host";

/// Other guests of the same host.
pub(super) fn neighbours(pair: &Pair, speed: f64) -> Option<Claim> {
    let ((slow_name, slow), (fast_name, fast)) = sides(pair, speed);
    let guest = |record: &Record| {
        record.machine.virtualization.hypervisor.as_deref().is_some_and(|name| name != "none")
    };
    if !guest(slow) && !guest(fast) {
        return None;
    }
    let (support, why) = match (stolen(slow), stolen(fast)) {
        (Some(of_slow), Some(of_fast)) => {
            let figures = format!(
                "taken from below: {} on {slow_name}, {} on {fast_name}",
                percent(of_slow),
                percent(of_fast)
            );
            let loss = 1.0 - speed.min(1.0 / speed);
            if of_slow > of_fast + STOLEN && of_slow - of_fast < WORTH * loss {
                let why = format!("{figures}: too little for what the slower one loses, {}", percent(loss));
                (Support::NotSupported, why)
            } else if of_slow > of_fast + STOLEN {
                (Support::Supported, figures)
            } else if of_slow + STOLEN < of_fast {
                (Support::Contradicted, figures)
            } else {
                (Support::NotSupported, format!("{figures}: alike"))
            }
        }
        (of_slow, of_fast) => {
            let missing = match (of_slow, of_fast) {
                (None, None) => format!("{slow_name} and {fast_name}"),
                (None, _) => slow_name.to_owned(),
                _ => fast_name.to_owned(),
            };
            (Support::NotSupported, format!("no time taken from below was measured on {missing}"))
        }
    };
    Some(Claim { claim: NEIGHBOURS.into(), support, why: why.into() })
}

/// Another hypervisor.
pub(super) fn hypervisor(pair: &Pair) -> Option<Claim> {
    let name = |record: &Record| record.machine.virtualization.hypervisor.clone();
    let (base, this) = (name(pair.base.record)?, name(pair.this.record)?);
    (base != this).then(|| Claim {
        claim: "the hypervisor".into(),
        support: Support::NotSupported,
        why: format!(
            "{base} on {}, {this} on {}; nothing here measures what that does",
            pair.base_name, pair.this_name
        )
        .into(),
    })
}
