//! A knob that is to have the value that a finding names, which need not be the steadier one: boost on, huge pages always.

use record::{CpuList, KnobName, KnobValue, text};

use crate::audit::{AuditRow, audit, find_need};
use crate::change::Change;
use crate::files::Refusal;
use crate::knob::{Adjustment, Inspection, Knob, KnobContext, Seen};
use crate::knobs::{self, GLOBAL_BOOST, NO_TURBO, inspect_words, policy_files};
use crate::value_syntax::ValueSyntax;

const SMT_CONTROL: &str = "/sys/devices/system/cpu/smt/control";
const THP: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
const NUMA_BALANCING: &str = "/proc/sys/kernel/numa_balancing";

/// The knob as it stands, and what brings it to this value; `None` where no knob has the name.
pub fn look_at(context: &KnobContext, wanted: &KnobValue) -> Option<AuditRow> {
    let knob = knobs::find(wanted.knob.name())?;
    let Some(value) = &wanted.value else {
        return audit(context, &[knob.name]).pop();
    };
    let inspection = match inspect(context, knob, wanted, value) {
        Ok(Some(inspection)) => inspection,
        Ok(None) => Inspection::absent(knob.absent),
        Err(refusal) if refusal.is_missing() => Inspection::absent(knob.absent),
        Err(refusal) => Inspection::unseen(&refusal),
    };
    let needs = find_need(context, &inspection);
    Some(AuditRow { knob, inspection, needs })
}

fn inspect(context: &KnobContext, knob: &Knob, wanted: &KnobValue, value: &str) -> Seen {
    let policies = |file: &str| policies_of(context, wanted.cpus.as_ref(), file);
    match wanted.knob {
        KnobName::Boost => inspect_boost(context, knob, value),
        KnobName::Governor => {
            let choices = Some("scaling_available_governors");
            inspect_words(knob, context, policies("scaling_governor"), value, choices)
        }
        KnobName::Epp => {
            let choices = Some("energy_performance_available_preferences");
            inspect_words(knob, context, policies("energy_performance_preference"), value, choices)
        }
        KnobName::Epb => {
            let cpus = wanted.cpus.as_ref().unwrap_or(&context.online);
            let file = |cpu| format!("/sys/devices/system/cpu/cpu{cpu}/power/energy_perf_bias");
            inspect_words(knob, context, cpus.iter().map(file), value, None)
        }
        KnobName::ClockRange => inspect_limit(context, knob, policies("scaling_max_freq"), value),
        KnobName::Smt => inspect_file(context, knob, SMT_CONTROL, ValueSyntax::Word, value),
        KnobName::NumaBalancing => inspect_file(context, knob, NUMA_BALANCING, ValueSyntax::Word, value),
        KnobName::Thp => inspect_file(context, knob, THP, ValueSyntax::Chosen, value),
        // These have no other value than the one that quiet sets.
        KnobName::IdleStates | KnobName::GuestHalt => {
            Ok(audit(context, &[knob.name]).pop().map(|row| row.inspection))
        }
    }
}

/// From what changes lead.
fn towards(now: String, value: &str, changes: Vec<Change>) -> Inspection {
    match changes.is_empty() {
        true => Inspection::steady(value.to_owned()),
        false => Inspection::noisy(now, value.to_owned(), Adjustment::Write(changes)),
    }
}

fn inspect_file(context: &KnobContext, knob: &Knob, path: &str, syntax: ValueSyntax, value: &str) -> Seen {
    let change = knob.plan(context, path, syntax, value)?;
    let now = change.as_ref().map(|change| change.old.clone()).unwrap_or_default();
    // `notsupported`, `notimplemented`, `forceoff`: the kernel takes no word for these.
    if knob.name == KnobName::Smt.name() && !["on", "off", ""].contains(&now.as_str()) {
        let firmware = text!("the kernel does not switch SMT here ({now})", now);
        return Ok(Some(Inspection::absent(firmware)));
    }
    Ok(Some(towards(now, value, change.into_iter().collect())))
}

/// Intel's file says the opposite of all others.
fn inspect_boost(context: &KnobContext, knob: &Knob, value: &str) -> Seen {
    let (digit, opposite, other) = if value == "on" { ("1", "0", "off") } else { ("0", "1", "on") };
    for (path, new) in [(NO_TURBO, opposite), (GLOBAL_BOOST, digit)] {
        match knob.plan(context, path, ValueSyntax::Word, new) {
            Ok(change) => return Ok(Some(towards(other.to_owned(), value, change.into_iter().collect()))),
            Err(refusal) if refusal.is_missing() => {}
            Err(refusal) => return Err(refusal),
        }
    }
    let planned = knob.plan_words(context, policy_files(context, "boost"), digit)?;
    Ok((!planned.now.is_empty()).then(|| towards(other.to_owned(), value, planned.changes)))
}

/// The highest clock that may be chosen: the one that is wanted, or the highest that the policy has.
fn inspect_limit(
    context: &KnobContext,
    knob: &Knob,
    files: Vec<String>,
    khz: &str,
) -> Result<Option<Inspection>, Refusal> {
    let Ok(wanted) = khz.parse::<u64>() else { return Ok(None) };
    let (mut now, mut changes, mut any) = (String::new(), Vec::new(), false);
    for path in files {
        let most = context.number(&path.replace("scaling_max_freq", "cpuinfo_max_freq")).unwrap_or(wanted);
        let planned = knob.plan_words(context, [path], &wanted.min(most).to_string())?;
        any |= !planned.now.is_empty();
        if let Some(change) = planned.changes.first() {
            now.clone_from(&change.old);
        }
        changes.extend(planned.changes);
    }
    Ok(any.then(|| towards(now, khz, changes)))
}

/// A file of each policy that one of these CPUs belongs to; of each where none is named.
fn policies_of(context: &KnobContext, cpus: Option<&CpuList>, file: &str) -> Vec<String> {
    let mut files = policy_files(context, file);
    if let Some(cpus) = cpus {
        files.retain(|path| {
            let related = context.text(&path.replace(file, "related_cpus")).unwrap_or_default();
            let mut named = related.split_ascii_whitespace().filter_map(|cpu| cpu.parse().ok());
            named.any(|cpu| cpus.contains(cpu))
        });
    }
    files
}

#[cfg(test)]
mod tests;
