//! The first screen: the machine, its distance from line speed, findings, missing measurements, and noise.

use std::collections::BTreeSet;

use record::diagnosis::{CeilingSource, Position, Resource};
use record::import::Import;
use record::store::OF_A_WHOLE_RUN;
use record::{
    Coverage, Ended, Label, Machine, Mark, Measurement, Metric, Record, State, Text, metrics, units,
};

use super::conditions::{duration, steal_share};
use super::figures::{WITHHELD, ceiling, digits_beside_ceiling, is_withheld, mark_words, uncertainty, value};
use super::listed;
use super::side_by_side::group_by;
use super::turns::find_turns;
use crate::text::{range, without_zeros};
use record::phrase::{count_noun, join_list};

/// The banner above everything else, if there is one.
pub(crate) fn banner(record: &Record) -> Option<String> {
    if let Some(import) = &record.import {
        let what = if record.measurements.is_empty() { "inventory" } else { "results" };
        return Some(format!("Imported {what} from {}: linespeed measured nothing here.", tools(import)));
    }
    (record.machine.virtualization.emulated == Some(true))
        .then(|| "Emulated machine: results do not show real speeds.".to_owned())
}

/// The text if there are no findings: how many rules found nothing, how many could not be checked, and at most `most` of the missing facts.
pub(crate) fn nothing(record: &Record, most: usize) -> String {
    let unchecked = &record.diagnosis.not_looked_for;
    if record.measurements.is_empty() && record.import.is_none() {
        return "Nothing was measured.".to_owned();
    }
    // Almost no record contains the facts for every rule, so an empty list means that no rule was applied.
    if unchecked.is_empty() {
        return "No rule was applied.".to_owned();
    }
    let missing = group_by(unchecked, |rule| rule.missing.to_string());
    let more = missing.len().saturating_sub(most);
    let named = missing.into_iter().take(most).map(|(fact, _)| fact);
    let missing: Vec<String> = named.chain((more > 0).then(|| format!("{more} more"))).collect();
    let checked = count_noun(diagnose::RULES.len().saturating_sub(unchecked.len()), "rule");
    let (left, missing) = (unchecked.len(), missing.join("; "));
    format!("No findings: {checked} found nothing, {left} could not be checked (missing: {missing}).")
}

/// The tools whose output was imported.
fn tools(import: &Import) -> String {
    let names: BTreeSet<&str> = import.outputs.iter().map(|output| output.tool.as_str()).collect();
    names.into_iter().collect::<Vec<_>>().join(", ")
}

/// The machine in two or three lines.
pub(crate) fn machine(record: &Record) -> Vec<String> {
    let machine = &record.machine;
    let mut lines = Vec::new();
    let system = [machine.system.vendor.clone(), machine.system.product.clone()];
    let system = system.into_iter().flatten().collect::<Vec<_>>().join(" ");
    let p = &machine.processor;
    let model = p
        .model_name
        .clone()
        .or_else(|| p.firmware_name.clone())
        .or_else(|| p.vendor.clone())
        .unwrap_or_else(|| machine.architecture.clone());
    let design = p.microarchitecture.clone().filter(|design| !model.contains(design.as_str()));
    let some = |name: &Option<String>, word: &str| {
        name.as_ref().filter(|name| *name != "none").map(|name| format!("{word} {name}"))
    };
    let named = host_name(machine).is_some() || !system.is_empty();
    lines.push(listed([
        host_name(machine).map(str::to_owned),
        Some(system),
        machine.kernel.release.as_ref().map(|release| format!("Linux {release}")),
        some(&machine.virtualization.hypervisor, "under"),
        some(&machine.virtualization.container, "in"),
    ]));
    // The name of the machine comes first.
    lines.insert(usize::from(named), listed([Some(model), design]));
    lines.push(listed([counts(machine), memory(machine), limits(machine)]));
    lines.retain(|line| !line.is_empty());
    lines.extend(lines.is_empty().then(|| "no machine description".to_owned()));
    lines
}

/// The host name; `(none)` is the kernel's word for an unset name.
pub(crate) fn host_name(machine: &Machine) -> Option<&str> {
    machine.hostname.as_deref().filter(|name| !name.is_empty() && *name != "(none)")
}

/// The number of packages, cores, CPUs and nodes.
pub(crate) fn counts(machine: &Machine) -> Option<String> {
    let counts = &machine.counts;
    let some = |count: Option<u32>, word| count.map(|count| count_noun(count as usize, word));
    let text = listed([
        some(counts.packages, "package"),
        some(counts.cores, "core"),
        some(counts.cpus_online, "CPU"),
        some(counts.nodes, "node"),
    ]);
    (!text.is_empty()).then_some(text)
}

