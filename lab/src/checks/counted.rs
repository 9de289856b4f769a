//! Compares declared instructions and IPC with counted ones, on a machine whose PMU counts exactly the executed
//! instructions, one per cycle.

use record::{Label, Record, detail, metrics};

use super::verdicts::Verdicts;

/// Workloads with declared instructions that run nothing else.
const EXACT: [&str; 3] = ["primes", "cpu-bound", "nop"];
/// Allowed difference between declared and counted results, because interrupts run on the same processor.
const APART: f64 = 0.01;

/// Compares the declarations with the counts.
pub fn check(record: &Record, verdicts: &mut Verdicts) {
    for workload in EXACT {
        let ipc = |source: &str| {
            let all = record.measurements.iter();
            let mut of_workload = all.filter(|m| {
                m.metric == metrics::CORE_IPC
                    && m.labels.word(Label::Workload) == Some(workload)
                    && m.labels.word(Label::Source) == Some(source)
            });
            of_workload.next().map(|m| m.value())
        };
        let (declared, counted) = (ipc("declared"), ipc("pmu"));
        let agree = declared.zip(counted).is_some_and(|(declared, counted)| within(declared, counted));
        let what = format!("declared IPC of {workload} is within 1 % of the counted one");
        verdicts.hold(agree, what, || format!("{declared:?} declared, {counted:?} counted"));
        let counted = record.measurements.iter().find(|m| {
            m.metric == metrics::COUNTER_COUNT
                && m.labels.word(Label::Event) == Some("instructions")
                && m.labels.word(Label::Workload) == Some(workload)
        });
        let what = format!("declared instructions of {workload} are within 1 % of the counted ones");
        let figures = counted.and_then(|m| Some((m.detail.get(detail::DECLARED)?, m.value())));
        match figures {
            Some((declared, counted)) => {
                verdicts.hold(within(declared, counted), what, || {
                    format!("{declared:.0} declared, {counted:.0} counted")
                });
            }
            None => verdicts.hold(false, what, || "none of them".to_owned()),
        }
    }
}

fn within(declared: f64, counted: f64) -> bool {
    counted > 0.0 && (declared / counted - 1.0).abs() <= APART
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::made_up::{record, wrong};
    use record::{Labels, Measurement};

    fn found(declared: &[(&str, u64)], declared_ipc: f64) -> String {
        let counted = |(workload, declared): &(&str, u64)| {
            let place =
                Labels::new().with_label(Label::Event, "instructions").with_label(Label::Workload, *workload);
            Measurement::new("counter.count", place, vec![1000.0]).with_detail(detail::DECLARED, *declared)
        };
        // The IPC as well, declared and counted.
        let ipc = |(workload, source, value): (&str, &str, f64)| {
            let place = Labels::new().with_label(Label::Workload, workload).with_label(Label::Source, source);
            Measurement::new("core.ipc", place, vec![value])
        };
        let both = EXACT.iter().flat_map(|name| [(*name, "declared", declared_ipc), (*name, "pmu", 1.0)]);
        let record = record(declared.iter().map(counted).chain(both.map(ipc)).collect());
        wrong(|verdicts| check(&record, verdicts))
    }

    #[test]
    fn a_declaration_that_is_off_by_more_than_a_hundredth_is_seen() {
        assert_eq!(found(&[("primes", 1000), ("cpu-bound", 991), ("nop", 1009)], 1.005), "");
        let off = found(&[("primes", 980), ("cpu-bound", 1000), ("nop", 1000)], 1.0);
        assert!(off.contains("primes") && off.contains("980 declared, 1000 counted"), "{off}");
        assert!(found(&[("primes", 1000), ("nop", 1000)], 1.0).contains("cpu-bound"));
        let ipc = found(&[("primes", 1000), ("cpu-bound", 1000), ("nop", 1000)], 1.03);
        assert!(
            ipc.contains("declared IPC of nop is within 1 % of the counted one: found Some(1.03) declared"),
            "{ipc}"
        );
    }
}
