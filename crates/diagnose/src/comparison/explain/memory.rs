//! A program that waits for memory: how far away it is, how much of it on other nodes, and how fast its devices run.

use record::comparison::{Cause, Explanation};
use record::machine::MemoryDevice;
use record::text::Value;
use record::units::figure;
use record::{Better, Machine, Record, Template, Text, text};

use super::{
    CORES, MEMORY_LATENCY, Maker, Pair, against, cite, clock, comparable, differs, evidence, resolved, sort,
    standing, words,
};
use crate::comparison::nodes::{Reach, Timed, reaches};
use crate::comparison::rows::RowKind;
use crate::memory_channels::is_flash;

/// The result of a program that waits for memory.
pub(crate) const MEMORY_BOUND: Template =
    Template { code: "comparison-result-memory-bound", words: "memory-bound program" };
/// What is alike for one program and not for another.
pub(crate) const ALIKE_UNLESS_BOUND: Template = Template {
    code: "comparison-alike-unless-bound",
    words: "{result}: no difference without NUMA binding; bound to a node, {fast} is {times} as fast as {slow}.",
};
/// Latency over all nodes of a record that does not tell which CPU is on which of them.
pub(crate) const LOCAL_GUESSED: Template = Template {
    code: "comparison-all-nodes-guessed",
    words: "{what} over all nodes: {averages}; {shares}; the fastest node is taken as local",
};
/// Time of memory with many loads in flight.
const TIME_PER_ELEMENT: Template =
    Template { code: "comparison-cause-time-per-element", words: "memory time per element" };
/// The own node's part of latency.
const OWN: Template = Template { code: "comparison-cause-own-node", words: "local memory" };
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
    let speed = latency.as_ref().or(devices.as_ref())?.factor;
    let devices_alike = devices.as_ref().is_none_or(|devices| !differs(devices.factor));
    let own = latency.iter().flat_map(|latency| &latency.parts).find(|part| part.name.is(&OWN));
    if let Some(own) = own.filter(|own| speed.ln().abs() < ALIKE && own.factor.ln().abs() > WORTH)
        && devices_alike
    {
        return pair.seen_from_leader(own.factor >= 1.0, alike_unless_bound);
    }
    if !differs(speed) && devices_alike {
        return None;
    }
    pair.seen_from_leader(speed >= 1.0, faster)
}

/// From the side of the faster one.
fn faster(pair: &Pair) -> Option<Explanation> {
    let latency = reach_cause(pair).or_else(|| level_cause(pair));
    let devices = devices_cause(pair);
    let speed = latency.as_ref().or(devices.as_ref())?.factor;
    let mut causes: Vec<Cause> =
        [latency, devices, clock_cause(pair), cpus_cause(pair)].into_iter().flatten().collect();
    // They act on different programs, so they stand beside each other; what was measured comes before bounds.
    sort(&mut causes, speed, true);
    let says = standing(pair, &text!(MEMORY_BOUND), speed);
    let mut reported = build_explanation(pair, speed, says, causes);
    reported.says.push(words::with_factors(&reported));
    Some(reported)
}

/// Two machines that are alike for a program that ignores nodes, and not for one that is bound to its own: from the side of
/// the one whose own nodes are faster.
fn alike_unless_bound(pair: &Pair) -> Option<Explanation> {
    let latency = reach_cause(pair)?;
    let own = latency.parts.iter().find(|part| part.name.is(&OWN))?.factor;
    let mut causes = latency.parts;
    sort(&mut causes, own, false);
    let says = text!(
        ALIKE_UNLESS_BOUND,
        result = text!(MEMORY_BOUND),
        fast = pair.this_name.to_owned(),
        slow = pair.base_name.to_owned(),
        times = Value::Factor(own)
    );
    Some(build_explanation(pair, latency.factor, says, causes))
}

fn build_explanation(pair: &Pair, speed: f64, says: Text, causes: Vec<Cause>) -> Explanation {
    Explanation {
        result: text!(MEMORY_BOUND),
        subject: pair.index,
        speed,
        says,
        adds_up: false,
        causes,
        unexplained: None,
        held_back: None,
        claims: Vec::new(),
    }
}

