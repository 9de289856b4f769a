//! Idle states: the deeper a core sleeps, the longer it takes to wake.

use record::CpuList;

use crate::change::Change;
use crate::form::Form;
use crate::knob::{Hold, Knob, Look, Scene, State, Way};

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
    fn of(scene: &Scene, cpu: u32) -> Self {
        let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle");
        let mut states = Self::default();
        for state in scene.files.list(&folder) {
            let text = |name: &str| scene.text(&format!("{folder}/{state}/{name}"));
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
pub(super) fn limit_of(scene: &Scene, cpu: u32) -> Option<u64> {
    match scene.text(&latency_file(cpu))?.as_str() {
        "n/a" => Some(0),
        "0" => None,
        us => us.parse().ok(),
    }
}

impl Knob for IdleStates {
    fn name(&self) -> &'static str {
        "idle-states"
    }

    fn effect(&self) -> &'static str {
        "a core that slept takes as long to wake as its state is deep, and how deep it sleeps depends on how long it was idle"
    }

    fn look(&self, scene: &Scene) -> Look {
        let cpus: &CpuList = if scene.quiet.is_empty() { &scene.online } else { &scene.quiet };
        let Some(cpu) = cpus.first() else { return Look::absent("no CPU is known") };
        let states = States::of(scene, cpu);
        let Some((us, name)) = &states.deepest else {
            return if states.any {
                Look::steady("no deep ones")
            } else {
                let why = "the kernel shows no idle states: the host's, or idle=poll".to_owned();
                Look { state: State::Absent(why), ..Look::absent("") }
            };
        };
        let held = scene.own.as_ref().and_then(|own| own.latency_us).map(u64::from);
        if held.is_some_and(|us| us <= SHALLOW_US) {
            return Look::steady("held off");
        }
        let open: Vec<u32> =
            cpus.iter().filter(|cpu| limit_of(scene, *cpu).is_none_or(|us| us > SHALLOW_US)).collect();
        if open.is_empty() {
            return Look::steady("held off");
        }
        let now = format!("{name} takes {us} µs to leave");
        held_off(self.name(), scene, open, now, states.limit())
    }
}

/// How states that take longer than `limit` microseconds to leave are held off, for the time of a command, or on these CPUs.
pub(super) fn held_off(name: &'static str, scene: &Scene, open: Vec<u32>, now: String, limit: u32) -> Look {
    let hold = || Look::noisy(&now, "held off", Way::Hold(Hold::DmaLatency(limit)));
    if scene.quiet.is_empty() && !scene.stays {
        return hold();
    }
    let value = if limit == 0 { "n/a".to_owned() } else { limit.to_string() };
    let mut changes = Vec::new();
    for cpu in open {
        match Change::to(scene.files, name, &latency_file(cpu), Form::Word, &value) {
            Ok(change) => changes.extend(change),
            Err(refusal) if refusal.is_missing() => {}
            Err(refusal) => return Look::unseen(&refusal),
        }
    }
    if changes.is_empty() && !scene.stays {
        return hold();
    }
    if changes.is_empty() {
        let by_hand =
            "this kernel has no latency for each CPU; for the time of a command: linespeed quiet -- COMMAND";
        return Look::noisy(now, "held off", Way::ByHand(by_hand.to_owned()));
    }
    Look::noisy(now, "held off", Way::Write(changes))
}
