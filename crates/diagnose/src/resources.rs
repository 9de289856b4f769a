//! How far each resource is from line speed: its ceiling, where that comes from, and what was delivered.

use record::Label;
use record::detail;
use std::collections::BTreeMap;

use record::diagnosis::{CeilingSource, Resource};
use record::phrase::count_noun;
use record::units::{bytes, figure, parse_bytes};
use record::{Doubt, Level, Measurement, Record, text};

use crate::figures::{RESOLUTION, cpus_of, cpus_text, has_labels, median, middle};
use crate::levels;
use crate::memory_channels;
use crate::record_index::RecordIndex;

/// The clock of all cores at work.
pub(crate) const CORE: &str = "core";
/// Bytes a second between memory and all CPUs.
pub(crate) const MEMORY_BANDWIDTH: &str = "memory bandwidth";
/// Time of a load from memory.
pub const MEMORY_LATENCY: &str = "memory latency";
/// Time from a timer to the thread that waits for it.
pub(crate) const WAKE_UP: &str = "wake-up";

/// A resource with what its figures are, each in words.
#[derive(Clone, Debug, PartialEq)]
pub struct Headline {
    /// The resource.
    pub resource: Resource,
    /// What is delivered.
    pub delivered_is: String,
    /// What the ceiling is.
    pub ceiling_is: String,
}

impl Headline {
    fn new(resource: Resource, delivered_is: String, ceiling_is: String) -> Self {
        let mut headline = Self { resource, delivered_is, ceiling_is };
        headline.state_meaning();
        headline
    }

    /// Says in the resource what its figures are.
    pub fn state_meaning(&mut self) {
        self.resource.meaning = format!("{}, against {}", self.delivered_is, self.ceiling_is).into();
    }
}

/// One line a resource: core, memory bandwidth, memory latency, wake-up. A resource whose inputs are missing is
/// absent, and so is memory where nothing measured lay beyond the caches: `not_reached` tells that.
pub fn resources(index: &RecordIndex) -> Vec<Headline> {
    [core(index), memory_bandwidth(index), memory_latency(index), wake_up(index)]
        .into_iter()
        .flatten()
        .collect()
}

/// What was measured of memory only within the caches, a sentence each.
pub(crate) fn not_reached(index: &RecordIndex) -> Vec<String> {
    let RecordIndex { record, .. } = *index;
    let mut said = Vec::new();
    // What other tools walked is theirs to say, and measuring again is not this machine's to do.
    if record.import.is_some() {
        return said;
    }
    let bus = || index.figures_of("memory.bandwidth").filter(|m| m.summary.n > 0);
    let least = beyond(record, index.levels(), Walk::Arrays);
    if let Some(most) = bus().map(walked).max().filter(|most| *most < least) {
        said.push(format!(
            "memory bandwidth not reached: the largest arrays were {} together, within the caches; linespeed run \
             bandwidth --full",
            bytes(most)
        ));
    }
    let least = beyond(record, index.levels(), Walk::Loads);
    let pair = index.pages().and_then(|(small, _)| small.labels.count(Label::Bytes));
    let any = || index.figures_of("load.latency").filter(|m| m.summary.n > 0);
    let largest = any().filter_map(|m| m.labels.count(Label::Bytes)).max();
    if let Some(most) = pair.or(largest).filter(|most| *most < least) {
        // Memory for ordinary pages may be dear to make, so that only the curve on large ones reaches memory.
        let reached = any().filter(|m| m.labels.count(Label::Bytes) == largest && largest >= Some(least));
        let (whose, but) = match middle(reached) {
            Some(m) => (
                " on ordinary pages",
                format!(
                    " (on {} pages memory answers in {})",
                    m.labels
                        .word(Label::Page)
                        .and_then(|page| parse_bytes(page).ok())
                        .map_or("other".to_owned(), bytes),
                    figure(m.value(), "ns")
                ),
            ),
            None => ("", String::new()),
        };
        said.push(format!(
            "memory latency{whose} not reached: the largest working set was {}, within the caches{but}; linespeed run \
             latency --full",
            bytes(most)
        ));
    }
    said
}

/// Who walks a working set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Walk {
    /// One CPU that loads.
    Loads,
    /// The CPUs that stream through arrays, each with the caches that it has.
    Arrays,
}

