//! Memory swapped out to disk.

use super::prelude::*;

/// Reports pages that were swapped during the run, or swapped-out memory that exceeds the available memory.
pub(super) const RULE: Rule = Rule { name: "swap-in-use", find };

fn find(case: &Case) -> Option<Vec<Finding>> {
    let conditions = &case.record.conditions;
    let (before, after) = (&conditions.before, conditions.after.as_ref());
    let (was, is) = (before.swapped_pages, after.and_then(|after| after.swapped_pages));
    let moved = was.zip(is).map(|(was, is)| {
        let (read, written) = (is.0.saturating_sub(was.0), is.1.saturating_sub(was.1));
        read.saturating_add(written)
    });
    let used = before.swap_used_bytes.unwrap_or(0);
    let no_room = before.memory_available_bytes.is_some_and(|available| used > available);

    let finding = match moved {
        Some(pages) if pages > 0 => {
            let what = text!("memory was swapped during the run");
            let says = text!("pages swapped in or out during the run: {pages}");
            RULE.report_fact(Severity::Warning, what).cite(says, "conditions.after.swapped_pages")
        }
        _ if no_room => RULE.report_fact(Severity::Note, text!("swap usage exceeds the available memory")),
        _ => return None,
    };
    let used = Some(used).filter(|used| *used > 0).map(Value::Bytes);
    let available = before.memory_available_bytes.map(Value::Bytes);

    let finding = finding
        .cite_some(used, "conditions.before.swap_used_bytes", |used| text!("swap used: {used}"))
        .cite_some(available, "conditions.before.memory_available_bytes", |available| {
            text!("available memory: {available}")
        });
    Some(vec![finding])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::invariants::{found, missing};
    use crate::samples::machine;

    fn record_with(moved: u64, used: u64) -> record::Record {
        let mut record = machine(1);
        record.conditions.before.swapped_pages = Some((100, 100));
        record.conditions.before.swap_used_bytes = Some(used);
        record.conditions.before.memory_available_bytes = Some(1 << 30);
        record.conditions.after =
            Some(record::Snapshot { swapped_pages: Some((100, 100 + moved)), ..Default::default() });
        record
    }

    #[test]
    fn pages_that_move_and_swap_without_room_are_found() {
        assert_eq!(found(&record_with(5, 0), RULE)[0].severity, Severity::Warning);
        assert_eq!(found(&record_with(0, 2 << 30), RULE)[0].severity, Severity::Note);
    }

    #[test]
    fn swap_that_lies_still_is_silence() {
        assert_eq!(found(&record_with(0, 100 << 20), RULE), []);
        assert_eq!(missing(&machine(1), RULE), Some("swap in use"));
    }
}
