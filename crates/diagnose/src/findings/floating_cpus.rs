//! Virtual CPUs that a hypervisor moves between cores and packages while they run.

use record::phrase::count_noun;
use record::shape::Motion;

use super::prelude::*;

/// Placement checks that found different placements.
pub(super) const RULE: Rule = Rule { name: "floating-cpus", find };

fn find(case: &Case) -> Option<Vec<Finding>> {
    let shape = case.shape().filter(|shape| shape.motion == Motion::Floating)?;
    let (near, far) = (shape.distances.first()?, shape.distances.last()?);
    let ns = |ns: f64| Value::Figure(ns, "ns");
    let what = text!(
        "vCPUs move between cores or packages: {changes} in {looks} placement checks",
        changes = count_noun(u64::from(shape.changes), "change"),
        looks = shape.looks
    );
    let mut finding = RULE.report_fact(Severity::Warning, what).felt_by(Relevance::Some).cite(
        text!("{changes} changes between consecutive placement checks", changes = shape.changes),
        "diagnosis.shape.changes",
    );
    if shape.distances.len() > 1 {
        let says = text!(
            "cache-line transfer between CPUs: {near} to {far}",
            near = ns(near.median_ns),
            far = ns(far.median_ns)
        );
        finding = finding.cite(says, "diagnosis.shape.distances");
    }
    if let Some(memory) = shape.memory {
        let says = text!(
            "load from the same page: {near} on near CPUs, {far} on far CPUs",
            near = ns(memory.near_ns),
            far = ns(memory.far_ns)
        );
        finding = finding.cite(says, "diagnosis.shape.memory");
    }
    Some(vec![finding])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::invariants::found;
    use crate::samples::machine;
    use crate::shape::samples::{looks_at, record_with};

    #[test]
    fn cpus_that_move_are_found_and_those_that_stay_are_not() {
        let moves = |look: u32, cpu: u32| (u32::from(cpu == look % 8 && look > 3), 0, cpu);
        let finding = &found(&record_with(machine(8), looks_at(8, 20, moves)), RULE)[0];
        assert_eq!(finding.what.value("looks"), Some(&20u32.into()));
        assert_eq!(finding.evidence.len(), 3);
        let stays = |_: u32, cpu: u32| (cpu / 4, 0, cpu / 2);
        assert_eq!(found(&record_with(machine(8), looks_at(8, 20, stays)), RULE), []);
    }
}
