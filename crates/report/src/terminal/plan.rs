//! What `linespeed plan` prints: the plan in a sentence, its processes, its gain and why, what else to set, the lines to paste,
//! and what is left out or not known.

use record::plan::{Plan, Snippet};

use super::screen::Screen;
use crate::contents::plan::{MOST_PROCESSES, processes, reasons, verification};
use crate::paint::{Span, Tone};
use record::phrase::quote_word;

/// Lines of one tool that are shown for more than the first process.
const MOST_LINES: usize = 16;

/// The plan as text.
pub fn plan(screen: &mut Screen, plan: &Plan) {
    screen.paragraph(&[], Tone::Strong, &plan.summary);
    if plan.processes.len() > 1 || !plan.snippets.is_empty() {
        screen.blank();
        screen.table(&processes(&plan.processes), 2);
        screen.and_more(plan.processes.len().saturating_sub(MOST_PROCESSES), "--json");
    }
    if let Some(verification) = &plan.verification {
        screen.heading("Verified");
        for line in self::verification(verification) {
            screen.paragraph(&[Span::plain("  ")], Tone::Plain, &line);
        }
    }
    why(screen, plan);
    for (at, snippet) in plan.snippets.iter().enumerate() {
        if at == 0 {
            screen.heading("To paste");
        }
        lines(screen, snippet, plan.record.as_deref());
    }
    for (title, sentences) in [("Cautions", &plan.cautions), ("Not known", &plan.unknown)] {
        for (at, sentence) in sentences.iter().enumerate() {
            if at == 0 {
                screen.heading(title);
            }
            screen.hanging("- ", "  ", sentence);
        }
    }
    for (at, source) in plan.sources.iter().enumerate() {
        if at == 0 {
            screen.blank();
        }
        screen.paragraph(&[Span::quiet("Figures: ")], Tone::Quiet, source);
    }
}

/// The lines of one tool alone, as a file or a shell takes them; `None` where the plan has none of it.
pub fn pasted(plan: &Plan, tool: &str) -> Option<String> {
    let snippet = plan.snippets.iter().find(|snippet| snippet.tool == tool)?;
    let mut text = String::new();
    for (at, piece) in snippet.pieces.iter().enumerate() {
        let long = piece.lines.len() > 1;
        if long && at > 0 {
            text.push('\n');
        }
        if let Some(process) = piece.process.filter(|_| long && snippet.pieces.len() > 1) {
            text.push_str(&format!("# process {process}\n"));
        }
        for line in &piece.lines {
            text.push_str(line);
            text.push('\n');
        }
    }
    Some(super::safe(&text))
}

fn why(screen: &mut Screen, plan: &Plan) {
    let said = reasons(plan);
    if said.is_empty() && plan.advice.is_empty() {
        return;
    }
    screen.heading("Why");
    for (key, text) in &said {
        screen.paragraph(&[Span::strong(format!("  {key:<12}"))], Tone::Plain, text);
    }
    for advice in &plan.advice {
        screen.paragraph(&[Span::strong(format!("  {:<12}", advice.about))], Tone::Plain, &advice.says);
        for (label, commands) in [("", &advice.commands), ("undo: ", &advice.undo)] {
            for command in commands {
                screen.command(&[Span::quiet(format!("{:14}{label}", ""))], command);
            }
        }
    }
}

fn lines(screen: &mut Screen, snippet: &Snippet, record: Option<&str>) {
    screen.paragraph(&[Span::strong(format!("  {:<12}", snippet.tool))], Tone::Quiet, &snippet.says);
    let single = snippet.pieces.iter().all(|piece| piece.lines.len() == 1);
    // Blocks of several lines are alike but for their numbers: the first shows how they go.
    let shared = snippet.pieces.iter().any(|piece| piece.process.is_none());
    let shown = if shared || (single && snippet.tool == "numactl") { MOST_LINES } else { 1 };
    for (at, piece) in snippet.pieces.iter().take(shown).enumerate() {
        if at > 0 && !single {
            screen.blank();
        }
        for line in &piece.lines {
            if single {
                screen.command(&[Span::plain("    ")], line);
            } else {
                screen.line(&[Span::plain("    "), Span::plain(line)]);
            }
        }
    }
    let record = record.map_or(String::new(), |record| format!("{} ", quote_word(record)));
    let way = format!("linespeed plan {record}--as {}", snippet.tool);
    screen.and_more(snippet.pieces.len().saturating_sub(shown), &way);
    screen.blank();
}