/// Without a word on caches a working set from here on is taken for memory.
const UNKNOWN_CACHES: u64 = 32 << 20;
/// Below this no working set is beyond a last level that was found only by measuring: steps of the TLB lie there.
const LEAST_FOUND: u64 = 32 << 20;

impl Walk {
    /// A working set that lies mostly beyond so large caches.
    fn past(self, caches: u64) -> u64 {
        match self {
            Walk::Loads => caches.saturating_add(caches / 2),
            Walk::Arrays => caches.saturating_mul(2),
        }
    }
}

/// The least working set that is mostly memory, by the caches that the kernel shows.
fn beyond_advertised(record: &Record, walk: Walk) -> u64 {
    match record.machine.last_level_bytes() {
        0 => UNKNOWN_CACHES,
        caches => walk.past(caches),
    }
}

/// The least working set that is mostly memory: half more than the last-level caches for loads, twice them for
/// arrays. Where the kernel shows a host's cache of which a virtual machine owns a part, what the latency curve shows
/// of it stands for it.
pub(crate) fn beyond(record: &Record, levels: &[Level], walk: Walk) -> u64 {
    let past = |caches: u64| walk.past(caches);
    let reported = beyond_advertised(record, walk);
    let found = match levels {
        [.., last, memory] if memory.name == levels::MEMORY => last.measured_bytes,
        _ => None,
    };
    found.map_or(reported, |found| {
        let owners = match walk {
            Walk::Loads => 1,
            Walk::Arrays => record.machine.data_caches(record.machine.last_level()).count().max(1) as u64,
        };
        // Streams are fetched ahead, and a neighbour who is quiet for the moment leaves them the whole of it.
        let least = match walk {
            Walk::Loads => LEAST_FOUND,
            Walk::Arrays => record.machine.last_level_bytes().max(LEAST_FOUND),
        };
        reported.min(past(found.saturating_mul(owners)).max(least))
    })
}

/// Whether a bandwidth's arrays were mostly beyond the caches, as the record's diagnosis knows them.
pub fn beyond_caches(record: &Record, bandwidth: &Measurement) -> bool {
    walked(bandwidth) >= beyond(record, &record.diagnosis.levels, Walk::Arrays)
}

/// Bytes of all arrays that a bandwidth walked; 0 where the record does not tell.
pub(crate) fn walked(m: &Measurement) -> u64 {
    m.detail.get(detail::ARRAY_BYTES).unwrap_or(0).saturating_mul(m.detail.get(detail::ARRAYS).unwrap_or(1))
}

/// The first of these doubts, in a few words: what stands before the figures of it.
fn doubt<'a>(behind: impl IntoIterator<Item = &'a Measurement>) -> Option<Doubt> {
    behind.into_iter().find_map(|m| m.doubt.as_ref()).map(Doubt::gist)
}

/// The ceiling from the parts, unless more than that was measured here: then the parts were told wrong.
fn ceiling(from_parts: Option<f64>, best_measured: Option<f64>) -> Option<(f64, CeilingSource)> {
    let parts = from_parts.filter(|value| value.is_finite() && *value > 0.0);
    let measured = best_measured.filter(|value| value.is_finite() && *value > 0.0);
    match (parts, measured) {
        (Some(parts), Some(measured)) if measured > parts * (1.0 + RESOLUTION) => {
            Some((measured, CeilingSource::Measured))
        }
        (Some(parts), _) => Some((parts, CeilingSource::Parts)),
        (None, Some(measured)) => Some((measured, CeilingSource::Measured)),
        (None, None) => None,
    }
}

/// `what`, and where it comes from.
fn ceiling_text(source: Option<CeilingSource>, parts: &str, measured: &str) -> String {
    match source {
        Some(CeilingSource::Parts) => parts.to_owned(),
        Some(CeilingSource::Measured) => measured.to_owned(),
        None => "no ceiling is known".to_owned(),
    }
}

