//! `linespeed quiet --restore` and `--status`: reverts or shows the changes left by an earlier session.

use ::quiet::json;
use ::quiet::standing::Standing;
use ::quiet::tuned_session::{read_boot_id, restore_leftover};
use machine::Root;
use os::signals;
use report::view::View;
use serde_json::json;

use super::{NOT_QUIET, tuned_session};
use crate::delivery::hand_out;
use crate::failure::{Failure, signal_code};
use crate::options::Options;
use ::drawn::knob_changes;

/// `--restore`: reverts the changes left by an earlier session.
pub(super) fn restore(options: &Options) -> Result<u8, Failure> {
    // A signal that arrives during the restore is handled afterwards.
    let stop = signals::install();
    let restored = restore_leftover(&tuned_session::caller())?;
    let reported = json!({
        "restored": json::restored(&restored.values),
        "gone_with_another_boot": restored.forgotten.as_ref().map(|contents| contents.header.changes.len()),
        "root": restored.root.as_ref().map(|session| session.to_json(&Root::live())),
    });
    let forms = View::new(|screen| knob_changes::knobs_restored(screen, &restored));
    hand_out(options, &forms.with_value(reported))?;
    if let Some(signal) = stop.signal() {
        return Ok(signal_code(signal));
    }
    let back = restored.root.is_none() && restored.values.iter().all(|(_, outcome)| outcome.is_back());
    Ok(if back { 0 } else { NOT_QUIET })
}

/// `--status`: shows the changed knobs and who changed them. Returns 1 if there are any.
pub(super) fn status(options: &Options) -> Result<u8, Failure> {
    let caller = tuned_session::caller();
    let folder = caller.state_directory()?;
    let root = Root::live();
    let boot = read_boot_id();
    let own = Standing::find(&folder, &boot)?;
    caller.tell_where_foreign(&folder);
    let roots = Standing::of_root(&boot);
    let mut status = own.to_json(&root);
    if roots.is_some() && own.is_nothing() {
        status["state"] = json!("set by root");
    }
    status["root"] = json!(roots.as_ref().map(|roots| roots.to_json(&root)));
    let forms = View::new(|screen| knob_changes::knobs_standing(screen, &own, roots.as_ref(), &root));
    hand_out(options, &forms.with_value(status))?;
    Ok(if own.is_nothing() && roots.is_none() { 0 } else { NOT_QUIET })
}
