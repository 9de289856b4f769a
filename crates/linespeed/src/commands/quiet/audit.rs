//! `linespeed quiet` without a command: shows the state of every knob, and changes nothing.

use std::time::Duration;

use ::quiet::audit::{AuditRow, audit, is_quiet};
use ::quiet::knobs::nice_scope_limit;
use ::quiet::standing::describe_leftover;
use ::quiet::tuned_session::read_boot_id;
use ::quiet::tuning_plan::{Purpose, prepare_context};
use experiment::noise_estimate::{NoiseEstimate, find_tuned_p99};
use experiment::proof_cache::ProofCache;
use experiment::prove::measured_cpus;
use machine::Root;
use measure::busy;
use os::{Stop, signals};
use record::diagnosis::Severity;
use record::metrics;
use record::store::Entry;
use report::view::View;

use super::tuned_session;
use crate::delivery::hand_out;
use crate::failure::{FOUND, Failure, signal_code};
use crate::options::Options;
use crate::{files, sources};
use ::drawn::audit::{Seen, audit as draw};
use ::drawn::audit_json;

/// Maximum number of records read, newest first.
const MOST_RECORDS: usize = 5;
/// Sampling time for busy processes.
const LOOK: Duration = Duration::from_millis(300);

/// Inspects all knobs, or only the specified ones. For --fail-on, a knob that adds noise counts as a warning.
pub fn run(options: &Options, root: &Root, names: &[&'static str]) -> Result<u8, Failure> {
    let context = prepare_context(root, options.measuring.cpus.as_ref(), Purpose::Command)?;
    let mut rows = audit(&context, names);
    // A captured machine cannot be measured. Without a report, only the exit code matters, so nothing is measured either.
    let seen = root.is_live() && !options.out.quiet_output;
    let stop = signals::install();
    let busy = (seen && rows.iter().any(|row| row.knob.name == "others")).then(|| busy::sample_load(LOOK));
    let noise = if seen { estimate_noise(options, stop) } else { NoiseEstimate::default() };
    let noise = noise
        .with_others(busy.as_ref().and_then(|load| load.cpus))
        .with_nice_scope(nice_scope_limit(root).is_some());
    if let Some(signal) = stop.signal() {
        return Ok(signal_code(signal));
    }
    // Among entries of equal weight, the one for other processes comes first, because the other knobs only
    // reduce the effect of these processes.
    let weight = |row: &AuditRow| {
        let name = row.knob.name;
        noise.find_worth(name).weight() + if name == "others" { 1e-3 } else { 0.0 }
    };
    rows.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
    let quiet = is_quiet(&rows);
    let left = match tuned_session::caller().state_directory() {
        Ok(folder) if root.is_live() => describe_leftover(&folder, &read_boot_id()),
        _ => Ok(None),
    };
    let json = || audit_json::audit(&rows, &noise, busy.as_ref(), quiet, left.as_ref());
    let forms = View::new(|screen| {
        let seen = Seen {
            rows: &rows,
            noise: &noise,
            busy: busy.as_ref().map(|busy| (busy, context.online.len())),
            captured: !root.is_live(),
            left: left.as_ref(),
            // If knobs are specified, only those are inspected.
            named: !names.is_empty(),
        };
        draw(screen, &seen, options.out.all || options.out.verbose);
    });
    hand_out(options, &forms.with_value(json()))?;
    let warned = options.measuring.failing_level().is_some_and(|level| Severity::Warning >= level);
    Ok(if warned && !quiet { FOUND } else { 0 })
}

/// The machine's noise, from the last `--prove` or measured now, and its wake-up latency, from records.
fn estimate_noise(options: &Options, stop: &Stop) -> NoiseEstimate {
    let machine = machine::inspect(&Root::live()).machine;
    let hypervisor = machine.is_virtual();
    let cache = files::state_folder().ok().and_then(|state| ProofCache::read(&state, &read_boot_id()));
    let wakeups = |entry: &Entry| entry.metrics.contains(&metrics::WAKEUP_LATENCY);
    let mut records = sources::records_here(&machine, wakeups).take(MOST_RECORDS);
    let tuned = records.find_map(|(_, record)| find_tuned_p99(&record));
    let cpus = measured_cpus(options.measuring.cpus.as_ref());
    NoiseEstimate::read_or_measure(cache, tuned, hypervisor, &cpus, stop)
}