fn memory(machine: &Machine) -> Option<String> {
    let all = machine.memory_bytes?;
    let filled = machine.memory_devices.iter().filter(|slot| slot.bytes.is_some_and(|bytes| bytes > 0));
    let (persistent, slots): (Vec<_>, Vec<_>) =
        filled.partition(|slot| slot.kind.as_deref().is_some_and(|kind| kind.contains("non-volatile")));
    // Virtual machines report devices of type "RAM", which is not informative.
    let kinds = slots.iter().filter_map(|slot| slot.kind.clone()).filter(|kind| kind != "RAM");
    let kinds = join_list(&BTreeSet::from_iter(kinds).into_iter().collect::<Vec<_>>());
    let mut kind = if kinds.is_empty() { "memory".to_owned() } else { kinds };
    let speeds = || slots.iter().filter_map(|slot| slot.configured_mt_s);
    if let Some((slowest, fastest)) = speeds().min().zip(speeds().max()) {
        kind += &format!(" at {} MT/s", range(&slowest.to_string(), &fastest.to_string()));
    }
    // Persistent memory counts only if the other devices are smaller than the memory that Linux uses.
    if !persistent.is_empty() && slots.iter().filter_map(|slot| slot.bytes).sum::<u64>() < all {
        kind += " and persistent memory";
    }
    Some(format!("{} of {kind}", units::bytes(all)))
}

/// The part of the machine that this process may use; `None` if it may use the entire machine.
fn limits(machine: &Machine) -> Option<String> {
    let fewer = match (machine.counts.cpus_allowed, machine.counts.cpus_online) {
        (Some(own), Some(online)) if own < online => Some(format!("{own} of {online} CPUs allowed")),
        _ => None,
    };
    let quota = machine.limits.cpu_quota.map(|cpus| format!("a quota of {} CPUs", units::significant(cpus)));
    let memory = machine.limits.memory_bytes.map(|size| format!("a memory limit of {}", units::bytes(size)));
    let text = listed([fewer, quota, memory]);
    (!text.is_empty()).then_some(text)
}

/// The time of the measurement, or only its date if the record was imported and the time of day is unknown.
fn dated(record: &Record) -> String {
    match (&record.import, record.started.strip_suffix("T00:00:00Z")) {
        (Some(_), Some(day)) => format!("dated {day}"),
        _ => record.started.clone(),
    }
}

/// The requested mode of a run (quick, normal or full); `None` if nothing was measured or the command has no such option.
fn mode(record: &Record) -> Option<String> {
    record.mode.filter(|_| !record.measurements.is_empty()).map(|mode| format!("{mode} run"))
}

/// The time of the record, the version of linespeed, and how the run ended.
pub(crate) fn origin(record: &Record) -> String {
    listed([Some(run(record)), Some(format!("{} {}", record.tool.name, record.tool.version))])
}

/// The time of the record, and how the run ended.
pub(crate) fn run(record: &Record) -> String {
    let ended = match &record.ended {
        Ended::Complete => None,
        Ended::Interrupted { signal } => Some(format!("interrupted by signal {signal}")),
        Ended::Failed { reason } => Some(format!("ended early: {reason}")),
    };
    listed([
        Some(dated(record)),
        mode(record),
        record.seconds.map(|seconds| format!("took {}", duration(seconds))),
        ended,
    ])
}

/// Whether a resource's delivered value is too imprecise to be shown, as in the tables.
pub(crate) fn is_untold(record: &Record, resource: &Resource) -> bool {
    is_withheld(record, resource.delivered, &resource.unit)
}

/// A resource's result and its reference, as in `3.1 GHz ±0.2 % of 3.7 GHz`. With the ceilings of a processor family,
/// this is `3.1 GHz, family 3 – 4.4 GHz`. With the best result measured here, it is `101 ns ±3.0 %, best here 87 ns`.
pub(crate) fn held_against(record: &Record, resource: &Resource) -> String {
    if is_untold(record, resource) {
        return WITHHELD.to_owned();
    }
    let (digits, _) = digits_beside_ceiling(record, resource);
    let half = uncertainty(record, resource.delivered, &resource.unit);
    let half = half.map_or(String::new(), |half| format!(" {half}"));
    let delivered = format!("{}{half}", units::figure_to(resource.delivered, &resource.unit, digits));
    match (ceiling(record, resource), resource.source) {
        (Some(_), _) if resource.family_ceilings.is_some() => {
            let ends = resource.family_ceilings.unwrap_or_default();
            format!("{delivered}, family {}", ends_of(ends, &resource.unit))
        }
        (Some(best), Some(CeilingSource::Measured)) => format!("{delivered}, best here {best}"),
        (Some(ceiling), Some(_)) => format!("{delivered} of {ceiling}"),
        _ => delivered,
    }
}

