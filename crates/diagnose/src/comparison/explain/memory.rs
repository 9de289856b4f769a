//! Explains memory-bound programs: memory latency, the share of remote accesses, and the speed of memory devices.

use record::comparison::{Cause, Explanation};
use record::difference::MUCH;
use record::machine::{Counts, MemoryDevice};
use record::text::Value;
use record::units::figure;
use record::{Better, Label, Machine, Record, Template, Text, metrics, text};

use super::{
    CORES, CPUS, MEMORY_LATENCY, OneSided, Pair, Speed, against, are_comparable, cause, cause_of_parts, cite,
    clock, differs, evidence, explain_faster, figure_cause, find_best_clock, find_difference, is_resolved,
    modelled, sort_causes,
};
use crate::comparison::Known;
use crate::comparison::datum::Size;
use crate::comparison::nodes::{Reach, Timed, find_reaches};
use crate::comparison::rows::{RowEntry, RowKey, RowKind};
use crate::memory_channels::{channels, is_flash};

/// The result for a program that waits for memory.
pub(crate) const MEMORY_BOUND: Template =
    Template::new("comparison-result-memory-bound", "one thread that waits for memory");
/// The result for a program with independent loads: time per element of a stream.
pub(crate) const STREAMING: Template =
    Template::new("comparison-result-streaming", "one thread that streams through memory");
/// The result of all CPUs that read memory, and the peak of all channels.
const BANDWIDTH: Template = Template::new("comparison-result-bandwidth", "read bandwidth, all CPUs");
const PEAK_BANDWIDTH: Template = Template::new("comparison-result-peak-bandwidth", "peak memory bandwidth");
/// Time per element of a stream.
const PER_ELEMENT: Template = Template::new("comparison-cause-time-per-element", "memory time per element");
/// The local node's contribution to latency.
const OWN: Template = Template::new("comparison-cause-own-node", "local memory");
/// Differences in local memory latency above this limit are mentioned even if the averages are similar.
const WORTH: f64 = 0.1;
/// Devices below this share of their rated speed are reported; the limit separates adjacent speed grades.
const BELOW_RATED: f64 = 0.95;

/// Whether a row is the read bandwidth of all CPUs, as a program counts its bytes.
pub(crate) fn is_read_bandwidth((key, entry): &(&RowKey, &RowEntry)) -> bool {
    let is = |label: Label, word: &str| entry.place.word(label) == Some(word);
    let is_of_all = key.metric == metrics::MEMORY_BANDWIDTH && key.kind == RowKind::AllCpus;
    is_of_all && is(Label::Op, "read") && !is(Label::BytesCounted, "bus")
}

/// Explains the bandwidth of all CPUs by the memory channels and their speed; without both results, the explanation is of the peak, which
/// one thread does not reach.
pub(super) fn explain_bandwidth(pair: &Pair) -> Option<OneSided> {
    let cause = devices_cause(pair, true)?;
    let mut rows = pair.base.rows.iter().filter(is_read_bandwidth);
    let both = rows.find_map(|(key, base)| Some((&pair.this.rows.get(key)?.datum, &base.datum)));
    let (result, speed) = match both {
        Some((this, base)) => {
            (BANDWIDTH, Speed::new(find_difference(this, base, Better::Higher)?, this, base))
        }
        // The peak depends on the number of channels.
        None if [pair.base, pair.this].iter().any(|of| channels(&of.record.machine).is_none()) => {
            return None;
        }
        None => (PEAK_BANDWIDTH, Speed { factor: cause.factor, unreliable: false }),
    };
    differs(speed.factor).then(|| explain_faster(pair, result.into(), speed, vec![cause]))
}

/// Explains memory by latency, share of remote accesses, and devices.
pub(super) fn explain_memory(pair: &Pair) -> Option<OneSided> {
    let latency = reach_cause(pair).or_else(|| level_cause(pair))?;
    let devices = devices_cause(pair, false);
    let speed = latency.factor;
    let result = Text::from(if latency.name.is(&PER_ELEMENT) { STREAMING } else { MEMORY_BOUND });
    let devices_alike = devices.as_ref().is_none_or(|devices| !differs(devices.factor));
    let parts = &latency.parts;
    let own = parts.iter().find(|part| part.name.is(&OWN)).map(|part| part.factor);
    if let Some(own) = own.filter(|own| speed.ln().abs() < MUCH && own.ln().abs() > WORTH && devices_alike) {
        return Some(explain_unless_bound(pair, result, speed, own, parts.to_vec()));
    }
    if !differs(speed) && devices_alike {
        return None;
    }
    let speed = Speed { factor: speed, unreliable: latency.unreliable };
    // These causes affect different kinds of programs, so they are listed separately.
    let causes = [Some(latency), devices, clock_cause(pair), cores_cause(pair)];
    Some(explain_faster(pair, result, speed, causes.into_iter().flatten().collect()))
}