/// The core clock: what all cores together deliver of what one advertises.
fn core(index: &RecordIndex) -> Option<Headline> {
    let scalar = |active: &str| index.clocks("scalar", active).iter().copied();
    let best = scalar("one").chain(scalar("all")).map(Measurement::value).fold(0.0, f64::max);
    let (active, how) =
        if scalar("all").next().is_some() { ("all", "all at work") } else { ("one", "one at work") };
    let delivered = median(scalar(active).map(Measurement::value)).filter(|hz| *hz > 0.0)?;
    let ceiling = ceiling(index.record.machine.processor.max_hz.map(|hz| hz as f64), Some(best));
    let source = ceiling.map(|(_, source)| source);
    let (sure, doubtful): (Vec<_>, Vec<_>) = scalar(active).partition(|m| m.doubt.is_none());
    let cpus = cpus_text(&cpus_of(scalar(active))).unwrap_or_else(|| "the CPUs".to_owned());
    let resource = Resource {
        name: CORE.to_owned(),
        unit: "Hz".to_owned(),
        ceiling: ceiling.map(|(hz, _)| hz),
        source,
        delivered,
        share: ceiling.map(|(hz, _)| delivered / hz),
        meaning: String::new().into(),
        // A median stands as long as most of what it is of does.
        doubt: doubt(doubtful.iter().copied().filter(|_| doubtful.len() >= sure.len())),
    };
    let delivered_is = format!("median clock of {cpus} with {how}");
    let ceiling_is = ceiling_text(
        source,
        "the highest clock that a core advertises",
        "the highest clock measured on one, without vectors",
    );
    Some(Headline::new(resource, delivered_is, ceiling_is))
}

/// Bandwidths in bus bytes whose arrays were mostly memory.
fn on_the_bus<'a>(index: &RecordIndex<'a>) -> Vec<&'a Measurement> {
    let least = beyond(index.record, index.levels(), Walk::Arrays);
    let all = index.figures_of("memory.bandwidth").filter(|m| has_labels(m, &[(Label::BytesCounted, "bus")]));
    all.filter(|m| walked(m) >= least && m.value() > 0.0).collect()
}

/// The fastest of them, whatever it does.
fn fastest<'a>(all: &[&'a Measurement]) -> Option<&'a Measurement> {
    all.iter().copied().max_by(|a, b| a.value().total_cmp(&b.value()))
}

/// The fastest triad with the most threads.
fn triad_of<'a>(all: &[&'a Measurement]) -> Option<&'a Measurement> {
    let most_threads = all.iter().filter_map(|m| m.labels.count(Label::Threads)).max()?;
    all.iter()
        .copied()
        .filter(|m| {
            has_labels(m, &[(Label::Op, "triad")]) && m.labels.count(Label::Threads) == Some(most_threads)
        })
        .max_by(|a, b| a.value().total_cmp(&b.value()))
}

/// The best bandwidth measured and the triad that stands for what is delivered; `None` where one is missing.
pub(crate) fn bandwidths<'a>(index: &RecordIndex<'a>) -> Option<(&'a Measurement, &'a Measurement)> {
    let all = on_the_bus(index);
    Some((fastest(&all)?, triad_of(&all)?))
}

/// What all CPUs moved while others were kept from them, B/s on the bus, and in words which loop; where that was measured.
pub(crate) fn bandwidth_alone(index: &RecordIndex) -> Option<(f64, String)> {
    let all = on_the_bus(index);
    let reported =
        |m: &Measurement| m.detail.get(detail::ALONE_BYTES_PER_SECOND).filter(|rate| rate.is_finite());
    let (m, alone) = all.into_iter().find_map(|m| Some((m, reported(m)?)))?;
    let words = format!(
        "{} with {} stores on {} with the CPUs to itself, in turns of some milliseconds",
        m.labels.word(Label::Op).unwrap_or("a loop"),
        m.labels.word(Label::Stores).unwrap_or("regular"),
        count_noun(m.labels.count(Label::Threads).unwrap_or(0), "thread")
    );
    Some((alone, words))
}

/// The doubt about arrays that are beyond the part of the caches that was found, but not beyond those that the kernel
/// shows: neighbours who were quiet while the arrays were walked may have left more of them.
fn maybe_cached(record: &Record, triad: &Measurement) -> Option<Doubt> {
    (walked(triad) < beyond_advertised(record, Walk::Arrays))
        .then(|| text!("bandwidth-arrays-may-fit", "arrays may fit in the caches").into())
}

