//! CPU time taken below the kernel: by firmware or the hypervisor.

use super::prelude::*;
use super::steal_time;
use super::steal_time::{cite_quickest, is_a_cap, quickest, worst};
use crate::resources::DEFAULT_SLACK_NS;

/// Time stolen without an interrupt or task switch of this kernel. Reports the stolen share or, if that share is small, gaps that are
/// longer than the fastest wake-ups on this machine.
pub(super) const RULE: Rule = Rule { name: "stolen-below", find };

fn find(case: &Case) -> Option<Vec<Finding>> {
    let mut found = find_share(case).or_else(|| find_gaps(case))?;
    // A vCPU stops while the hypervisor moves it.
    let gaps = case.figures_of(metrics::STOLEN_GAP).chain(case.figures_of(metrics::STOLEN_SHARE));
    let moved = |m| Some((case.moved_during(m)?, m));
    if let Some((says, m)) = gaps.filter_map(moved).next() {
        found = found.cite(says, m);
    }
    Some(vec![found.mend(remedy(case))])
}

/// The steal time reported by the hypervisor, for comparison with the loss of a busy loop, and the period over which it is averaged.
fn cite_reported(case: &Case) -> Option<Evidence> {
    let after = case.record.conditions.after.as_ref().filter(|_| case.record.machine.is_virtual())?;
    let share = Value::Rounded(Box::new(Value::Share(after.steal_share?)), 2);
    let says =
        text!("steal time reported by the hypervisor: {share}, the mean of all CPUs over the whole run");
    Some(cite_fact(says, "conditions.after.steal_share"))
}

/// The remedies.
fn remedy(case: &Case) -> Vec<Remedy> {
    if case.record.machine.is_virtual() {
        return steal_time::host_remedy(steal_time::cap(case).is_some());
    }
    let mut remedy = remedies(RULE.name);
    if case.record.machine.processor.vendor.as_deref() == Some("GenuineIntel") {
        remedy.extend(remedies("stolen-below intel"));
    }
    remedy.extend(remedies("stolen-below firmware"));
    remedy
}

fn find_share(case: &Case) -> Option<Finding> {
    let stolen = worst(case, "below")?;
    let taken = stolen.describe();
    let what = match case.record.machine.is_virtual() {
        true => text!("stolen-below-hypervisor", "the hypervisor takes {taken}"),
        false => text!("stolen-below-firmware", "the firmware takes {taken}"),
    };
    let mut finding =
        RULE.report_loss(stolen.loss.clone(), what).locate_cpus(&stolen.cpus).cite_all(stolen.evidence());
    if case.record.machine.is_virtual() {
        finding = finding.cite_all(stolen.gap.filter(|gap| is_a_cap(gap)).map(steal_time::cite_cap));
    }
    Some(finding.cite_all(cite_reported(case)))
}

