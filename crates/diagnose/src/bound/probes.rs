//! The effects of changes in a command's environment: a change that slows the command down reveals a resource that the
//! command needs.

use record::command_run::{Probe, ProbeKind};
use record::diagnosis::BoundBy;
use record::text::Value;
use record::{Text, text};

use super::{Cause, Facts, detail, sampled, verdict};

/// Minimum slowdown that matters: a program that needs the removed resource slows down by more than the difference between two runs.
const SLOWER: f64 = 1.05;
const FASTER: f64 = 0.95;
/// Threads slow each other down if, on fewer CPUs, the command needs less than this share of the CPU time that it needs on all CPUs.
const MUCH_FASTER: f64 = 0.8;
/// Minimum share assigned to a cause that an experiment shows (at least 5 % slower), because experiments take precedence over observations.
const LEAST_SHOWN: f64 = 0.65;

fn find(facts: &Facts, kind: ProbeKind) -> Option<Probe> {
    facts.probes().into_iter().find(|probe| probe.kind == kind)
}

/// A change that slowed the command down beyond doubt.
fn slower(facts: &Facts, kind: ProbeKind) -> Option<Probe> {
    find(facts, kind).filter(|probe| probe.interval.is_some_and(|(low, _)| low > 1.0) && probe.ratio > SLOWER)
}

/// A change that made the command faster beyond doubt, by at least this factor.
fn faster(facts: &Facts, kind: ProbeKind, by: f64) -> Option<Probe> {
    find(facts, kind).filter(|probe| probe.interval.is_some_and(|(_, high)| high < 1.0) && probe.ratio < by)
}

/// The probes for bandwidth and for the last-level cache, if both slow the command down and their intervals overlap: it is then unresolved
/// which of the two resources the command needs. A command whose working set exceeds the caches needs both.
fn alike(facts: &Facts) -> Option<(Probe, Probe)> {
    let is_slower = |kind| slower(facts, kind).is_some();
    if !is_slower(ProbeKind::Bandwidth) && !is_slower(ProbeKind::Cache) {
        return None;
    }
    let (bandwidth, cache) = (find(facts, ProbeKind::Bandwidth)?, find(facts, ProbeKind::Cache)?);
    let ((low, high), (cache_low, cache_high)) = (bandwidth.interval?, cache.interval?);
    let meet = low < cache_high && cache_low < high;
    (meet && bandwidth.ratio > SLOWER && cache.ratio > SLOWER).then_some((bandwidth, cache))
}

fn range(probe: &Probe) -> String {
    let (low, high) = probe.interval.unwrap_or((probe.ratio, probe.ratio));
    format!("{low:.2}× to {high:.2}×")
}

/// Describes the change of the command's CPU time.
fn changed(key: &str, probe: &Probe) -> Text {
    text!(verdict(key), ratio = Value::Factor(probe.ratio), range = range(probe))
}

fn share(ratio: f64) -> f64 {
    (LEAST_SHOWN + ratio - SLOWER).clamp(LEAST_SHOWN, 1.0)
}

/// The memory resource needed by a program that other programs slow down. Uses samples of its instructions if they are
/// conclusive.
fn kind(facts: &Facts, ratio: f64, slowed: Text) -> Cause {
    match sampled::at_memory(facts) {
        Some(seen) => {
            let says = Text::sequence([seen.says.clone(), slowed]);
            Cause { says, share: seen.share.max(share(ratio)), kind: None, evidence: Vec::new(), ..seen }
        }
        None => Cause::new(BoundBy::MemoryBandwidth, share(ratio), slowed, "touch-less"),
    }
}

/// Memory as the cause: the command is slower with less bandwidth, or faster with huge pages (fewer page walks).
pub(super) fn memory(facts: &Facts) -> Option<Cause> {
    let spared = faster(facts, ProbeKind::HugePages, FASTER);
    let slowed = match alike(facts) {
        Some((bandwidth, cache)) => {
            let [ratio, lost] = [bandwidth.ratio, cache.ratio].map(Value::Factor);
            let (range, cache_range) = (range(&bandwidth), range(&cache));
            let says = text!(verdict("slowed-alike"), ratio, range, cache = lost, cache_range);
            Some((bandwidth.ratio.max(cache.ratio), says))
        }
        None => slower(facts, ProbeKind::Bandwidth).map(|probe| (probe.ratio, changed("slowed", &probe))),
    };
    let cause = match (slowed, spared) {
        (None, None) => return None,
        // A program that benefits from huge pages accesses memory in random order.
        (slowed, Some(spared)) => {
            let helped = changed("spared", &spared);
            let most = slowed.as_ref().map_or(0.0, |(ratio, _)| *ratio).max(1.0 / spared.ratio);
            let says = Text::sequence(slowed.map(|(_, says)| says).into_iter().chain([helped]));
            Cause::new(BoundBy::MemoryLatency, share(most), says, "huge-pages")
        }
        (Some((ratio, says)), None) => kind(facts, ratio, says),
    };
    Some(cause.cite(describe(facts), detail("probes")))
}

