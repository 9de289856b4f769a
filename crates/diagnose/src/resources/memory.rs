//! Memory compared with its ceilings: all-CPU bandwidth and load latency.

use record::diagnosis::{CeilingSource, Resource};
use record::phrase::count_noun;
use record::text::Value;
use record::{Doubt, Label, Measurement, Text, metrics, text};

use super::reached::{Walk, beyond, walked};
use super::{Headline, MEMORY_BANDWIDTH, MEMORY_LATENCY, doubt, reached};
use crate::figures::{RESOLUTION, has_labels, median};
use crate::memory_channels;
use crate::node_costs::nodes_figures;
use crate::record_index::RecordIndex;
use crate::shape::{moved, noise};

/// Bandwidth results with bytes counted as in STREAM, on arrays that are mostly in memory. The bus transferred at least as many bytes,
/// whether or not regular stores first read their cache lines.
fn in_memory<'a>(index: &RecordIndex<'a>) -> Vec<&'a Measurement> {
    let least = beyond(index.record, index.levels(), Walk::Arrays);
    let all = index
        .figures_of(metrics::MEMORY_BANDWIDTH)
        .filter(|m| has_labels(m, &[(Label::BytesCounted, "stream")]));
    all.filter(|m| walked(m) >= least && m.value() > 0.0).collect()
}

/// The fastest result of an operation, with any kind of store.
fn fastest<'a>(all: &[&'a Measurement], op: &str) -> Option<&'a Measurement> {
    let of_op = all.iter().copied().filter(|m| has_labels(m, &[(Label::Op, op)]));
    of_op.max_by(|a, b| a.value().total_cmp(&b.value()))
}

/// The bandwidth of all CPUs: the best triad and the best read.
pub(crate) fn triad_and_read<'a>(
    index: &RecordIndex<'a>,
) -> Option<(&'a Measurement, Option<&'a Measurement>)> {
    let mut all = in_memory(index);
    let most_threads = all.iter().filter_map(|m| m.labels.count(Label::Threads)).max()?;
    all.retain(|m| m.labels.count(Label::Threads) == Some(most_threads));
    Some((fastest(&all, "triad")?, fastest(&all, "read")))
}

/// The doubt about arrays that are larger than the measured part of the caches, but not much larger than the caches that the kernel shows:
/// with idle neighbors, a larger part of the caches may have been available during the measurement.
fn maybe_cached(index: &RecordIndex, triad: &Measurement) -> Option<Doubt> {
    reached::maybe_cached(index.record, index.levels(), triad)
        .then(|| text!("bandwidth-arrays-may-fit", "arrays may fit in the caches").into())
}

/// The kind of stores of a triad: `regular` or `streaming`.
fn stores(triad: &Measurement) -> String {
    triad.labels.word(Label::Stores).unwrap_or("regular").to_owned()
}

/// The remark next to triad: the best read result. The remark calls the read result unreliable only if there is a doubt about this result
/// itself, so that it agrees with the table of results.
fn beside(triad: &Measurement, read: Option<&Measurement>, threads: &str) -> Text {
    let (threads, stores) = (threads.to_owned(), stores(triad));
    let Some(read) = read else {
        return text!("triad ({stores} stores), {threads}");
    };
    if read.value() >= triad.value() {
        return text!("bandwidth-triad-and-read", "triad ({stores} stores), {threads}; best read {read}");
    }
    if read.doubt.is_some() {
        return text!(
            "bandwidth-reads-disturbed",
            "triad ({stores} stores), {threads}; best read {read} (unreliable)"
        );
    }
    text!("bandwidth-triad-above-read", "triad ({stores} stores), {threads}; reads only: {read}")
}

