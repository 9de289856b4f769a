//! Page walks: what loads from large working sets lose on 4 KiB pages, where programs do not get larger ones.

use record::Better;
use record::diagnosis::Finding;
use record::units::bytes;

use super::{Case, Rule, at_most_warning, costs, finding, is_virtual};
use crate::figures::{evidence, loss, pasteable, told, write_command};
use crate::resources::pages;

/// Load latency on 4 KiB against 2 MiB pages at the largest working set measured on both.
pub const RULE: Rule = Rule { name: "page-walk", find };

const ENABLED: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

fn find(case: &Case) -> Vec<Finding> {
    one(case).into_iter().collect()
}

fn one(case: &Case) -> Option<Finding> {
    let thp = case.record.conditions.before.thp.as_deref();
    // Then ordinary memory is on large pages already, and only the measurement had asked for small ones.
    if thp == Some("always") {
        return None;
    }
    let (small, huge) = pages(case.record)?;
    let loss = costs(loss(&small.summary, &huge.summary, Better::Lower))?;
    let size = small.place.count("bytes").map_or_else(String::new, bytes);
    let mut seen = vec![
        evidence(small, &format!("a load from {size} on 4 KiB pages takes")),
        evidence(huge, "on 2 MiB pages"),
    ];
    let mut remedy = Vec::new();
    let mut undo = Vec::new();
    if let Some(old) = thp {
        seen.push(told(format!("transparent huge pages: {old}"), "conditions.before.thp"));
        if old == "never" {
            remedy.push(write_command("madvise", ENABLED));
        }
        undo.extend(pasteable(old).map(|old| write_command(old, ENABLED)));
        remedy.push(
            "in the program: madvise(…, MADV_HUGEPAGE), or GLIBC_TUNABLES=glibc.malloc.hugetlb=1".to_owned(),
        );
        remedy.push(format!("for every program: {}", write_command("always", ENABLED)));
    } else {
        remedy.push("reserve pages for programs that ask for them: sudo sysctl vm.nr_hugepages=N".to_owned());
        undo.push("sudo sysctl vm.nr_hugepages=0".to_owned());
    }
    let nested = if is_virtual(case.record) { ", nested ones under the hypervisor" } else { "" };
    Some(Finding {
        severity: at_most_warning(&loss),
        place: Some(format!("loads scattered over {size}")),
        evidence: seen,
        remedy,
        undo,
        ..finding(&RULE, loss, format!("programs with large working sets wait for page walks{nested}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{add_curve, found, machine};
    use record::Record;

    fn with(thp: Option<&str>, small: f64, huge: f64) -> Record {
        let mut record = machine(1);
        record.conditions.before.thp = thp.map(str::to_owned);
        add_curve(&mut record, "4KiB", &[(1 << 20, 5.0), (1 << 29, small)]);
        add_curve(&mut record, "2MiB", &[(1 << 20, 5.0), (1 << 29, huge)]);
        record
    }

    #[test]
    fn walks_that_cost_are_found_with_the_way_back() {
        let finding = &found(&with(Some("never"), 140.0, 100.0), RULE)[0];
        assert!(finding.evidence[0].from.contains("bytes=536870912 page=4KiB"), "{finding:?}");
        assert!(finding.remedy[0].starts_with("echo madvise | sudo tee"), "{finding:?}");
        assert_eq!(finding.undo, [write_command("never", ENABLED)]);
    }

    #[test]
    fn a_setting_from_a_hostile_record_is_never_pasted() {
        let finding = &found(&with(Some("$(reboot)"), 140.0, 100.0), RULE)[0];
        assert!(
            finding.remedy.iter().chain(&finding.undo).all(|line| !line.contains("reboot")),
            "{finding:?}"
        );
    }

    #[test]
    fn when_programs_have_large_pages_or_nothing_is_lost_it_is_silent() {
        assert_eq!(found(&with(Some("always"), 140.0, 100.0), RULE), []);
        assert_eq!(found(&with(Some("madvise"), 100.5, 100.0), RULE), []);
        let mut record = with(Some("madvise"), 140.0, 100.0);
        record.measurements.retain(|m| m.place.word("page") == Some("4KiB"));
        assert_eq!(found(&record, RULE), []);
    }
}
