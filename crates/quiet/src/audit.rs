//! All knobs as they stand: nothing is changed.

use record::CpuList;

use crate::form::cpus;
use crate::holds::dma_latency;
use crate::knob::{Hold, Knob, Look, Scene, State, Way};
use crate::knobs::KNOBS;
use crate::undertaking::Undertaking;

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
                // Why a running machine lacks it says nothing of one of which some files were copied.
                *why = "this tree does not show it".to_owned();
            }
            let needs = needs(scene, &look);
            Row { knob: *knob, look, needs }
        })
        .collect()
}

impl Row {
    /// Whether it keeps the machine from being quiet. What concerns one command alone does not, nor does what is turned only
    /// when it is named, because some want it as it is.
    pub fn disturbs(&self) -> bool {
        let the_commands = matches!(&self.look.way, Way::Hold(hold) if hold.is_the_commands())
            || matches!(&self.look.way, Way::Undertake(Undertaking::Shield(_)));
        self.look.state == State::Noisy && !the_commands && !self.knob.only_when_named()
    }
}

/// Whether nothing disturbs.
pub fn is_quiet(rows: &[Row]) -> bool {
    !rows.iter().any(Row::disturbs)
}

fn needs(scene: &Scene, look: &Look) -> Option<String> {
    match &look.way {
        Way::Write(_) | Way::Hold(_) | Way::Undertake(_) if !scene.live => {
            Some("this machine: it was captured".to_owned())
        }
        Way::Write(changes) => {
            changes.iter().any(|change| !scene.files.writable(&change.path)).then(|| more_rights().to_owned())
        }
        Way::Hold(hold) => holding(scene, hold),
        Way::Undertake(undertaking) => undertaking_needs(undertaking),
        Way::None => None,
        Way::Boot(_) => Some("a reboot".to_owned()),
        Way::ByHand(_) => Some("you".to_owned()),
    }
}

fn is_root() -> bool {
    // SAFETY: the call takes nothing and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

/// What this user lacks to write the kernel's files.
fn more_rights() -> &'static str {
    if is_root() {
        "root outside of this container: the kernel's files are for reading only here"
    } else {
        "root"
    }
}

/// What it needs to hold something.
fn holding(scene: &Scene, hold: &Hold) -> Option<String> {
    let own = scene.own.as_ref();
    let lacks = match hold {
        Hold::DmaLatency(_) => {
            let there =
                scene.files.list("/dev").iter().any(|name| format!("/dev/{name}") == dma_latency::PATH);
            if !there {
                return Some(format!("{}, which is not here", dma_latency::PATH));
            }
            return (!scene.files.writable(dma_latency::PATH)).then(|| more_rights().to_owned());
        }
        Hold::Nice(nice) => own.is_some_and(|own| *nice < own.lowest_nice),
        Hold::Fifo(priority) => own.is_some_and(|own| *priority > own.highest_priority),
        Hold::Affinity(_) | Hold::IoPriority(_) | Hold::FixedAddresses => false,
    };
    lacks.then(|| if is_root() { "the capability CAP_SYS_NICE" } else { "root" }.to_owned())
}

fn undertaking_needs(undertaking: &Undertaking) -> Option<String> {
    let may = match undertaking {
        Undertaking::Swap(_) => is_root(),
        Undertaking::Shield(shield) => shield.may_be_made(),
    };
    (!may).then(|| more_rights().to_owned())
}

/// Why a list of CPUs cannot be made quiet; `None` where it can.
pub fn refused(quiet: &CpuList, online: &CpuList, allowed: &CpuList) -> Option<String> {
    let unknown = quiet.difference(online);
    let forbidden = quiet.difference(allowed);
    if !unknown.is_empty() {
        let are = if unknown.len() == 1 { "is" } else { "are" };
        Some(format!("{} {are} not online here; online are {online}", cpus(&unknown)))
    } else if !forbidden.is_empty() {
        let are = if forbidden.len() == 1 { "is" } else { "are" };
        Some(format!("{} {are} not among those that this process may use: {allowed}", cpus(&forbidden)))
    } else if !quiet.is_empty() && online.difference(quiet).is_empty() {
        let all = if quiet.len() == 1 { "is the only CPU there is" } else { "are all CPUs that there are" };
        Some(format!("{} {all}: one must be left to run everything else", cpus(quiet)))
    } else {
        None
    }
}
