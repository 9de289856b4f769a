//! Compares a record's results with published results of similar machines, and with other records.

use std::collections::{BTreeMap, BTreeSet};

use record::diagnosis::Position;
use record::machine::Cpu;
use record::{Label, Machine, Measurement, Record, Text, metrics};
use serde::Serialize;
use serde_with::skip_serializing_none;

use crate::cores::{self, Core, Range};
use crate::cpu_accounting::disturbance;
use crate::figures::{has_labels, median, middle, spread};
use crate::record_index::RecordIndex;
use crate::resources::{self, Walk, beyond, memory_pages, triad_and_read, triad_threads, wake_up};
use crate::tables::rows;

/// A record's results compared with those of its peers.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Like {
    /// The design of the machine's processor: `AMD Zen 4 (Genoa)`; absent if unknown.
    pub design: Option<String>,
    /// Whether the record is from a guest.
    pub guest: bool,
    /// The number of other records of similar machines in the comparison, if requested.
    pub among: Option<usize>,
    /// The disturbance of the run, if it is the reason why no result is judged.
    pub disturbed: Option<Text>,
    /// The record's results.
    pub figures: Vec<Row>,
}

/// One result compared with its peers.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The displayed name: `memory latency, own node, 2 MiB pages`.
    pub what: String,
    /// The result.
    pub value: f64,
    /// The unit of the result.
    pub unit: &'static str,
    /// The lowest and the highest published result.
    pub range: Option<(f64, f64)>,
    /// The source of the range: the design, its group, or one processor model.
    pub of: Option<String>,
    /// Whether the range is for bare metal although the record is from a guest.
    pub of_bare_metal: bool,
    /// The position of the result relative to the range.
    pub position: Option<Position>,
    /// The publishers.
    pub sources: Vec<String>,
    /// The tolerance of the position: a result beyond the range by at most this share of its end is normal.
    pub tolerance: Option<f64>,
    /// Whether the result is unreliable; an unreliable result has no position.
    pub unreliable: bool,
    /// The share of the other records with a smaller result, 0 to 1.
    pub percentile: Option<f64>,
}

/// The table of results: displayed names, and words that identify a result in a line of text.
pub(crate) const LIKE: &str = include_str!("like.txt");

/// The compared quantities: the name in the data, and the displayed name.
fn quantities() -> impl Iterator<Item = (&'static str, &'static str)> {
    rows(LIKE, "quantities").into_iter().filter_map(|row| Some((*row.first()?, *row.get(1)?)))
}

/// The displayed name of a quantity.
pub(crate) fn title(what: &str) -> &'static str {
    quantities().find(|(own, _)| *own == what).map_or("", |(_, title)| title)
}

/// A result and its interval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) value: f64,
    pub(crate) between: (f64, f64),
    pub(crate) unit: &'static str,
    pub(crate) sure: bool,
    /// How the result was measured, if this differs from the headline of the same name.
    pub(crate) method: &'static str,
}

impl Seen {
    fn of(m: &Measurement, unit: &'static str) -> Self {
        let method = match (m.labels.word(Label::Page), m.labels.word(Label::Setting)) {
            (Some("2MiB"), _) => ", 2 MiB pages",
            (_, Some("tuned")) => ", no deep idle states",
            _ => "",
        };
        Self { value: m.value(), between: spread(&m.summary), unit, sure: m.doubt.is_none(), method }
    }

    pub(crate) fn exact(value: f64, unit: &'static str) -> Self {
        Self { value, between: (value, value), unit, sure: true, method: "" }
    }
}

