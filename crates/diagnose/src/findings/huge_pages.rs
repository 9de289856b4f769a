//! Huge pages: whether they were refused to this process, and how programs can use them.

use super::draft::read_section;
use super::prelude::*;

/// The kernel setting that selects which programs get transparent huge pages.
pub(super) const ENABLED: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

/// The name of the coverage entry that shows that the latency measurement lifted the refusal.
pub(super) const LIFTED: &str = "latency huge pages";

/// Whether huge pages were refused to this process but were measured nevertheless.
pub(super) fn is_refusal_lifted(case: &Case) -> bool {
    case.record.coverage.iter().any(|coverage| coverage.what == LIFTED && coverage.state == State::Degraded)
}

/// How programs can use larger pages, and how to undo this.
pub(super) fn remedy(thp: Option<&str>) -> (Vec<Remedy>, Vec<Remedy>) {
    let Some(old) = thp else { return read_section("huge-pages reserve") };
    let set = |value: &str| {
        Remedy::command(write_command(value, ENABLED)).sets(KnobValue::new(KnobName::Thp, value))
    };
    let mut remedy = Vec::new();
    remedy.extend((old == "never").then(|| set("madvise")));
    remedy.extend(remedies("huge-pages program"));
    let every = text!("for every program");
    remedy.push(Remedy { text: Some(every), ..set("always") });
    (remedy, vec![restore_command(old, ENABLED)])
}
