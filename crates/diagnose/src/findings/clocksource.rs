//! A clock that programs cannot read without a system call.

use record::diagnosis::{Evidence, Finding};
use record::statistics::Verdict;
use record::text::Value;
use record::{Measurement, Remedy, Template, text};

use super::needs::Need;
use super::{Case, Rule, by_model};
use crate::figures::{cite_fact, cite_figure, middle, restore_command, spread, verdict, write_command};

/// The cost of reading the clock, and the clocksource behind it.
///
/// Modelled: the loss is against what reading costs in user space by published figures.
pub(super) const RULE: Rule = Rule {
    name: "clocksource",
    glossary: "",
    resource: None,
    needs: &[Need {
        what: Template {
            code: "needs-clocksource",
            words: "the clocksource, or the cost of reading the clock",
        },
        is_met: |case| case.record.conditions.before.clocksource.is_some() || case.has("cost.clock_read"),
    }],
    find,
};

/// Clocksources that the vDSO cannot read (kernel: clocksources without an archdata/vdso mode).
const SLOW: [&str; 6] = ["hpet", "acpi_pm", "xen", "jiffies", "refined-jiffies", "pit"];

/// Published vDSO reads, ns: 13 on bare metal, up to 140 in virtual machines. A slower one is none.
const VDSO_NS: (f64, f64) = (13.0, 140.0);

const PATH: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

fn find(case: &Case) -> Vec<Finding> {
    find_clocksource(case).into_iter().collect()
}

fn find_clocksource(case: &Case) -> Option<Finding> {
    let snapshot = &case.record.conditions.before;
    let source = snapshot.clocksource.as_deref();
    let known_slow = source.is_some_and(|source| SLOW.contains(&source));
    let read = middle(case.figures_of("cost.clock_read"));
    let measured_slow = read.is_some_and(|read| is_a_call(case, read));
    if !(known_slow || measured_slow) {
        return None;
    }
    let loss = read.map_or_else(
        || Verdict::NotMeasurable {
            reason: text!("clocksource-read-not-measured", "the cost of reading the clock was not measured"),
        },
        |read| {
            let (low, high) = spread(&read.summary);
            // Between the ends by their ratio: most machines lie near the lower one.
            let usual = (VDSO_NS.0 * VDSO_NS.1).sqrt();
            verdict(1.0 - usual / read.value(), (1.0 - VDSO_NS.1 / low, 1.0 - VDSO_NS.0 / high))
        },
    );
    let mut seen: Vec<_> = read.map(|read| index(read, known_slow)).into_iter().collect();
    seen.extend(source.map(cite_source));
    let fast =
        ["tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"].into_iter().find(|fast| {
            source != Some(*fast) && snapshot.clocksources.iter().any(|available| available == fast)
        });
    let mut remedy = Vec::new();
    let mut undo = Vec::new();
    match fast {
        Some(fast) => {
            remedy.push(Remedy::command(write_command(fast, PATH)));
            undo.push(restore_command(source.unwrap_or_default(), PATH));
        }
        None => remedy.push(Remedy::both(
            text!("clocksource-why-given-up", "why the kernel rejected the fast clocksource"),
            "sudo dmesg | grep -iE 'tsc|clocksource'",
        )),
    }
    let what = match (source, read) {
        (Some(source), Some(read)) => {
            text!(
                "clocksource-costs",
                "reading the clock ({source}) costs {read}: not read in user space",
                source = source.to_owned(),
                read
            )
        }
        (Some(source), None) => text!(
            "clocksource-by-name",
            "clocksource {source} requires a system call for each reading",
            source = source.to_owned()
        ),
        (None, _) => text!("clocksource-a-system-call", "reading the clock costs a system call"),
    };
    Some(Finding { evidence: seen, remedy, undo, ..by_model(&RULE, loss, what) })
}

/// The clocksource as evidence.
pub(super) fn cite_source(source: &str) -> Evidence {
    cite_fact(
        text!("clocksource-in-use", "clocksource {source}", source = source.to_owned()),
        "conditions.before.clocksource",
    )
}

/// What a reading costs. Where the name alone says that it is slow, a doubt about how slow does not weaken the finding: it
/// stands in the words instead of at the figure's place.
fn index(read: &Measurement, known_slow: bool) -> Evidence {
    match read.doubt.as_ref().filter(|_| known_slow) {
        None => cite_figure(read, text!("clocksource-read", "reading the clock takes {read}", read)),
        Some(doubt) => {
            let (low, high) = spread(&read.summary);
            let (low, high) = (Value::Figure(low, "ns"), Value::Figure(high, "ns"));
            let says = text!(
                "clocksource-read-in-doubt",
                "reading the clock takes {low} to {high} ({doubt})",
                low,
                high,
                doubt = doubt.text()
            );
            cite_fact(says, read.metric.clone())
        }
    }
}

/// Whether a reading takes longer than any vDSO and as long as a system call here.
fn is_a_call(case: &Case, read: &Measurement) -> bool {
    let (low, _) = spread(&read.summary);
    let call = middle(case.figures_of("cost.syscall"));
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
        assert_eq!(doubtful("tsc").severity, Severity::Note, "its cost is all that says so");
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
        let nothing = Some("needs-clocksource");
        assert_eq!(missing(&machine(1), RULE), nothing);
    }
}
