//! Idle states: the deeper a core sleeps, the longer it takes to wake.

use record::text::Value;
use record::{CpuList, Text, text};

use crate::change::Change;
use crate::knob::{Adjustment, Inspection, Knob, KnobClass, KnobContext, ProcessSetting};
use crate::value_syntax::ValueSyntax;

/// Deeper states than the first halt are held off: for the whole machine through `/dev/cpu_dma_latency`, for as long as it
/// stays open (Documentation/power/pm_qos_interface.rst), for some CPUs, or to stay, through each CPU's
/// `pm_qos_resume_latency_us` (Documentation/ABI/testing/sysfs-devices-power).
#[derive(Debug)]
pub struct IdleStates;

/// States that take no longer to leave do not count: polling, and the halt instruction.
const SHALLOW_US: u64 = 2;

/// A CPU's idle states, by what they take to leave.
#[derive(Debug, Default)]
struct States {
    /// The deepest that may be used, microseconds and name.
    deepest: Option<(u64, String)>,
    /// The first below polling, microseconds.
    first: Option<u64>,
    any: bool,
}

impl States {
    fn read(context: &KnobContext, cpu: u32) -> Self {
        let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle");
        let mut states = Self::default();
        for state in context.files.list(&folder) {
            let text = |name: &str| context.text(&format!("{folder}/{state}/{name}"));
            let Some(us) = text("latency").and_then(|text| text.parse::<u64>().ok()) else { continue };
            states.any = true;
            if text("disable").is_some_and(|disabled| disabled != "0") {
                continue;
            }
            if us > 0 && states.first.is_none_or(|first| us < first) {
                states.first = Some(us);
            }
            if us > SHALLOW_US && states.deepest.as_ref().is_none_or(|(most, _)| us > *most) {
                states.deepest = Some((us, text("name").unwrap_or(state)));
            }
        }
        states
    }

    /// What is to be held, microseconds: the first halt, where it is shallow, else polling alone.
    fn limit(&self) -> u32 {
        self.first.filter(|us| *us <= SHALLOW_US).and_then(|us| u32::try_from(us).ok()).unwrap_or(0)
    }
}

fn latency_file(cpu: u32) -> String {
    format!("/sys/devices/system/cpu/cpu{cpu}/power/pm_qos_resume_latency_us")
}

/// The limit of one CPU, microseconds. The file says `n/a` where nothing but polling is left, and 0 for no limit.
pub(super) fn limit_of(context: &KnobContext, cpu: u32) -> Option<u64> {
    match context.text(&latency_file(cpu))?.as_str() {
        "n/a" => Some(0),
        "0" => None,
        us => us.parse().ok(),
    }
}

impl Knob for IdleStates {
    fn name(&self) -> &'static str {
        "idle-states"
    }

    fn class(&self) -> KnobClass {
        KnobClass::WakeUp
    }

    fn effect(&self) -> Text {
        text!(
            "quiet-idle-states-effect",
            "the wake-up latency of a core depends on the depth of its C-state, and the depth on the idle time before"
        )
    }

    fn inspect(&self, context: &KnobContext) -> Inspection {
        let cpus: &CpuList = if context.quiet.is_empty() { &context.online } else { &context.quiet };
        let Some(cpu) = cpus.first() else {
            return Inspection::absent(text!("quiet-idle-states-no-cpu", "no CPU is known"));
        };
        let states = States::read(context, cpu);
        let Some((us, name)) = &states.deepest else {
            return if states.any {
                Inspection::steady("no deep ones")
            } else {
                Inspection::absent(text!(
                    "quiet-idle-states-absent",
                    "the kernel shows no C-states: the host has them, or idle=poll"
                ))
            };
        };
        let held = context.own.as_ref().and_then(|own| own.latency_us).map(u64::from);
        if held.is_some_and(|us| us <= SHALLOW_US) {
            return Inspection::steady("held off");
        }
        let open: Vec<u32> =
            cpus.iter().filter(|cpu| limit_of(context, *cpu).is_none_or(|us| us > SHALLOW_US)).collect();
        if open.is_empty() {
            return Inspection::steady("held off");
        }
        let latency = Value::Figure(*us as f64 * 1e3, "ns");
        let now =
            text!("quiet-idle-states-deepest", "{state} takes {latency} to leave", state = name, latency);
        held_off(self.name(), context, open, now, states.limit())
    }
}

/// How states that take longer than `limit` microseconds to leave are held off, for the time of a command, or on these CPUs.
pub(super) fn held_off(
    name: &'static str,
    context: &KnobContext,
    open: Vec<u32>,
    now: Text,
    limit: u32,
) -> Inspection {
    let setting = || {
        Inspection::noisy(
            now.clone(),
            "held off",
            Adjustment::ProcessSetting(ProcessSetting::DmaLatency(limit)),
        )
    };
    if context.quiet.is_empty() && !context.stays {
        return setting();
    }
    let value = if limit == 0 { "n/a".to_owned() } else { limit.to_string() };
    let mut changes = Vec::new();
    for cpu in open {
        match Change::plan(context.files, name, &latency_file(cpu), ValueSyntax::Word, &value) {
            Ok(change) => changes.extend(change),
            Err(refusal) if refusal.is_missing() => {}
            Err(refusal) => return Inspection::unseen(&refusal),
        }
    }
    if changes.is_empty() && !context.stays {
        return setting();
    }
    if changes.is_empty() {
        let by_hand = text!(
            "quiet-idle-states-for-a-command",
            "this kernel has no latency limit for each CPU; for the duration of a command: linespeed quiet -- COMMAND"
        );
        return Inspection::noisy(now, "held off", Adjustment::Manual(by_hand));
    }
    Inspection::noisy(now, "held off", Adjustment::Write(changes))
}
