//! CPU time that the hypervisor gave to other guests while this guest was ready to run.

use super::prelude::*;
use super::steal_time;

/// Steal time during the run or, without a run, since boot, as accounted by the kernel.
pub(super) const RULE: Rule = Rule { name: "steal", find };

/// Less steal time than this, in seconds, may be due to chance, because the kernel counts steal time in ticks of 10 ms.
const FEW_TICKS: f64 = 0.05;

fn find(case: &Case) -> Option<Vec<Finding>> {
    let all =
        |m: &&Measurement| has_labels(m, &[(Label::State, "steal")]) && m.labels.get(Label::Cpu).is_none();
    let sampled = case.figures_of(metrics::CPU_STATE).filter(all).find(|m| m.doubt.is_none());
    let (before, after) = (&case.record.conditions.before, case.record.conditions.after.as_ref());
    let (share, when, from) = match (after.and_then(|after| after.steal_share), sampled) {
        (Some(share), _) => (share, "during the run", "conditions.after.steal_share".to_owned()),
        (_, Some(m)) => (m.value(), "during the run", locate_figure(m)),
        _ => (before.steal_share?, "since boot", "conditions.before.steal_share".to_owned()),
    };
    let cpus = case.record.machine.cpus.iter().filter(|cpu| cpu.online).count().max(1) as f64;
    if case.record.seconds.is_some_and(|seconds| share * seconds * cpus < FEW_TICKS) {
        return None;
    }
    let loss = modelled(share)?;
    let taken = lost_share(&loss);
    let says = text!("steal time {when}: {share} of all CPU time", share = taken.clone());
    // The kernel also counts time withheld by a cap as steal time.
    let cap = steal_time::cap(case);
    let what = if cap.is_some() {
        text!("steal-by-cap", "a CPU cap set by the hypervisor withholds {taken} of this guest's CPU time")
    } else {
        text!("steal-by-others", "the hypervisor gave {taken} of this guest's CPU time to other work")
    };
    let finding = RULE
        .report_loss(loss, what)
        .cite(says, from)
        .cite_all(cap.map(steal_time::cite_cap))
        .mend(steal_time::host_remedy(cap.is_some()));
    Some(vec![finding])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::invariants::{found, missing};
    use crate::samples::{code_of, machine};
    use record::Label;
    use record::text::Value;

    fn record_with(share: Option<f64>) -> record::Record {
        let mut record = machine(1);
        record.conditions.after = Some(record::Snapshot { steal_share: share, ..Default::default() });
        record
    }

    #[test]
    fn steal_during_the_run_is_found() {
        let what = &found(&record_with(Some(0.07)), RULE)[0].what;
        assert_eq!((what.code(), what.value("taken")), (Some("steal-by-others"), Some(&Value::Share(0.07))));
    }

    #[test]
    fn steal_in_the_samples_of_another_tool_is_found() {
        let mut record = machine(2);
        for (cpu, share) in [(Some(1_u32), 0.9), (None, 0.2)] {
            let place = record::Labels::new().with_label(Label::State, "steal").with_known(Label::Cpu, cpu);
            record.measurements.push(crate::samples::measured("cpu.state", place, share));
        }
        assert_eq!(found(&record, RULE)[0].what.value("taken"), Some(&Value::Share(0.2)));
    }

    #[test]
    fn one_tick_of_a_short_run_is_chance() {
        let mut record = record_with(Some(0.025));
        record.seconds = Some(0.4);
        assert_eq!(found(&record, RULE), []);
        record.seconds = Some(40.0);
        assert_eq!(found(&record, RULE).len(), 1);
    }

    #[test]
    fn a_cap_is_reported_from_neighbours() {
        let mut record = record_with(Some(0.5));
        let place = record::Labels::new().with_label(Label::Cpu, 0u32).with_label(Label::Cause, "below");
        record.measurements.push(crate::samples::measured("stolen.gap", place, 5e7));
        let finding = &found(&record, RULE)[0];
        assert_eq!(finding.what.code(), Some("steal-by-cap"));
        assert_eq!(finding.what.value("taken"), Some(&Value::Share(0.5)));
        assert_eq!(code_of(&finding.remedy[0]), "steal-time-raise-cap");
    }

    #[test]
    fn hardly_any_or_an_unfinished_run_is_silence() {
        assert_eq!(found(&record_with(Some(0.004)), RULE), []);
        assert_eq!(missing(&record_with(None), RULE), Some("steal time (/proc/stat)"));
    }

    #[test]
    fn without_a_run_the_time_since_boot_counts() {
        let mut record = machine(8);
        record.conditions.before.steal_share = Some(0.38);
        let finding = &found(&record, RULE)[0];
        assert_eq!(finding.what.value("taken"), Some(&Value::Share(0.38)));
        assert_eq!(finding.evidence[0].from, "conditions.before.steal_share");
        record.conditions.after = Some(record::Snapshot { steal_share: Some(0.0), ..Default::default() });
        assert_eq!(found(&record, RULE), []);
    }
}