/// The compared results of a record, by their names in the data.
fn figures(index: &RecordIndex) -> BTreeMap<&'static str, Seen> {
    let mut found = BTreeMap::new();
    let mut add = |what: &'static str, seen: Option<Seen>| {
        if let Some(seen) = seen.filter(|seen| seen.value.is_finite() && seen.value > 0.0) {
            found.insert(what, seen);
        }
    };
    for (what, active) in [("clock.one_core", "one"), ("clock.all_core", "all")] {
        add(what, middle(index.clocks("scalar", active)).map(|m| Seen::of(m, "Hz")));
    }
    // Levels are derived from a curve; the plateaus of a mostly unreliable curve are meaningless.
    let loads = || index.figures_of(metrics::LOAD_LATENCY);
    let sure = 2 * loads().filter(|m| m.doubt.is_some()).count() <= loads().count();
    // A plateau that is about as slow as memory is not a cache.
    let memory = memory_pages(index).map_or(f64::INFINITY, |(_, huge)| huge.value());
    for level in index.levels().iter().filter(|level| level.latency_ns < memory / 2.0) {
        let [cycles, ns] = match level.name.as_str() {
            "L1" => ["l1d.latency", ""],
            "L2" => ["l2.latency", "l2.latency_ns"],
            "L3" => ["l3.latency_cycles", "l3.latency_ns"],
            _ => continue,
        };
        add(cycles, level.latency_cycles.map(|cycles| Seen { sure, ..Seen::exact(cycles, "cycles") }));
        add(ns, Some(Seen { sure, ..Seen::exact(level.latency_ns, "ns") }).filter(|_| !ns.is_empty()));
    }
    let nodes = |own: bool| {
        let is_own = move |m: &&Measurement| (m.labels.get(Label::From) == m.labels.get(Label::To)) == own;
        middle(index.figures_of(metrics::NUMA_LATENCY).filter(is_own)).map(|m| Seen::of(m, "ns"))
    };
    let chased = memory_pages(index).map(|(_, huge)| Seen::of(huge, "ns"));
    add("dram.latency_local", chased.or_else(|| nodes(true)).or_else(|| own_memory(index)));
    // If a package has several nodes, memory on another node is not necessarily that of another socket.
    let counts = &index.record.machine.counts;
    let one_a_package = counts.nodes == counts.packages && counts.nodes > Some(1);
    add("dram.latency_remote", nodes(false).filter(|_| one_a_package));
    let all = triad_and_read(index);
    add("stream.triad", all.map(|(triad, _)| Seen::of(triad, "B/s")));
    add("mem.read_peak", all.and_then(|(_, read)| read).map(|read| Seen::of(read, "B/s")));
    let alone = index.figures_of(metrics::MEMORY_BANDWIDTH).filter(|m| {
        has_labels(m, &[(Label::BytesCounted, "stream"), (Label::Op, "read")])
            && m.labels.count(Label::Threads) == Some(1)
            && crate::beyond_caches(index.record, m)
    });
    let fastest = alone.max_by(|a, b| a.value().total_cmp(&b.value()));
    add("read.single_core", fastest.map(|m| Seen::of(m, "B/s")));
    for (what, values) in pairs(index) {
        add(what, median(values).map(|value| Seen::exact(value, "ns")));
    }
    for (what, policy) in [("wakeup.realtime", "fifo"), ("wakeup.ordinary", "other")] {
        add(what, wake_up(index, policy).map(|m| Seen::of(m, "ns")));
    }
    found
}

/// The latency of a load from the CPU's local memory in a record imported from another tool: the result for the largest working set, if
/// this exceeds the caches.
fn own_memory(index: &RecordIndex) -> Option<Seen> {
    let least = beyond(index.record, index.levels(), Walk::Loads);
    let own_node = |m: &&Measurement| {
        let mut cpus = index.record.machine.cpus.iter();
        let cpu = cpus.find(|cpu| Some(u64::from(cpu.id)) == m.labels.count(Label::Cpu));
        let node = cpu.and_then(|cpu| cpu.node).map(u64::from);
        node.is_some() && node == m.labels.count(Label::Node)
    };
    let far = index.figures_of(metrics::LOAD_LATENCY).filter(|m| m.labels.count(Label::Bytes) >= Some(least));
    let far = far.filter(|m| m.labels.word(Label::Page) != Some("4KiB")).filter(own_node);
    far.max_by_key(|m| m.labels.count(Label::Bytes)).map(|m| Seen::of(m, "ns"))
}