/// Memory bandwidth: triad with all CPUs, in bus bytes.
fn memory_bandwidth(index: &RecordIndex) -> Option<Headline> {
    let (best, triad) = bandwidths(index)?;
    let threads = triad.labels.count(Label::Threads)?;
    let channels = memory_channels::channels(&index.record.machine);
    let ceiling = ceiling(channels.map(|channels| channels.bytes_per_second), Some(best.value()));
    let source = ceiling.map(|(_, source)| source);
    let from_parts = channels.map_or_else(String::new, |channels| channels.describe_at(channels.mt_s));
    let from_best = format!(
        "the best measured here ({}, {} stores, {})",
        best.labels.word(Label::Op).unwrap_or("?"),
        best.labels.word(Label::Stores).unwrap_or("no"),
        count_noun(best.labels.count(Label::Threads).unwrap_or(0), "thread")
    );
    let resource = Resource {
        name: MEMORY_BANDWIDTH.to_owned(),
        unit: "B/s".to_owned(),
        ceiling: ceiling.map(|(rate, _)| rate),
        source,
        delivered: triad.value(),
        share: ceiling.map(|(rate, _)| triad.value() / rate),
        meaning: String::new().into(),
        doubt: maybe_cached(index.record, triad).or_else(|| {
            doubt([triad].into_iter().chain((source == Some(CeilingSource::Measured)).then_some(best)))
        }),
    };
    let delivered_is = format!(
        "triad with {} stores on {}, bytes on the bus",
        triad.labels.word(Label::Stores).unwrap_or("regular"),
        count_noun(threads, "thread")
    );
    let ceiling_is = ceiling_text(source, &from_parts, &from_best);
    Some(Headline::new(resource, delivered_is, ceiling_is))
}

/// [`RecordIndex::pages`], where that working set was mostly memory.
pub(crate) fn memory_pages<'a>(index: &RecordIndex<'a>) -> Option<(&'a Measurement, &'a Measurement)> {
    let least = beyond(index.record, index.levels(), Walk::Loads);
    index.pages().filter(|(small, _)| small.labels.count(Label::Bytes).is_some_and(|bytes| bytes >= least))
}

/// Memory latency: what ordinary pages leave of the hardware's latency.
fn memory_latency(index: &RecordIndex) -> Option<Headline> {
    let (small, huge) = memory_pages(index)?;
    let ceiling = huge.value().min(small.value());
    let size = small.labels.count(Label::Bytes).map_or_else(String::new, bytes);
    let cpu = small.labels.count(Label::Cpu).map_or_else(String::new, |cpu| format!(" on CPU {cpu}"));
    let resource = Resource {
        name: MEMORY_LATENCY.to_owned(),
        unit: "ns".to_owned(),
        ceiling: Some(ceiling),
        source: Some(CeilingSource::Measured),
        delivered: small.value(),
        share: Some(ceiling / small.value()),
        meaning: String::new().into(),
        doubt: doubt([small, huge]),
    };
    let delivered_is = format!("a load from {size}{cpu} on ordinary 4 KiB pages");
    let ceiling_is = "the same on 2 MiB pages".to_owned();
    Some(Headline::new(resource, delivered_is, ceiling_is))
}

/// The CPU that stands for the machine's wake-ups: what one CPU gains says nothing of another, so all that is told of gains
/// is told of one. It is the one whose gain by idle states is in the middle, of two the lesser; where real-time threads were
/// not measured, by the gain of ordinary ones; where nothing was tuned, the middle one as the machine is.
pub(crate) fn wake_up_cpu(index: &RecordIndex) -> Option<u64> {
    let has_figure = |policy: &str, setting: &str| {
        index.wakeups(policy, setting).iter().copied().filter(|m| m.value() > 0.0)
    };
    let cpu = |m: &Measurement| m.labels.count(Label::Cpu);
    let ordinary: Vec<Option<u64>> = has_figure("other", "as-is").map(cpu).collect();
    let by_gain = |policy: &str| {
        let mut tuned: BTreeMap<u64, f64> = BTreeMap::new();
        for m in has_figure(policy, "tuned") {
            cpu(m).map(|cpu| tuned.entry(cpu).or_insert(m.value()));
        }
        let gain = |m: &Measurement| Some((cpu(m)?, m.value() - tuned.get(&cpu(m)?)?));
        let mut gains: Vec<(u64, f64)> = has_figure(policy, "as-is").filter_map(gain).collect();
        gains.retain(|(cpu, _)| ordinary.is_empty() || ordinary.contains(&Some(*cpu)));
        gains.sort_by(|one, other| one.1.total_cmp(&other.1));
        gains.get(gains.len().checked_sub(1)? / 2).map(|(cpu, _)| *cpu)
    };
    by_gain("fifo")
        .or_else(|| by_gain("other"))
        .or_else(|| middle(has_figure("other", "as-is")).and_then(|m| m.labels.count(Label::Cpu)))
}

