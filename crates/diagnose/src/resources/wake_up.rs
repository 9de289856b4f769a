//! The time from the expiry of a timer until the waiting thread runs, compared with the best measured setting.

use std::collections::BTreeMap;

use record::diagnosis::{CeilingSource, Resource};
use record::text::Value;
use record::{Label, Measurement, Text, detail, text};

use super::{Headline, WAKE_UP, doubt};
use crate::record_index::RecordIndex;

/// The kernel's default timer slack, ns (`init_task`: 50 µs). Every ordinary thread has this slack unless it was changed.
pub(crate) const DEFAULT_SLACK_NS: f64 = 50e3;

/// The CPU that represents the machine's wake-ups. All gains are taken from one CPU, because the gain of one CPU shows nothing about
/// another. It is the CPU with the median gain from disabling deep idle states: for real-time threads, or for ordinary threads if real-time
/// threads were not measured. Without tuning, it is the CPU with the median latency. If the number of CPUs is even, the worse of the middle
/// two is used, because a CPU without a loss shows nothing about the loss of another CPU.
pub(crate) fn wake_up_cpu(index: &RecordIndex) -> Option<u64> {
    let has_figure = |policy: &str, setting: &str| index.wakeups(policy, setting).filter(|m| m.value() > 0.0);
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
        let (_, worse) = gains.get(gains.len() / 2)?;
        gains.iter().find(|(_, gain)| gain == worse).map(|(cpu, _)| *cpu)
    };
    by_gain("fifo")
        .or_else(|| by_gain("other"))
        .or_else(|| longer_middle(has_figure("other", "as-is")).and_then(cpu))
}

/// The measurement with the median time, or the longer of the middle two if the number of measurements is even; `None` if there are none.
fn longer_middle<'a>(all: impl Iterator<Item = &'a Measurement>) -> Option<&'a Measurement> {
    let mut sorted: Vec<&Measurement> = all.filter(|m| m.value().is_finite()).collect();
    sorted.sort_by(|one, other| one.value().total_cmp(&other.value()));
    let longer = sorted.get(sorted.len() / 2)?.value();
    sorted.into_iter().find(|m| m.value() == longer)
}

/// Wake-up latency with one policy and setting on [`wake_up_cpu`]. If there is no result for that CPU, or the results do not name a CPU,
/// returns the median of the existing results.
pub(crate) fn wake_up_at<'a>(index: &RecordIndex<'a>, policy: &str, state: &str) -> Option<&'a Measurement> {
    let at = || index.wakeups(policy, state).filter(|m| m.value() > 0.0);
    let cpu = wake_up_cpu(index);
    longer_middle(at().filter(|m| m.labels.count(Label::Cpu) == cpu)).or_else(|| longer_middle(at()))
}

/// Wake-up latency of a real-time thread, which has no timer slack: current settings compared with deep idle states disabled. If real-time
/// scheduling was refused, uses the latency of an ordinary thread without a ceiling, because timer slack is not a loss of the machine.
pub(super) fn wake_up(index: &RecordIndex) -> Option<Headline> {
    let ordinary = wake_up_at(index, "other", "as-is");
    let real_time = wake_up_at(index, "fifo", "as-is");
    let delivered = real_time.or(ordinary)?;
    let tuned = real_time.and(wake_up_at(index, "fifo", "tuned"));
    let ceiling = tuned.map(|tuned| tuned.value().min(delivered.value()));
    let resource = Resource {
        name: WAKE_UP.to_owned(),
        unit: "ns".to_owned(),
        ceiling,
        source: ceiling.map(|_| CeilingSource::Measured),
        delivered: delivered.value(),
        beside: ordinary.and_then(|ordinary| state_slack(ordinary, real_time.is_some())),
        doubt: doubt([delivered].into_iter().chain(tuned)),
        ..Resource::default()
    };
    let policy = if real_time.is_some() { "SCHED_FIFO" } else { "SCHED_OTHER" };
    let mut delivered_is = match delivered.labels.count(Label::Cpu) {
        Some(cpu) => {
            text!("median of {policy} on CPU {cpu}, current settings")
        }
        None => text!("median of {policy}, current settings"),
    };
    if let Some(p99) = delivered.summary.p99 {
        delivered_is.push(text!("(p99 {p99})", p99 = Value::Figure(p99, "ns")));
    }
    let ceiling_is = match tuned.map(Measurement::value) {
        // In this case, the ceiling is the result with current settings, so the text must not claim that the tuned setting reached it.
        Some(held) if held > delivered.value() => text!(
            "wake-up-no-faster",
            "the same, because disabling deep idle states does not improve the result ({held})",
            held = Value::Figure(held, "ns")
        ),
        Some(_) => text!("wake-up-best", "the same with deep idle states disabled"),
        None => text!("an unknown ceiling (real-time threads were not measured)"),
    };
    Some(Headline::new(resource, delivered_is, ceiling_is))
}

/// The wake-up latency of an ordinary thread and the part of it that is due to timer slack, if the headline is about real-time threads.
fn state_slack(ordinary: &Measurement, is_beside: bool) -> Option<Text> {
    let ns = ordinary.detail.get(detail::TIMER_SLACK_NS)?;
    let (slack, median) = (Value::Figure(ns, "ns"), Value::from(ordinary));
    let raised = ns > DEFAULT_SLACK_NS;
    Some(match (is_beside, raised) {
        (true, false) => {
            text!("SCHED_OTHER {median} (including {slack} default timer slack)")
        }
        (true, true) => {
            text!("SCHED_OTHER {median} (including {slack} raised timer slack)")
        }
        (false, false) => text!("including {slack} timer slack, Linux's default"),
        (false, true) => text!("including {slack} raised timer slack"),
    })
}
