//! How to lay a program out on a machine of several nodes.

use maud::html;
use record::Record;

use super::{Section, prose};
use crate::contents::plan::{MOST_PROCESSES, processes, reasons};
use crate::text::clean;

/// The plan; nothing for a machine of one node.
pub(super) fn section(record: &Record) -> Section {
    let title = "How to lay a program out";
    let Some(plan) = &record.diagnosis.plan else { return super::section("plan", title, html! {}) };
    let more = plan.processes.len().saturating_sub(MOST_PROCESSES);
    let inside = html! {
        p { (prose(plan.summary.to_string())) }
        (super::table::table(&processes(&plan.processes), ""))
        @if more > 0 { p { "… and " (more) " more." } }
        @for (word, says) in reasons(plan) { p { strong { (word) ": " } (prose(&says)) } }
        @for advice in &plan.advice { p { strong { (advice.about) ": " } (prose(advice.says.to_string())) } }
        @for says in plan.cautions.iter().chain(&plan.unknown) { p { (prose(says)) } }
        @for snippet in &plan.snippets {
            details {
                summary { (snippet.tool) }
                p { (prose(snippet.says.to_string())) }
                pre {
                    code {
                        @for piece in &snippet.pieces {
                            @for line in &piece.lines { (clean(line)) "\n" }
                            @if piece.lines.len() > 1 { "\n" }
                        }
                    }
                }
            }
        }
    };
    super::section("plan", title, inside)
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::plan::{Piece, Plan, Process, Snippet};

    #[test]
    fn the_page_has_the_plan_and_its_lines_and_nothing_of_one_node() {
        let mut record = Record::new("0.1.0", String::new(), Vec::new());
        assert!(section(&record).inside.0.is_empty());
        let processes = (0..40).map(|number| Process { number, ..Process::default() }).collect();
        let lines = vec!["numactl --cpunodebind=0 COMMAND".to_owned()];
        let snippet = Snippet {
            tool: "numactl".to_owned(),
            pieces: vec![Piece { process: Some(0), lines }],
            ..Snippet::default()
        };
        let summary = "Forty <processes>".to_owned();
        record.diagnosis.plan =
            Some(Plan { summary: summary.into(), processes, snippets: vec![snippet], ..Plan::default() });
        let page = section(&record).inside.0;
        for part in ["Forty &lt;processes&gt;", "… and 8 more.", "numactl --cpunodebind=0 COMMAND\n"] {
            assert!(page.contains(part), "no {part:?} in {page}");
        }
    }
}
