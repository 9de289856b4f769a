//! CPU time taken from below the kernel: by firmware, or by the hypervisor.

use record::diagnosis::Finding;
use record::units::percent;

use super::stolen_os::worst;
use super::{Case, Rule, finding, is_virtual, lines};
use crate::figures::{cpus_text, share_of};

/// The share stolen with no interrupt or switch of this kernel behind it.
pub const RULE: Rule = Rule { name: "stolen-below", find };

fn find(case: &Case) -> Vec<Finding> {
    let Some(theft) = worst(case.record, "below") else {
        return Vec::new();
    };
    let share = percent(share_of(&theft.loss));
    let (who, remedy) = if is_virtual(case.record) {
        (
            "the hypervisor",
            lines([
                "none from inside: an instance type with CPUs of its own, or a dedicated host",
                "on the host: pin the virtual CPUs, and count the runnable ones against the real ones",
            ]),
        )
    } else {
        (
            "the firmware",
            lines([
                "count system management interrupts: sudo turbostat --show CPU,SMI",
                "in the firmware: no USB legacy support, no power capping, no memory error polling; a newer version",
            ]),
        )
    };
    vec![Finding {
        place: cpus_text(&theft.cpus),
        evidence: theft.evidence(),
        remedy,
        ..finding(&RULE, theft.loss.clone(), format!("{who} takes {share} of a CPU"))
    }]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{found, machine, measured};
    use record::{Record, Where};

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
    fn firmware_and_hypervisor_are_told_apart() {
        let mut record = with("below", [0.05, 0.02]);
        assert!(found(&record, RULE)[0].what.starts_with("the firmware takes 5"));
        record.machine.virtualization.hypervisor = Some("kvm".to_owned());
        assert!(found(&record, RULE)[0].what.starts_with("the hypervisor takes 5"));
    }

    #[test]
    fn nothing_taken_is_silence() {
        assert_eq!(found(&with("below", [0.0, 0.005]), RULE), []);
        assert_eq!(found(&machine(2), RULE), []);
    }
}
