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

/// Whether the quota did not throttle this cgroup during the run or, without a run, throttled at most one period in a hundred since the
/// cgroup was created.
pub(super) fn hardly_throttled(case: &Case) -> bool {
    let before = &case.record.conditions.before;
    let Some(then) = before.quota_throttled else { return false };
    match &case.record.conditions.after {
        Some(after) => after.quota_throttled.is_some_and(|now| now <= then),
        None => then <= before.quota_periods.unwrap_or(0) / 100,
    }
}

/// If all CPUs are busy, the share of each CPU's time that the quota withholds; `None` if the quota did not throttle this cgroup during the
/// run.
pub(super) fn stopped_share(case: &Case) -> Option<f64> {
    throttled_periods(case)?;
    quota(case).map(|(quota, allowed)| 1.0 - quota / f64::from(allowed)).filter(|share| *share > 0.0)
}
