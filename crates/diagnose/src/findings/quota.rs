//! The quota of this cgroup, and whether it throttled the run.

use super::prelude::*;

/// The quota as a number of CPUs, and the number of allowed CPUs; `None` if there is no quota.
pub(super) fn quota(case: &Case) -> Option<(f64, u32)> {
    let quota = case.record.machine.limits.cpu_quota.filter(|quota| *quota > 0.0)?;
    Some((quota, case.record.machine.counts.cpus_allowed.filter(|allowed| *allowed > 0)?))
}

/// The number of periods in which the quota throttled this cgroup during the run.
pub(super) fn throttled_periods(case: &Case) -> Option<u64> {
    let conditions = &case.record.conditions;
    let after = conditions.after.as_ref()?.quota_throttled?;
    after.checked_sub(conditions.before.quota_throttled?).filter(|periods| *periods > 0)
}

/// Whether the quota throttled this cgroup neither during the run nor, without a run, since the cgroup exists.
pub(super) fn never_throttled(case: &Case) -> bool {
    let (before, after) = (&case.record.conditions.before, case.record.conditions.after.as_ref());
    let during = after.map(|after| {
        after.quota_throttled.zip(before.quota_throttled).map(|(now, then)| now - then.min(now))
    });
    during.unwrap_or(before.quota_throttled) == Some(0)
}

/// If all CPUs are busy, the share of each CPU's time that the quota withholds; `None` if the quota did not throttle this cgroup during the
/// run.
pub(super) fn stopped_share(case: &Case) -> Option<f64> {
    throttled_periods(case)?;
    quota(case).map(|(quota, allowed)| 1.0 - quota / f64::from(allowed)).filter(|share| *share > 0.0)
}
