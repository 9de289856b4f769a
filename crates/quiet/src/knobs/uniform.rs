//! Knobs that are the same word in a file for each policy or CPU.

use std::collections::BTreeSet;

use record::text;

use crate::knob::{Adjustment, Inspection, Knob, KnobContext, Seen};

/// A word that all these files are to have. `choices` is the file beside each that lists what it takes, where there is one.
pub(crate) fn inspect_words(
    knob: &Knob,
    context: &KnobContext,
    paths: impl IntoIterator<Item = String>,
    steadier: &str,
    choices: Option<&str>,
) -> Seen {
    let mut planned = knob.plan_words(context, paths, steadier)?;
    if planned.now.is_empty() {
        return Ok(None);
    }
    let now = planned.now.into_iter().collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(", ");
    if planned.changes.is_empty() {
        return Ok(Some(Inspection::steady(now)));
    }
    planned.changes.retain(|change| {
        let folder = change.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let listed = choices.and_then(|choices| context.text(&format!("{folder}/{choices}")));
        listed.is_none_or(|all| all.split_ascii_whitespace().any(|word| word == steadier))
    });
    let adjustment = if planned.changes.is_empty() {
        Adjustment::Manual(text!("the driver here has no {steadier}", steadier = steadier.to_owned()))
    } else {
        Adjustment::Write(planned.changes)
    };
    Ok(Some(Inspection::noisy(now, steadier.to_owned(), adjustment)))
}
