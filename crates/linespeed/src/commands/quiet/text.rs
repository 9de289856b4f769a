//! What is said of knobs that are set, and of those that came back.

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
use report::terminal::{KnobLine, Style, knob_lines};

use crate::options::Quiet;

/// `--apply`.
pub fn applied(outcomes: &[KnobOutcome], stands: bool, style: &Style) -> String {
    let mut lines = outcome_lines(outcomes);
    if !outcomes.iter().any(|outcome| !outcome.advice) {
        lines.push(KnobLine::Note("Nothing is to be set: what can be quiet is.".to_owned()));
    }
    if stands {
        lines.push(KnobLine::Note("Put it back: linespeed quiet --restore".to_owned()));
    }
    knob_lines(&lines, style)
}

/// A line a knob; those that are not set have the reason.
pub fn outcome_lines(outcomes: &[KnobOutcome]) -> Vec<KnobLine> {
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
                Some(why) => why.clone(),
            };
            lines.push(KnobLine::Knob(outcome.knob.to_owned(), text));
            lines.extend(
                outcome.note.iter().map(|note| KnobLine::Knob(outcome.knob.to_owned(), note.clone())),
            );
        }
    }
    lines
}

/// `--dry-run`.
pub fn dry_run(plan: &TuningPlan, quiet: &Quiet, style: &Style) -> String {
    let mut lines = Vec::new();
    let caches = quiet.drop_caches || !quiet.warm.is_empty();
    if plan.leaves_traces() || !plan.settings.is_empty() || caches {
        lines.push(KnobLine::Heading("Would be set".to_owned()));
    } else {
        lines.push(KnobLine::Note("Nothing would be set.".to_owned()));
    }
    for change in &plan.changes {
        lines.push(KnobLine::Knob(
            change.knob.clone(),
            format!("{}: {} → {}", change.path, change.old, change.new),
        ));
    }
    for (name, compound) in &plan.compound_changes {
        let change = compound.as_change();
        lines.push(KnobLine::Knob(
            (*name).to_owned(),
            format!("{}: {} → {}", change.path, change.old, change.new),
        ));
    }
    for (name, _) in &plan.settings {
        lines.push(KnobLine::Knob((*name).to_owned(), "held while the command runs".to_owned()));
    }
    if quiet.drop_caches {
        let what = "dropped for the whole machine before the command; that cannot be put back";
        lines.push(KnobLine::Knob("page cache".to_owned(), what.to_owned()));
    }
    if !quiet.warm.is_empty() {
        let what = format!("{} read into it before the command", count_noun(quiet.warm.len(), "file"));
        lines.push(KnobLine::Knob("page cache".to_owned(), what));
    }
    if !plan.not_set.is_empty() {
        lines.push(KnobLine::Heading("Would stay".to_owned()));
    }
    let reported = |(name, why): &(&'static str, String)| KnobLine::Knob((*name).to_owned(), why.clone());
    lines.extend(plan.not_set.iter().map(reported));
    if !plan.advice.is_empty() {
        lines.push(KnobLine::Heading("Not linespeed's to set".to_owned()));
    }
    lines.extend(plan.advice.iter().map(reported));
    knob_lines(&lines, style)
}

/// `--restore`.
pub fn restored(restored: &Restored, style: &Style) -> String {
    let Restored { values: restored, forgotten, root } = restored;
    let mut lines = Vec::new();
    lines.extend(root.as_ref().map(|root| KnobLine::Note(root.to_string())));
    if let Some(contents) = forgotten {
        lines.push(KnobLine::Note(contents.describe_other_boot()));
    } else if restored.is_empty() && root.is_some() {
        lines.push(KnobLine::Note("Of this user's nothing is to be put back.".to_owned()));
    } else if restored.is_empty() {
        lines.push(KnobLine::Note("Nothing is to be put back.".to_owned()));
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
        let text = match restored {
            RestoreOutcome::Theirs(now) => {
                format!("{}: somebody has set it to {now} since; it was {}", change.path, change.old)
            }
            RestoreOutcome::Refused(why) => format!("{}: {why}; it was {}", change.path, change.old),
            RestoreOutcome::NotUndone(why) => format!("{}: {why}; it was {}", change.path, change.old),
            RestoreOutcome::Back | RestoreOutcome::WasBack | RestoreOutcome::Gone => continue,
        };
        lines.push(KnobLine::Knob(change.knob.clone(), text));
    }
    knob_lines(&lines, style)
}

/// `--status`.
pub fn status(
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
        Leftover::OtherBoot(contents) => (contents.describe_other_boot(), None),
        Leftover::Standing(contents) => {
            (format!("{}; to put back: linespeed quiet --restore", contents.describe()), Some(contents))
        }
        Leftover::Orphaned(contents) if holder.is_some() => (contents.describe(), Some(contents)),
        Leftover::Orphaned(contents) => (
            format!(
                "{}, which has ended without putting them back: linespeed quiet --restore",
                contents.describe()
            ),
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
    for compound in contents.into_iter().flat_map(JournalContents::compound_changes) {
        let change = compound.as_change();
        lines.push(KnobLine::Knob(change.knob, format!("{}: {} → {}", change.path, change.old, change.new)));
    }
    knob_lines(&lines, style)
}

/// A value that was changed, and what it is now where it is another one.
fn value(change: &Change, tree: &Tree) -> KnobLine {
    let now = change.read_current(tree).unwrap_or_else(|refusal| refusal.why);
    let now = if change.syntax.are_equal(&now, &change.new) { String::new() } else { format!(", now {now}") };
    KnobLine::Knob(change.knob.clone(), format!("{}: {} → {}{now}", change.path, change.old, change.new))
}