/// Memory bandwidth: the best all-CPU triad compared with the peak bandwidth of the memory devices, in quick, normal and full runs alike.
/// If the devices are unknown, there is no ceiling, because no other loop's bandwidth can serve as one.
pub(super) fn bandwidth(index: &RecordIndex) -> Option<Headline> {
    let (triad, read) = triad_and_read(index)?;
    let who = count_noun(triad.labels.count(Label::Threads)?, "thread");
    let channels = memory_channels::channels(&index.record.machine);
    // A result above the devices' peak bandwidth shows that the devices were reported incorrectly.
    let most = in_memory(index).into_iter().map(Measurement::value).fold(0.0, f64::max);
    let channels = channels.filter(|channels| channels.bytes_per_second * (1.0 + RESOLUTION) >= most);
    let ceiling = channels.map(|channels| channels.bytes_per_second);
    let resource = Resource {
        name: MEMORY_BANDWIDTH.to_owned(),
        unit: "B/s".to_owned(),
        ceiling,
        source: ceiling.map(|_| CeilingSource::Parts),
        delivered: triad.value(),
        share: ceiling.map(|rate| triad.value() / rate),
        beside: by_placement(index, triad).or_else(|| Some(beside(triad, read, &who))),
        doubt: maybe_cached(index, triad).or_else(|| doubt([triad])),
        ..Resource::default()
    };
    let delivered_is = text!(
        "bandwidth-best-triad",
        "best triad of {threads} ({stores} stores), STREAM bytes",
        threads = who,
        stores = stores(triad)
    );
    let ceiling_is = channels.map_or_else(
        || text!("an unknown ceiling (no information about the memory devices)"),
        |channels| channels.describe_at(channels.mt_s),
    );
    Some(Headline::new(resource, delivered_is, ceiling_is))
}

/// [`RecordIndex::pages`], if that working set was mostly in memory.
pub(crate) fn memory_pages<'a>(index: &RecordIndex<'a>) -> Option<(&'a Measurement, &'a Measurement)> {
    let least = beyond(index.record, index.levels(), Walk::Loads);
    index.pages().filter(|(small, _)| small.labels.count(Label::Bytes).is_some_and(|bytes| bytes >= least))
}

/// Other memory latency results in a record, each with a description of how its method differs from that of the headline.
fn measured_otherwise(index: &RecordIndex) -> Vec<Text> {
    let bandwidth = |m: &&Measurement| m.labels.number(Label::Bandwidth).unwrap_or(f64::INFINITY);
    let idlest = |metric| {
        let all = index.figures_of(metric).filter(|m| m.value() > 0.0);
        all.min_by(|a, b| bandwidth(a).total_cmp(&bandwidth(b)))
    };
    let own_node = median(
        nodes_figures(index, metrics::NUMA_LATENCY)
            .iter()
            .filter(|(at, _)| at.0 == at.1)
            .map(|(_, m)| m.value()),
    );
    let loaded = idlest(metrics::MEMORY_LOADED_LATENCY).map(|latency| {
        text!("{latency} while other CPUs use little memory bandwidth (memory.loaded_latency)")
    });
    let probed = idlest(metrics::PROBE_LATENCY)
        .map(|latency| text!("{latency} for a line just flushed from the caches (probe.latency)"));
    let own = own_node.map(|ns| {
        let latency = Value::Figure(ns, "ns");
        text!("{latency} on the CPU's local node, each line loaded once (numa.latency)")
    });
    [own, loaded, probed].into_iter().flatten().collect()
}

/// A result's values by CPU placement, if the result depends on the placement.
fn by_placement(index: &RecordIndex, m: &Measurement) -> Option<Text> {
    noise::explain(m, moved(index.shape()?))
}

/// Memory latency on ordinary pages, relative to the latency of the hardware.
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
        beside: by_placement(index, small),
        doubt: doubt([small, huge]),
        ..Resource::default()
    };
    let delivered_is = match small.labels.count(Label::Cpu) {
        Some(cpu) => {
            text!("a load from {size} on CPU {cpu}, ordinary 4 KiB pages")
        }
        None => text!("a load from {size}, ordinary 4 KiB pages"),
    };
    let ceiling_is = match measured_otherwise(index) {
        others if others.is_empty() => text!("a load on 2 MiB pages"),
        others => text!("a load on 2 MiB pages; other methods: {others}", others),
    };
    Some(Headline::new(resource, delivered_is, ceiling_is))
}
