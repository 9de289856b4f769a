//! A kernel without full preemption: urgent threads wait until other threads have finished their work in the kernel.

use super::prelude::*;
use super::steal_time;

/// The tail latency of real-time wake-ups with deep idle states disabled, on a kernel built or booted without full preemption.
///
/// The model assumes that the 99th percentile is close to the median with full preemption, so the lost share of a slow wake-up is 1 −
/// median ÷ 99th percentile.
pub(super) const RULE: Rule = Rule { name: "preemption", find };

/// The file in which a kernel with selectable preemption reports its model.
const MODEL: &str = "/sys/kernel/debug/sched/preempt";

/// The tail is considered long if the 99th percentile is at least this many times the median. Published tails of kernels with full
/// preemption are shorter.
const TAIL: f64 = 4.0;

/// The real-time wake-ups with the longest 99th percentile, and this percentile. Wake-ups with tuned settings are used if they were
/// measured.
pub(super) fn worst<'a>(case: &Case<'a>) -> Option<(&'a Measurement, f64)> {
    let at = |setting: &str| {
        case.wakeups("fifo", setting)
            .filter(|m| m.value() > 0.0)
            .filter_map(|m| Some((m, m.summary.p99.filter(|p99| p99.is_finite())?)))
            .max_by(|a, b| a.1.total_cmp(&b.1))
    };
    at("tuned").or_else(|| at("as-is"))
}

fn find(case: &Case) -> Option<Vec<Finding>> {
    let kernel = &case.record.machine.kernel;
    let model = kernel.preemption.as_ref().filter(|model| matches!(model.as_str(), "none" | "voluntary"))?;
    let (wakeups, p99) = worst(case)?;
    let median = wakeups.value();
    // On a busy machine, the tail includes waits for other work, so the kernel is judged only on an otherwise idle machine.
    if p99 < TAIL * median || steal_time::by_others(case).is_some() {
        return None;
    }
    // Time taken by firmware or a hypervisor is not due to the kernel.
    let below = case.figures_of(metrics::STOLEN_GAP).filter(|m| has_labels(m, &[(Label::Cause, "below")]));
    if below.map(|gap| gap.summary.max).fold(0.0, f64::max) >= p99 - median {
        return None;
    }
    let share = 1.0 - median / p99;
    let p99 = Value::Figure(p99, "ns");
    let what =
        text!("1 % of real-time wake-ups take at least {p99} (preemption model: {model})", p99 = p99.clone());
    let median = Value::Figure(median, "ns");
    let finding = RULE
        .report_model(verdict(share, (share, share)), what)
        .felt_by(Relevance::Few)
        .locate_cpus(&cpus_of([wakeups]))
        .cite(text!("median wake-up of a real-time thread: {median}"), wakeups)
        .cite(text!("99th percentile: {p99}"), wakeups)
        .cite(text!("preemption model: {model}"), "machine.kernel.preemption")
        .undo([Remedy::command(write_command(model, MODEL))])
        .cite_some(kernel.hz, "machine.kernel.hz", |hz| text!("timer tick: {hz} Hz"));
    Some(vec![Finding { confidence: Confidence::Low, ..finding }])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::invariants::{found, missing};
    use crate::samples::{add_wakeups, machine};
    use record::Record;
    use record::diagnosis::Severity;

    fn record_with(model: &str, p99: f64) -> Record {
        let mut record = machine(2);
        record.machine.kernel.preemption = Some(model.to_owned());
        add_wakeups(&mut record, "fifo", "tuned", [5e3; 2]);
        for m in &mut record.measurements {
            m.summary.p99 = Some(p99);
        }
        record
    }

    #[test]
    fn a_long_tail_without_preemption_is_a_warning() {
        let finding = &found(&record_with("voluntary", 200e3), RULE)[0];
        assert_eq!(finding.severity, Severity::Warning);
        assert_eq!(finding.what.value("p99"), Some(&Value::Figure(200e3, "ns")));
        assert_eq!(
            finding.undo,
            [Remedy::command("echo voluntary | sudo tee /sys/kernel/debug/sched/preempt")]
        );
    }

    #[test]
    fn full_preemption_short_tails_and_tails_from_below_are_silence() {
        assert_eq!(found(&record_with("full", 200e3), RULE), []);
        assert_eq!(found(&record_with("none", 12e3), RULE), []);
        let mut below = record_with("none", 200e3);
        below.measurements.extend(crate::samples::stolen("below", [0.01, 0.01]).measurements);
        assert_eq!(found(&below, RULE), []);
        let mut busy = record_with("none", 200e3);
        busy.measurements.extend(crate::samples::stolen("os", [0.3, 0.3]).measurements);
        assert_eq!(found(&busy, RULE), []);
    }

    #[test]
    fn what_is_missing_is_said() {
        assert_eq!(missing(&machine(1), RULE), Some("the kernel's preemption model"));
        let mut record = record_with("none", 200e3);
        for m in &mut record.measurements {
            m.summary.p99 = None;
        }
        assert_eq!(missing(&record, RULE), Some("tail latency of real-time wake-ups (requires root)"));
        record.measurements.clear();
        assert_eq!(missing(&record, RULE), Some("wake-up latency"));
    }
}
