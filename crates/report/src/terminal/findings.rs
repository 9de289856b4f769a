//! The worst findings of a record: the finding, its cost, one command.

use record::Record;
use record::diagnosis::Finding;

use super::screen::Screen;
use crate::contents::{finding, summary};
use crate::paint::{Span, Tone};
use crate::text::{clean, longest, width};

/// Maximum number of findings shown.
const MOST: usize = 3;

/// The worst findings: the finding, its cost, one command (`linespeed fix` if a knob fixes it and the record has a name), and the command that
/// explains it. A finding is shown only if it fits completely, except for the first, whose title may be truncated. Returns how many were shown.
pub(super) fn write(screen: &mut Screen, record: &Record, room: usize, shown_by: Option<&str>) -> usize {
    let findings = &record.diagnosis.findings;
    if findings.is_empty() {
        screen.line(&[Span::plain(summary::nothing(record))]);
        return 0;
    }
    let mut left = room.max(3);
    let mut shown = 0;
    for finding in findings.iter().take(MOST) {
        let number = format!("{}. ", shown + 1);
        let what = finding.what.to_string();
        let place = finding::place(finding).map(|place| format!(" ({place})")).unwrap_or_default();
        // Half a place is none.
        let place = if width(&number) + width(&what) + width(&place) > screen.width() { "" } else { &place };
        let title = format!("{what}{place}");
        let below = below_title(screen, finding, shown + 1, shown_by);
        let lines = screen.lines_of(&number, "", &title);
        let fits = lines + below.len() <= left;
        if !fits && shown > 0 {
            break;
        }
        match screen.is_terminal() && fits {
            true => screen.paragraph(&[Span::strong(number)], Tone::Strong, title),
            false => screen.line(&[Span::strong(format!("{number}{title}"))]),
        }
        shown += 1;
        left = left.saturating_sub(below.len() + if fits { lines } else { 1 });
        for line in below {
            screen.line(&[Span::plain(format!("   {line}"))]);
        }
    }
    shown
}

/// The lines below a finding's title: its cost, one command, and the command that explains it, after the cost if it fits.
fn below_title(screen: &Screen, finding: &Finding, number: usize, shown_by: Option<&str>) -> Vec<String> {
    let columns = screen.width().saturating_sub(3);
    let fits = |line: &str| width(&clean(line)) <= columns;
    let typed = |command: &str| screen.typed(command);
    let severity = finding::severity(finding.severity);
    let [short, brief] = [false, true].map(|brief| finding::loss_in_short(finding, brief));
    let costs = [finding::loss(finding), short, brief].map(|costs| format!("{severity}: {costs}"));
    let fixes = shown_by.map(|of| fix(finding, number, of, typed)).unwrap_or_default();
    let remedy = match fixes.is_empty() {
        true => remedy(finding, columns, typed),
        false => Some(longest(fixes.into_iter(), fits)),
    };
    let explain = finding::explain_command(finding);
    let both = costs.iter().map(|costs| format!("{costs}; {explain}")).find(|line| fits(line));
    match both {
        Some(both) => [Some(both), remedy].into_iter().flatten().collect(),
        None => {
            [Some(longest(costs.into_iter(), fits)), remedy, Some(explain)].into_iter().flatten().collect()
        }
    }
}

/// The command that fixes it if it is a knob, with the knob and its value, and the command alone.
fn fix(finding: &Finding, number: usize, shown_by: &str, typed: impl Fn(&str) -> String) -> Vec<String> {
    let Some(set) = finding.knob() else { return Vec::new() };
    let to = set.value.as_ref().map(|value| format!(" to {value}")).unwrap_or_default();
    let command = format!("$ {}", typed(&finding::fix_command(number, set, Some(shown_by))));
    let sets = format!("sets {}{to}", set.knob.name());
    vec![format!("{command} ({sets}, measures before and after)"), format!("{command} ({sets})"), command]
}

/// The first command that fits on a line; if none does, the first advice in words.
fn remedy(finding: &Finding, room: usize, typed: impl Fn(&str) -> String) -> Option<String> {
    let commands = finding.remedy.iter().filter_map(|remedy| remedy.command.as_deref());
    let commands = commands.map(|command| clean(&typed(command)));
    let fits = commands.map(|command| format!("$ {command}")).find(|command| width(command) <= room);
    let words =
        || finding.remedy.iter().find_map(|remedy| remedy.text.as_ref().map(|text| format!("→ {text}")));
    fits.or_else(words)
}
