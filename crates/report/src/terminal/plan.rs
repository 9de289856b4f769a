//! The output of `linespeed plan`: the plan in a sentence, its processes, the gain with its reasons, further settings, the lines to paste,
//! what was omitted, and what is unknown.

use record::plan::Plan;

use super::report::block;
use super::room::{ITEMS, LINES};
use super::screen::Screen;
use crate::contents::plan::blocks;
use crate::paint::Tone;

/// The layout of a program; if it needs more than one screen, only the most important parts, preceded by the complete plan if `all`
/// is set.
pub fn plan(screen: &mut Screen, plan: &Plan, all: bool) {
    screen.begin_answer(all);
    let blocks = blocks(plan);
    screen.paragraph(&[], Tone::Strong, &plan.summary);
    blocks.iter().for_each(|one| block(screen, one, false));
    if screen.lines() <= LINES {
        return;
    }
    if !all {
        screen.keep(0);
    }
    screen.begin_answer(all);
    screen.clipped(5, |screen| screen.paragraph(&[], Tone::Strong, &plan.summary));
    for one in blocks.iter().take(3) {
        screen.clipped(ITEMS, |screen| block(screen, one, false));
    }
    screen.more("--all (settings, cautions), --as numactl, --as docker (lines to paste)");
}

/// Only the lines for one tool, ready for a file or a shell; `None` if the plan has none.
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
