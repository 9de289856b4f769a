//! Knobs that are set, would be set, stand, or were put back.

use ::quiet::apply::RestoreOutcome;
use ::quiet::change::Change;
use ::quiet::files::Tree;
use ::quiet::journal::JournalContents;
use ::quiet::knob_outcome::KnobOutcome;
use ::quiet::root_session::RootSession;
use ::quiet::session::Leftover;
use ::quiet::tuned_session::Restored;
use ::quiet::tuning_plan::TuningPlan;
use record::phrase::count_noun;

use super::screen::Screen;
use super::{Layout, Style};
use crate::paint::Tone;
use crate::table::Table;
use crate::text::{pad_right, width};

/// A line about knobs that are turned.
#[derive(Clone, Debug, PartialEq, Eq)]
enum KnobLine {
    /// A heading.
    Heading(String),
    /// A knob's name, and what is to be said of it.
    Knob(String, String),
    /// A sentence.
    Note(String),
}

/// What became of knobs; a name stands once where several lines follow each other.
fn knob_lines(lines: &[KnobLine], style: &Style) -> String {
    let mut screen = Screen::new(style);
    if style.layout == Layout::Tables {
        screen.table(&as_table(lines), 0);
        return screen.finish();
    }
    let name = |line: &KnobLine| if let KnobLine::Knob(name, _) = line { width(name) } else { 0 };
    let column = lines.iter().map(name).max().unwrap_or(0) + 2;
    let mut before = "";
    for line in lines {
        match line {
            KnobLine::Heading(text) => screen.heading(text),
            KnobLine::Knob(name, text) => {
                let shown = if name == before { "" } else { name };
                let first = format!("  {}", pad_right(shown, column));
                screen.hanging(&first, &" ".repeat(column + 2), text);
            }
            KnobLine::Note(text) => screen.paragraph(&[], Tone::Plain, text),
        }
        before = if let KnobLine::Knob(name, _) = line { name } else { "" };
    }
    screen.finish()
}

/// The same as a table: a heading is said in each row below it.
fn as_table(lines: &[KnobLine]) -> Table {
    let mut table = Table::new("", None, ["what", "knob", "says"]);
    let mut what = "";
    for line in lines {
        let (of, knob, says) = match line {
            KnobLine::Heading(text) => {
                what = text;
                continue;
            }
            KnobLine::Knob(name, text) => (what, name.as_str(), text),
            KnobLine::Note(text) => ("", "", text),
        };
        table.row([of, knob, says].map(str::to_owned).to_vec());
    }
    table
}

/// What `--apply` set.
pub fn knobs_applied(outcomes: &[KnobOutcome], stands: bool, style: &Style) -> String {
    let mut lines = outcome_lines(outcomes);
    if !outcomes.iter().any(|outcome| !outcome.advice) {
        lines.push(KnobLine::Note("Nothing to set: every knob that can be quiet is.".to_owned()));
    }
    if stands {
        lines.push(KnobLine::Note("Put it back: linespeed quiet --restore".to_owned()));
    }
    knob_lines(&lines, style)
}

/// What became of each knob of a session.
pub fn knobs_set(outcomes: &[KnobOutcome], style: &Style) -> String {
    knob_lines(&outcome_lines(outcomes), style)
}

/// A line a knob; those that are not set have the reason.
fn outcome_lines(outcomes: &[KnobOutcome]) -> Vec<KnobLine> {
    let mut lines = Vec::new();
    let groups = [("Set", true, false), ("Not set", false, false), ("Not linespeed's to set", false, true)];
    for (heading, done, advice) in groups {
        let some: Vec<&KnobOutcome> = outcomes
            .iter()
            .filter(|outcome| outcome.is_done() == done && (done || outcome.advice == advice))
            .collect();
        if !some.is_empty() {
            lines.push(KnobLine::Heading(heading.to_owned()));
        }
        for outcome in some {
            let values =
                if outcome.values > 1 { format!(" ({} values)", outcome.values) } else { String::new() };
            let text = match &outcome.why_not {
                None => format!("{} → {}{values}", outcome.old, outcome.new),
                Some(why) => why.to_string(),
            };
            lines.push(KnobLine::Knob(outcome.knob.to_owned(), text));
            lines.extend(
                outcome.note.iter().map(|note| KnobLine::Knob(outcome.knob.to_owned(), note.to_string())),
            );
        }
    }
    lines
}

/// What `--dry-run` would set; a command would get the page cache dropped.
pub fn knobs_planned(plan: &TuningPlan, drop_caches: bool, style: &Style) -> String {
    planned(plan, "held while the command runs", drop_caches, style)
}

