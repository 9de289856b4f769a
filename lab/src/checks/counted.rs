//! Declared instructions against counted ones, on a machine whose PMU counts exactly what it executes.

use record::Record;

use super::Verdicts;

/// Workloads whose instructions are declared and which run nothing else.
const EXACT: [&str; 3] = ["primes", "cpu-bound", "nop"];
/// How far the two may lie apart: interrupts run on the same processor.
const APART: f64 = 0.01;

/// Holds the declaration against the count.
pub fn check(record: &Record, verdicts: &mut Verdicts) {
    for workload in EXACT {
        let counted = record.measurements.iter().find(|m| {
            m.metric == "counter.count"
                && m.place.word("event") == Some("instructions")
                && m.place.word("workload") == Some(workload)
        });
        let what = format!("declared instructions of {workload} are within 1 % of the counted ones");
        let figures = counted.and_then(|m| Some((m.detail.get("declared")?.as_f64()?, m.value())));
        match figures {
            Some((declared, counted)) => {
                let held = counted > 0.0 && (declared / counted - 1.0).abs() <= APART;
                verdicts.hold(held, what, || format!("{declared:.0} declared, {counted:.0} counted"));
            }
            None => verdicts.hold(false, what, || "none of them".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::made_up::{record, wrong};
    use record::{Measurement, Where};

    fn found(declared: &[(&str, u64)]) -> String {
        let counted = |(workload, declared): &(&str, u64)| {
            let place = Where::new().with("event", "instructions").with("workload", *workload);
            Measurement::new("counter.count", place, vec![1000.0]).with_detail("declared", *declared)
        };
        let record = record(declared.iter().map(counted).collect());
        wrong(|verdicts| check(&record, verdicts))
    }

    #[test]
    fn a_declaration_that_is_off_by_more_than_a_hundredth_is_seen() {
        assert_eq!(found(&[("primes", 1000), ("cpu-bound", 991), ("nop", 1009)]), "");
        let off = found(&[("primes", 980), ("cpu-bound", 1000), ("nop", 1000)]);
        assert!(off.contains("primes") && off.contains("980 declared, 1000 counted"), "{off}");
        assert!(found(&[("primes", 1000), ("nop", 1000)]).contains("cpu-bound"));
    }
}