/// A range such as `3 – 4.4 GHz`, without trailing zeros, because published results have few digits.
pub(crate) fn ends_of((low, high): (f64, f64), unit: &str) -> String {
    let [low, high] = [low, high].map(|end| without_zeros(&units::figure(end, unit)));
    range(&low, &high)
}

/// The published results for similar machines: `typical 95 – 125 ns`, or `best 109 ns, typical …` if the best result here was compared.
/// `with_sources` adds the number of sources and the kind of machine.
pub(crate) fn typical(resource: &Resource, with_sources: bool) -> Option<String> {
    let typical = resource.typical.as_ref()?;
    let range = ends_of((typical.low, typical.high), &resource.unit);
    // The best result here, if it was compared instead of the headline.
    let best = if typical.compared == resource.ceiling { "best " } else { "" };
    let compared = typical.compared.filter(|_| with_sources || !best.is_empty());
    let figure = |figure| format!("{best}{}, ", units::figure(figure, &resource.unit));
    let bare = if typical.of_bare_metal { ", on bare metal" } else { "" };
    let sources = count_noun(typical.sources.len(), "source");
    let by = Some(format!(" ({}, {sources}{bare})", typical.of)).filter(|_| with_sources).unwrap_or_default();
    Some(format!("{}typical {range}{by}", compared.map(figure).unwrap_or_default()))
}

/// The resource's position relative to the published results.
pub(crate) fn position(resource: &Resource) -> Option<&'static str> {
    resource.position.map(position_word)
}

/// A position in a word.
pub(crate) fn position_word(position: Position) -> &'static str {
    match position {
        Position::Low => "low",
        Position::Normal => "normal",
        Position::High => "high",
        Position::UnknownMachine => "unknown machine",
        Position::NotRepresentative => "not representative",
    }
}

/// Items that could not be fully measured, all for the same reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unseen {
    /// The state of their coverage.
    pub state: State,
    /// The names of the items.
    pub what: Vec<String>,
    /// Why they could not be fully measured.
    pub reason: String,
    /// The remedy.
    pub remedy: Option<String>,
}

/// Incomplete measurements, grouped by reason: first impossible, then degraded, then skipped measurements.
pub(crate) fn unseen(record: &Record) -> Vec<Unseen> {
    let of_state = |state: State| {
        let items = record.coverage.iter().filter(move |item| item.state == state);
        let groups = group_by(items, |item| {
            let reason = item.reason.as_ref().map_or("no reason given".to_owned(), Text::to_string);
            (reason, item.remedy.as_ref().map(Text::to_string))
        });
        groups.into_iter().map(move |((reason, remedy), items)| Unseen {
            state,
            what: items.into_iter().map(|item| item.what.clone()).collect(),
            reason,
            remedy,
        })
    };
    [State::Impossible, State::Degraded, State::Skipped].into_iter().flat_map(of_state).collect()
}

/// A user who omits this many of the dozen measurements has a specific question, and its answer is shown first.
const NARROW: usize = 6;

/// Whether the record is from a complete run, whose results fill several screens.
pub(crate) fn is_whole(record: &Record) -> bool {
    let left_out = |item: &&Coverage| item.state == State::Skipped && item.is_for(&Coverage::NOT_ASKED_FOR);
    let is_narrow = record.coverage.iter().filter(left_out).count() >= NARROW;
    let has = |metric: &Metric| record.measurements_of(*metric).any(|m| m.summary.n > 0);
    !is_narrow && OF_A_WHOLE_RUN.iter().all(has)
}

