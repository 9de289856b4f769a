//! A virtual machine that is shown its host's last-level cache as if it were its own.

use record::diagnosis::{Confidence, Finding, Severity};
use record::machine::Cache;
use record::text;
use record::text::Value;

use super::needs::Need;
use super::{Case, Draft, Rule, cache_smaller, needs};
use crate::figures::quote_name;
use crate::levels::MUCH_SMALLER;

/// The last-level cache that a virtual machine is shown, where all its CPUs share one whole cache: a host's cache comes in
/// one piece, whatever part of its cores a guest has. What the curve shows to be missing is `cache-smaller`'s.
pub(super) const RULE: Rule = Rule {
    name: "cache-of-host",
    glossary: "
        A virtual machine is shown one last-level cache for all its CPUs: it is the host's in one piece, and
        others may share it.
        How: The kernel's tables under a hypervisor. What the latency curve shows to be missing is
        `cache-smaller`.
    ",
    resource: None,
    needs: &[Need {
        what: needs::CACHE_SIZES.what,
        is_met: |case| !case.is_virtual() || needs::CACHE_SIZES.is_met(case),
    }],
    find,
};

fn find(case: &Case) -> Option<Vec<Finding>> {
    let machine = &case.record.machine;
    if !case.is_virtual() {
        return None;
    }
    let last: Vec<&Cache> = machine.data_caches(machine.last_level()).collect();
    let online = machine.cpus.iter().filter(|cpu| cpu.online).count();
    // Several caches may be as many host packages or clusters in whole; one that only one CPU has may be its own.
    let [cache] = last[..] else { return None };
    if cache.cpus.len() < 2 || cache.cpus.len() < online {
        return None;
    }
    let bytes = cache.bytes.filter(|size| *size > 0)?;
    let (size, level) = (Value::Bytes(bytes), format!("L{}", cache.level));
    let place = quote_name(&level);
    // What is missing of it is told by the other rule.
    if cache_smaller::RULE.findings(case).iter().any(|found| found.place.as_ref() == Some(&place)) {
        return None;
    }
    let reason =
        text!("cache-of-host-others-unseen", "other guests' use of the cache is invisible from inside");
    let what = text!(
        "cache-of-host-shown",
        "the {size} {level} of this virtual machine is the host's and may be shared with other guests",
        size = size.clone(),
        level = &level
    );
    let shared = text!(
        "cache-of-host-one-for-all",
        "{size} {level} shared by all {online} CPUs",
        size,
        level = &level,
        online
    );
    let mut finding = RULE
        .report_fact(Severity::Note, reason, what)
        .locate(place)
        .cite(shared, "machine.caches[].bytes and .cpus")
        .advise(text!(
            "cache-of-host-measure-again",
            "size working sets by the measured size; measure again at other times of day"
        ))
        .advise(text!(cache_smaller::WHOLE_SOCKET));
    let seen = case.levels.iter().position(|found| found.name == level);
    if let Some((at, seen)) = seen.and_then(|at| Some((at, case.levels[at].measured_bytes?)))
        && let share = seen as f64 / bytes as f64
        && share >= MUCH_SMALLER
    {
        let says = text!(
            "cache-of-host-curve",
            "the latency curve leaves the level at {seen}, {share} of the size reported",
            seen = Value::Bytes(seen),
            share = Value::Share(share.min(1.0))
        );
        finding = finding.cite(says, format!("diagnosis.levels[{at}].measured_bytes"));
    }
    Some(vec![Finding { confidence: Confidence::Low, ..finding }])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::invariants::{found, missing};
    use crate::samples::{add_cache, add_curve, machine, sizes, steps};
    use record::Record;

    fn guest(seen_mib: u64) -> Record {
        let mut record = machine(2);
        record.machine.virtualization.hypervisor = Some("kvm".to_owned());
        add_cache(&mut record, 1, 32 << 10, 1);
        add_cache(&mut record, 3, 32 << 20, 2);
        let curve = [(32 << 10, 1.2), (seen_mib << 20, 15.0), (u64::MAX, 150.0)];
        add_curve(&mut record, "2MiB", &steps(&sizes(4 << 10, 256 << 20), &curve));
        record
    }

    #[test]
    fn a_cache_shown_whole_is_a_note() {
        let finding = &found(&guest(24), RULE)[0];
        assert_eq!((finding.severity, finding.confidence), (Severity::Note, Confidence::Low));
        assert_eq!(finding.what.value("size"), Some(&Value::Bytes(32 << 20)));
        assert_eq!(finding.place, Some("L3".into()));
    }

    #[test]
    fn a_cache_of_which_little_is_left_is_reported_by_the_other_rule() {
        assert_eq!(found(&guest(4), RULE), []);
        assert_eq!(found(&guest(4), super::super::cache_smaller::RULE).len(), 1);
    }

    #[test]
    fn real_machines_own_caches_and_unreported_ones_are_silence() {
        let mut real = guest(24);
        real.machine.virtualization.hypervisor = Some("none".to_owned());
        assert_eq!(found(&real, RULE), []);
        let mut own = guest(24);
        own.machine.caches[1].cpus = (0..1).collect();
        assert_eq!(found(&own, RULE), []);
        own.machine.caches.clear();
        assert_eq!(missing(&own, RULE), Some("needs-cache-sizes"));
    }
}
