//! Mitigations that slow down every kernel entry and exit. They protect against processor vulnerabilities.

use super::prelude::*;

/// The cost of a system call with active mitigations on its path.
///
/// The loss is modelled relative to the published 50 to 150 ns for a system call without page-table isolation.
pub(super) const RULE: Rule = Rule { name: "mitigations", find };

/// Published system call times without the mitigations below, ns.
const WITHOUT_NS: (f64, f64) = (50.0, 150.0);

/// Words in the kernel's reports (arch/x86/kernel/cpu/bugs.c, arch/arm64/kernel/proton-pack.c) that indicate work on
/// each entry or exit: page table switches, speculation barriers, clearing of buffers and branch history, guarded
/// returns. Retpolines are not included, because kernel entry has hardly any indirect branches.
/// `BHI: SW loop` and `, BHB` are loops that clear the branch history (x86, aarch64); `Vulnerable, KVM: SW loop` does this only for guests.
const ON_THE_WAY: &str = "PTI|IBRS|Clear CPU buffers|Clear buffers|untrained return thunk|return thunks|Safe RET|\
    Stuffing|BHI: SW loop|, BHB";

/// The complete text of a report that indicates a barrier at each kernel entry. In longer reports, the same word refers to barriers at task
/// switches.
const BARRIER: &str = "Mitigation: IBPB";

/// Whether a report shows a mitigation at each kernel entry.
fn is_on_the_way(report: &str) -> bool {
    // Enhanced IBRS is set once at boot.
    let report = report.replace("Enhanced / Automatic IBRS", "").replace("Enhanced IBRS", "");
    let report = report.replace("PBRSB-eIBRS", "");
    report.starts_with("Mitigation")
        && (report.trim_end() == BARRIER || ON_THE_WAY.split('|').any(|word| report.contains(word)))
}

fn find(case: &Case) -> Option<Vec<Finding>> {
    let call = middle(case.figures_of(metrics::COST_SYSCALL))?;
    let reports = case.record.machine.kernel.mitigations.iter();
    let active: Vec<_> = reports.filter(|(_, report)| is_on_the_way(report)).collect();
    if active.is_empty() || spread(&call.summary).0 <= WITHOUT_NS.1 * (1.0 + RESOLUTION) {
        return None;
    }
    let flaws: Vec<&str> = active.iter().map(|(flaw, _)| flaw.as_str()).collect();
    let what = text!("a system call takes {call} with mitigations for {flaws}", flaws = flaws.join(", "));
    let finding = RULE
        .report_model(cost_above(&call.summary, WITHOUT_NS), what)
        // Only programs that often call the kernel are affected, and mitigations are on for security.
        .felt_by(Relevance::Few)
        .cite(text!("an empty system call takes {call}"), call)
        .cite_all(active.iter().map(|(flaw, report)| {
            let says = text!("{flaw}: {report}", flaw = *flaw, report = *report);
            cite_fact(says, format!("machine.kernel.mitigations.{flaw}"))
        }));
    Some(vec![Finding { confidence: Confidence::Low, ..finding }])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::invariants::{found, missing};
    use crate::samples::{machine, measured};
    use record::Label;
    use record::diagnosis::Severity;
    use record::{Labels, Record};

    fn record_with(flaw: &str, report: &str, ns: f64) -> Record {
        let mut record = machine(1);
        record.machine.kernel.mitigations.insert(flaw.to_owned(), report.to_owned());
        record.measurements.push(measured("cost.syscall", Labels::new().with_label(Label::Cpu, 0u32), ns));
        record
    }

    #[test]
    fn isolated_page_tables_are_found_with_what_a_call_costs() {
        let finding = &found(&record_with("meltdown", "Mitigation: PTI", 400.0), RULE)[0];
        assert_eq!(finding.what.value("flaws"), Some(&"meltdown".into()));
        assert_eq!((finding.severity, finding.measured), (Severity::Warning, false));
        let record::Verdict::Costs { share, interval } = finding.loss else { panic!("{finding:?}") };
        assert!(interval.0 < share && share < interval.1, "{finding:?}");
    }

    #[test]
    fn quick_calls_and_mitigations_off_the_way_are_silence() {
        assert_eq!(found(&record_with("meltdown", "Mitigation: PTI", 140.0), RULE), []);
        assert_eq!(
            found(&record_with("spectre_v2", "Mitigation: Enhanced / Automatic IBRS; IBPB", 400.0), RULE),
            []
        );
        assert_eq!(
            found(&record_with("mds", "Vulnerable: Clear CPU buffers attempted, no microcode", 400.0), RULE),
            []
        );
    }

    #[test]
    fn each_way_of_clearing_the_history_of_branches_is_known() {
        let found = |report: &str| found(&record_with("spectre_v2", report, 400.0), RULE).len();
        let intel =
            "Mitigation: Enhanced / Automatic IBRS; IBPB: conditional; PBRSB-eIBRS: SW sequence; BHI: ";
        assert_eq!(found(&format!("{intel}SW loop, KVM: SW loop")), 1);
        assert_eq!(found(&format!("{intel}Vulnerable, KVM: SW loop")), 0);
        assert_eq!(found(&format!("{intel}BHI_DIS_S")), 0);
        assert_eq!((found("Mitigation: CSV2, BHB"), found("Mitigation: CSV2, but not BHB")), (1, 0));
        assert_eq!(found("Mitigation: IBPB\n"), 1);
    }

    #[test]
    fn what_is_missing_is_said() {
        assert_eq!(missing(&machine(1), RULE), Some("the kernel's report of mitigations"));
        let mut record = record_with("mds", "Not affected", 90.0);
        record.measurements.clear();
        assert_eq!(missing(&record, RULE), Some("the cost of a system call"));
    }
}
