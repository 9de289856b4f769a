//! Knobs and their changes: planned, made, in effect, restored.

use ::quiet::apply::RestoreOutcome;
use ::quiet::change::Change;
use ::quiet::files::Files;
use ::quiet::knob_outcome::KnobOutcome;
use ::quiet::standing::Standing;
use ::quiet::tuned_session::Restored;
use ::quiet::tuning_plan::TuningPlan;
use record::phrase::{agree, count_noun};
use report::view::Screen;

/// The knobs listed below a heading: their names, with notes on each.
type Knobs<'a> = Vec<(&'a str, String)>;

/// The knobs set by `--apply`.
pub fn knobs_applied(screen: &mut Screen, outcomes: &[KnobOutcome], stands: bool) {
    knobs_set(screen, outcomes);
    if !outcomes.iter().any(|outcome| !outcome.advice) {
        screen.say("Nothing to set: all available knobs are already quiet.");
    }
    if stands {
        screen.say("To restore: linespeed quiet --restore");
    }
}

/// The result of setting each knob of a session, one knob per line. If a knob could not be set, its line contains the reason.
pub fn knobs_set(screen: &mut Screen, outcomes: &[KnobOutcome]) {
    let groups = [("Set", true, false), ("Not set", false, false), ("To set manually", false, true)];
    for (heading, done, advice) in groups {
        let of_group =
            |outcome: &&KnobOutcome| outcome.is_done() == done && (done || outcome.advice == advice);
        let tell = |outcome: &'_ KnobOutcome| {
            let values =
                if outcome.values > 1 { format!(" ({} values)", outcome.values) } else { String::new() };
            let set = || format!("{} → {}{values}", outcome.old, outcome.new);
            let text = outcome.why_not.as_ref().map_or_else(set, ToString::to_string);
            let notes = outcome.note.iter().map(ToString::to_string);
            std::iter::once(text).chain(notes).map(|text| (outcome.knob.to_owned(), text)).collect::<Vec<_>>()
        };
        screen.list(heading, outcomes.iter().filter(of_group).flat_map(tell));
    }
}

/// The knobs that a plan would set, how long they stay set (`held` is the text for settings of a process), and, for a command, whether the
/// page cache would be dropped.
pub fn knobs_planned(screen: &mut Screen, plan: &TuningPlan, held: &str, drop_caches: bool) {
    let mut set: Knobs = plan.changes.iter().map(|change| (change.knob.as_str(), describe(change))).collect();
    let compound = plan.compound_changes.iter();
    set.extend(compound.map(|(name, compound)| (*name, describe(&compound.as_change()))));
    set.extend(plan.settings.iter().map(|(name, _)| (*name, held.to_owned())));
    if drop_caches {
        let what = "dropped on the whole machine before the command runs; cannot be restored";
        set.push(("page cache", what.to_owned()));
    }
    match set.len() {
        0 => screen.say("Nothing would be set."),
        all => screen.say(format!("{} would be set; nothing was changed.", count_noun(all, "setting"))),
    }
    screen.list("", set);
    let said = |all: &[(&'static str, record::Text)]| -> Knobs<'static> {
        all.iter().map(|(name, why)| (*name, why.to_string())).collect()
    };
    screen.list("Would stay unchanged", said(&plan.not_set));
    screen.list("To set manually", said(&plan.advice));
}

/// The knobs restored by `--restore`.
pub fn knobs_restored(screen: &mut Screen, restored: &Restored) {
    let Restored { values: restored, forgotten, root } = restored;
    root.iter().for_each(|root| screen.say(root));
    match forgotten {
        Some(contents) => screen.say(contents.of_another_boot()),
        None if restored.is_empty() && root.is_some() => screen.say("Nothing to restore for this user."),
        None if restored.is_empty() => screen.say("Nothing to restore."),
        None => {}
    }
    let back = restored.iter().filter(|(_, restored)| restored.is_back()).count();
    if back > 0 {
        screen.say(format!("{} {} restored.", count_noun(back, "value"), agree(back, "is", "are")));
    }
    let not_back = restored.iter().filter_map(|(change, restored)| {
        let why = match restored {
            RestoreOutcome::Theirs(now) => format!("since changed to {now} by someone else"),
            RestoreOutcome::Refused(why) => why.to_string(),
            RestoreOutcome::Back | RestoreOutcome::WasBack | RestoreOutcome::Gone => return None,
        };
        Some((change.knob.as_str(), format!("{}: {why}; it was {}", change.path, change.old)))
    });
    screen.list("Not restored", not_back);
}

/// The changed knobs and who changed them: `--status`.
pub fn knobs_standing(screen: &mut Screen, own: &Standing, roots: Option<&Standing>, files: &dyn Files) {
    let own = Some(own).filter(|own| roots.is_none() || !own.is_nothing());
    for standing in roots.into_iter().chain(own) {
        screen.say(standing);
        screen.list("", standing.changes().iter().map(|change| value(change, files)));
        let compound = standing.contents().into_iter().flat_map(|contents| contents.compound_changes());
        let compound = compound.map(|compound| compound.as_change());
        screen.list("", compound.map(|change| (change.knob.clone(), describe(&change))));
    }
}

/// A value before and after.
fn describe(change: &Change) -> String {
    format!("{}: {} → {}", change.path, change.old, change.new)
}

/// A changed value, and the current value if it differs.
fn value(change: &Change, files: &dyn Files) -> (String, String) {
    let now = change.read_current(files).unwrap_or_else(|refusal| refusal.why.to_string());
    let now = if change.syntax.are_equal(&now, &change.new) { String::new() } else { format!(", now {now}") };
    (change.knob.clone(), format!("{}{now}", describe(change)))
}
