//! Idle states: the deeper a core's idle state, the longer its wake-up.

use crate::knob::{Adjustment, Inspection, Knob, KnobContext, ProcessSetting, Seen};
use record::text::Value;
use record::{Template, Text, text};

/// Minimum exit latency of deep states, µs. Polling and the halt instruction are below this value.
const SHALLOW_US: u64 = 2;

/// A CPU's idle states, by exit latency.
#[derive(Debug, Default)]
struct States {
    /// The deepest permitted state: exit latency in microseconds, and name.
    deepest: Option<(u64, String)>,
    /// The exit latency of the first state after polling, microseconds.
    first: Option<u64>,
    any: bool,
}

impl States {
    fn read(context: &KnobContext, cpu: u32) -> Self {
        let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle");
        let mut states = Self::default();
        for state in context.files.list(&folder) {
            let file = |name: &str| format!("{folder}/{state}/{name}");
            let Some(us) = context.number(&file("latency")) else { continue };
            states.any = true;
            if context.text(&file("disable")).is_some_and(|disabled| disabled != "0") {
                continue;
            }
            if us > 0 && states.first.is_none_or(|first| us < first) {
                states.first = Some(us);
            }
            if us > SHALLOW_US && states.deepest.as_ref().is_none_or(|(most, _)| us > *most) {
                states.deepest = Some((us, context.text(&file("name")).unwrap_or(state)));
            }
        }
        states
    }

    /// The latency limit to request, microseconds: the exit latency of the first halt state if that is shallow,
    /// otherwise 0, with which only polling is permitted.
    fn limit(&self) -> u32 {
        self.first.filter(|us| *us <= SHALLOW_US).and_then(|us| u32::try_from(us).ok()).unwrap_or(0)
    }
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
    let states = States::read(context, cpu);
    let Some((us, name)) = &states.deepest else {
        return Ok(states.any.then(|| Inspection::steady("no deep C-states")));
    };
    let is_shallow = |limit: Option<u64>| limit.is_some_and(|us| us <= SHALLOW_US);
    let held = context.own.as_ref().and_then(|own| own.latency_us).map(u64::from);
    let open: Vec<u32> = cpus.iter().filter(|cpu| !is_shallow(latency_limit(context, *cpu))).collect();
    if is_shallow(held) || open.is_empty() {
        return Ok(Some(Inspection::steady("disabled")));
    }
    let latency = Value::Figure(*us as f64 * 1e3, "ns");
    let now = text!("exit latency of {state}: {latency}", state = name);
    hold_off(knob, context, open, now, states.limit())
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
