//! Common parts of the rules about time taken from a thread that never sleeps.

use super::prelude::*;
use super::quota;

/// Whether a record contains both the amount of lost time and its cause.
pub(super) fn is_known(case: &Case) -> bool {
    case.figures_of(metrics::STOLEN_SHARE).any(|m| m.labels.word(Label::Cause).is_some())
}

/// The CPU that loses the most time, and all affected CPUs.
pub(super) struct StealTime<'a> {
    /// The stolen share on the CPU that loses the most time.
    pub worst: &'a Measurement,
    /// The gaps on this CPU.
    pub gap: Option<&'a Measurement>,
    /// The CPUs whose loss is similar to that of the worst CPU.
    pub cpus: CpuList,
    /// The mean loss of these CPUs.
    pub loss: Verdict,
    /// The mean stolen share of all CPUs, and the number of CPUs.
    pub of_all: (f64, usize),
    /// The interval of this mean, derived from the intervals of the CPUs.
    pub between: (f64, f64),
    /// `os` or `below`.
    cause: &'static str,
}

/// A remark that the gaps indicate a CPU cap.
pub(super) const CAPPED: Template = Template::new(
    "steal-time-capped",
    "long gaps of equal length indicate a cap (CPU credits, host quota); neighbors cause varying gaps",
);

impl StealTime<'_> {
    /// `6.00 % of CPU 1's time (3.00 % of all CPU time)`.
    pub(super) fn describe(&self) -> Text {
        let cpu = self.worst.labels.count(Label::Cpu).map_or("a CPU".to_owned(), |cpu| format!("CPU {cpu}"));
        let worst = verdict(self.worst.value(), spread(self.worst));
        let share = lost_share(&worst);
        match self.of_all {
            (all, 2..) => {
                let all = Value::Share(all);
                text!("{share} of {cpu}'s time ({all} of all CPU time)")
            }
            _ => text!("{share} of {cpu}'s time"),
        }
    }

    /// The share on the worst CPU, the gaps on that CPU, and the mean share of all CPUs.
    pub(super) fn evidence(&self) -> Vec<Evidence> {
        let share = self.worst;
        let mut seen = vec![cite_fact(text!("worst CPU: {share} of its time"), self.worst)];
        if let Some(gap) = self.gap {
            let longest = Value::Figure(gap.summary.max, "ns");
            seen.push(cite_fact(text!("gaps: median {median}, longest {longest}", median = gap), gap));
        }
        if let (mean, count @ 2..) = self.of_all {
            let share = Value::Share(mean);
            let says = text!("mean of {count} CPUs: {share}");
            seen.push(cite_fact(says, format!("stolen.share cause={}", self.cause)));
        }
        seen
    }
}

/// Lost time is attributed to the quota if it is at most this multiple of the share that the quota withholds. The multiple is above 1
/// because throttling lasts for entire periods.
const OF_QUOTA: f64 = 1.25;

/// Time lost to other tasks and interrupts, if it exceeds what a quota of this cgroup explains.
pub(super) fn by_others<'a>(case: &Case<'a>) -> Option<StealTime<'a>> {
    let stolen = worst(case, "os")?;
    let by_quota = quota::stopped_share(case).is_some_and(|s| share_of(&stolen.loss) <= s * OF_QUOTA);
    (!by_quota).then_some(stolen)
}

/// CPUs whose loss is at least this fraction of the worst CPU's loss are considered affected by the same cause.
const ALIKE: f64 = 0.5;

/// The interval of a CPU's share.
fn spread(m: &Measurement) -> (f64, f64) {
    m.interval().unwrap_or((m.summary.min, m.summary.max))
}

/// The mean share of some CPUs, and its interval.
fn mean(all: &[&Measurement]) -> (f64, (f64, f64)) {
    let over = |of: &dyn Fn(&Measurement) -> f64| all.iter().map(|m| of(m)).sum::<f64>() / all.len() as f64;
    (over(&Measurement::value), (over(&|m| spread(m).0), over(&|m| spread(m).1)))
}

/// The time lost to a cause, if any CPU loses more than [`RESOLUTION`].
pub(super) fn worst<'a>(case: &Case<'a>, cause: &'static str) -> Option<StealTime<'a>> {
    let of_cause = case.figures_of(metrics::STOLEN_SHARE).filter(|m| has_labels(m, &[(Label::Cause, cause)]));
    let all: Vec<&Measurement> = of_cause.filter(|m| m.value().is_finite()).collect();
    let loses = |m: &Measurement| spread(m).0 >= RESOLUTION && costs(verdict(m.value(), spread(m))).is_some();
    let losing = all.iter().copied().filter(|m| loses(m));
    let worst = losing.clone().max_by(|a, b| a.value().total_cmp(&b.value()))?;
    let alike: Vec<&Measurement> = losing.filter(|m| m.value() >= worst.value() * ALIKE).collect();
    let (share, within) = mean(&alike);
    let loss = costs(verdict(share, within))?;
    let (of_all, between) = mean(&all);
    let gap = case.figures_of(metrics::STOLEN_GAP).find(|gap| gap.labels == worst.labels);
    let cpus = cpus_of(alike);
    Some(StealTime { worst, gap, cpus, loss, of_all: (of_all, all.len()), between, cause })
}

/// Whether gaps are long and about equal in length. This is typical of a cap, which stops a vCPU as soon as its share of a period is used
/// up; neighbors cause irregular gaps.
pub(super) fn is_a_cap(gap: &Measurement) -> bool {
    let long = gap.summary.p95.unwrap_or(gap.summary.max);
    // The periods of caps are 10 to 100 ms, so the remainder of a period, for which a cap stops a vCPU, is longer than a scheduler's time
    // slice of a few ms.
    gap.value() >= 5e6 && long <= gap.value() * 1.5
}

/// The gaps on the CPU that loses the most time to firmware or the hypervisor, if they indicate a cap.
pub(super) fn cap<'a>(case: &Case<'a>) -> Option<&'a Measurement> {
    let gaps = case
        .figures_of(metrics::STOLEN_GAP)
        .filter(|gap| has_labels(gap, &[(Label::Cause, "below")]) && is_a_cap(gap));
    gaps.max_by(|a, b| a.value().total_cmp(&b.value()))
}

/// The evidence that gaps are due to a cap.
pub(super) fn cite_cap(gap: &Measurement) -> Evidence {
    cite_fact(CAPPED, gap)
}

/// Remedies for CPU time that the host gives to other guests or withholds through a cap.
pub(super) fn host_remedy(capped: bool) -> Vec<Remedy> {
    remedies(if capped { "steal capped" } else { "steal" })
}

/// The wake-up result with the shortest median, of any policy and setting. If a CPU is stopped for longer than this median, even a fully
/// optimized program is noticeably delayed.
pub(super) fn quickest<'a>(case: &Case<'a>) -> Option<&'a Measurement> {
    let all =
        case.figures_of(metrics::WAKEUP_LATENCY).filter(|m| m.labels.switch(Label::Corrected) != Some(true));
    all.filter(|m| m.value() > 0.0).min_by(|a, b| a.value().total_cmp(&b.value()))
}

/// The wake-up result with the shortest median, as evidence.
pub(super) fn cite_quickest(wakeups: &Measurement) -> Evidence {
    cite_fact(text!("shortest median wake-up latency: {latency}", latency = wakeups), wakeups)
}
