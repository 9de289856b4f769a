//! A program that waits for memory: how far away it is, how much of it on other nodes, and how fast its devices run.

use record::comparison::{Cause, Explanation};
use record::machine::MemoryDevice;
use record::units::{figure, percent, significant};
use record::{Better, Machine, Record};

use super::{Maker, Pair, cite_fact, clock, comparable, differs, evidence, resolved, sort, standing, words};
use crate::comparison::nodes::{Reach, Timed, reaches};
use crate::memory_channels::is_flash;

/// What the own node's part of latency is called.
const OWN: &str = "own node's memory";
/// Averages nearer than this are alike, on the scale of logarithms.
const ALIKE: f64 = 0.05;
/// Own nodes further apart than this are told though averages are alike.
const WORTH: f64 = 0.1;
/// Devices slower than this share of their rated speed are told to be so: below it lies the next speed grade.
const BELOW_RATED: f64 = 0.95;

/// Memory by latency, share of remote accesses and devices.
pub(super) fn explanation(pair: &Pair) -> Option<Explanation> {
    let latency = reach_cause(pair).or_else(|| level_cause(pair));
    let devices = devices_cause(pair);
    let lead = latency.as_ref().or(devices.as_ref())?;
    let speed = lead.factor;
    let own = latency.iter().flat_map(|latency| &latency.parts).find(|part| part.name == OWN);
    if let Some(own) = own.filter(|own| speed.ln().abs() < ALIKE && own.factor.ln().abs() > WORTH)
        && devices.as_ref().is_none_or(|devices| !differs(devices.factor))
    {
        return latency.as_ref().map(|latency| bound_or_not(pair, latency, own.factor));
    }
    if !differs(speed) && devices.as_ref().is_none_or(|devices| !differs(devices.factor)) {
        return None;
    }
    let mut causes: Vec<Cause> =
        [latency, devices, clock_cause(pair), cpus_cause(pair)].into_iter().flatten().collect();
    // They act on different programs, so they stand beside each other; what was measured comes before bounds.
    sort(&mut causes, speed, true);
    let what = "a program that waits for memory";
    let mut reported = Explanation {
        result: what.into(),
        subject: pair.index,
        speed,
        says: standing(pair, "Memory, for a program that waits for it", speed).into(),
        adds_up: false,
        causes,
        unexplained: None,
        held_back: None,
        claims: Vec::new(),
    };
    reported.says.push(words::factors(&reported).trim_start());
    Some(reported)
}

/// Two machines that are alike for a program that ignores nodes, and not for one that is bound to its own.
fn bound_or_not(pair: &Pair, latency: &Cause, own: f64) -> Explanation {
    let (fast, slow, times) = if own >= 1.0 {
        (pair.this_name, pair.base_name, own)
    } else {
        (pair.base_name, pair.this_name, 1.0 / own)
    };
    let mut causes = latency.parts.clone();
    sort(&mut causes, own, false);
    Explanation {
        result: "a program that waits for memory".into(),
        subject: pair.index,
        speed: latency.factor,
        says: format!(
            "Memory, for a program that waits for it: alike for one that ignores nodes; bound to a node, {fast} is {} \
             times as fast as {slow}.",
            significant(times)
        ).into(),
        adds_up: false,
        causes,
        unexplained: None,
        held_back: None,
        claims: Vec::new(),
    }
}

/// What differs by node: time per element of a stream, with many loads in flight, is no latency.
pub(crate) fn acts_on(reach: &Reach) -> &'static str {
    if is_latency(reach) { "memory latency" } else { "memory's time per element" }
}

fn is_latency(reach: &Reach) -> bool {
    !matches!(reach.timed, Timed::Stream(_))
}

/// Latency over all nodes' memory, as a program sees it that ignores nodes.
pub(super) fn reach_cause(pair: &Pair) -> Option<Cause> {
    let (base, this) = (reaches(pair.base.record), reaches(pair.this.record));
    let (base, this) = base.iter().find_map(|base| {
        let this = this.iter().find(|this| this.what == base.what && comparable(&this.own, &base.own))?;
        let nodes = base.other.is_some() || this.other.is_some();
        // A machine of several nodes whose other nodes were not measured is no average.
        let whole = |reach: &Reach| reach.other.is_some() || reach.nodes == 1;
        (nodes && whole(base) && whole(this)).then_some((base, this))
    })?;
    let value = |reach: &Reach, ns: f64| figure(ns, &reach.unit);
    let own = Maker {
        name: OWN,
        says: format!("{} against {}", value(this, this.own.value), value(base, base.own.value)),
        factor: base.own.value / this.own.value,
        measured: true,
        evidence: vec![evidence(pair.base_name, &base.own), evidence(pair.this_name, &this.own)],
        parts: Vec::new(),
    };
    let share = |reach: &Reach| match reach.other {
        Some(_) => format!("{} at {} times", percent(reach.remote_share), significant(reach.factor())),
        None => "none".to_owned(),
    };
    let cross = |reach: &Reach| match reach.other {
        Some(_) => {
            let share = percent(reach.remote_share);
            let what = if is_latency(reach) { "latency" } else { "time" };
            format!(
                "{share} of accesses cross to another node at {} times the {what}",
                significant(reach.factor())
            )
        }
        None => "none crosses to another node".to_owned(),
    };
    let mut proof = Vec::new();
    for (name, reach) in [(pair.base_name, base), (pair.this_name, this)] {
        proof.extend(reach.other.as_ref().map(|other| evidence(name, other)));
        proof.push(cite_fact(format!("{name}: {} nodes", reach.nodes), "machine.counts.nodes"));
    }
    let other = Maker {
        name: "remote share",
        says: format!("{}, against {}", cross(this), share(base)),
        factor: base.ignoring() / this.ignoring(),
        // The latencies were measured; that all nodes are used alike is the model.
        measured: false,
        evidence: proof,
        parts: Vec::new(),
    };
    let guessed =
        if base.guessed || this.guessed { "; the fastest node is taken as the CPU's own" } else { "" };
    let mut parts: Vec<Cause> = [own.make(), other.make()].into_iter().flatten().collect();
    parts.sort_by(|a, b| b.factor.ln().abs().total_cmp(&a.factor.ln().abs()));
    Maker {
        name: acts_on(this),
        says: format!(
            "{}: {} against {} over all nodes; {}, against {}{guessed}",
            this.what,
            value(this, this.average()),
            value(base, base.average()),
            cross(this),
            share(base)
        ),
        factor: base.average() / this.average(),
        measured: true,
        evidence: vec![evidence(pair.base_name, &base.own), evidence(pair.this_name, &this.own)],
        parts,
    }
    .make()
}

