//! Huge pages that are not available on this machine or to this process, so that large working sets need page walks.

use super::huge_pages;
use super::huge_pages::{LIFTED, is_refusal_lifted};
use super::prelude::*;
use crate::resources::{Walk, beyond, last_cache};

/// Transparent huge pages that are refused to this process or disabled. The cost is measured if the measurement could temporarily lift the
/// refusal. If huge pages are disabled, nothing could be measured on 2 MiB pages.
///
/// Without such a measurement, the cost is modelled: a page walk for a large working set reads one page-table entry from the last-level
/// cache. Under a hypervisor, the walk of the hypervisor's page table reads a second entry. The interval is from half to twice the modelled
/// cost, because the entries for smaller working sets are in nearer caches, and those for larger ones are in memory.
pub(super) const RULE: Rule = Rule { name: "huge-pages-refused", find };

const WHAT: Template = Template::new(
    "huge-pages-refused-what",
    "huge pages are refused: page walks slow down large working sets",
);

/// The remedy if the parent process disabled huge pages.
const BY_PARENT: &str = "huge-pages parent";

fn on<'a>(case: &Case<'a>, page: &'static str) -> impl Iterator<Item = &'a Measurement> {
    case.figures_of(metrics::LOAD_LATENCY).filter(move |m| has_labels(m, &[(Label::Page, page)]))
}

fn find(case: &Case) -> Option<Vec<Finding>> {
    let found = measure_refusal(case).or_else(|| model_refusal(case))?;
    Some(vec![found.felt_by(Relevance::Some)])
}

/// The finding from results for both page sizes. Programs started in the same way as linespeed get only small pages.
fn measure_refusal(case: &Case) -> Option<Finding> {
    is_refusal_lifted(case).then_some(())?;
    let (small, huge) = case.pages()?;
    if small.labels.count(Label::Bytes)? < beyond(case.record, case.levels(), Walk::Loads) {
        return None;
    }
    let loss = costs(loss(&small.summary, &huge.summary, Better::Lower))?;
    Some(
        RULE.report_loss(loss, WHAT)
            .locate(describe_place(small))
            .cite(text!("refused to this process (PR_SET_THP_DISABLE)"), format!("coverage[] {LIFTED}"))
            .cite_all([cite_small_pages(small)])
            .cite(text!("on 2 MiB pages, with the refusal lifted: {latency}", latency = huge), huge)
            .mend_as(BY_PARENT),
    )
}

fn working_set(m: &Measurement) -> Value {
    m.labels.count(Label::Bytes).map_or(Value::from("memory"), Value::Bytes)
}

/// The accesses that lack huge pages.
fn describe_place(m: &Measurement) -> Text {
    text!("random loads over {size}", size = working_set(m))
}

/// The load latency without huge pages.
fn cite_small_pages(latency: &Measurement) -> Evidence {
    let size = working_set(latency);
    cite_fact(text!("a load from {size} on 4 KiB pages: {latency}"), latency)
}

/// The evidence that huge pages are refused.
fn cite_refusal(case: &Case) -> Option<Evidence> {
    if case.record.conditions.before.thp.as_deref() == Some("never") {
        return Some(cite_fact(text!("THP: never"), "conditions.before.thp"));
    }
    let what = Coverage::latency_on("2MiB");
    let said = case.record.coverage.iter().find(|coverage| {
        coverage.what == what && matches!(coverage.state, State::Impossible | State::Degraded)
    })?;
    let reason = said.reason.as_ref().map_or(Value::from("unavailable"), Value::from);
    Some(cite_fact(text!("2 MiB pages: {reason}"), format!("coverage[] {what}")))
}

