//! A fleet on the terminal: one screen, however many machines.

use record::fleet::{Fleet, Slow};

use super::Style;
use super::screen::Screen;
use crate::contents::fleet;
use crate::paint::{Span, Tone};

/// Slow machines, classes and remarks that are shown without `--all`.
const MOST_SLOW: usize = 6;
const MOST_CLASSES: usize = 6;
const MOST_REMARKS: usize = 8;
/// Characters of a command that is shown without `--all`.
const LONGEST_COMMAND: usize = 200;

/// The slow machines and why, first; the classes; what could not be compared.
pub fn fleet(of: &Fleet, all: bool, style: &Style) -> String {
    Screen::draw(style, |screen| {
        let most = |few: usize| if all { usize::MAX } else { few };
        screen.paragraph(&[], Tone::Strong, fleet::title(of));
        if !of.slow.is_empty() {
            screen.heading("Slow, against the median of their class");
            of.slow.iter().take(most(MOST_SLOW)).for_each(|slow| machine(screen, slow, all));
            let more = of.slow.len().saturating_sub(most(MOST_SLOW));
            if more > 0 {
                screen.line(&[Span::quiet(format!("  … and {more} more: --all lists them"))]);
            }
            screen.heading("Measure these again before acting on it");
            let fits = |line: &&String| all || line.len() <= LONGEST_COMMAND;
            let lines: Vec<&String> = of.confirm.iter().take(most(2)).filter(fits).collect();
            lines.iter().for_each(|line| screen.command(&[Span::quiet("  $ ")], line));
            if lines.is_empty() {
                screen.line(&[Span::quiet("  long lists of hosts: --all prints the commands")]);
            }
        }
        if !of.classes.is_empty() {
            screen.heading("Classes of like machines");
            screen.table(&fleet::classes(of, most(MOST_CLASSES)), 2);
        }
        if !of.instead.is_empty() {
            screen.heading(fleet::INSTEAD);
            of.instead.iter().for_each(|line| screen.command(&[Span::quiet("  $ ")], line));
        }
        let remarks = fleet::remarks(of);
        if !remarks.is_empty() {
            screen.heading("Notes");
            for remark in remarks.iter().take(most(MOST_REMARKS)) {
                screen.hanging("  ", "    ", remark);
            }
            let more = remarks.len().saturating_sub(most(MOST_REMARKS));
            if more > 0 {
                screen.line(&[Span::quiet(format!("  … and {more} more: --all"))]);
            }
        }
    })
}

fn machine(screen: &mut Screen, slow: &Slow, all: bool) {
    let Some(first) = slow.figures.first() else { return };
    screen.hanging("  ", "      ", format!("{}: {}", slow.machine, fleet::describe_figure(first)));
    screen.hanging("      ", "      ", fleet::describe_cause(slow));
    let before = fleet::describe_before(slow);
    before.into_iter().for_each(|before| screen.hanging("      ", "      ", before));
    if all {
        fleet::describe_rest(slow).into_iter().for_each(|rest| screen.hanging("      ", "      ", rest));
        fleet::other_causes(slow).for_each(|cause| screen.hanging("      or: ", "          ", cause));
        slow.explained.iter().for_each(|says| screen.hanging("      ", "      ", says));
    }
}
