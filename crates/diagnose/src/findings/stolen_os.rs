//! CPU time that this kernel's interrupts and other tasks take from a program that never stops.

use record::diagnosis::Finding;
use record::statistics::Verdict;
use record::units::percent;
use record::{Measurement, Record};

use super::{Case, Rule, finding, lines};
use crate::figures::{
    RESOLUTION, cpus_of, cpus_text, evidence, is_at, place, share_of, spread, told, verdict,
};

/// The share stolen by the operating system.
pub const RULE: Rule = Rule { name: "stolen-os", find };

fn find(case: &Case) -> Vec<Finding> {
    let Some(theft) = worst(case.record, "os") else {
        return Vec::new();
    };
    let share = percent(share_of(&theft.loss));
    vec![Finding {
        place: cpus_text(&theft.cpus),
        evidence: theft.evidence(),
        remedy: lines([
            "who runs there: ps -eo psr,pcpu,comm --sort=-pcpu | head; which interrupts: cat /proc/interrupts",
            "keep a CPU for one program: taskset -c CPU, an isolated cpuset partition, interrupts moved by \
             /proc/irq/*/smp_affinity_list",
            "at boot: isolcpus=, nohz_full=, rcu_nocbs=",
        ]),
        ..finding(&RULE, theft.loss.clone(), format!("the kernel and other tasks take {share} of a CPU"))
    }]
}

/// The CPU that loses most, and all that lose.
pub(super) struct Theft<'a> {
    worst: &'a Measurement,
    gap: Option<&'a Measurement>,
    /// The loss on the worst CPU.
    pub loss: Verdict,
    /// The CPUs that lose more than can be missed.
    pub cpus: record::CpuList,
}

impl Theft<'_> {
    /// The share on the worst CPU and the longest gap there.
    pub fn evidence(&self) -> Vec<record::diagnosis::Evidence> {
        let share = percent(self.worst.value());
        let mut seen = vec![told(format!("{share} of the worst CPU's time"), place(self.worst))];
        if let Some(gap) = self.gap {
            let longest = record::units::figure(gap.summary.max, "ns");
            seen.push(evidence(gap, &format!("gaps last up to {longest}, in the median")));
        }
        seen
    }
}

/// The worst theft with this cause, where any CPU loses more than [`RESOLUTION`].
pub(super) fn worst<'a>(record: &'a Record, cause: &str) -> Option<Theft<'a>> {
    let losses: Vec<(&Measurement, Verdict)> = record
        .of("stolen.share")
        .filter(|m| is_at(m, &[("cause", cause)]) && spread(&m.summary).0 >= RESOLUTION)
        .map(|m| (m, verdict(m.value(), spread(&m.summary))))
        .filter(|(_, loss)| matches!(loss, Verdict::Costs { .. }))
        .collect();
    let cpus = cpus_of(losses.iter().map(|(m, _)| *m));
    let (worst, loss) = losses.into_iter().max_by(|a, b| share_of(&a.1).total_cmp(&share_of(&b.1)))?;
    let gap = record.of("stolen.gap").find(|gap| gap.place == worst.place);
    Some(Theft { worst, gap, loss, cpus })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{found, machine, measured};
    use record::Where;

    fn with(cause: &str, shares: [f64; 2]) -> Record {
        let mut record = machine(2);
        for (cpu, share) in shares.into_iter().enumerate() {
            let place = Where::new().with("cpu", cpu).with("cause", cause);
            record.measurements.push(measured("stolen.share", place.clone(), share));
            record.measurements.push(measured("stolen.gap", place, 4e6));
        }
        record
    }

    #[test]
    fn the_cpu_that_loses_is_named() {
        let finding = &found(&with("os", [0.0005, 0.08]), RULE)[0];
        assert_eq!(finding.place.as_deref(), Some("CPU 1"));
        assert!((share_of(&finding.loss) - 0.08).abs() < 1e-3, "{finding:?}");
        assert!(finding.evidence[1].says.contains("4.01 ms") || finding.evidence[1].says.contains("4.00 ms"));
    }

    #[test]
    fn a_quiet_cpu_is_silence() {
        assert_eq!(found(&with("os", [0.0005, 0.0099]), RULE), []);
        assert_eq!(found(&with("below", [0.2, 0.2]), RULE), []);
        assert_eq!(found(&machine(2), RULE), []);
    }
}
