//! All knobs as they stand: nothing is changed.

use record::CpuList;

use crate::knob::{Hold, Knob, Look, Scene, State, Way};
use crate::knobs::KNOBS;

/// One knob as it stands.
pub struct Row {
    /// The knob.
    pub knob: &'static dyn Knob,
    /// What was seen.
    pub look: Look,
    /// What stands in the way of turning it here; `None` where nothing does, or nothing is to be turned.
    pub needs: Option<String>,
}

/// Looks at all knobs, or at those named.
pub fn audit(scene: &Scene, names: &[&str]) -> Vec<Row> {
    let wanted = |knob: &&&'static dyn Knob| names.is_empty() || names.contains(&knob.name());
    KNOBS
        .iter()
        .filter(wanted)
        .map(|knob| {
            let mut look = knob.look(scene);
            if let State::Absent(why) = &mut look.state
                && !scene.live
                && !why.contains("tree")
            {
                *why = format!("this tree does not show it; on a running machine: {why}");
            }
            let needs = needs(scene, &look);
            Row { knob: *knob, look, needs }
        })
        .collect()
}

/// Whether nothing adds noise that could be turned off.
pub fn is_quiet(rows: &[Row]) -> bool {
    rows.iter().all(|row| row.look.state != State::Noisy)
}

/// The kernel's file for the time that waking may take.
const DMA_LATENCY: &str = "/dev/cpu_dma_latency";

fn needs(scene: &Scene, look: &Look) -> Option<String> {
    match &look.way {
        Way::Write(_) | Way::Hold(_) if !scene.live => Some("this machine: it was captured".to_owned()),
        Way::Write(changes) => {
            changes.iter().any(|change| !scene.files.writable(&change.path)).then(|| more_rights().to_owned())
        }
        Way::Hold(Hold::DmaLatency(_)) => (!scene.files.writable(DMA_LATENCY)).then(|| {
            let there = scene.files.list("/dev").iter().any(|name| DMA_LATENCY.ends_with(name.as_str()));
            if there { more_rights().to_owned() } else { format!("{DMA_LATENCY}, which is not here") }
        }),
        Way::Hold(_) | Way::None => None,
        Way::Boot(_) => Some("a reboot".to_owned()),
        Way::ByHand(_) => Some("you".to_owned()),
    }
}

/// What this user lacks to write the kernel's files.
fn more_rights() -> &'static str {
    // SAFETY: the call takes nothing and cannot fail.
    if unsafe { libc::geteuid() } == 0 {
        "root outside of this container: the kernel's files are for reading only here"
    } else {
        "root"
    }
}

/// Why a list of CPUs cannot be made quiet; `None` where it can.
pub fn refused(quiet: &CpuList, online: &CpuList, allowed: &CpuList) -> Option<String> {
    let unknown = quiet.difference(online);
    let forbidden = quiet.difference(allowed);
    if !unknown.is_empty() {
        Some(format!("CPU {unknown} is not online here; online are {online}"))
    } else if !forbidden.is_empty() {
        Some(format!("CPU {forbidden} is not among those that this process may use: {allowed}"))
    } else if !quiet.is_empty() && online.difference(quiet).is_empty() {
        Some(format!("{quiet} are all CPUs that there are: one must be left to run everything else"))
    } else {
        None
    }
}