/// The number of unreliable results in each group that matters to readers: headlines, bandwidths, workloads and layers.
/// If all results in these groups are reliable, the number refers to all results except points of latency curves.
pub(crate) fn unreliable(record: &Record) -> String {
    let of = |is: &dyn Fn(&Measurement) -> bool| {
        let all = record.measurements.iter().filter(|m| is(m));
        all.map(|m| m.doubt.is_some()).collect::<Vec<bool>>()
    };
    let headlines = record.diagnosis.resources.iter().map(|resource| resource.doubt.is_some()).collect();
    let mut groups = vec![
        (headlines, "headline"),
        (of(&|m| m.metric == metrics::MEMORY_BANDWIDTH), "bandwidth"),
        (of(&|m| m.metric == metrics::WORKLOAD_THROUGHPUT), "workload"),
        (of(&|m| m.metric == metrics::LAYER_TIME), "layer time"),
    ];
    let doubtful = |all: &[bool]| all.iter().filter(|doubtful| **doubtful).count();
    groups.retain(|(all, _)| doubtful(all) > 0);
    groups.extend(groups.is_empty().then(|| (of(&|m| m.metric != metrics::LOAD_LATENCY), "result")));
    let said = groups.iter().map(|(all, of)| format!("{} of {}", doubtful(all), count_noun(all.len(), of)));
    let said: Vec<String> = said.collect();
    // A scaling step that other processes disturbed in most of its runs is counted separately if its runs agree.
    let disturbed = record.measurements.iter().filter(|m| m.doubt.is_none() && is_disturbed(m)).count();
    let disturbed =
        if disturbed > 0 { format!(", {} disturbed", count_noun(disturbed, "step")) } else { String::new() };
    format!("{} noisy (?){disturbed}", said.join(", "))
}

/// The range of the core clock; `None` if the clock was constant.
fn clock_moved(record: &Record) -> Option<String> {
    let scalar = |m: &&Measurement| m.labels.word(Label::Vector).is_none_or(|vector| vector == "scalar");
    let of_all = record.measurements_of(metrics::CORE_CLOCK).filter(scalar).filter(|m| m.summary.n > 1);
    let ends = of_all.map(|m| (m.summary.min, m.summary.max));
    let (low, high) = ends.reduce(|(low, high), (min, max)| (low.min(min), high.max(max)))?;
    let is_known = low > 0.0 && low < high * (1.0 - CLOCK_STILL);
    let [low, high] = [low, high].map(|hz| units::figure(hz, "Hz"));
    is_known.then(|| format!("clock {}", range(&low, &high)))
}

/// A clock counts as constant if its samples differ by at most this share.
const CLOCK_STILL: f64 = 0.02;

/// Whether a scaling step was disturbed in most of its runs.
fn is_disturbed(m: &Measurement) -> bool {
    let by_others = |mark: Mark| [Mark::Quota, Mark::Switched, Mark::Stolen].contains(&mark);
    let samples: BTreeSet<u32> = m.marks.iter().filter(|m| by_others(m.mark)).map(|m| m.sample).collect();
    m.labels.get(Label::Placement).is_some() && samples.len() as u64 * 2 > m.summary.n
}

/// Noise in one line: unreliable results, CPU use of other processes, and linespeed's own priority.
pub(crate) fn noise_in_a_line(record: &Record) -> String {
    match noise_facts(record) {
        said if said.is_empty() => "noise: not recorded".to_owned(),
        said => format!("noise: {said}"),
    }
}

fn noise_facts(record: &Record) -> String {
    let before = &record.conditions.before;
    let steal = record.conditions.after.as_ref().and_then(|after| after.steal_share);
    let others = record.diagnosis.used_by_others;
    let online = record.machine.counts.cpus_online;
    listed([
        // Alternating commands have their own verdict on noise.
        (record.import.is_none() && !record.measurements.is_empty() && find_turns(record).is_none())
            .then(|| unreliable(record)),
        clock_moved(record).filter(|_| record.import.is_none()),
        others.zip(online).map(|(used, cpus)| {
            format!("other processes {} of {}", units::cpus_in_use(used), units::cpus(cpus))
        }),
        steal.map(|share| format!("steal {} reported", steal_share(share))),
        before.own_nice.filter(|nice| *nice != 0).map(|nice| format!("linespeed's nice value {nice}")),
        before.own_policy.clone().filter(|policy| policy != "other").map(|policy| format!("policy {policy}")),
    ])
}

/// Details of the noise: events during samples, unreliable results, and other processes.
pub(crate) fn noise(record: &Record) -> Vec<String> {
    let mut kinds: Vec<_> = record.measurements.iter().flat_map(|m| &m.marks).map(|mark| mark.mark).collect();
    kinds.sort_unstable();
    let counted = kinds
        .chunk_by(|a, b| a == b)
        .map(|chunk| Some(format!("{} in {}", mark_words(chunk[0]), count_noun(chunk.len(), "sample"))));
    let mut lines = vec![noise_facts(record), listed(counted)];
    let worst = record
        .measurements_of(metrics::STOLEN_SHARE)
        .filter(|m| m.labels.get(Label::Cause).is_none() && m.summary.n > 0)
        .max_by(|a, b| a.value().total_cmp(&b.value()));
    let taken = worst.map(|m| {
        let cpu = m.labels.count(Label::Cpu).map(|cpu| format!(" on CPU {cpu}")).unwrap_or_default();
        format!("a busy loop{cpu} lost {} of its time", value(m))
    });
    lines.extend(taken);
    let state = record.conditions.after.as_ref().unwrap_or(&record.conditions.before);
    lines.push(listed([
        record.conditions.before.load.map(|load| format!("load average {:.2} before the run", load[0])),
        state.throttled.filter(|times| *times > 0).map(|times| format!("throttled {times} times since boot")),
    ]));
    lines.retain(|line| !line.is_empty());
    lines
}

