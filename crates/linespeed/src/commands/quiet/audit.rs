//! `linespeed quiet` alone: every knob as it stands. Changes nothing.

use std::time::Duration;

use ::quiet::audit::{AuditRow, Need, audit, is_quiet};
use ::quiet::compound_change::CompoundChange;
use ::quiet::error::Error;
use ::quiet::existing_session::describe_leftover;
use ::quiet::files::Tree;
use ::quiet::knob::{Adjustment, State};
use ::quiet::knobs::nice_scope_limit;
use ::quiet::tuned_session::read_boot_id;
use ::quiet::tuning_plan::{Purpose, prepare_context};
use experiment::noise_estimate::{NoiseEstimate, ProofBy, find_tuned_p99};
use experiment::proof_cache::ProofCache;
use experiment::prove::measured_cpus;
use machine::Root;
use measure::busy;
use os::Stop;
use record::Record;
use report::terminal::{Audit, Audited, Stand};

use super::{audit_json, load, tuned_session};
use crate::commands::plan::{records_here, same};
use crate::failure::Failure;
use crate::options::Options;
use crate::{files, output, signals};

/// Records that are read, the newest first.
const MOST_RECORDS: usize = 5;
/// How long it is looked who is busy.
const LOOK: Duration = Duration::from_millis(300);