/// Latency of the level beyond the caches, or of one working set that lies beyond both machines' caches.
pub(super) fn level_cause(pair: &Pair) -> Option<Cause> {
    let (base, this) = pair.base.rows.iter().find_map(|(key, base)| {
        let memory = key.metric == "load.latency"
            && (key.what == "load from memory"
                || base.datum.size == Some(crate::comparison::datum::Size::Memory));
        Some((base, pair.this.rows.get(key).filter(|_| memory)?))
    })?;
    if !comparable(&this.datum, &base.datum) || !resolved(&this.datum, &base.datum, Better::Lower) {
        return None;
    }
    Maker {
        name: "memory latency",
        says: format!("{} against {}", figure(this.datum.value, "ns"), figure(base.datum.value, "ns")),
        factor: base.datum.value / this.datum.value,
        measured: true,
        evidence: vec![evidence(pair.base_name, &base.datum), evidence(pair.this_name, &this.datum)],
        parts: Vec::new(),
    }
    .make()
}

/// Memory devices that run, whether or not their size is told.
pub(crate) fn running(machine: &Machine) -> impl Iterator<Item = &MemoryDevice> {
    let runs = |device: &&MemoryDevice| {
        device.configured_mt_s.is_some_and(|speed| speed > 0) && device.bytes != Some(0) && !is_flash(device)
    };
    machine.memory_devices.iter().filter(runs)
}

/// The speed at which the slowest memory device runs, MT/s.
pub(crate) fn device_speed(record: &Record) -> Option<u32> {
    running(&record.machine).filter_map(|device| device.configured_mt_s).min()
}

pub(super) fn devices_cause(pair: &Pair) -> Option<Cause> {
    let (base, this) = (device_speed(pair.base.record)?, device_speed(pair.this.record)?);
    let from = "machine.memory_devices[].configured_mt_s";
    let channels = |record: &Record| {
        crate::memory_channels::channels(&record.machine).map(|channels| channels.populated)
    };
    let both = channels(pair.base.record).zip(channels(pair.this.record));
    let mut says =
        format!("{this} MT/s{} against {base} MT/s{}", allowed(pair.this.record), allowed(pair.base.record));
    if let Some((base_channels, this_channels)) = both.filter(|(base, this)| base != this) {
        says.push_str(&format!(" on each channel; with {this_channels} against {base_channels} channels"));
    }
    Maker {
        name: "memory devices' speed",
        says,
        factor: f64::from(this) / f64::from(base),
        measured: false,
        evidence: vec![
            cite_fact(format!("{}: {base} MT/s", pair.base_name), from),
            cite_fact(format!("{}: {this} MT/s", pair.this_name), from),
        ],
        parts: Vec::new(),
    }
    .make()
}

/// ` where its devices allow 2933` of devices that run clearly below the speed that they are made for.
fn allowed(record: &Record) -> String {
    let rated =
        running(&record.machine).filter_map(|device| device.rated_mt_s).filter(|speed| *speed > 0).min();
    let now = device_speed(record);
    match rated.zip(now) {
        Some((rated, now)) if f64::from(now) < f64::from(rated) * BELOW_RATED => {
            format!(" where its devices allow {rated}")
        }
        _ => String::new(),
    }
}

pub(super) fn clock_cause(pair: &Pair) -> Option<Cause> {
    clock::cause(pair, &clock::best(pair.this)?, &clock::best(pair.base)?)
}

fn cpus_cause(pair: &Pair) -> Option<Cause> {
    let cpus = |record: &Record| record.machine.counts.cpus_online.filter(|cpus| *cpus > 0);
    let cores = |record: &Record| record.machine.counts.cores.filter(|cores| *cores > 0);
    let both = |of: &dyn Fn(&Record) -> Option<u32>| of(pair.base.record).zip(of(pair.this.record));
    let (name, what, from, (base, this)) = match (both(&cpus), both(&cores)) {
        (Some(counts), _) => ("number of CPUs", "CPUs", "machine.counts.cpus_online", counts),
        (None, Some(counts)) => ("number of cores", "cores", "machine.counts.cores", counts),
        (None, None) => return None,
    };
    Maker {
        name,
        says: format!("{this} against {base}"),
        factor: f64::from(this) / f64::from(base),
        measured: false,
        evidence: vec![
            cite_fact(format!("{}: {base} {what}", pair.base_name), from),
            cite_fact(format!("{}: {this} {what}", pair.this_name), from),
        ],
        parts: Vec::new(),
    }
    .make()
}