fn model_refusal(case: &Case) -> Option<Finding> {
    on(case, "2MiB").next().is_none().then_some(())?;
    let why = cite_refusal(case)?;
    let least = beyond(case.record, case.levels(), Walk::Loads);
    let largest = on(case, "4KiB")
        .filter(|m| m.labels.count(Label::Bytes).is_some_and(|size| size >= least))
        .max_by_key(|m| m.labels.count(Label::Bytes))?;
    let cache = last_cache(case.levels())?;
    let reads = if case.record.machine.is_virtual() { 2.0 } else { 1.0 };
    // The load itself, without the page walk, takes longer than a load from the last-level cache.
    let most = 1.0 - cache.latency_ns / largest.value();
    let share = (reads * cache.latency_ns / largest.value()).min(most);
    let loss = costs(verdict(share, (share / 2.0, (share * 2.0).min(most))))?;
    let walk = text!(
        "page walk: {reads} × a read from {cache}, {latency} each",
        reads = reads as u64,
        cache = &cache.name,
        latency = Value::Figure(cache.latency_ns, "ns")
    );
    let thp = case.record.conditions.before.thp.as_deref();
    let (remedy, undo) = match (thp, huge_pages::remedy(thp)) {
        (Some("never"), ways) => ways,
        (None, (remedy, _)) => (remedy, Vec::new()),
        (Some(_), _) => (remedies(BY_PARENT), Vec::new()),
    };
    Some(
        RULE.report_model(loss, WHAT)
            .locate(describe_place(largest))
            .cite_all([why, cite_small_pages(largest)])
            .cite(walk, format!("diagnosis.levels[{}].latency_ns", case.levels().len().saturating_sub(2)))
            .mend(remedy)
            .undo(undo),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::invariants::{found, missing};
    use crate::samples::{add_cache, add_curve, has_code, machine, sizes, steps};
    use record::Record;

    fn is_by_parent(finding: &Finding) -> bool {
        let is_it = |text| has_code(text, "huge-pages-refused-by-parent");
        finding.remedy[0].text.as_ref().is_some_and(is_it)
    }

    fn record_with(thp: &str) -> Record {
        let mut record = machine(1);
        record.conditions.before.thp = Some(thp.to_owned());
        for (level, bytes) in [(1, 32 << 10), (2, 1 << 20), (3, 32 << 20)] {
            add_cache(&mut record, level, bytes, 1);
        }
        let curve = [(32 << 10, 1.2), (1 << 20, 4.0), (32 << 20, 15.0), (u64::MAX, 150.0)];
        add_curve(&mut record, "4KiB", &steps(&sizes(4 << 10, 512 << 20), &curve));
        record
    }

    #[test]
    fn pages_switched_off_are_found_with_a_modelled_loss() {
        let finding = &found(&record_with("never"), RULE)[0];
        assert!((crate::figures::share_of(&finding.loss) - 0.1).abs() < 0.005, "{finding:?}");
        assert!(
            !finding.measured && finding.remedy[0].to_string().starts_with("echo madvise"),
            "{finding:?}"
        );
        let mut guest = record_with("never");
        guest.machine.virtualization.hypervisor = Some("kvm".to_owned());
        assert!((crate::figures::share_of(&found(&guest, RULE)[0].loss) - 0.2).abs() < 0.01);
    }

    #[test]
    fn a_process_that_is_refused_them_is_reported_of_its_parent() {
        let mut record = record_with("always");
        assert_eq!(found(&record, RULE), [], "no evidence of a refusal");
        record
            .coverage
            .push(Coverage::impossible(Coverage::latency_on("2MiB"), "the kernel gave 4 KiB pages"));
        let finding = &found(&record, RULE)[0];
        assert!(is_by_parent(finding) && finding.undo.is_empty(), "{finding:?}");
    }

    #[test]
    fn a_refusal_that_was_taken_back_costs_what_was_measured() {
        let mut record = record_with("madvise");
        add_curve(&mut record, "2MiB", &[(512 << 20, 75.0)]);
        assert_eq!(found(&record, RULE), [], "nothing was refused");
        record.coverage.push(Coverage::degraded(LIFTED, "refused to this process"));
        let findings = crate::diagnose(&record).findings;
        let finding = &findings[0];
        assert_eq!((finding.rule.as_str(), finding.measured), (RULE.name, true), "{findings:?}");
        assert!((crate::figures::share_of(&finding.loss) - 0.5).abs() < 0.01, "{finding:?}");
        assert!(is_by_parent(finding), "{finding:?}");
        assert!(findings.iter().all(|finding| finding.rule != "page-walk"), "told twice: {findings:?}");
    }

    #[test]
    fn a_walk_takes_no_more_than_the_load_leaves() {
        let mut record = record_with("never");
        record.measurements.clear();
        add_curve(
            &mut record,
            "4KiB",
            &steps(&sizes(4 << 10, 512 << 20), &[(32 << 10, 1.0), (16 << 20, 90.0), (u64::MAX, 140.0)]),
        );
        record.machine.virtualization.hypervisor = Some("kvm".to_owned());
        for finding in found(&record, RULE) {
            assert!(crate::figures::share_of(&finding.loss) < 0.4, "{finding:?}");
        }
    }

    #[test]
    fn where_both_sizes_were_measured_nothing_is_modelled() {
        let mut record = record_with("never");
        add_curve(&mut record, "2MiB", &[(512 << 20, 130.0)]);
        assert_eq!(found(&record, RULE), []);
        assert_eq!(missing(&record, RULE), None);
        assert_eq!(missing(&machine(1), RULE), Some("availability of huge pages"));
        let mut inventory = machine(1);
        inventory.conditions.before.thp = Some("never".to_owned());
        assert_eq!(missing(&inventory, RULE), Some("load latency"));
    }
}
