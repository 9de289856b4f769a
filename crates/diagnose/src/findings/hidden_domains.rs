//! CPUs in several packages or dies that Linux does not show, and domains that Linux shows but that do not exist.

use record::shape::Topology;

use super::prelude::*;

/// Domains detected by placement checks, compared with those that Linux shows.
pub(super) const RULE: Rule = Rule { name: "hidden-domains", find };

/// Minimum number of placement checks that must show hidden domains, because a single one may be due to chance.
const LEAST: u64 = 2;

fn find(case: &Case) -> Option<Vec<Finding>> {
    let shape = case.shape()?;
    // Without a hypervisor that moves CPUs, domains that change between checks are measurement errors.
    let can_be = case.record.machine.is_virtual() || shape.topology == Topology::Finer;
    let split = shape.split.filter(|split| can_be && split.count >= LEAST);
    let apart = split.zip(shape.distances.last()).map(|(split, far)| {
        let domains = shape.states.iter().flatten().filter_map(|s| s.domains.last()).map(Vec::len).max();
        let what = match shape.topology {
            Topology::Finer => text!(
                "hidden-domains-fixed",
                "the CPUs are in {domains} packages or dies that Linux does not show",
                domains = domains.unwrap_or(2)
            ),
            _ => text!(
                "hidden-domains",
                "in {share} of the placement checks, the CPUs were in several packages or dies that Linux does not show",
                share = Value::Share(split.share)
            ),
        };

        let says = text!("a cache-line transfer between domains takes {far}", far = Value::Figure(far.median_ns, "ns"));
        let finding = RULE.report_fact(Severity::Warning, what).felt_by(Relevance::Some);
        finding.cite(says, "diagnosis.shape.distances")
    });
    let shown = (!shape.siblings_not_confirmed.is_empty()).then(|| {
        let pairs = record::phrase::count_noun(shape.siblings_not_confirmed.len(), "pair");
        let what = text!("no contention between CPUs that Linux shows as SMT siblings ({pairs})", pairs);
        RULE.report_fact_as("hidden-domains siblings", Severity::Note, what)
            .cite(
                text!("each CPU is equally fast whether the other is busy or idle"),
                "diagnosis.shape.siblings_not_confirmed",
            )
            .mend_as("hidden-domains siblings")
    });
    Some(apart.into_iter().chain(shown).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::invariants::found;
    use crate::samples::machine;
    use crate::shape::samples::{looks_at, record_with};

    #[test]
    fn packages_that_linux_hides_are_found() {
        let halves = |_: u32, cpu: u32| (cpu / 4, 0, cpu);
        let mut record = record_with(machine(8), looks_at(8, 12, halves));
        let finding = &found(&record, RULE)[0];
        assert_eq!(
            (finding.what.code(), finding.what.value("domains")),
            (Some("hidden-domains-fixed"), Some(&2u32.into()))
        );
        record.machine.cpus.iter_mut().for_each(|cpu| cpu.package = Some(cpu.id / 4));
        assert_eq!(found(&record, RULE), []);
    }

    #[test]
    fn a_cpu_that_visits_another_package_has_its_share() {
        let visits = |look: u32, cpu: u32| (u32::from(cpu == 3 && look.is_multiple_of(3)), 0, cpu);
        let finding = &found(&record_with(machine(8), looks_at(8, 12, visits)), RULE)[0];
        assert_eq!(finding.what.code(), Some("hidden-domains"));
    }
}
