//! Work of others on the machine while it was measured.

use record::diagnosis::{Finding, Severity};
use record::units::significant;

use super::{Case, Rule, finding, lines};
use crate::figures::{modelled, told};

/// The load average when the run began: a whole CPU's worth or more of somebody else's work.
///
/// Modelled: n CPUs shared fairly by n threads and a load of L others leave the threads n ÷ (n + L) of the time.
pub const RULE: Rule = Rule { name: "other-load", find };

fn find(case: &Case) -> Vec<Finding> {
    one(case).into_iter().collect()
}

fn one(case: &Case) -> Option<Finding> {
    if case.record.measurements.is_empty() {
        return None;
    }
    let [minute, ..] = case.record.conditions.before.load?;
    let cpus = case.record.machine.counts.cpus_online.filter(|cpus| *cpus > 0)?;
    if minute < 1.0 {
        return None;
    }
    let loss = modelled(minute / (minute + f64::from(cpus)))?;
    let load = significant(minute);
    let mut seen = vec![told(
        format!("load average {load} over the last minute, {cpus} CPUs"),
        "conditions.before.load",
    )];
    if let Some(pressure) = case.record.conditions.before.pressure.get("cpu") {
        let says = format!("some task waited for a CPU {} of the time", record::units::percent(*pressure));
        seen.push(told(says, "conditions.before.pressure.cpu"));
    }
    Some(Finding {
        severity: Severity::Warning,
        measured: false,
        evidence: seen,
        remedy: lines(["who: top -b -n1 | head -20; measure again when it is gone"]),
        ..finding(&RULE, loss, format!("other work wanted {load} CPUs when the measuring began, of {cpus}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{found, machine, measured};

    fn with(load: f64) -> record::Record {
        let mut record = machine(4);
        record.conditions.before.load = Some([load, 0.0, 0.0]);
        record.measurements.push(measured("cost.syscall", record::Where::new(), 100.0));
        record
    }

    #[test]
    fn a_busy_machine_is_told() {
        let finding = &found(&with(3.0), RULE)[0];
        assert!((crate::figures::share_of(&finding.loss) - 3.0 / 7.0).abs() < 1e-9, "{finding:?}");
    }

    #[test]
    fn an_idle_machine_or_an_inventory_alone_is_silence() {
        assert_eq!(found(&with(0.4), RULE), []);
        let mut inventory = with(3.0);
        inventory.measurements.clear();
        assert_eq!(found(&inventory, RULE), []);
    }
}
