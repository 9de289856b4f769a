//! A virtual machine that is shown its host's last-level cache as if it were its own.

use record::diagnosis::{Confidence, Finding, Severity};
use record::machine::Cache;
use record::text::Value;
use record::{Remedy, text};

use super::needs::Need;
use super::{Case, Rule, cache_smaller, is_virtual, needs, of_fact};
use crate::figures::cite_fact;
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
        is_met: |case| !is_virtual(case.record) || needs::CACHE_SIZES.is_met(case),
    }],
    find,
};

fn find(case: &Case) -> Vec<Finding> {
    find_cache_of_host(case).into_iter().collect()
}

fn find_cache_of_host(case: &Case) -> Option<Finding> {
    let machine = &case.record.machine;
    if !is_virtual(case.record) {
        return None;
    }
    let last: Vec<&Cache> = machine.data_caches(machine.last_level()).collect();
    let online = machine.cpus.iter().filter(|cpu| cpu.online).count();
    // Several caches may be as many host packages or clusters in whole; one that only one CPU has may be its own.
    let [cache] = last[..] else { return None };
    if cache.cpus.len() < 2 || cache.cpus.len() < online {
        return None;
    }
    let size = cache.bytes.filter(|size| *size > 0)?;
    let level = format!("L{}", cache.level);
    // What is missing of it is told by the other rule.
    if (cache_smaller::RULE.find)(case)
        .iter()
        .any(|found| found.place.as_ref().is_some_and(|place| place.to_string() == level))
    {
        return None;
    }
    let seen = case.levels.iter().position(|found| found.name == level);
    let seen = seen.and_then(|at| Some((at, case.levels[at].measured_bytes?)));
    let seen = seen.map(|(at, seen)| (at, seen, seen as f64 / size as f64));
    let mut evidence = vec![cite_fact(
        text!(
            "cache-of-host-one-for-all",
            "{size} {level} shared by all {online} CPUs",
            size = Value::Bytes(size),
            level = level.clone(),
            online
        ),
        "machine.caches[].bytes and .cpus",
    )];
    if let Some((at, seen, share)) = seen.filter(|(_, _, share)| *share >= MUCH_SMALLER) {
        let says = text!(
            "cache-of-host-curve",
            "the latency curve leaves the level at {seen}, {share} of the size reported",
            seen = Value::Bytes(seen),
            share = Value::Share(share.min(1.0))
        );
        evidence.push(cite_fact(says, format!("diagnosis.levels[{at}].measured_bytes")));
    }
    Some(Finding {
        confidence: Confidence::Low,
        place: Some(level.clone().into()),
        evidence,
        remedy: vec![
            Remedy::advice(text!(
                "cache-of-host-measure-again",
                "size working sets by the measured size; measure again at other times of day"
            )),
            Remedy::advice(text!(
                "whole-socket-instance",
                "an instance type with a whole socket has the whole cache"
            )),
        ],
        ..of_fact(
            &RULE,
            Severity::Note,
            text!("cache-of-host-others-unseen", "other guests' use of the cache is invisible from inside"),
            text!(
                "cache-of-host-shown",
                "the {size} {level} of this virtual machine is the host's and may be shared with other guests",
                size = Value::Bytes(size),
                level
            ),
        )
    })
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