/// Wake-up latency with one policy and setting on [`wake_up_cpu`]. Where that CPU has no figure, or none is named, the middle
/// one that has.
pub(crate) fn wake_up_at<'a>(
    index: &RecordIndex<'a>,
    policy: &str,
    setting: &str,
) -> Option<&'a Measurement> {
    let at = || index.wakeups(policy, setting).iter().copied().filter(|m| m.value() > 0.0);
    let cpu = wake_up_cpu(index);
    middle(at().filter(|m| m.labels.count(Label::Cpu) == cpu)).or_else(|| middle(at()))
}

/// Wake-up latency: an ordinary thread as the machine is, against the best setting measured.
fn wake_up(index: &RecordIndex) -> Option<Headline> {
    let delivered = wake_up_at(index, "other", "as-is")?;
    let settings = [("fifo", "tuned"), ("fifo", "as-is"), ("other", "tuned"), ("other", "as-is")];
    let (best, policy, setting) = settings
        .into_iter()
        .filter_map(|(policy, setting)| Some((wake_up_at(index, policy, setting)?, policy, setting)))
        .min_by(|a, b| a.0.value().total_cmp(&b.0.value()))?;
    let policy = if policy == "fifo" { "SCHED_FIFO" } else { "SCHED_OTHER" };
    let tail = delivered.summary.p99.map_or_else(String::new, |p99| format!(" (p99 {})", figure(p99, "ns")));
    let cpu = delivered.labels.count(Label::Cpu).map_or_else(String::new, |cpu| format!(" on CPU {cpu}"));
    let resource = Resource {
        name: WAKE_UP.to_owned(),
        unit: "ns".to_owned(),
        ceiling: Some(best.value()),
        source: Some(CeilingSource::Measured),
        delivered: delivered.value(),
        share: Some(best.value() / delivered.value()),
        meaning: String::new().into(),
        doubt: doubt([delivered, best]),
    };
    let delivered_is = format!("median of SCHED_OTHER{cpu} as the machine is{tail}");
    let ceiling_is = format!("the best median measured there ({policy}, {setting})");
    Some(Headline::new(resource, delivered_is, ceiling_is))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{add_cache, add_curve, machine, measured, sizes, steps};
    use record::Labels;
    use record::machine::MemoryDevice;

    fn resources_of(record: &Record) -> Vec<Resource> {
        resources(&RecordIndex::new(record)).into_iter().map(|headline| headline.resource).collect()
    }

    fn clock(record: &mut Record, cpu: u32, active: &str, hz: f64) {
        let place = Labels::new()
            .with_label(Label::Cpu, cpu)
            .with_label(Label::Active, active)
            .with_label(Label::Vector, "scalar");
        record.measurements.push(measured("core.clock", place, hz));
    }

    #[test]
    fn an_empty_record_has_no_resource() {
        assert_eq!(resources_of(&machine(4)), []);
    }

    #[test]
    fn the_core_is_held_against_what_it_advertises() {
        let mut record = machine(2);
        record.machine.processor.max_hz = Some(4_000_000_000);
        clock(&mut record, 0, "one", 3.9e9);
        clock(&mut record, 0, "all", 3.0e9);
        clock(&mut record, 1, "all", 3.0e9);
        let core = &resources_of(&record)[0];
        assert_eq!((core.ceiling, core.source), (Some(4e9), Some(CeilingSource::Parts)));
        assert!((core.share.unwrap_or(0.0) - 0.75).abs() < 0.01);
        assert!(core.meaning.to_string().contains("CPUs 0-1"), "{}", core.meaning);
    }

    #[test]
    fn a_clock_above_the_advertised_one_is_the_ceiling() {
        let mut record = machine(1);
        record.machine.processor.max_hz = Some(2_000_000_000);
        clock(&mut record, 0, "one", 3.5e9);
        let core = &resources_of(&record)[0];
        assert_eq!(core.source, Some(CeilingSource::Measured));
        assert!(core.share.is_some_and(|share| share <= 1.001));
    }

    fn triad(record: &mut Record, stores: &str, threads: u32, rate: f64) {
        for (counted, factor) in [("stream", 0.75), ("bus", 1.0)] {
            let place = Labels::new()
                .with_label(Label::Op, "triad")
                .with_label(Label::Stores, stores)
                .with_label(Label::BytesCounted, counted)
                .with_label(Label::Threads, threads);
            let m = measured("memory.bandwidth", place, rate * factor);
            record
                .measurements
                .push(m.with_detail(detail::ARRAY_BYTES, 64 << 20).with_detail(detail::ARRAYS, 3));
        }
    }

    #[test]
    fn bandwidth_is_held_against_channels_where_they_are_known() {
        let mut record = machine(2);
        triad(&mut record, "regular", 1, 10e9);
        triad(&mut record, "regular", 2, 16e9);
        triad(&mut record, "streaming", 2, 18e9);
        let measured = &resources_of(&record)[0];
        assert_eq!(measured.source, Some(CeilingSource::Measured));
        assert!(
            (measured.delivered / 18e9 - 1.0).abs() < 0.01
                && measured.meaning.to_string().contains("streaming")
        );
        record.machine.memory_devices = vec![MemoryDevice {
            bytes: Some(1 << 34),
            channel: Some("A".to_owned()),
            configured_mt_s: Some(3200),
            ..MemoryDevice::default()
        }];
        let parts = &resources_of(&record)[0];
        assert_eq!((parts.source, parts.ceiling), (Some(CeilingSource::Parts), Some(25.6e9)));
        assert!(parts.meaning.to_string().contains("1 populated channel at 3200 MT/s"), "{}", parts.meaning);
    }

    #[test]
    fn latency_and_wake_up_name_their_figures() {
        let mut record = machine(1);
        for (page, ns) in [("4KiB", 120.0), ("2MiB", 90.0)] {
            let place = Labels::new()
                .with_label(Label::Cpu, 0u32)
                .with_label(Label::Node, 0u32)
                .with_label(Label::Bytes, 1u64 << 29)
                .with_label(Label::Page, page);
            record.measurements.push(measured("load.latency", place, ns));
        }
        for (policy, setting, ns) in
            [("other", "as-is", 60e3), ("other", "tuned", 9e3), ("fifo", "tuned", 6e3)]
        {
            let place = Labels::new()
                .with_label(Label::Cpu, 0u32)
                .with_label(Label::Policy, policy)
                .with_label(Label::Setting, setting);
            record.measurements.push(measured(
                "wakeup.latency",
                place.with_label(Label::Corrected, false),
                ns,
            ));
        }
        let [latency, wake_up] = &resources_of(&record)[..] else { panic!("two resources") };
        assert!((latency.share.unwrap_or(0.0) - 0.75).abs() < 0.01, "{latency:?}");
        assert!(latency.meaning.to_string().contains("512 MiB"), "{}", latency.meaning);
        assert!((wake_up.share.unwrap_or(0.0) - 0.1).abs() < 0.01, "{wake_up:?}");
        assert!(wake_up.meaning.to_string().contains("SCHED_FIFO, tuned"), "{}", wake_up.meaning);
    }

    #[test]
    fn memory_that_only_large_pages_reached_is_said_to_be_so() {
        let mut record = machine(1);
        for (level, bytes) in [(1, 32 << 10), (2, 1 << 20), (3, 32 << 20)] {
            add_cache(&mut record, level, bytes, 1);
        }
        let curve = [(32 << 10, 1.2), (1 << 20, 4.0), (32 << 20, 30.0), (u64::MAX, 165.0)];
        add_curve(&mut record, "2MiB", &steps(&sizes(4 << 10, 128 << 20), &curve));
        add_curve(&mut record, "4KiB", &steps(&sizes(4 << 10, 8 << 20), &curve));
        let said = not_reached(&RecordIndex::new(&record)).join(" ");
        assert!(said.contains("on ordinary pages not reached: the largest working set was 8 MiB"), "{said}");
        assert!(said.contains("on 2 MiB pages memory answers in 165 ns"), "{said}");
    }

    /// A virtual machine that is shown a host's L3, with a curve up to `largest` bytes on both kinds of page.
    fn shown_a_huge_cache(largest: u64, own: u64) -> Record {
        let mut record = machine(2);
        for (level, bytes, cpus) in [(1, 48 << 10, 1), (2, 2 << 20, 1), (3, 480 << 20, 2)] {
            add_cache(&mut record, level, bytes, cpus);
        }
        let curve = [(48 << 10, 1.2), (2 << 20, 4.5), (own, 35.0), (u64::MAX, 150.0)];
        for page in ["2MiB", "4KiB"] {
            add_curve(&mut record, page, &steps(&sizes(4 << 10, largest), &curve));
        }
        record
    }

    #[test]
    fn a_working_set_within_the_caches_is_not_called_memory() {
        for largest in [256 << 10, 3 << 20, 128 << 20] {
            let mut record = shown_a_huge_cache(largest, 480 << 20);
            triad(&mut record, "regular", 2, 73e9);
            for m in record.measurements.iter_mut().filter(|m| m.metric == "memory.bandwidth") {
                m.detail.set(detail::ARRAY_BYTES, 1 << 20);
            }
            let diagnosis = crate::diagnose(&record);
            assert_eq!(diagnosis.resources, [], "{largest}");
            let [bandwidth, latency] = &diagnosis.not_reached[..] else { panic!("{diagnosis:?}") };
            assert!(bandwidth.to_string().contains("3 MiB together, within the caches"), "{bandwidth}");
            let most = sizes(4 << 10, largest).into_iter().max().unwrap_or(0);
            assert!(latency.to_string().contains(&format!("was {}, within", bytes(most))), "{latency}");
        }
    }

    #[test]
    fn arrays_that_the_shown_caches_might_hold_are_in_doubt() {
        let doubt_of = |array: u64| {
            let mut record = shown_a_huge_cache(256 << 20, 16 << 20);
            triad(&mut record, "regular", 2, 26e9);
            for m in record.measurements.iter_mut().filter(|m| m.metric == "memory.bandwidth") {
                m.detail.set(detail::ARRAY_BYTES, array);
            }
            let diagnosis = crate::diagnose(&record);
            let bandwidth = diagnosis.resources.iter().find(|resource| resource.name == MEMORY_BANDWIDTH);
            bandwidth.map(|bandwidth| bandwidth.doubt.as_ref().and_then(Doubt::code).map(str::to_owned))
        };
        assert_eq!(
            doubt_of(100 << 20),
            None,
            "300 MiB may all lie in 480 MiB, whose share is as neighbours leave it"
        );
        assert_eq!(doubt_of(200 << 20), Some(Some("bandwidth-arrays-may-fit".to_owned())));
        assert_eq!(doubt_of(320 << 20), Some(None), "three arrays of 320 MiB are twice 480 MiB");
    }

    #[test]
    fn beyond_the_part_of_a_cache_that_is_its_own_lies_memory() {
        for (largest, own) in [(256 << 20, 32 << 20), (395 << 20, 234 << 20)] {
            let diagnosis = crate::diagnose(&shown_a_huge_cache(largest, own));
            assert_eq!(diagnosis.resources.len(), 1, "{diagnosis:?}");
            assert_eq!(diagnosis.not_reached, []);
        }
    }

    #[test]
    fn a_resource_carries_the_doubt_of_its_figures() {
        let mut record = machine(2);
        triad(&mut record, "regular", 2, 16e9);
        assert_eq!(resources_of(&record)[0].doubt, None);
        for m in &mut record.measurements {
            m.doubt = Some("too noisy: the median is known to ±30 % only; no cause seen".into());
        }
        let doubt = resources_of(&record)[0].doubt.clone().unwrap();
        assert_eq!((doubt.kind(), doubt.code()), (record::DoubtKind::TooNoisy, Some("doubt-too-noisy")));
        for m in &mut record.measurements {
            m.doubt = Some("the chain of adds says 3.34 GHz, the chain of multiplies 4.01 GHz".into());
        }
        let doubt = resources_of(&record)[0].doubt.clone().unwrap();
        assert_eq!(doubt.code(), Some("doubt-see-notes"));
    }
}
