//! CPU time taken from below the kernel: by firmware, or by the hypervisor.

use record::Label;
use record::Measurement;
use record::detail;
use record::diagnosis::{Finding, Severity};
use record::units::{figure, percent};

use super::steal_time::{self, is_a_cap, quickest, worst};
use super::{Case, Rule, finding, is_virtual, lines, of_fact};
use crate::figures::{cite_fact, cpus_of, cpus_text, evidence, has_labels, locate_figure};
use crate::resources::CORE;

/// The share stolen with no interrupt or switch of this kernel behind it; and, where the share is small, gaps that are
/// longer than the quickest wake-ups here.
pub(super) const RULE: Rule =
    Rule { name: "stolen-below", resource: Some(CORE), needs: &[steal_time::SHARE, steal_time::CAUSE], find };

/// Where wake-ups were not measured: the kernel's default timer slack, which programs that sleep wait anyway.
const SLACK_NS: f64 = 50e3;

fn find(case: &Case) -> Vec<Finding> {
    share(case).or_else(|| gaps(case)).into_iter().collect()
}

/// Who it is, and what to do about it.
fn who(case: &Case) -> (&'static str, Vec<String>) {
    if is_virtual(case.record) {
        ("the hypervisor", steal_time::host_remedy(steal_time::cap(case).is_some()))
    } else {
        let mut remedy = lines([
            "see its gaps with interrupts off, as the kernel counts them: sudo rtla hwnoise -d 30s",
            "in the firmware: no USB legacy support, no power capping, no memory error polling; a newer version",
        ]);
        if case.record.machine.processor.vendor.as_deref() == Some("GenuineIntel") {
            remedy.insert(
                1,
                "count its system management interrupts: sudo turbostat --show CPU,SMI".to_owned(),
            );
        }
        ("the firmware", remedy)
    }
}

fn share(case: &Case) -> Option<Finding> {
    let stolen = worst(case, "below")?;
    let (who, remedy) = who(case);
    let mut seen = stolen.evidence();
    if is_virtual(case.record) {
        seen.extend(stolen.gap.filter(|gap| is_a_cap(gap)).map(steal_time::as_a_cap));
        let after = case.record.conditions.after.as_ref();
        if let Some(steal) = after.and_then(|after| after.steal_share) {
            let says = format!("the hypervisor itself admits {} of steal over the run", percent(steal));
            seen.push(cite_fact(says, "conditions.after.steal_share"));
        }
    }
    Some(Finding {
        place: cpus_text(&stolen.cpus).map(Into::into),
        evidence: seen,
        remedy,
        ..finding(&RULE, stolen.loss.clone(), format!("{who} takes {}", stolen.says()))
    })
}

/// Gaps that cost no throughput to speak of and that a program waits for all the same.
fn gaps(case: &Case) -> Option<Finding> {
    let wakeups = quickest(case);
    let usual = wakeups.map_or(SLACK_NS, Measurement::value);
    let below = case.figures_of("stolen.gap").filter(|gap| has_labels(gap, &[(Label::Cause, "below")]));
    // Not one stray gap of many short ones.
    let most = |gap: &Measurement| gap.summary.p95.unwrap_or(gap.summary.max);
    let long: Vec<_> = below.filter(|gap| gap.summary.max > 2.0 * usual && most(gap) > usual).collect();
    let gap = long.iter().max_by(|a, b| a.summary.max.total_cmp(&b.summary.max))?;
    let share = case.figures_of("stolen.share").find(|share| share.labels == gap.labels)?;
    let longest = figure(gap.summary.max, "ns");
    let (who, remedy) = who(case);
    // Of the whole time that it was watched for, where the record has that: half of the moments had less than the median.
    let all = share.detail.get(detail::SHARE_OF_ALL).filter(|all| all.is_finite());
    let taken = percent(all.unwrap_or(share.value()));
    let mut seen = vec![
        evidence(gap, &format!("{} gaps of up to {longest}, in the median", gap.summary.n)),
        cite_fact(format!("together {taken} of the CPU's time"), locate_figure(share)),
    ];
    seen.extend(wakeups.map(|m| evidence(m, "the quickest wake-ups here take, in the median,")));
    Some(Finding {
        place: cpus_text(&cpus_of(long.iter().copied())).map(Into::into),
        evidence: seen,
        remedy,
        ..of_fact(
            &RULE,
            Severity::Note,
            "rare gaps cost no throughput; what waits for an answer waits for the gap",
            format!("{who} stops a busy CPU for up to {longest} at a time, {taken} of its time"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::invariants::{found, missing};
    use crate::samples::{machine, measured, stolen};

    #[test]
    fn firmware_and_hypervisor_are_reported_apart() {
        let mut record = stolen("below", [0.05, 0.02]);
        assert!(found(&record, RULE)[0].what.to_string().starts_with("the firmware takes 5"));
        record.machine.virtualization.hypervisor = Some("kvm".to_owned());
        let finding = &found(&record, RULE)[0];
        assert!(finding.what.to_string().starts_with("the hypervisor takes 5"));
        assert!(!finding.evidence.iter().any(|seen| seen.says.to_string().contains("cap")), "{finding:?}");
    }

    #[test]
    fn long_gaps_of_one_length_are_a_cap() {
        let mut record = stolen("below", [0.5, 0.5]);
        record.machine.virtualization.hypervisor = Some("kvm".to_owned());
        for m in record.measurements.iter_mut().filter(|m| m.metric == "stolen.gap") {
            *m = measured("stolen.gap", m.labels.clone(), 5e7);
        }
        let finding = &found(&record, RULE)[0];
        assert!(
            finding.evidence.iter().any(|seen| seen.says.to_string().contains("as a cap")),
            "{finding:?}"
        );
        assert!(finding.remedy[0].starts_with("raise the cap"), "{finding:?}");
    }

    #[test]
    fn rare_long_gaps_are_a_note_without_a_loss() {
        let finding = &found(&stolen("below", [0.0, 0.003]), RULE)[0];
        assert_eq!(
            (finding.severity, finding.place.as_ref().map(|text| text.to_string()).as_deref()),
            (Severity::Note, Some("CPU 1"))
        );
        assert!(finding.what.to_string().contains("for up to 4.01 ms at a time, 0.3 %"), "{finding:?}");
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
