//! CPUs that share a core although Linux reports a separate core for each.

use record::shape::Motion;

use super::prelude::*;
use crate::shape::ONE_CORE;

/// The placement checks in which two CPUs competed for execution units.
pub(super) const RULE: Rule = Rule { name: "shared-cores", find };

/// Minimum number of checks; with fewer, the result may be due to chance.
const LEAST: usize = 2;
/// Maximum number of pairs listed.
const NAMED: usize = 3;
/// Above this share of the checks, the finding is a warning.
const OFTEN: f64 = 0.1;

fn find(case: &Case) -> Option<Vec<Finding>> {
    // On bare metal, the firmware's information about cores is correct.
    let shape = case.shape().filter(|_| case.record.machine.is_virtual())?;
    let hidden: Vec<_> = shape.shared_cores.iter().filter(|pair| !pair.shown).collect();
    let of = |states: &Option<record::live::Share>| {
        states.map_or((0, 0.0), |share| (share.count as usize, share.share))
    };
    let (idle, busy) = (of(&shape.sharing), of(&shape.sharing_busy));
    if idle.0 + busy.0 < LEAST {
        return None;
    }
    let name = |pair: &&record::shape::SharedCore| format!("{} and {}", pair.pair.0, pair.pair.1);
    let mut pairs: Vec<String> = hidden.iter().take(NAMED).map(name).collect();
    pairs.extend((hidden.len() > NAMED).then(|| format!("{} more pairs", hidden.len() - NAMED)));
    let pairs = pairs.join(", ");
    let what = match shape.motion {
        Motion::Floating => text!(
            "shared-cores-at-times",
            "vCPUs sometimes share a core ({pairs}), though Linux shows a separate core for each",
            pairs
        ),
        _ => text!(
            "shared-cores",
            "CPUs {pairs} share a core, though Linux shows a separate core for each",
            pairs
        ),
    };

    // Measured in the checks themselves: both CPUs of a pair run a loop of divisions.
    let contended = case.record.looks.iter().flat_map(|looks| &looks.looks).flat_map(|look| &look.contended);
    let is_hidden = |one: &&record::shape::Contended| hidden.iter().any(|pair| pair.pair == one.pair);
    let slower: Vec<f64> = contended
        .filter(is_hidden)
        .map(|one| one.slowdown)
        .filter(|slowdown| *slowdown >= ONE_CORE)
        .collect();
    let costs = text!(
        "shared-cores-cost",
        "on a shared core, a compute loop takes {slower} as long on each CPU if the other CPU also runs it",
        slower = Value::Factor(record::Summary::from_samples(&slower).median)
    );
    let severity = if idle.1.max(busy.1) >= OFTEN { Severity::Warning } else { Severity::Note };
    let looks = |share: f64, count: usize, when: Text| {
        text!("{share} of {count} placement checks {when}", share = Value::Share(share), when, count)
    };
    let finding = RULE
        .report_fact(severity, what)
        .felt_by(Relevance::Some)
        .cite_some(shape.sharing, "diagnosis.shape.sharing", |share| {
            looks(share.share, share.count as usize, text!("between measurements"))
        })
        .cite_some(shape.sharing_busy, "diagnosis.shape.sharing_busy", |share| {
            looks(share.share, share.count as usize, text!("right after all-CPU work"))
        });
    Some(vec![if slower.is_empty() { finding } else { finding.cite(costs, "diagnosis.shape.shared_cores") }])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::invariants::{found, missing};
    use crate::samples::machine;
    use crate::shape::samples::{looks_at, record_with};

    #[test]
    fn hidden_siblings_are_found_and_those_that_linux_shows_are_not() {
        let hidden = record_with(machine(8), looks_at(8, 12, |_, cpu| (0, 0, cpu / 2)));
        let finding = &found(&hidden, RULE)[0];
        assert_eq!((finding.what.code(), finding.severity), (Some("shared-cores"), Severity::Warning));
        let cost = finding.evidence.iter().find(|one| one.says.code() == Some("shared-cores-cost")).unwrap();
        assert_eq!(cost.says.value("slower"), Some(&Value::Factor(1.97)));
        let mut shown = hidden.clone();
        shown.machine.cpus.iter_mut().for_each(|cpu| cpu.core = Some(cpu.id / 2));
        assert_eq!(found(&shown, RULE), []);
        let apart = record_with(machine(8), looks_at(8, 12, |_, cpu| (0, 0, cpu)));
        assert_eq!(found(&apart, RULE), []);
        assert_eq!(missing(&machine(8), RULE), Some("placement checks of the CPUs (linespeed run)"));
        assert_eq!(missing(&machine(1), RULE), None);
    }

    #[test]
    fn cpus_that_share_now_and_then_are_said_to() {
        let place = |look: u32, cpu: u32| (0, 0, if look.is_multiple_of(4) && cpu == 5 { 2 } else { cpu });
        let finding = &found(&record_with(machine(8), looks_at(8, 24, place)), RULE)[0];
        assert_eq!(finding.what.code(), Some("shared-cores-at-times"));
        // A single check is not a finding.
        let once = |look: u32, cpu: u32| (0, 0, if look == 4 && cpu == 5 { 2 } else { cpu });
        assert_eq!(found(&record_with(machine(8), looks_at(8, 24, once)), RULE), []);
    }
}
