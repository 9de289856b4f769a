//! What `linespeed plan` prints: the plan in a sentence, its processes, its gain and why, what else to set, the lines to paste,
//! and what is left out or not known.

use record::plan::Plan;

use super::report::block;
use super::room::{ITEMS, LINES};
use super::screen::Screen;
use crate::contents::plan::blocks;
use crate::paint::Tone;

/// How to lay a program out; where that needs more than a screen, what matters most, below the whole if `all` is set.
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
    screen.more_with(
        "--all (what else to set, cautions), --as numactl, taskset, systemd or docker (lines to paste)",
    );
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