/// What differs by node: time per element of a stream, with many loads in flight, is no latency.
pub(crate) fn acts_on(reach: &Reach) -> Text {
    if is_latency(reach) { text!(MEMORY_LATENCY) } else { text!(TIME_PER_ELEMENT) }
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
        name: text!(OWN),
        says: against(value(this, this.own.value), value(base, base.own.value)),
        factor: base.own.value / this.own.value,
        measured: true,
        evidence: vec![evidence(pair.base_name, &base.own), evidence(pair.this_name, &this.own)],
        parts: Vec::new(),
    };
    let mut proof = Vec::new();
    for (name, reach) in [(pair.base_name, base), (pair.this_name, this)] {
        proof.extend(reach.other.as_ref().map(|other| evidence(name, other)));
        let nodes = text!("comparison-nodes", "{nodes} NUMA nodes", nodes = reach.nodes);
        proof.push(cite(name, nodes, "machine.counts.nodes"));
    }
    let other = Maker {
        name: text!("comparison-cause-remote-share", "remote share"),
        says: against(remote(this), remote(base)),
        factor: base.ignoring() / this.ignoring(),
        // The latencies were measured; that all nodes are used alike is the model.
        measured: false,
        evidence: proof,
        parts: Vec::new(),
    };
    let averages = against(value(this, this.average()), value(base, base.average()));
    let (what, shares) = (&this.what, against(remote(this), remote(base)));
    let says = if base.guessed || this.guessed {
        text!(LOCAL_GUESSED, what, averages, shares)
    } else {
        text!("comparison-all-nodes", "{what} over all nodes: {averages}; {shares}", what, averages, shares)
    };
    let mut parts: Vec<Cause> = [own.make(), other.make()].into_iter().flatten().collect();
    parts.sort_by(|a, b| b.factor.ln().abs().total_cmp(&a.factor.ln().abs()));
    Maker {
        name: acts_on(this),
        says,
        factor: base.average() / this.average(),
        measured: true,
        evidence: vec![evidence(pair.base_name, &base.own), evidence(pair.this_name, &this.own)],
        parts,
    }
    .make()
}

/// Which share of accesses is remote, and how much longer these take.
fn remote(reach: &Reach) -> Text {
    let (share, factor) = (Value::Share(reach.remote_share), Value::Factor(reach.factor()));
    match reach.other {
        Some(_) => {
            text!("comparison-remote-share", "{share} of accesses remote at {factor} local", share, factor)
        }
        None => text!("comparison-no-remote-share", "no remote accesses"),
    }
}

/// Latency of the level beyond the caches, or of one working set that lies beyond both machines' caches.
pub(super) fn level_cause(pair: &Pair) -> Option<Cause> {
    let (base, this) = pair.base.rows.iter().find_map(|(key, base)| {
        let memory = key.metric == "load.latency"
            && (key.kind == RowKind::Memory
                || base.datum.size == Some(crate::comparison::datum::Size::Memory));
        Some((base, pair.this.rows.get(key).filter(|_| memory)?))
    })?;
    if !comparable(&this.datum, &base.datum) || !resolved(&this.datum, &base.datum, Better::Lower) {
        return None;
    }
    Maker {
        name: text!(MEMORY_LATENCY),
        says: against(figure(this.datum.value, "ns"), figure(base.datum.value, "ns")),
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
    let speeds = against(speed_of(pair.this.record, this), speed_of(pair.base.record, base));
    let says = match both.filter(|(base, this)| base != this) {
        Some((base, this)) => text!(
            "comparison-devices-on-channels",
            "{speeds} per channel, {channels} channels",
            speeds,
            channels = against(this, base)
        ),
        None => speeds,
    };
    Maker {
        name: text!("comparison-cause-devices", "speed of memory devices"),
        says,
        factor: f64::from(this) / f64::from(base),
        measured: false,
        evidence: vec![cite(pair.base_name, mt_s(base), from), cite(pair.this_name, mt_s(this), from)],
        parts: Vec::new(),
    }
    .make()
}

/// A transfer rate.
pub(crate) fn mt_s(speed: u32) -> Text {
    text!("comparison-mt-s", "{speed} MT/s", speed)
}

/// The speed of devices, with the one that they are made for where they run clearly below it.
fn speed_of(record: &Record, now: u32) -> Text {
    match rated_speed(&record.machine) {
        Some(rated) if f64::from(now) < f64::from(rated) * BELOW_RATED => {
            text!("comparison-below-rated", "{now} of rated {rated} MT/s", now, rated)
        }
        _ => mt_s(now),
    }
}

/// The speed that the slowest of the devices that run is made for, MT/s.
pub(crate) fn rated_speed(machine: &Machine) -> Option<u32> {
    running(machine).filter_map(|device| device.rated_mt_s).filter(|speed| *speed > 0).min()
}

pub(super) fn clock_cause(pair: &Pair) -> Option<Cause> {
    clock::cause(pair, &clock::best(pair.this)?, &clock::best(pair.base)?)
}

fn cpus_cause(pair: &Pair) -> Option<Cause> {
    let cpus = |record: &Record| record.machine.counts.cpus_online.filter(|cpus| *cpus > 0);
    let cores = |record: &Record| record.machine.counts.cores.filter(|cores| *cores > 0);
    let both = |of: &dyn Fn(&Record) -> Option<u32>| of(pair.base.record).zip(of(pair.this.record));
    let count = |value: u32| Value::Count(value.into());
    let (name, from, (base, this)) = match (both(&cpus), both(&cores)) {
        (Some(counts), _) => {
            (text!("comparison-cause-cpus", "number of CPUs"), "machine.counts.cpus_online", counts)
        }
        (None, Some(counts)) => (text!(CORES), "machine.counts.cores", counts),
        (None, None) => return None,
    };
    Maker {
        name,
        says: against(this, base),
        factor: f64::from(this) / f64::from(base),
        measured: false,
        evidence: vec![cite(pair.base_name, count(base), from), cite(pair.this_name, count(this), from)],
        parts: Vec::new(),
    }
    .make()
}
