//! Memory bandwidth that a program does not get because others run on its CPUs meanwhile.

use record::Measurement;
use record::diagnosis::{Confidence, Finding};
use record::units::percent;

use super::{Case, Rule, at_most_warning, by_model, inputs, lines, theft};
use crate::figures::{evidence, is_at, modelled};
use crate::resources::{MEMORY_BANDWIDTH, Walk, beyond, walked};

/// Time that others took from all CPUs, where memory bandwidth was measured beside it.
///
/// Modelled: a thread moves no bytes while another task has its CPU, so the share of all CPUs' time is lost. Where fewer
/// CPUs than there are fill the memory it is less, and where the others stream themselves more.
pub const RULE: Rule = Rule { name: "bandwidth-shared", resource: Some(MEMORY_BANDWIDTH), missing, find };

fn missing(case: &Case) -> Option<&'static str> {
    inputs::metric(case, "memory.bandwidth", "memory bandwidth").or_else(|| theft::missing(case))
}

fn find(case: &Case) -> Vec<Finding> {
    one(case).into_iter().collect()
}

/// The best bandwidth beyond the caches with the most threads.
fn best<'a>(case: &Case<'a>) -> Option<&'a Measurement> {
    let least = beyond(case.record, case.levels, Walk::Arrays);
    case.of("memory.bandwidth")
        .filter(|m| is_at(m, &[("bytes_counted", "bus")]) && (walked(m) == 0 || walked(m) >= least))
        .max_by(|a, b| {
            let threads = |m: &Measurement| m.place.count("threads");
            threads(a).cmp(&threads(b)).then(a.value().total_cmp(&b.value()))
        })
}

fn one(case: &Case) -> Option<Finding> {
    let theft = theft::by_others(case)?;
    let best = best(case)?;
    let (share, cpus) = theft.of_all;
    let loss = modelled(share)?;
    let mut seen = vec![evidence(best, "with the most threads memory delivered, meanwhile,")];
    seen.extend(theft.evidence());
    let lost = percent(share);
    Some(Finding {
        severity: at_most_warning(&loss),
        confidence: Confidence::Low,
        place: Some(format!("{cpus} CPUs")),
        evidence: seen,
        remedy: lines([
            "who: top -b -n1 | head -20; measure again when it is gone, or keep it on CPUs and a node of its own",
            "whether it streams: sudo perf stat -a -e LLC-load-misses sleep 1; where resctrl is there, limit it (MB: in its \
             schemata)",
        ]),
        ..by_model(
            &RULE,
            loss,
            format!("others on the CPUs take about {lost} of the memory bandwidth with their time"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::share_of;
    use crate::samples::{found, machine, measured, missing, stolen};
    use record::{Record, Where};

    fn with(shares: [f64; 2]) -> Record {
        let mut record = stolen("os", shares);
        let place = Where::new().with("op", "triad").with("bytes_counted", "bus").with("threads", 2u32);
        record.measurements.push(measured("memory.bandwidth", place, 59e9));
        record
    }

    #[test]
    fn a_neighbour_takes_bandwidth_with_its_time() {
        let finding = &found(&with([0.05, 0.52]), RULE)[0];
        assert!((share_of(&finding.loss) - 0.285).abs() < 1e-3, "{finding:?}");
        assert!(!finding.measured && finding.severity == record::diagnosis::Severity::Warning, "{finding:?}");
    }

    #[test]
    fn a_quiet_machine_is_silence_and_unmeasured_bandwidth_is_missing() {
        assert_eq!(found(&with([0.004, 0.003]), RULE), []);
        let mut quota = with([0.75, 0.76]);
        quota.machine.limits.cpu_quota = Some(0.5);
        quota.conditions.before.quota_throttled = Some(1);
        quota.conditions.after = Some(record::Snapshot { quota_throttled: Some(9), ..Default::default() });
        assert_eq!(found(&quota, RULE), [], "a quota is no neighbour");
        assert_eq!(missing(&machine(2), RULE), Some("memory bandwidth"));
        let mut alone = with([0.5, 0.5]);
        alone.measurements.retain(|m| m.metric == "memory.bandwidth");
        assert_eq!(missing(&alone, RULE), Some("stolen time"));
    }
}