/// Describes two machines that are equally fast for a NUMA-unaware program, but not for a program bound to its local node, from the
/// perspective of the machine with faster local memory.
fn explain_unless_bound(pair: &Pair, result: Text, speed: f64, own: f64, mut causes: Vec<Cause>) -> OneSided {
    sort_causes(&mut causes, own, false);
    let (fast, slow, times) = (&pair.this.name, &pair.base.name, Value::Factor(own));
    let says = text!(
        "{result}: no difference without NUMA binding. With NUMA binding, {fast} is {times} as fast as {slow}.",
        result = result.clone()
    );
    let explanation = Explanation { result, speed, says, causes, ..Explanation::default() };
    OneSided { leads: own >= 1.0, explanation }
}

/// The quantity affected by NUMA nodes. The time per element of a stream is not a latency, because many loads are in flight.
pub(crate) fn acts_on(reach: &Reach) -> Text {
    match reach.timed {
        Timed::Stream(_) => text!(PER_ELEMENT),
        Timed::Matrix | Timed::Loads => text!(MEMORY_LATENCY),
    }
}

/// The cause "average latency over all nodes' memory", for a NUMA-unaware program.
pub(super) fn reach_cause(pair: &Pair) -> Option<Cause> {
    let (base, this) = (find_reaches(pair.base.record), find_reaches(pair.this.record));
    let (base, this) = base.iter().find_map(|base| {
        let this = this.iter().find(|this| this.what == base.what && are_comparable(&this.own, &base.own))?;
        let nodes = base.other.is_some() || this.other.is_some();
        // Without results for other nodes, there is no average.
        let whole = |reach: &Reach| reach.other.is_some() || reach.nodes == 1;
        (nodes && whole(base) && whole(this)).then_some((base, this))
    })?;
    let own = figure_cause(pair, OWN, &this.own, &base.own, Better::Lower);
    let mut proof = Vec::new();
    for (name, reach) in [(&pair.base.name, base), (&pair.this.name, this)] {
        proof.extend(reach.other.as_ref().map(|other| evidence(name, other)));
        let nodes = text!("{nodes} NUMA nodes", nodes = reach.nodes);
        proof.push(cite(name, nodes, "machine.counts.nodes"));
    }
    let shares = against(describe_remote(this), describe_remote(base));
    let remote = text!("comparison-cause-remote-share", "remote share");
    // The latencies are measured; the model assumes that all nodes are used equally.
    let other = cause(remote, shares.clone(), base.ignoring() / this.ignoring(), proof).map(modelled);
    let average = |reach: &Reach| figure(reach.average(), &reach.own.unit);
    let (what, averages) = (&this.what, against(average(this), average(base)));
    let says = if base.guessed || this.guessed {
        text!(
            "comparison-all-nodes-guessed",
            "{what}, mean of all nodes: {averages}, with {shares}, assuming that the fastest node is local"
        )
    } else {
        text!("{what}, mean of all nodes: {averages}, with {shares}")
    };
    let mut parts: Vec<Cause> = [own, other].into_iter().flatten().collect();
    parts.sort_by(|a, b| b.factor.ln().abs().total_cmp(&a.factor.ln().abs()));
    let proof = pair.evidence(&this.own, &base.own);
    let factor = base.average() / this.average();
    let figures = [Some(&this.own), Some(&base.own), this.other.as_ref(), base.other.as_ref()];
    let unreliable = figures.into_iter().flatten().any(|figure| figure.doubt.is_some());
    let cause = cause_of_parts(acts_on(this), says, factor, proof, parts)?;
    Some(Cause { unreliable, ..cause })
}

/// Describes the share of remote accesses and their relative latency.
fn describe_remote(reach: &Reach) -> Text {
    let (share, factor) = (Value::Share(reach.remote_share), Value::Factor(reach.factor()));
    match reach.other {
        Some(_) => text!("{share} of accesses remote, at {factor} the local latency"),
        None => text!("no remote accesses"),
    }
}