/// Looks at all knobs, or at those named: 0 when quiet, 1 when not.
pub fn run(options: &Options, root: &Root, names: &[&'static str]) -> Result<u8, Failure> {
    let tree = Tree::new(root);
    let context = prepare_context(root, &tree, options.measuring.cpus.as_ref(), Purpose::Command)?;
    let mut rows = audit(&context, names);
    // Nothing of a captured machine can be measured, and who wants no report wants the exit code alone.
    let seen = root.is_live() && !options.out.quiet_output;
    let stop = signals::install();
    let busy = (seen && rows.iter().any(|row| row.knob.name() == "others")).then(|| busy::sample_load(LOOK));
    let noise = if seen { estimate_noise(options, stop) } else { NoiseEstimate::default() };
    let noise = noise
        .with_others(busy.as_ref().and_then(|load| load.cpus))
        .with_nice_scope(nice_scope_limit(&tree).is_some());
    if let Some(signal) = stop.signal() {
        return Ok(128u8.wrapping_add(signal as u8));
    }
    // Who runs beside comes first among equals: the other knobs only keep him away.
    let weight = |row: &AuditRow| {
        let name = row.knob.name();
        noise.find_worth(name).weight() + if name == "others" { 1e-3 } else { 0.0 }
    };
    rows.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
    let quiet = is_quiet(&rows);
    let left = match tuned_session::caller().state_directory() {
        Ok(folder) if root.is_live() => describe_leftover(&folder, &read_boot_id()),
        _ => Ok(None),
    };
    let text = if options.out.json {
        format!("{:#}\n", audit_json::to_json(&rows, &noise, busy.as_ref(), quiet, left.as_ref()))
    } else if options.out.quiet_output {
        String::new()
    } else {
        let audit = Audit {
            knobs: rows.iter().map(|row| audited(row, &noise)).collect(),
            noise: noise
                .describe()
                .map(|reported| format!("{}: {reported}", noise.source))
                .into_iter()
                .collect(),
            busy: busy.as_ref().map(|busy| load::describe(busy, context.online.len())),
            captured: !root.is_live(),
            remarks: remarks(root, &rows, left),
        };
        let style = output::style(&options.out);
        // Who names knobs wants to know of them.
        if options.out.verbose || !names.is_empty() {
            report::terminal::knobs(&audit, &style)
        } else {
            report::terminal::knobs_briefly(&audit, &style)
        }
    };
    output::print(&text)?;
    Ok(if quiet { 0 } else { super::NOT_QUIET })
}

/// How noisy the machine is, by the last proof or measured now; what records of it tell of wake-ups.
fn estimate_noise(options: &Options, stop: &Stop) -> NoiseEstimate {
    let machine = machine::inspect(&Root::live()).machine;
    let hypervisor = machine.virtualization.hypervisor.as_deref().is_some_and(|name| name != "none");
    let cache = files::state_folder().ok().and_then(|state| ProofCache::read(&state, &read_boot_id()));
    let records = records_here(&machine).into_iter().take(MOST_RECORDS);
    let tuned = records
        .filter_map(|path| Record::read(&path).ok())
        .find_map(|record| same(&machine, &record.machine).then(|| find_tuned_p99(&record)).flatten());
    let cpus = measured_cpus(options.measuring.cpus.as_ref());
    NoiseEstimate::read_or_measure(cache, tuned, hypervisor, &cpus, stop)
}

fn audited(row: &AuditRow, noise: &NoiseEstimate) -> Audited {
    let inspection = &row.inspection;
    let (stand, why) = match &inspection.state {
        State::Steady => (Stand::Steady, None),
        State::Noisy if row.disturbs() => (Stand::Noisy, None),
        State::Noisy => (Stand::OnRequest, None),
        State::Absent(why) => (Stand::Absent, Some(why.clone())),
        State::Unseen(why) => (Stand::Absent, Some(why.clone())),
    };
    let worth = noise.find_worth(row.knob.name());
    let reported = !noise.source.is_empty() && row.inspection.steadier.is_some();
    Audited {
        name: row.knob.name().to_owned(),
        now: inspection.now.clone(),
        steadier: inspection.steadier.clone().unwrap_or_default(),
        set_by: set_by(row),
        stand,
        effect: row.knob.effect().to_owned(),
        here: reported.then(|| worth.describe(row.knob.name(), ProofBy::for_knob(row))),
        worth: if reported { worth.brief() } else { String::new() },
        way: advice(row),
        why,
        notes: inspection.notes.clone(),
    }
}

/// How it can be set here, in a word or two.
fn set_by(row: &AuditRow) -> String {
    let root = row.needs.as_ref().is_some_and(Need::is_root);
    let how = match &row.inspection.adjustment {
        Adjustment::None => return String::new(),
        Adjustment::BootParameters(_) => return "boot".to_owned(),
        Adjustment::Manual(_) => return "hand".to_owned(),
        // Of a captured machine it is said who could, whoever that is there.
        Adjustment::Write(_) | Adjustment::Compound(_) if is_captured(row) => return "root".to_owned(),
        Adjustment::ProcessSetting(_) if is_captured(row) => return "a process".to_owned(),
        Adjustment::Write(_) | Adjustment::Compound(CompoundChange::Swap(_)) => "--apply",
        Adjustment::ProcessSetting(_) | Adjustment::Compound(CompoundChange::Shield(_)) => "-- COMMAND",
    };
    match &row.needs {
        None => how.to_owned(),
        Some(_) if root => format!("{how}, root"),
        Some(_) => format!("{how}, not here"),
    }
}

/// Whether it was looked at in a captured tree.
fn is_captured(row: &AuditRow) -> bool {
    row.needs == Some(Need::ThisMachine)
}

/// What else is to be said of how it is set: the line for boot, what to do by hand, what is lacking.
fn advice(row: &AuditRow) -> Option<String> {
    match (&row.inspection.adjustment, &row.needs) {
        (Adjustment::BootParameters(parameters), _) => {
            Some(format!("on the kernel's command line: {parameters}"))
        }
        (Adjustment::Manual(adjustment), _) => Some(adjustment.clone()),
        (Adjustment::Write(_) | Adjustment::ProcessSetting(_) | Adjustment::Compound(_), Some(needs))
            if *needs != Need::Root && !is_captured(row) =>
        {
            Some(format!("needs {needs}"))
        }
        _ => None,
    }
}

/// What to do next, and what should be known beside the table.
fn remarks(root: &Root, rows: &[AuditRow], left: Result<Option<String>, Error>) -> Vec<String> {
    if !root.is_live() {
        return Vec::new();
    }
    let mut remarks: Vec<String> = match left {
        Ok(left) => left.into_iter().collect(),
        // Nothing can be set before that is out of the way.
        Err(why) => return vec![format!("Nothing can be set now: {why}")],
    };
    let settable = |row: &&AuditRow| {
        row.disturbs()
            && matches!(row.inspection.adjustment, Adjustment::Write(_) | Adjustment::ProcessSetting(_))
    };
    let all: Vec<&AuditRow> = rows.iter().filter(settable).collect();
    let open = all.iter().filter(|row| row.needs.is_none()).count();
    if !all.is_empty() {
        let sudo = if open == 0 { "sudo " } else { "" };
        remarks.push(format!("For a command: {sudo}linespeed quiet -- COMMAND"));
        remarks.push(format!("Until they are put back: {sudo}linespeed quiet --apply; then --restore"));
    }
    if rows.iter().any(|row| super::is_disputed(row) && row.inspection.state == State::Noisy) {
        remarks.push(
            "Those that are set only when asked for are named: linespeed quiet smt -- COMMAND".to_owned(),
        );
    }
    remarks.push(
        "What each gains here: linespeed quiet --prove; on a command's own time: --prove -- COMMAND"
            .to_owned(),
    );
    remarks
}