/// Core-to-core times by the distance between the CPUs. Empty in a guest, because the hypervisor invents the topology.
fn pairs(index: &RecordIndex) -> BTreeMap<&'static str, Vec<f64>> {
    let machine = &index.record.machine;
    let mut found: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    if machine.is_virtual() {
        return found;
    }
    let cpu = |m: &Measurement, label| {
        let id = m.labels.count(label)?;
        machine.cpus.iter().find(|cpu| u64::from(cpu.id) == id)
    };
    let last = machine.last_level();
    let caches: Vec<BTreeSet<u32>> = machine.data_caches(last).map(|c| c.cpus.iter().collect()).collect();
    let share_cache = |a: &Cpu, b: &Cpu| {
        last >= 3 && caches.iter().any(|cpus| cpus.contains(&a.id) && cpus.contains(&b.id))
    };
    let several_caches = caches.len() as u64 > u64::from(machine.counts.packages.unwrap_or(1));
    for m in index.figures_of(metrics::CORE_TO_CORE_LATENCY) {
        let (Some(a), Some(b)) = (cpu(m, Label::From), cpu(m, Label::To)) else { continue };
        let Some((one, other)) = a.package.zip(b.package) else { continue };
        let what = match one == other {
            _ if a.core.is_some() && a.core == b.core => "c2c.smt",
            true if a.cluster.is_some() && a.cluster == b.cluster && !several_caches => "c2c.same_cluster",
            true if several_caches && share_cache(a, b) => "c2c.same_ccx",
            true => "c2c.same_socket",
            false => "c2c.other_socket",
        };
        found.entry(what).or_default().push(m.value());
    }
    found
}

/// The results of the published machines of a design, each with its name. For a guest, only published guests are included.
pub(crate) type Others<'a> = Vec<(&'a str, BTreeMap<&'static str, Seen>)>;

/// Whether another machine has a processor of this design.
fn is_of(core: Option<&Core>, other: &Record) -> bool {
    cores::of_machine(&other.machine).zip(core).is_some_and(|(other, own)| other.id == own.id)
}

/// Selects the published machines that are similar to a machine of this design.
pub(crate) fn others<'a>(core: Option<&Core>, guest: bool, published: &'a [(String, Record)]) -> Others<'a> {
    let alike =
        published.iter().filter(|(_, other)| is_of(core, other) && other.machine.is_virtual() == guest);
    alike.map(|(name, other)| (name.as_str(), figures(&RecordIndex::new(other)))).collect()
}

/// Judges a result from a record or from a line of text by the same range as the headlines. If there is no published range, the results of
/// published machines form the range; they never extend a published range. `threads` is the number of threads of the triad, if it is known.
pub(crate) fn judge(
    machine: &Machine,
    core: Option<&'static Core>,
    threads: Option<u64>,
    others: &Others,
    (what, seen): (&str, &Seen),
) -> Row {
    let guest = machine.is_virtual();
    let known = resources::published(machine, core, what, threads);
    let known = known.filter(|range| range.unit == seen.unit);
    let mut range = known.clone();
    // The all-core bandwidth of a different machine is not a valid range for this one.
    let comparable = match what {
        "stream.triad" | "mem.read_peak" | "clock.one_core" | "clock.all_core" => &[],
        _ => others.as_slice(),
    };
    for (name, other) in comparable {
        let own = other.get(what).filter(|own| own.sure && own.unit == seen.unit);
        let Some(&Seen { value, unit, .. }) = own else { continue };
        if known.as_ref().is_some_and(|known| !(known.low..=known.high).contains(&value)) {
            continue;
        }
        let of = || core.map_or_else(String::new, |core| core.name.clone());
        let new = || Range { low: value, high: value, unit, sources: Vec::new(), of: of(), guest };
        let range = range.get_or_insert_with(new);
        (range.low, range.high) = (range.low.min(value), range.high.max(value));
        range.sources.push((*name).to_owned());
    }
    let judged_by = known.as_ref().or(range.as_ref());
    Row {
        what: format!("{}{}", title(what), seen.method),
        value: seen.value,
        unit: seen.unit,
        position: judged_by.map(|range| range.position(seen.between)),
        tolerance: judged_by.map(Range::tolerance),
        // The latency of a cache in cycles is the same in a guest.
        of_bare_metal: range.as_ref().is_some_and(|r| guest && !r.guest && seen.unit != "cycles"),
        range: range.as_ref().map(|range| (range.low, range.high)),
        of: range.as_ref().map(|range| range.of.clone()),
        sources: range.map(|range| range.sources).unwrap_or_default(),
        unreliable: !seen.sure,
        percentile: None,
    }
}

