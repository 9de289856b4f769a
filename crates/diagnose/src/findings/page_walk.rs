//! Page-walk overhead: the time that loads from large working sets lose on 4 KiB pages if programs cannot use larger pages.

use super::huge_pages;
use super::prelude::*;

/// Load latency on 4 KiB pages compared with that on 2 MiB pages, at the largest working set measured on both. The result counts as memory
/// latency only if this working set exceeds the caches.
pub(super) const RULE: Rule = Rule { name: "page-walk", find };

fn find(case: &Case) -> Option<Vec<Finding>> {
    let thp = case.record.conditions.before.thp.as_ref();
    // There is no finding if programs get huge pages anyway and only the measurement used small ones. If huge pages are refused to this
    // process, another rule reports this.
    if thp.is_some_and(|thp| thp == "always") || huge_pages::is_refusal_lifted(case) {
        return None;
    }
    let (small, huge) = case.pages()?;
    let loss = costs(loss(&small.summary, &huge.summary, Better::Lower))?;
    let size = Value::Bytes(small.labels.count(Label::Bytes)?);
    let on_small =
        text!("random loads over {size} on 4 KiB pages: {latency}", size = size.clone(), latency = small);
    let what = match case.record.machine.is_virtual() {
        true => text!(
            "page-walk-waits-nested",
            "random loads over {size} of memory lose time to nested page walks (guest and host)"
        ),
        false => text!("random loads over {size} of memory lose time to page walks"),
    };
    let (remedy, undo) = huge_pages::remedy(thp.map(String::as_str));
    let mut finding = RULE
        .report_loss(loss, what)
        // Only programs with large, scattered data are affected.
        .felt_by(Relevance::Some)
        .cite(on_small, small)
        .cite(text!("on 2 MiB pages: {latency}", latency = huge), huge)
        .mend(remedy)
        .undo(undo)
        .cite_some(thp, "conditions.before.thp", |setting| text!("THP: {setting}"));
    let sets = small.detail.get(detail::SETS_OF_PAGES);
    let sets = sets.and_then(|sets| sets.as_array().map(Vec::len)).unwrap_or(1);
    if sets < 2 {
        // The interval does not include the variation between sets of pages.
        let says = text!(
            "page-walk-one-set",
            "measured on only one set of 4 KiB pages; page-walk cost depends on which pages were free"
        );
        finding = Finding { confidence: Confidence::Medium, ..finding.cite(says, small) };
    }
    if case.record.machine.is_virtual() {
        finding = finding.mend_as("page-walk host");
    }
    Some(vec![finding])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::write_command;
    use crate::findings::huge_pages::ENABLED;
    use crate::findings::invariants::{found, missing};
    use crate::samples::{add_cache, add_curve, code_of, has_code, machine};
    use record::Record;
    use record::{KnobName, KnobValue, Remedy};

    fn record_with(thp: Option<&str>, small: f64, huge: f64) -> Record {
        let mut record = machine(1);
        record.conditions.before.thp = thp.map(str::to_owned);
        add_curve(&mut record, "4KiB", &[(1 << 20, 5.0), (1 << 29, small)]);
        add_curve(&mut record, "2MiB", &[(1 << 20, 5.0), (1 << 29, huge)]);
        record
    }

    #[test]
    fn walks_that_cost_are_found_with_the_way_back() {
        let finding = &found(&record_with(Some("never"), 140.0, 100.0), RULE)[0];
        assert!(finding.evidence[0].from.contains("bytes=536870912 page=4KiB"), "{finding:?}");
        let madvise = KnobValue::new(KnobName::Thp, "madvise");
        assert_eq!(finding.remedy[0], Remedy::command(write_command("madvise", ENABLED)).sets(madvise));
        assert_eq!(finding.undo, [Remedy::command(write_command("never", ENABLED))]);
    }

    #[test]
    fn under_a_hypervisor_the_host_walks_too() {
        let mut guest = record_with(Some("madvise"), 140.0, 100.0);
        guest.machine.virtualization.hypervisor = Some("kvm".to_owned());
        let finding = &found(&guest, RULE)[0];
        assert!(
            has_code(&finding.what, "page-walk-waits-nested")
                && code_of(&finding.remedy[2]) == "page-walk-host",
            "{finding:?}"
        );
    }

    #[test]
    fn what_one_set_of_pages_shows_is_less_sure_than_what_three_do() {
        let mut record = record_with(Some("never"), 140.0, 100.0);
        let one = &found(&record, RULE)[0];
        assert_eq!(one.confidence, Confidence::Medium);
        assert_eq!(one.what.value("size").map(ToString::to_string).as_deref(), Some("512 MiB"));
        for m in record.measurements.iter_mut().filter(|m| m.metric == "load.latency") {
            m.detail.set(detail::SETS_OF_PAGES, serde_json::json!([139.0, 140.0, 141.0]));
        }
        let three = &found(&record, RULE)[0];
        assert_eq!(three.confidence, Confidence::High);
        assert_eq!(three.evidence.len() + 1, one.evidence.len());
    }

    #[test]
    fn a_doubtful_figure_that_is_cited_twice_is_doubted_once() {
        let mut record = record_with(Some("never"), 140.0, 100.0);
        let sure = found(&record, RULE).remove(0);
        record.measurements.iter_mut().for_each(|m| m.doubt = Some("taken on another CPU".into()));
        let all = crate::diagnose(&record).findings;
        let doubted = all.iter().find(|finding| finding.rule == RULE.name).unwrap();
        // Both page sizes add one result each.
        assert_eq!(doubted.evidence.len(), sure.evidence.len() + 2, "{doubted:?}");
    }

    #[test]
    fn a_setting_from_a_hostile_record_is_never_pasted() {
        let finding = &found(&record_with(Some("$(reboot)"), 140.0, 100.0), RULE)[0];
        assert!(
            finding.remedy.iter().chain(&finding.undo).all(|line| !line.to_string().contains("reboot")),
            "{finding:?}"
        );
    }

    #[test]
    fn when_programs_have_large_pages_or_nothing_is_lost_it_is_silent() {
        assert_eq!(found(&record_with(Some("always"), 140.0, 100.0), RULE), []);
        assert_eq!(found(&record_with(Some("madvise"), 100.5, 100.0), RULE), []);
    }

    #[test]
    fn one_page_size_or_a_working_set_within_the_caches_is_missing() {
        let mut record = record_with(Some("madvise"), 140.0, 100.0);
        add_cache(&mut record, 3, 1 << 30, 1);
        assert_eq!(
            missing(&record, RULE),
            Some("load latency beyond the caches on both page sizes (linespeed run latency --full)")
        );
        assert_eq!(found(&record, RULE), []);
        record.measurements.retain(|m| m.labels.word(Label::Page) == Some("4KiB"));
        assert_eq!(missing(&record, RULE), Some("load latency on 2 MiB and on 4 KiB pages"));
        assert_eq!(missing(&machine(1), RULE), Some("load latency"));
    }
}
