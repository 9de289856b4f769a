//! Cycles a second that a program gets of each CPU, with all of them at work.

use record::Label;
use record::Measurement;
use record::text::Value;
use record::{Text, text};

use super::{BreakdownInputs, Steps};
use crate::figures::{cpus_of, has_labels, median, middle, name_cpus};

/// From the advertised clock over limits on it, the clocks that all cores reach together, a quota and stolen time to what a
/// program gets.
pub(super) fn descend(inputs: BreakdownInputs, steps: &mut Steps) -> Option<Text> {
    let scalar = |active: &str| inputs.index.clocks("scalar", active).iter().copied();
    let (one, all) = (middle(scalar("one")), middle(scalar("all")));
    limit(inputs, steps, one.or(all));
    if let (Some(one), Some(all)) = (one, all) {
        steps.between(text!("breakdown-all-cores", "all cores at work at once"), None, one, all);
    }
    let clock = steps.breakdown.delivered;
    let mut taken = 0.0;
    let mut words = Vec::new();
    if let Some((_, share, _)) = inputs.found("cpu-quota") {
        let takes = clock * share;
        let cause = text!("breakdown-quota", "the quota of the cgroup");
        steps.take(cause, Some("cpu-quota"), takes, None, false);
        taken += takes;
        words.push(text!("breakdown-less-quota", "a quota"));
    }
    // Gaps in which a quota stopped the thread are among those that somebody stole.
    let stolen = |cause: &'static str| stolen(inputs, cause).unwrap_or(0.0) * clock;
    let (os, below) = (stolen("os"), stolen("below"));
    let left = if os + below > 0.0 { ((os + below - taken) / (os + below)).clamp(0.0, 1.0) } else { 0.0 };
    for (cause, rule, takes) in [
        (text!("breakdown-stolen-os", "the kernel and other tasks"), "stolen-os", os * left),
        (text!("breakdown-stolen-below", "the hypervisor or firmware"), "stolen-below", below * left),
    ] {
        if steps.take(cause, Some(rule), takes, None, true) {
            taken += takes;
            words.push(stolen_from(inputs));
        }
    }
    // Where nobody looked at what spinning loops lose, the others' demand tells what a program would.
    if cpus_of(inputs.index.figures_of("stolen.share")).is_empty()
        && let Some((found, share, (least, most))) = inputs.found("other-load")
    {
        let takes = (clock - taken) * share;
        let interval = Some(((clock - taken) * least, (clock - taken) * most));
        let cause = text!("breakdown-other-load", "other work on the CPUs");
        if steps.take(cause, Some("other-load"), takes, interval, found.measured) {
            taken += takes;
            words.push(text!("breakdown-less-other-work", "other work"));
        }
    }
    steps.breakdown.delivered = (clock - taken).max(clock * 1e-3);
    words.dedup();
    let clock_is = &steps.breakdown.delivered_is;
    (!words.is_empty()).then(|| text!("breakdown-clock-less", "{clock_is}, less {words}", clock_is, words))
}

/// A limit that somebody set on the clock, as far as one core alone does stay below the ceiling by it.
fn limit(inputs: BreakdownInputs, steps: &mut Steps, alone: Option<&Measurement>) {
    let Some(alone) = alone else { return };
    let before = &inputs.index.record.conditions.before;
    let upper = median(before.clocks.iter().filter_map(|setting| Some(setting.max_hz? as f64)));
    let base = inputs.index.record.machine.processor.base_hz.filter(|_| before.boost == Some(false));
    let upper = upper.map(|hz| {
        let limit = Value::Figure(hz, "Hz");
        (hz, text!("breakdown-clock-limit", "the clock is limited to {limit}", limit))
    });
    let base = base.map(|hz| (hz as f64, text!("breakdown-boost-off", "boost is off")));
    let least = upper.into_iter().chain(base).min_by(|a, b| a.0.total_cmp(&b.0));
    let Some((hz, cause)) = least else { return };
    let ceiling = steps.breakdown.ceiling;
    let takes = (ceiling - hz).min(ceiling - alone.value());
    steps.take(cause, Some("clock-limit"), takes, None, true);
}

/// Whose stolen time it is: where a short run looked at some CPUs only, it says which.
fn stolen_from(inputs: BreakdownInputs) -> Text {
    let looked_at = cpus_of(inputs.index.figures_of("stolen.share"));
    let all = inputs.index.record.machine.cpus.iter().filter(|cpu| cpu.online && cpu.allowed).count();
    match name_cpus(&looked_at) {
        Some(cpus) if looked_at.len() < all => {
            text!("breakdown-less-stolen-from", "time stolen from {cpus}", cpus)
        }
        _ => text!("breakdown-less-stolen", "stolen time"),
    }
}

/// The share of all CPUs' time that `cause` took: the mean over the CPUs, since each is as much of the machine.
fn stolen(inputs: BreakdownInputs, cause: &'static str) -> Option<f64> {
    let shares: Vec<f64> = inputs
        .index
        .figures_of("stolen.share")
        .filter(|m| has_labels(m, &[(Label::Cause, cause)]))
        .filter_map(|m| median([m.value()]))
        .collect();
    (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
}