/// The same; `held`: of what a process holds, while what.
pub(super) fn planned(plan: &TuningPlan, held: &str, drop_caches: bool, style: &Style) -> String {
    let mut lines = Vec::new();
    if plan.leaves_traces() || !plan.settings.is_empty() || drop_caches {
        lines.push(KnobLine::Heading("Would be set".to_owned()));
    } else {
        lines.push(KnobLine::Note("Nothing would be set.".to_owned()));
    }
    lines.extend(plan.changes.iter().map(|change| change_line(&change.knob, change)));
    let compound = plan.compound_changes.iter();
    lines.extend(compound.map(|(name, compound)| change_line(name, &compound.as_change())));
    for (name, _) in &plan.settings {
        lines.push(KnobLine::Knob((*name).to_owned(), held.to_owned()));
    }
    if drop_caches {
        let what = "dropped for the whole machine before the command; cannot be restored";
        lines.push(KnobLine::Knob("page cache".to_owned(), what.to_owned()));
    }
    if !plan.not_set.is_empty() {
        lines.push(KnobLine::Heading("Would stay".to_owned()));
    }
    let reported =
        |(name, why): &(&'static str, record::Text)| KnobLine::Knob((*name).to_owned(), why.to_string());
    lines.extend(plan.not_set.iter().map(reported));
    if !plan.advice.is_empty() {
        lines.push(KnobLine::Heading("Not linespeed's to set".to_owned()));
    }
    lines.extend(plan.advice.iter().map(reported));
    knob_lines(&lines, style)
}

/// What `--restore` put back.
pub fn knobs_restored(restored: &Restored, style: &Style) -> String {
    let Restored { values: restored, forgotten, root } = restored;
    let mut lines = Vec::new();
    lines.extend(root.as_ref().map(|root| KnobLine::Note(root.to_string())));
    if let Some(contents) = forgotten {
        lines.push(KnobLine::Note(contents.of_another_boot().to_string()));
    } else if restored.is_empty() && root.is_some() {
        lines.push(KnobLine::Note("Nothing of this user to restore.".to_owned()));
    } else if restored.is_empty() {
        lines.push(KnobLine::Note("Nothing to restore.".to_owned()));
    }
    let back = restored.iter().filter(|(_, restored)| restored.is_back()).count();
    if back > 0 {
        let values = count_noun(back, "value");
        lines.push(KnobLine::Note(format!("{values} {} as before.", if back == 1 { "is" } else { "are" })));
    }
    if back < restored.len() {
        lines.push(KnobLine::Heading("Not put back".to_owned()));
    }
    for (change, restored) in restored {
        let why = match restored {
            RestoreOutcome::Theirs(now) => format!("since set to {now} by somebody else"),
            RestoreOutcome::Refused(why) => why.to_string(),
            RestoreOutcome::Back | RestoreOutcome::WasBack | RestoreOutcome::Gone => continue,
        };
        let text = format!("{}: {why}; it was {}", change.path, change.old);
        lines.push(KnobLine::Knob(change.knob.clone(), text));
    }
    knob_lines(&lines, style)
}

/// What stands, and by whom: `--status`.
pub fn knobs_standing(
    left: &Leftover,
    holder: Option<&str>,
    tree: &Tree,
    root: Option<&RootSession>,
    style: &Style,
) -> String {
    let mut lines = Vec::new();
    if let Some(holder) = holder {
        lines.push(KnobLine::Note(format!("In use by {holder}.")));
    }
    if let Some(root) = root {
        lines.push(KnobLine::Note(root.to_string()));
        lines.extend(root.changes().iter().map(|change| value(change, tree)));
    }
    let (words, contents) = match left {
        Leftover::Nothing if lines.is_empty() => ("No knob is set by linespeed.".to_owned(), None),
        Leftover::Nothing => (String::new(), None),
        Leftover::OtherBoot(contents) => (contents.of_another_boot().to_string(), None),
        Leftover::Standing(contents) => {
            (format!("{}; to put back: linespeed quiet --restore", contents), Some(contents))
        }
        Leftover::Orphaned(contents) if holder.is_some() => (contents.to_string(), Some(contents)),
        Leftover::Orphaned(contents) => (
            format!("{}, which has ended without putting them back: linespeed quiet --restore", contents),
            Some(contents),
        ),
    };
    if !words.is_empty() {
        lines.push(KnobLine::Note(words));
    }
    lines.extend(
        contents
            .map_or(&[][..], |contents| &contents.header.changes)
            .iter()
            .map(|change| value(change, tree)),
    );
    let compound = contents.into_iter().flat_map(JournalContents::compound_changes);
    lines.extend(
        compound.map(|compound| compound.as_change()).map(|change| change_line(&change.knob, &change)),
    );
    knob_lines(&lines, style)
}

/// A value before and after.
fn change_line(knob: &str, change: &Change) -> KnobLine {
    KnobLine::Knob(knob.to_owned(), format!("{}: {} → {}", change.path, change.old, change.new))
}

/// A value that was changed, and what it is now where it is another one.
fn value(change: &Change, tree: &Tree) -> KnobLine {
    let now = change.read_current(tree).unwrap_or_else(|refusal| refusal.why.to_string());
    let now = if change.syntax.are_equal(&now, &change.new) { String::new() } else { format!(", now {now}") };
    KnobLine::Knob(change.knob.clone(), format!("{}: {} → {}{now}", change.path, change.old, change.new))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_once_before_its_lines() {
        let line = |text: &str| KnobLine::Knob("boost".to_owned(), text.to_owned());
        let text = knob_lines(&[line("a"), line("b"), KnobLine::Note("end".to_owned())], &Style::default());
        assert_eq!(text, "  boost  a\n         b\nend\n");
    }
}