/// The cause: latency of the level beyond the caches, or of a working set larger than both machines' caches.
pub(super) fn level_cause(pair: &Pair) -> Option<Cause> {
    let (page, base, this) = pair.base.rows.iter().find_map(|(key, base)| {
        let beyond = key.kind == RowKind::Memory || base.datum.size == Some(Size::Memory);
        let this = pair.this.rows.get(key).filter(|_| key.metric == metrics::LOAD_LATENCY && beyond)?;
        let page = base.place.word(Label::Page).filter(|page| this.place.word(Label::Page) == Some(page));
        Some((page, &base.datum, &this.datum))
    })?;
    if !are_comparable(this, base) || !is_resolved(this, base, Better::Lower) {
        return None;
    }
    let cause = figure_cause(pair, MEMORY_LATENCY, this, base, Better::Lower)?;
    // These results are for other page sizes than the headlines.
    let Some(page) = page.map(str::to_owned) else { return Some(cause) };
    let says = text!("{says} on {page} pages", says = &cause.says);
    Some(Cause { says, ..cause })
}

/// The memory devices in operation, even if their size is unknown.
pub(crate) fn find_running(machine: &Machine) -> impl Iterator<Item = &MemoryDevice> {
    let runs = |device: &&MemoryDevice| {
        device.configured_mt_s.is_some_and(|speed| speed > 0) && device.bytes != Some(0) && !is_flash(device)
    };
    machine.memory_devices.iter().filter(runs)
}

/// The speed of the slowest memory device, MT/s.
pub(crate) fn device_speed(record: &Record) -> Option<u32> {
    find_running(&record.machine).filter_map(|device| device.configured_mt_s).min()
}

/// The cause: speed of each memory device or, `of_all` together, of all channels. Channels are counted on both sides or on none.
pub(super) fn devices_cause(pair: &Pair, of_all: bool) -> Option<Cause> {
    let (base, this) = (device_speed(pair.base.record)?, device_speed(pair.this.record)?);
    let both = channels(&pair.base.record.machine).zip(channels(&pair.this.record.machine));
    let both = both.filter(|_| of_all);
    let peak = both.map(|(base, this)| this.bytes_per_second / base.bytes_per_second);
    let speeds = against(describe_speed(pair.this.record, this), describe_speed(pair.base.record, base));
    let (name, says) = match both.map(|(base, this)| (base.populated, this.populated)) {
        Some((base, this)) if base != this => (
            text!("comparison-cause-channels", "number and speed of memory channels"),
            text!("{channels} channels, {speeds} per channel", channels = against(this, base)),
        ),
        _ => (text!("comparison-cause-devices", "speed of memory devices"), speeds),
    };
    let proof = pair.cite(mt_s(this), mt_s(base), "machine.memory_devices[].configured_mt_s");
    cause(name, says, peak.unwrap_or(f64::from(this) / f64::from(base)), proof).map(modelled)
}

/// A transfer rate.
pub(crate) fn mt_s(speed: u32) -> Text {
    text!("{speed} MT/s")
}

/// Describes the speed of devices, with their rated speed if they run well below it.
fn describe_speed(record: &Record, now: u32) -> Text {
    match rated_speed(&record.machine) {
        Some(rated) if f64::from(now) < f64::from(rated) * BELOW_RATED => {
            text!("{now} of the rated {rated} MT/s")
        }
        _ => mt_s(now),
    }
}

/// The lowest rated speed of the devices in operation, MT/s.
pub(crate) fn rated_speed(machine: &Machine) -> Option<u32> {
    find_running(machine).filter_map(|device| device.rated_mt_s).filter(|speed| *speed > 0).min()
}

pub(super) fn clock_cause(pair: &Pair) -> Option<Cause> {
    clock::clock_cause(pair, &find_best_clock(pair.this)?, &find_best_clock(pair.base)?)
}

/// The cause: number of cores, or of CPUs if the number of cores is not known for both machines.
pub(super) fn cores_cause(pair: &Pair) -> Option<Cause> {
    let both = |count: fn(&Counts) -> Option<u32>| {
        let count = |known: &Known| count(&known.record.machine.counts).filter(|count| *count > 0);
        count(pair.base).zip(count(pair.this))
    };
    let (name, from, (base, this)) = match both(|counts| counts.cores) {
        Some(cores) => (CORES, "machine.counts.cores", cores),
        None => (CPUS, "machine.counts.cpus_online", both(|counts| counts.cpus_online)?),
    };
    let evidence = pair.cite(this, base, from);
    cause(name, against(this, base), f64::from(this) / f64::from(base), evidence).map(modelled)
}