/// The finding about gaps that hardly reduce throughput but still delay a program.
fn find_gaps(case: &Case) -> Option<Finding> {
    let wakeups = quickest(case);
    // Without wake-up measurements, the timer slack is the limit, because sleeping programs may be delayed by this much anyway.
    let usual = wakeups.map_or(DEFAULT_SLACK_NS, Measurement::value);
    let below = case.figures_of(metrics::STOLEN_GAP).filter(|m| has_labels(m, &[(Label::Cause, "below")]));
    // A single long gap among many short ones is ignored.
    let most = |gap: &Measurement| gap.summary.p95.unwrap_or(gap.summary.max);
    let long: Vec<_> = below.filter(|gap| gap.summary.max > 2.0 * usual && most(gap) > usual).collect();
    let gap = *long.iter().max_by(|a, b| a.summary.max.total_cmp(&b.summary.max))?;
    let share_of =
        |gap: &Measurement| case.figures_of(metrics::STOLEN_SHARE).find(|share| share.labels == gap.labels);
    let share = share_of(gap)?;
    let longest = Value::Figure(gap.summary.max, "ns");
    let taken = Value::from(share);
    let mut shares: Vec<&Measurement> = long.iter().filter_map(|gap| share_of(gap)).collect();
    shares.sort_by(|a, b| a.value().total_cmp(&b.value()));
    // The longest gap is not necessarily on the CPU that loses the most time.
    let of_all = match shares[..] {
        [least, .., most] if least.value() < most.value() => Value::from(text!("{least} to {most}")),
        _ => taken.clone(),
    };
    let gaps = text!(
        "{count} gaps: median {median}, longest {longest}",
        count = gap.summary.n,
        median = gap,
        longest = longest.clone()
    );
    let what = if case.record.machine.is_virtual() {
        text!(
            "the hypervisor stops a busy CPU for up to {longest} at a time, {taken} of its time",
            taken = of_all
        )
    } else {
        text!(
            "stolen-below-gaps-firmware",
            "the firmware stops a busy CPU for up to {longest} at a time, {taken} of its time",
            taken = of_all
        )
    };
    let finding = RULE
        .report_fact(Severity::Note, what)
        .locate_cpus(&cpus_of(long.iter().copied()))
        .cite(gaps, gap)
        .cite(text!("all gaps: {taken} of the CPU's time"), share)
        .cite_all(cite_reported(case))
        .cite_all(wakeups.map(cite_quickest));
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::share_of;
    use crate::findings::invariants::{found, missing};
    use crate::findings::steal_time::CAPPED;
    use crate::samples::{code_of, figure_in, machine, measured, stolen};

    #[test]
    fn firmware_and_hypervisor_are_reported_apart() {
        let mut record = stolen("below", [0.05, 0.02]);
        let firmware = &found(&record, RULE)[0];
        assert_eq!(firmware.what.code(), Some("stolen-below-firmware"));
        assert!((share_of(&firmware.loss) - 0.05).abs() < 1e-3, "{firmware:?}");
        record.machine.virtualization.hypervisor = Some("kvm".to_owned());
        let finding = &found(&record, RULE)[0];
        assert_eq!(finding.what.code(), Some("stolen-below-hypervisor"));
        assert!((share_of(&finding.loss) - 0.05).abs() < 1e-3, "{finding:?}");
        assert!(!finding.evidence.iter().any(|seen| seen.says.is(&CAPPED)), "{finding:?}");
    }

    #[test]
    fn long_gaps_of_one_length_are_a_cap() {
        let mut record = stolen("below", [0.5, 0.5]);
        record.machine.virtualization.hypervisor = Some("kvm".to_owned());
        for m in record.measurements.iter_mut().filter(|m| m.metric == "stolen.gap") {
            *m = measured("stolen.gap", m.labels.clone(), 5e7);
        }
        let finding = &found(&record, RULE)[0];
        assert!(finding.evidence.iter().any(|seen| seen.says.is(&CAPPED)), "{finding:?}");
        assert_eq!(code_of(&finding.remedy[0]), "steal-time-raise-cap");
    }

    #[test]
    fn rare_long_gaps_are_a_note_without_a_loss() {
        let finding = &found(&stolen("below", [0.0, 0.003]), RULE)[0];
        assert_eq!((finding.severity, finding.place.clone()), (Severity::Note, Some("CPU 1".into())));
        assert_eq!(finding.what.code(), Some("stolen-below-gaps-firmware"));
        assert!((figure_in(&finding.what, "longest") - 4.01e6).abs() < 1e4, "{finding:?}");
        assert!((figure_in(&finding.what, "taken") - 0.003).abs() < 1e-6, "{finding:?}");
    }

    #[test]
    fn gaps_of_several_cpus_take_from_least_to_most_of_them() {
        let finding = &found(&stolen("below", [0.0096, 0.0076]), RULE)[0];
        assert_eq!(finding.place, Some("CPUs 0-1".into()));
        let Some(Value::Sentence(between)) = finding.what.value("taken") else { panic!("{finding:?}") };
        assert_eq!(between.to_string(), "0.76 % to 0.96 %");
        // If both CPUs lose the same share, the finding reports this share.
        let finding = &found(&stolen("below", [0.003, 0.003]), RULE)[0];
        assert!((figure_in(&finding.what, "taken") - 0.003).abs() < 1e-6, "{finding:?}");
    }

    #[test]
    fn nothing_taken_or_gaps_shorter_than_a_wakeup_are_silence() {
        assert_eq!(found(&stolen("below", [0.0, 0.0]), RULE), []);
        let mut short = stolen("below", [0.0, 0.003]);
        for m in short.measurements.iter_mut().filter(|m| m.metric == "stolen.gap") {
            *m = measured("stolen.gap", m.labels.clone(), 20e3);
        }
        assert_eq!(found(&short, RULE), []);
        assert_eq!(missing(&machine(2), RULE), Some("stolen time"));
    }
}
