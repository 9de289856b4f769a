//! All knobs as they stand: nothing is changed.

use record::CpuList;

use crate::knob::{Knob, Look, Scene, State, Way};
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
            let look = knob.look(scene);
            let needs = needs(scene, &look);
            Row { knob: *knob, look, needs }
        })
        .collect()
}

/// Whether nothing adds noise that could be turned off.
pub fn is_quiet(rows: &[Row]) -> bool {
    rows.iter().all(|row| row.look.state != State::Noisy)
}

fn needs(scene: &Scene, look: &Look) -> Option<String> {
    match &look.way {
        Way::Write(_) if !scene.live => Some("this machine: it was captured".to_owned()),
        Way::Write(changes) => {
            let locked = changes.iter().filter(|change| !scene.files.writable(&change.path)).count();
            (locked > 0).then(|| "root".to_owned())
        }
        Way::Hold(_) | Way::None => None,
        Way::Boot(_) => Some("a reboot".to_owned()),
        Way::ByHand(_) => Some("you".to_owned()),
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
