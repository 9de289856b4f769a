//! A clock that programs cannot read without a system call.

use super::prelude::*;

/// The cost of reading the clock, and the clocksource that causes this cost.
///
/// The loss is modelled relative to published costs of reading the clock in user space.
pub(super) const RULE: Rule = Rule { name: "clocksource", find };

/// Clocksources that the vDSO cannot read (in the kernel, clocksources without an archdata/vdso mode). Xen's clocksource is not listed:
/// whether the vDSO can read it depends on the host.
const SLOW: [&str; 5] = ["hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit"];

/// Clocksources that the vDSO can read.
const FAST: [&str; 4] = ["tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"];

/// Published vDSO reads, ns: 13 on bare metal, up to 140 in virtual machines. A slower read does not use the vDSO.
const VDSO_NS: (f64, f64) = (13.0, 140.0);

const PATH: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

fn find(case: &Case) -> Option<Vec<Finding>> {
    let snapshot = &case.record.conditions.before;
    let source = snapshot.clocksource.as_deref();
    let known_slow = source.is_some_and(|source| SLOW.contains(&source));
    let read = middle(case.figures_of(metrics::COST_CLOCK_READ));
    if !known_slow && !read.is_some_and(|read| is_a_call(case, read)) {
        return None;
    }
    let unmeasured =
        || Verdict::NotMeasurable { reason: text!("the cost of reading the clock was not measured") };
    let loss = read.map_or_else(unmeasured, |read| cost_above(&read.summary, VDSO_NS));
    let what = match (source.map(str::to_owned), read) {
        (Some(source), Some(read)) => {
            text!("reading the clock ({source}) takes {read}: user space cannot read it directly")
        }
        (Some(source), None) => text!("clocksource {source} requires a system call for each reading"),
        (None, _) => text!("reading the clock requires a system call"),
    };
    let finding = RULE
        .report_model(loss, what)
        .cite_all(read.map(|read| cite_read(read, known_slow)))
        .cite_all(source.map(cite_source));
    let least = if known_slow && read.is_none() { Severity::Warning } else { Severity::Note };
    let finding = Finding { severity: finding.severity.max(least), ..finding };
    let fast = FAST.into_iter().find(|fast| {
        source != Some(*fast) && snapshot.clocksources.iter().any(|available| available == fast)
    });
    Some(vec![match fast {
        Some(fast) => finding
            .mend([Remedy::command(write_command(fast, PATH))])
            .undo([restore_command(source.unwrap_or_default(), PATH)]),
        None => finding,
    }])
}

/// The clocksource as evidence.
pub(super) fn cite_source(source: &str) -> Evidence {
    cite_fact(text!("clocksource {source}"), "conditions.before.clocksource")
}

/// The cost of a reading. If the name of the clocksource already shows that readings are slow, doubt about the exact cost must not weaken
/// the finding: the evidence's text mentions the doubt, and its place is the metric instead of the doubtful result.
fn cite_read(read: &Measurement, known_slow: bool) -> Evidence {
    let Some(doubt) = read.doubt.as_ref().filter(|_| known_slow) else {
        return cite_fact(text!("reading the clock takes {read}"), read);
    };
    let (low, high) = spread(&read.summary);
    let says = text!(
        "reading the clock takes {low} to {high} ({doubt})",
        low = Value::Figure(low, "ns"),
        high = Value::Figure(high, "ns"),
        doubt = doubt.text()
    );
    cite_fact(says, read.metric)
}

/// Whether a reading takes longer than any vDSO call and at least as long as a system call on this machine.
fn is_a_call(case: &Case, read: &Measurement) -> bool {
    let (low, _) = spread(&read.summary);
    let call = middle(case.figures_of(metrics::COST_SYSCALL));
    low > VDSO_NS.1 && call.is_some_and(|call| low >= call.value())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::invariants::{found, missing};
    use crate::samples::{machine, measured};
    use record::Label;
    use record::diagnosis::Severity;
    use record::{Labels, Record};

    fn record_with(source: Option<&str>, read: Option<f64>, call: f64) -> Record {
        let mut record = machine(1);
        record.conditions.before.clocksource = source.map(str::to_owned);
        record.conditions.before.clocksources = vec!["tsc".to_owned(), "hpet".to_owned()];
        let place = || Labels::new().with_label(Label::Cpu, 0u32);
        record.measurements.extend(read.map(|ns| measured("cost.clock_read", place(), ns)));
        record.measurements.push(measured("cost.syscall", place(), call));
        record
    }

    #[test]
    fn a_clock_in_a_device_is_found_with_the_way_there_and_back() {
        let finding = &found(&record_with(Some("hpet"), Some(1500.0), 100.0), RULE)[0];
        assert!(
            finding.remedy[0].to_string().starts_with("echo tsc |")
                && finding.undo[0].to_string().starts_with("echo hpet |"),
            "{finding:?}"
        );
        assert!(matches!(finding.loss, Verdict::Costs { share, .. } if share > 0.9));
        let unmeasured = &found(&record_with(Some("hpet"), None, 100.0), RULE)[0];
        assert!(matches!(unmeasured.loss, Verdict::NotMeasurable { .. }));
        assert_eq!(unmeasured.severity, Severity::Warning);
        assert_eq!(found(&record_with(Some("xen"), None, 100.0), RULE), [], "the cost depends on the host");
    }

    const DOUBT: &str = "too few samples (2) for an interval";

    #[test]
    fn the_name_of_a_slow_one_is_sure_even_where_its_cost_is_in_doubt() {
        let doubtful = |source| {
            let mut record = record_with(Some(source), Some(1500.0), 100.0);
            record.measurements[0].doubt = Some(DOUBT.into());
            crate::diagnose(&record).findings.swap_remove(0)
        };
        let by_name = doubtful("hpet");
        assert_eq!(by_name.severity, Severity::Serious, "{by_name:?}");
        let doubt = by_name.evidence[0].says.value("doubt").map(Value::to_string);
        assert_eq!(doubt.as_deref(), Some(DOUBT));
        assert_eq!(doubtful("tsc").severity, Severity::Note, "only the doubtful cost is evidence");
    }

    #[test]
    fn a_fast_name_that_is_slow_is_found_too() {
        assert_eq!(found(&record_with(Some("tsc"), Some(2000.0), 300.0), RULE).len(), 1);
        assert_eq!(found(&record_with(None, Some(2000.0), 300.0), RULE).len(), 1);
    }

    #[test]
    fn a_clock_read_in_user_space_is_silence() {
        assert_eq!(found(&record_with(Some("tsc"), Some(25.0), 100.0), RULE), []);
        assert_eq!(found(&record_with(Some("kvm-clock"), Some(130.0), 60.0), RULE), []);
        assert_eq!(found(&record_with(Some("tsc"), None, 100.0), RULE), []);
        let nothing = Some("the clocksource, or the cost of reading the clock");
        assert_eq!(missing(&machine(1), RULE), nothing);
    }
}
