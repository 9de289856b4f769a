//! Cores whose clock was lowered because of heat during the run.

use super::clock_holders::{HOLDERS, by_heat, describe_heat};
use super::prelude::*;

/// The kernel's count of thermal throttling events after the run, compared with the count before.
pub(super) const RULE: Rule = Rule { name: "throttled", find };

fn find(case: &Case) -> Option<Vec<Finding>> {
    let conditions = &case.record.conditions;
    let Some(after) = conditions.after.as_ref().filter(|_| case.record.import.is_none()) else {
        let events = conditions.before.throttled.filter(|events| *events > 0)?;
        let says = text!("thermal throttling events since boot: {events}");
        let ms = conditions.before.clock_holders.heat_ms.unwrap_or(0) as f64;
        let share = conditions.before.uptime_seconds.filter(|s| s * 1e3 > ms).map_or(0.0, |s| ms / 1e3 / s);
        let [lasts, of_uptime] = [Value::Figure(ms, "ms"), Value::Share(share)];
        let what = match share >= RESOLUTION {
            true => text!("heat has throttled the CPU clock for {lasts} ({of_uptime} of the uptime)"),
            false => text!("heat has throttled the CPU clock (events since boot: {events})"),
        };
        let lasted = describe_heat(&conditions.before.clock_holders);
        let section = if lasted.is_some() { "throttled timed" } else { RULE.name };
        let finding =
            RULE.report_fact_as(section, severity(share).min(Severity::Warning), what).mend_as(section);
        let finding = finding.cite(says, "conditions.before.throttled");
        return Some(vec![finding.cite_some(lasted, &format!("{HOLDERS}.heat_ms"), |lasted| lasted)]);
    };
    let times = after.throttled?.checked_sub(conditions.before.throttled?).filter(|times| *times > 0)?;
    let lasted = by_heat(case).map(|cause| cause.evidence);
    let section = if lasted.is_some() { "throttled timed" } else { RULE.name };
    let what = text!("heat throttled the CPU clock (events during the run: {times})");
    let finding = RULE
        .report_fact_as(section, Severity::Warning, what)
        .cite(text!("thermal throttling events during the run: {times}"), "conditions.after.throttled")
        .mend_as(section)
        .cite_all(lasted.unwrap_or_default())
        .cite_all(cite_hottest(after, "after"));
    Some(vec![finding])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::invariants::{found, missing};
    use crate::samples::{figure_in, machine};

    #[test]
    fn heat_during_the_run_is_found_and_heat_before_is_not() {
        let mut record = machine(1);
        assert_eq!(missing(&record, RULE), Some("counts of thermal throttling"));
        record.conditions.before.throttled = Some(7);
        record.conditions.after = Some(record::Snapshot { throttled: Some(7), ..Default::default() });
        assert_eq!(found(&record, RULE), []);
        record.conditions.after = Some(record::Snapshot { throttled: Some(12), ..Default::default() });
        assert_eq!(found(&record, RULE)[0].what.value("times"), Some(&5u64.into()));
        record.conditions.after.as_mut().unwrap().clock_holders.heat_ms = Some(340);
        let cites = |finding: &Finding| finding.evidence.iter().any(|one| one.from.ends_with("heat_ms"));
        assert!(cites(&found(&record, RULE)[0]));
        let imported = record::Record { import: Some(Default::default()), ..record.clone() };
        let since_boot = &found(&imported, RULE)[0];
        assert_eq!(
            (since_boot.severity, since_boot.what.value("events")),
            (Severity::Note, Some(&7u64.into()))
        );
        assert!(!cites(since_boot) && matches!(&since_boot.loss, Verdict::NotMeasurable { .. }));
        let mut timed = imported.clone();
        timed.conditions.before.clock_holders.heat_ms = Some(2);
        let timed = &found(&timed, RULE)[0];
        assert!(cites(timed) && timed.loss != since_boot.loss, "{timed:?}");
        let mut hot = imported.clone();
        hot.conditions.before.uptime_seconds = Some(864_000.5);
        for (heat_ms, severity, percent) in [
            (312_345_678, Severity::Warning, Some(36)),
            (20_000_000, Severity::Note, Some(2)),
            (11, Severity::Note, None),
            (900_000_000, Severity::Note, None),
        ] {
            hot.conditions.before.clock_holders.heat_ms = Some(heat_ms);
            let finding = &found(&hot, RULE)[0];
            let share = finding.what.value("of_uptime").map(|_| figure_in(&finding.what, "of_uptime"));
            let of_uptime = share.map(|share| (share * 100.0).round() as u32);
            assert_eq!((finding.severity, of_uptime), (severity, percent));
        }
        record.conditions.after = Some(record::Snapshot { throttled: Some(1), ..Default::default() });
        assert_eq!(found(&record, RULE), [], "a falling count (a CPU came back) is not throttling");
    }
}
