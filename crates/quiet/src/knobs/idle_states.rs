//! Idle states: the deeper a core's idle state, the longer its wake-up.

use crate::knob::{Adjustment, Inspection, Knob, KnobContext, ProcessSetting, Seen};
use record::text::Value;
use record::{Template, Text, text};

/// Minimum exit latency of deep states, µs. Polling and the halt instruction are below this value.
const SHALLOW_US: u64 = 2;

/// The exit latency, in microseconds, and the name of each permitted idle state of a CPU; `None` if it has no idle states.
fn permitted_states(context: &KnobContext, cpu: u32) -> Option<Vec<(u64, String)>> {
    let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle");
    let mut permitted: Option<Vec<(u64, String)>> = None;
    for state in context.files.list(&folder) {
        let file = |name: &str| format!("{folder}/{state}/{name}");
        let Some(us) = context.number(&file("latency")) else { continue };
        let permitted = permitted.get_or_insert_default();
        if context.text(&file("disable")).is_none_or(|disabled| disabled == "0") {
            permitted.push((us, context.text(&file("name")).unwrap_or(state)));
        }
    }
    permitted
}

fn latency_file(cpu: u32) -> String {
    format!("/sys/devices/system/cpu/cpu{cpu}/power/pm_qos_resume_latency_us")
}

/// The latency limit of one CPU, microseconds. The file contains `n/a` if only polling is permitted, and 0 for no
/// limit.
fn latency_limit(context: &KnobContext, cpu: u32) -> Option<u64> {
    match context.text(&latency_file(cpu))?.as_str() {
        "n/a" => Some(0),
        "0" => None,
        us => us.parse().ok(),
    }
}

pub(super) fn inspect(knob: &Knob, context: &KnobContext) -> Seen {
    let cpus = context.targets();
    let Some(cpu) = cpus.first() else {
        return Ok(Some(Inspection::absent(text!("no CPUs are listed"))));
    };
    let Some(states) = permitted_states(context, cpu) else { return Ok(None) };
    // Of several equally deep states, the first one is named.
    let deep = states.iter().filter(|(us, _)| *us > SHALLOW_US).rev();
    let Some((us, name)) = deep.max_by_key(|(us, _)| *us) else {
        return Ok(Some(Inspection::steady("no deep C-states")));
    };
    let is_shallow = |limit: Option<u64>| limit.is_some_and(|us| us <= SHALLOW_US);
    let held = context.own.as_ref().and_then(|own| own.latency_us).map(u64::from);
    let open: Vec<u32> = cpus.iter().filter(|cpu| !is_shallow(latency_limit(context, *cpu))).collect();
    if is_shallow(held) || open.is_empty() {
        return Ok(Some(Inspection::steady("disabled")));
    }
    let latency = Value::Figure(*us as f64 * 1e3, "ns");
    let now = text!("exit latency of {state}: {latency}", state = name);
    // The latency limit is the exit latency of the first halt state if that is shallow; otherwise it is 0, with which
    // only polling is permitted.
    let first = states.iter().map(|(us, _)| *us).filter(|us| *us > 0).min();
    let limit = first.filter(|us| *us <= SHALLOW_US).and_then(|us| u32::try_from(us).ok()).unwrap_or(0);
    hold_off(knob, context, open, now, limit)
}

/// Determines how to disable idle states with an exit latency above `limit` microseconds, for the duration of a command
/// or on these CPUs.
fn hold_off(knob: &Knob, context: &KnobContext, open: Vec<u32>, now: Text, limit: u32) -> Seen {
    let value = if limit == 0 { "n/a".to_owned() } else { limit.to_string() };
    let changes = if context.quiet.is_empty() && !context.stays {
        Vec::new()
    } else {
        knob.plan_words(context, open.into_iter().map(latency_file), &value)?.changes
    };
    let adjustment = if !changes.is_empty() {
        Adjustment::Write(changes)
    } else if !context.stays {
        Adjustment::ProcessSetting(ProcessSetting::DmaLatency(limit))
    } else {
        Adjustment::Manual(text!(
            "this kernel has no per-CPU latency limit; to limit latency while a command runs, use linespeed quiet -- COMMAND"
        ))
    };
    Ok(Some(Inspection::noisy(now, "disabled", adjustment)))
}

pub(crate) const NOT_A_GUESTS: Template =
    Template::new("quiet-guest-halt-other-driver", "the idle driver is {driver}, not the guest's (haltpoll)");
const DRIVER: &str = "/sys/devices/system/cpu/cpuidle/current_driver";

pub(super) fn inspect_halt(knob: &Knob, context: &KnobContext) -> Seen {
    let Some(driver) = context.text(DRIVER) else { return Ok(None) };
    if driver != "haltpoll" {
        return Ok(Some(Inspection::absent(text!(NOT_A_GUESTS, driver))));
    }
    let held = context.own.as_ref().and_then(|own| own.latency_us);
    let open: Vec<u32> =
        context.targets().iter().filter(|cpu| latency_limit(context, *cpu) != Some(0)).collect();
    if held == Some(0) || open.is_empty() {
        return Ok(Some(Inspection::steady("disabled")));
    }
    hold_off(knob, context, open, text!("halts cause VM exits"), 0)
}