/// The last-level cache as the cause, unless the command lacks bandwidth.
pub(super) fn cache(facts: &Facts) -> Option<Cause> {
    let probe = slower(facts, ProbeKind::Cache)?;
    let bandwidth = slower(facts, ProbeKind::Bandwidth);
    if alike(facts).is_some() || bandwidth.is_some_and(|bandwidth| bandwidth.ratio >= probe.ratio) {
        return None;
    }
    let cause = Cause::new(BoundBy::Cache, share(probe.ratio), changed("less-cache", &probe), "cache");
    Some(cause.cite(describe(facts), detail("probes")))
}

/// The command's own threads as the cause: on fewer CPUs, they slow each other down less.
pub(super) fn own_threads(facts: &Facts) -> Option<Cause> {
    let probe = faster(facts, ProbeKind::FewerCpusTime, MUCH_FASTER)?;
    if facts.looks().most_active < 2 {
        return None;
    }
    let (cpus, ratio) = (probe.cpus.clone().unwrap_or_default(), Value::Factor(probe.ratio));
    let says = text!(verdict("own-threads"), cpus, ratio, range = range(&probe));
    let cause = Cause::new(BoundBy::OwnThreads, share(1.0 / probe.ratio), says, "share-less");
    Some(cause.cite(describe(facts), detail("probes")))
}

/// Intervals this close to 1 show that the command does not need the changed resource.
const CLOSE: f64 = 0.1;

/// The sentence if the memory probes find no dependency: either the command has none, or the probes are inconclusive.
pub(super) fn without_need(facts: &Facts) -> Option<Text> {
    if memory(facts).is_some() || cache(facts).is_some() {
        return None;
    }
    let of_memory = [ProbeKind::Bandwidth, ProbeKind::Cache, ProbeKind::HugePages];
    let probes: Vec<Probe> = of_memory.into_iter().filter_map(|kind| find(facts, kind)).collect();
    let off = |probe: &Probe| probe.interval.map_or(f64::INFINITY, |(low, high)| (1.0 - low).max(high - 1.0));
    let widest = probes.iter().max_by(|a, b| off(a).total_cmp(&off(b)))?;
    Some(if off(widest) <= CLOSE {
        text!(verdict("no-need"), most = Value::Rounded(Box::new(Value::Share(off(widest))), 1))
    } else {
        text!(verdict("undecided"), kind = name(widest.kind), range = range(widest))
    })
}

fn name(kind: ProbeKind) -> &'static str {
    match kind {
        ProbeKind::HugePages => "huge pages",
        ProbeKind::Bandwidth => "less bandwidth",
        ProbeKind::Cache => "less cache",
        ProbeKind::FewerCpus => "fewer CPUs, time",
        ProbeKind::FewerCpusTime => "fewer CPUs (CPU)",
    }
}

/// Lists each probe together with its ratio.
fn describe(facts: &Facts) -> Text {
    let probes: Vec<Text> = facts
        .probes()
        .iter()
        .map(|probe| text!("{kind} {ratio}", kind = name(probe.kind), ratio = Value::Factor(probe.ratio)))
        .collect();
    text!("probes, alternating with unmodified runs: {probes}", probes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record_index::RecordIndex;
    use record::{Label, Labels, Measurement, Record, detail as place};

    /// The codes of the verdict on a single-threaded program with these probe intervals.
    fn said(intervals: [(f64, f64); 3]) -> Vec<String> {
        let all = [ProbeKind::Bandwidth, ProbeKind::Cache, ProbeKind::HugePages].into_iter().zip(intervals);
        let probes: Vec<Probe> = all
            .map(|(kind, (low, high))| Probe {
                kind,
                ratio: (low + high) / 2.0,
                interval: Some((low, high)),
                rounds: 8,
                cpus: None,
            })
            .collect();
        let labels = || Labels::new().with_label(Label::Workload, "command");
        let time = Measurement::new("workload.time", labels(), vec![1.0]).with_detail(place::CPU_COUNT, 2.0);
        let mut record = Record::new("", String::new(), vec![]);
        record.measurements.push(time);
        let user = labels().with_label(Label::State, "user");
        record.measurements.push(Measurement::new("workload.cpu_time", user, vec![1.0]));
        record.measurements[0].detail.set_parts(place::PROBES, &probes);
        let bound = super::super::bound(&RecordIndex::new(&record)).unwrap();
        bound.says.sentences().iter().filter_map(|text| text.code().map(str::to_owned)).collect()
    }

    #[test]
    fn probes_that_show_no_need_say_so_or_that_they_cannot_tell() {
        let last = |intervals| said(intervals).pop();
        let close = [(0.99, 1.03), (0.98, 1.02), (0.97, 1.01)];
        assert_eq!(last(close).as_deref(), Some("bound-probe-no-need"));
        let wide = [(0.99, 1.15), (0.98, 1.02), (0.9, 2.16)];
        assert_eq!(last(wide).as_deref(), Some("bound-probe-undecided"));
        let slowed = said([(1.4, 1.6), (0.98, 1.02), (0.97, 1.01)]);
        assert_eq!(slowed[0], "bound-probe-slowed");
        assert!(!slowed.iter().any(|code| code == "bound-probe-no-need"), "{slowed:?}");
    }
}