#[cfg(test)]
mod tests {
    use record::machine::MemoryDevice;

    use super::*;

    #[test]
    fn each_kind_of_memory_is_named_and_persistent_memory_only_if_linux_uses_it() {
        let device = |kind: &str, gib: u64, speed| MemoryDevice {
            kind: Some(kind.to_owned()),
            bytes: Some(gib << 30),
            configured_mt_s: speed,
            ..MemoryDevice::default()
        };
        let mut machine = Machine { memory_bytes: Some(160 << 30), ..Machine::default() };
        machine.memory_devices =
            vec![device("Logical non-volatile device", 128, Some(2666)), device("DDR4", 32, Some(3200))];
        assert_eq!(memory(&machine).unwrap(), "160 GiB of DDR4 at 3200 MT/s and persistent memory");
        machine.memory_bytes = Some(31 << 30);
        assert_eq!(memory(&machine).unwrap(), "31 GiB of DDR4 at 3200 MT/s");
        machine.memory_devices[0] = device("DDR4", 0, Some(1600));
        machine.memory_devices.push(device("DDR4", 32, Some(2933)));
        assert_eq!(memory(&machine).unwrap(), "31 GiB of DDR4 at 2933 – 3200 MT/s");
        machine.memory_devices.clear();
        assert_eq!(memory(&machine).unwrap(), "31 GiB of memory");
    }

    #[test]
    fn steps_that_others_disturbed_count_as_noise() {
        let mut record = Record::new("0.1.0", String::new(), Vec::new());
        let place = record::Labels::new()
            .with_label(Label::Placement, "cores-first")
            .with_label(Label::Threads, 2u32);
        let mut step = Measurement::new("workload.throughput", place, vec![1.0, 1.1, 1.2]);
        let mark = |sample| record::SampleMark { sample, mark: Mark::Switched };
        step.marks = vec![mark(0)];
        record.measurements.push(step.clone());
        let alone = unreliable(&record);
        record.measurements[0].marks = vec![mark(0), mark(2)];
        let disturbed = unreliable(&record);
        record.measurements[0].doubt = Some("too noisy".into());
        let doubtful = unreliable(&record);
        insta::assert_snapshot!([alone, disturbed, doubtful].join("\n"), @r"
        0 of 1 result noisy (?)
        0 of 1 result noisy (?), 1 step disturbed
        1 of 1 workload noisy (?)
        ");
    }

    #[test]
    fn what_lacks_for_one_reason_takes_one_line() {
        let mut record = Record::new("0.1.0", String::new(), Vec::new());
        for what in ["wakeup", "stolen"] {
            record.coverage.push(Coverage::skipped(what, "not requested"));
        }
        record.coverage.push(Coverage::measured("clock"));
        record
            .coverage
            .push(Coverage::impossible("memory devices", "needs root").with_remedy("sudo linespeed"));
        let unseen = unseen(&record);
        assert_eq!(unseen.len(), 2);
        assert_eq!(
            (unseen[0].state, unseen[0].remedy.as_deref()),
            (State::Impossible, Some("sudo linespeed"))
        );
        assert_eq!(unseen[1].what, ["wakeup", "stolen"]);
    }

    #[test]
    fn what_has_no_ceiling_is_a_figure_alone() {
        let record = Record::new("0.1.0", String::new(), Vec::new());
        let mut bandwidth = Resource {
            name: "memory bandwidth".to_owned(),
            unit: "B/s".to_owned(),
            ceiling: None,
            source: None,
            delivered: 43.1e9,
            share: None,
            repeatability: None,
            family_ceilings: None,
            typical: None,
            position: None,
            beside: Some("best read 44.0 GB/s".into()),
            meaning: Text::default(),
            doubt: None,
        };
        assert_eq!(held_against(&record, &bandwidth), "43.1 GB/s");
        (bandwidth.ceiling, bandwidth.source) = (Some(51.2e9), Some(CeilingSource::Parts));
        assert_eq!(held_against(&record, &bandwidth), "43.1 GB/s of 51.2 GB/s");
    }
}
