//! The worst findings of a record, each with its cost and one command.

use record::Record;
use record::diagnosis::Finding;
use record::phrase::count_noun;

use super::room::FINDINGS;
use super::screen::Screen;
use crate::contents::{finding, summary};
use crate::paint::{Span, Tone};
use crate::text::{clean, width};

/// Maximum number of findings shown.
const MOST: usize = 3;

/// The worst findings, each with its cost, one command (`linespeed fix` if a knob fixes it and the record has a name), and the command that
/// explains it. Findings are never truncated: the first is always shown, others only if they fit. Returns the number of findings shown.
pub(super) fn write(screen: &mut Screen, record: &Record, room: usize, shown_by: Option<&str>) -> usize {
    let findings = &record.diagnosis.findings;
    if findings.is_empty() {
        screen.hanging("", "  ", summary::nothing(record, MOST));
    }
    let end = screen.lines().saturating_add(room);
    let is_shown = |(number, finding): &(usize, &Finding)| {
        let before = screen.lines();
        write_one(screen, finding, *number, shown_by);
        let fits = *number == 1 || screen.lines() <= end;
        if !fits {
            screen.keep(before);
        }
        fits
    };
    (1..).zip(findings).take(MOST).take_while(is_shown).count()
}

/// The findings that fit into an inventory, and the number of omitted findings.
pub(super) fn write_and_count(screen: &mut Screen, record: &Record) {
    let hidden = record.diagnosis.findings.len() - write(screen, record, FINDINGS, None);
    if hidden > 0 {
        screen.line(&[Span::quiet(format!("and {}", count_noun(hidden, "more finding")))]);
    }
}

/// A finding: its title and place, its cost, one command or advice, and the command that explains it. This command follows the cost on the
/// same line if there is room.
fn write_one(screen: &mut Screen, finding: &Finding, number: usize, shown_by: Option<&str>) {
    let place = finding::place(finding).map(|place| format!(" ({place})")).unwrap_or_default();
    let title = format!("{}{place}", finding.what);
    screen.paragraph(&[Span::strong(format!("{number}. "))], Tone::Strong, title);
    let columns = screen.width();
    let fits = |line: &str| width(&clean(line)) + 3 <= columns;
    let severity = finding.severity.to_string();
    let costs = format!("{severity}: {}", finding::loss(finding));
    let explain = finding::explain_command(finding);
    let both = format!("{costs}; {explain}");
    let is_joined = fits(&both);
    screen.hanging("   ", "     ", if is_joined { both } else { costs });
    let commands = match finding.knob().zip(shown_by) {
        Some((set, of)) => {
            let to = set.value.as_ref().map(|value| format!(" to {value}")).unwrap_or_default();
            let command = finding::fix_command(number, set, Some(of));
            let explained = format!("{command} # sets {}{to}", set.knob.name());
            vec![format!("{explained}, measures before and after"), explained, command]
        }
        None => finding.remedy.iter().find_map(|remedy| remedy.command.clone()).into_iter().collect(),
    };
    let command = commands.iter().map(|one| format!("$ {}", screen.typed(one))).find(|line| fits(line));
    // A first remedy that has no text is a command, which is shown regardless of its length.
    let advice = finding.remedy.first().and_then(|remedy| remedy.text.as_ref());
    match (command, advice, commands.last()) {
        (Some(command), ..) => screen.hanging("   ", "     ", command),
        (None, Some(advice), _) => screen.hanging("   ", "     ", format!("→ {advice}")),
        (None, None, Some(command)) => screen.command(&[Span::plain("   $ ")], command),
        (None, None, None) => {}
    }
    if !is_joined {
        screen.hanging("   ", "     ", explain);
    }
}
