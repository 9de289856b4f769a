//! The time from a timer to the thread that waits for it, against the best setting measured.

use std::collections::BTreeMap;

use record::diagnosis::{CeilingSource, Resource};
use record::text::Value;
use record::{Label, Measurement, Text, text};

use super::{Headline, WAKE_UP, doubt};
use crate::figures::middle;
use crate::record_index::RecordIndex;

/// The CPU that stands for the machine's wake-ups: what one CPU gains says nothing of another, so all gains are those of one. It is the one whose gain by idle states is in the middle, of two the lesser; where real-time threads were
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
pub(super) fn wake_up(index: &RecordIndex) -> Option<Headline> {
    let delivered = wake_up_at(index, "other", "as-is")?;
    let settings = [("fifo", "tuned"), ("fifo", "as-is"), ("other", "tuned"), ("other", "as-is")];
    let (best, policy, setting) = settings
        .into_iter()
        .filter_map(|(policy, setting)| Some((wake_up_at(index, policy, setting)?, policy, setting)))
        .min_by(|a, b| a.0.value().total_cmp(&b.0.value()))?;
    let policy = if policy == "fifo" { "SCHED_FIFO" } else { "SCHED_OTHER" };
    let resource = Resource {
        name: WAKE_UP.to_owned(),
        unit: "ns".to_owned(),
        ceiling: Some(best.value()),
        source: Some(CeilingSource::Measured),
        delivered: delivered.value(),
        share: Some(best.value() / delivered.value()),
        usual: None,
        beside: None,
        meaning: Text::default(),
        doubt: doubt([delivered, best]),
    };
    let mut delivered_is = match delivered.labels.count(Label::Cpu) {
        Some(cpu) => text!("wake-up-on-cpu", "median of SCHED_OTHER on CPU {cpu}, current settings", cpu),
        None => text!("wake-up-on-any", "median of SCHED_OTHER, current settings"),
    };
    if let Some(p99) = delivered.summary.p99 {
        delivered_is.push(text!("wake-up-p99", "(p99 {p99})", p99 = Value::Figure(p99, "ns")));
    }
    let ceiling_is =
        text!("wake-up-best", "the lowest median measured there ({policy}, {setting})", policy, setting);
    Some(Headline::new(resource, delivered_is, ceiling_is))
}