/// A record's results compared with published results of its peers. `published` contains records of published machines with their names;
/// only machines of the same design are used. `among` contains other records; only records of similar machines are used.
pub fn like(record: &Record, published: &[(String, Record)], among: Option<&[Record]>) -> Like {
    let index = &RecordIndex::new(record);
    let (machine, core) = (&record.machine, cores::of_machine(&record.machine));
    let name = &machine.processor.model_name;
    let is_alike = |other: &&Record| match core {
        Some(_) => is_of(core, other),
        None => name.is_some() && other.machine.processor.model_name == *name,
    };
    let seen = |other: &Record| figures(&RecordIndex::new(other));
    let among: Option<Vec<_>> = among.map(|all| all.iter().filter(is_alike).map(seen).collect());
    let own = figures(index);
    let disturbed = disturbance(record);
    let others = others(core, machine.is_virtual(), published);
    let row = |(what, _): (&'static str, &str)| {
        let figure = own.get(what)?;
        let percentile = among.as_ref().and_then(|all| {
            let others: Vec<f64> = all.iter().filter_map(|other| Some(other.get(what)?.value)).collect();
            let below = others.iter().filter(|other| **other < figure.value).count() as f64;
            let equal = others.iter().filter(|other| **other == figure.value).count() as f64;
            (!others.is_empty()).then(|| (below + equal / 2.0) / others.len() as f64)
        });
        let judged = judge(machine, core, triad_threads(index), &others, (what, figure));
        let position = match disturbed.is_some() {
            true => Some(Position::NotRepresentative),
            false if !figure.sure => None,
            false => judged.position.or(core.is_none().then_some(Position::UnknownMachine)),
        };
        Some(Row { percentile, position, ..judged })
    };
    Like {
        design: core.map(|core| core.name.clone()),
        guest: machine.is_virtual(),
        among: among.as_ref().map(Vec::len),
        figures: quantities().filter_map(row).collect(),
        disturbed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{add_curve, machine};

    #[test]
    fn an_unreliable_figure_has_no_position() {
        let mut record = machine(2);
        record.machine.processor.model_name = Some("AMD EPYC 7763 64-Core Processor".to_owned());
        for page in ["4KiB", "2MiB"] {
            add_curve(&mut record, page, &[(4 << 10, 1.0), (1 << 29, 212.0)]);
        }
        let latency = |record: &Record| {
            let rows = like(record, &[], None).figures;
            rows.into_iter().find(|row| row.what == "memory latency, own node, 2 MiB pages").unwrap()
        };
        assert_eq!(latency(&record).position, Some(Position::High));
        record.measurements.iter_mut().for_each(|m| m.doubt = Some("too noisy: no cause seen".into()));
        let unsure = latency(&record);
        assert_eq!((unsure.position, unsure.unreliable), (None, true), "{unsure:?}");
        record.machine.processor.model_name = Some("Zhaoxin KX-U6780A".to_owned());
        record.measurements.iter_mut().for_each(|m| m.doubt = None);
        assert_eq!(latency(&record).position, Some(Position::UnknownMachine));
    }
}
