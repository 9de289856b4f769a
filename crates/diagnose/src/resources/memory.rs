//! Memory against its ceilings: bandwidth of all CPUs, latency of a load.

use record::diagnosis::{CeilingSource, Resource};
use record::phrase::count_noun;
use record::text::Value;
use record::{Doubt, Label, Measurement, Record, Text, detail, text};

use super::reached::{Walk, beyond, beyond_advertised, walked};
use super::{Headline, MEMORY_BANDWIDTH, MEMORY_LATENCY, ceiling, ceiling_text, doubt};
use crate::figures::has_labels;
use crate::memory_channels;
use crate::record_index::RecordIndex;

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
pub(crate) fn bandwidth_alone(index: &RecordIndex) -> Option<(f64, Text)> {
    let all = on_the_bus(index);
    let reported =
        |m: &Measurement| m.detail.get(detail::ALONE_BYTES_PER_SECOND).filter(|rate| rate.is_finite());
    let (m, alone) = all.into_iter().find_map(|m| Some((m, reported(m)?)))?;
    let words = text!(
        "bandwidth-alone",
        "{op} with {stores} stores on {threads}, alone on the CPUs, in turns of some milliseconds",
        op = m.labels.word(Label::Op).unwrap_or("a loop").to_owned(),
        stores = m.labels.word(Label::Stores).unwrap_or("regular").to_owned(),
        threads = count_noun(m.labels.count(Label::Threads).unwrap_or(0), "thread")
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
pub(super) fn bandwidth(index: &RecordIndex) -> Option<Headline> {
    let (best, triad) = bandwidths(index)?;
    let threads = triad.labels.count(Label::Threads)?;
    let channels = memory_channels::channels(&index.record.machine);
    let ceiling = ceiling(channels.map(|channels| channels.bytes_per_second), Some(best.value()));
    let source = ceiling.map(|(_, source)| source);
    let from_parts = channels.map_or_else(Text::default, |channels| channels.describe_at(channels.mt_s));
    let from_best = text!(
        "bandwidth-best",
        "the highest bandwidth measured ({op}, {stores} stores, {threads})",
        op = best.labels.word(Label::Op).unwrap_or("?").to_owned(),
        stores = best.labels.word(Label::Stores).unwrap_or("no").to_owned(),
        threads = count_noun(best.labels.count(Label::Threads).unwrap_or(0), "thread")
    );
    let resource = Resource {
        name: MEMORY_BANDWIDTH.to_owned(),
        unit: "B/s".to_owned(),
        ceiling: ceiling.map(|(rate, _)| rate),
        source,
        delivered: triad.value(),
        share: ceiling.map(|(rate, _)| triad.value() / rate),
        usual: None,
        meaning: Text::default(),
        doubt: maybe_cached(index.record, triad).or_else(|| {
            doubt([triad].into_iter().chain((source == Some(CeilingSource::Measured)).then_some(best)))
        }),
    };
    let delivered_is = text!(
        "bandwidth-triad",
        "triad with {stores} stores on {threads}, bytes on the bus",
        stores = triad.labels.word(Label::Stores).unwrap_or("regular").to_owned(),
        threads = count_noun(threads, "thread")
    );
    let ceiling_is = ceiling_text(source, from_parts, from_best);
    Some(Headline::new(resource, delivered_is, ceiling_is))
}

/// [`RecordIndex::pages`], where that working set was mostly memory.
pub(crate) fn memory_pages<'a>(index: &RecordIndex<'a>) -> Option<(&'a Measurement, &'a Measurement)> {
    let least = beyond(index.record, index.levels(), Walk::Loads);
    index.pages().filter(|(small, _)| small.labels.count(Label::Bytes).is_some_and(|bytes| bytes >= least))
}

/// Memory latency: what ordinary pages leave of the hardware's latency.
pub(super) fn latency(index: &RecordIndex) -> Option<Headline> {
    let (small, huge) = memory_pages(index)?;
    let ceiling = huge.value().min(small.value());
    let size = Value::Bytes(small.labels.count(Label::Bytes)?);
    let resource = Resource {
        name: MEMORY_LATENCY.to_owned(),
        unit: "ns".to_owned(),
        ceiling: Some(ceiling),
        source: Some(CeilingSource::Measured),
        delivered: small.value(),
        share: Some(ceiling / small.value()),
        usual: None,
        meaning: Text::default(),
        doubt: doubt([small, huge]),
    };
    let delivered_is = match small.labels.count(Label::Cpu) {
        Some(cpu) => {
            text!("memory-latency-of-cpu", "a load from {size} on CPU {cpu}, ordinary 4 KiB pages", size, cpu)
        }
        None => text!("memory-latency-of-load", "a load from {size}, ordinary 4 KiB pages", size),
    };
    let ceiling_is = text!("memory-latency-on-huge-pages", "the same on 2 MiB pages");
    Some(Headline::new(resource, delivered_is, ceiling_is))
}
