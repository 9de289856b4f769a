//! Idle states: the deeper a core sleeps, the longer it takes to wake.

use crate::knob::{Hold, Knob, Look, Scene, State, Way};

/// Deeper states than a microsecond's are held off through `/dev/cpu_dma_latency`, for as long as it stays open
/// (Documentation/power/pm_qos_interface.rst).
#[derive(Debug)]
pub struct IdleStates;

/// States that take no longer to leave do not count: polling and the halt instruction.
const SHALLOW_US: u64 = 1;

impl Knob for IdleStates {
    fn name(&self) -> &'static str {
        "idle-states"
    }

    fn effect(&self) -> &'static str {
        "a core that slept takes as long to wake as its state is deep, and how deep it sleeps depends on how long it was idle"
    }

    fn look(&self, scene: &Scene) -> Look {
        let Some(cpu) = scene.online.first() else { return Look::absent("no CPU is known") };
        let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle");
        let mut deepest: Option<(u64, String)> = None;
        let mut any = false;
        for state in scene.files.list(&folder) {
            let text = |name: &str| scene.text(&format!("{folder}/{state}/{name}"));
            let Some(us) = text("latency").and_then(|text| text.parse::<u64>().ok()) else { continue };
            any = true;
            let usable = text("disable").is_none_or(|disabled| disabled == "0");
            if usable && us > SHALLOW_US && deepest.as_ref().is_none_or(|(most, _)| us > *most) {
                deepest = Some((us, text("name").unwrap_or(state)));
            }
        }
        match deepest {
            Some((us, name)) => {
                let now = format!("{name} takes {us} µs to leave");
                Look::noisy(now, "held off while a command runs", Way::Hold(Hold::DmaLatency(0)))
            }
            None if any => Look::steady("no deep ones"),
            None => Look {
                state: State::Absent("the kernel shows no idle states: the host's, or idle=poll".to_owned()),
                ..Look::absent("")
            },
        }
    }
}
