//! Siblings: two threads on one core, each of which takes from the other.

use record::CpuList;

use crate::change::Change;
use crate::form::{Form, cpus};
use crate::knob::{Knob, Look, Scene, Way};

/// `smt/control` for all cores, or, where CPUs are to be quiet, those siblings of theirs that are not (Documentation/ABI
/// sysfs-devices-system-cpu).
#[derive(Debug)]
pub struct Smt;

const CONTROL: &str = "/sys/devices/system/cpu/smt/control";
const ACTIVE: &str = "/sys/devices/system/cpu/smt/active";

impl Knob for Smt {
    fn name(&self) -> &'static str {
        "smt"
    }

    fn effect(&self) -> &'static str {
        "whoever runs on a core's other sibling takes part of the core, and how much depends on what it does"
    }

    fn only_when_named(&self) -> bool {
        true
    }

    fn look(&self, scene: &Scene) -> Look {
        let pairs: Vec<(u32, CpuList)> = scene
            .online
            .iter()
            .filter_map(|cpu| {
                let topology = format!("/sys/devices/system/cpu/cpu{cpu}/topology");
                let list = scene.text(&format!("{topology}/thread_siblings_list"));
                // Kernels before 2.6.26 have only the mask.
                let siblings = match list {
                    Some(list) => list.parse::<CpuList>().ok()?,
                    None => CpuList::from_mask(&scene.text(&format!("{topology}/thread_siblings"))?).ok()?,
                };
                Some((cpu, siblings.intersection(&scene.online)))
            })
            .collect();
        let shared = pairs.iter().filter(|(_, siblings)| siblings.len() > 1).count();
        if shared == 0 {
            let control = scene.text(CONTROL);
            let has_them = control.is_some_and(|text| ["on", "off", "forceoff"].contains(&text.as_str()));
            return if pairs.is_empty() && scene.text(ACTIVE).is_none() {
                Look::absent("nothing here tells which CPUs are siblings")
            } else if scene.live && !has_them {
                // A host's siblings run others all the same: that is not quiet, and not to be set from here.
                Look::absent(
                    "no core shows two siblings: it has none, the firmware keeps them off, or a hypervisor hides them",
                )
            } else {
                Look::steady("no core shows two siblings")
            };
        }
        let now = format!("on: {shared} of {} CPUs share a core", pairs.len());
        if scene.quiet.is_empty() {
            return match Change::to(scene.files, self.name(), CONTROL, Form::Word, "off") {
                Ok(Some(change)) if change.old == "on" => Look::noisy(now, "off", Way::Write(vec![change])),
                Ok(_) => Look::noisy(
                    now,
                    "off",
                    Way::ByHand("in the firmware: SMT or hyper-threading off".to_owned()),
                ),
                Err(refusal) if refusal.is_missing() => Look::noisy(
                    now,
                    "off",
                    Way::ByHand("in the firmware: SMT or hyper-threading off".to_owned()),
                ),
                Err(refusal) => Look::unseen(&refusal),
            };
        }
        let mut off = CpuList::new();
        for (cpu, siblings) in &pairs {
            if scene.quiet.contains(*cpu) {
                // Of siblings that are both to be quiet the first stays.
                let others = siblings.iter().filter(|other| other != cpu);
                for other in others {
                    if !scene.quiet.contains(other) || other > *cpu {
                        off.insert(other);
                    }
                }
            }
        }
        if off.is_empty() {
            return Look::steady("the quiet CPUs have their cores to themselves");
        }
        let mut changes = Vec::new();
        let mut kept = CpuList::new();
        for cpu in off.iter() {
            let path = format!("/sys/devices/system/cpu/cpu{cpu}/online");
            match Change::to(scene.files, self.name(), &path, Form::Word, "0") {
                Ok(change) => changes.extend(change),
                Err(refusal) if refusal.is_missing() => {
                    kept.insert(cpu);
                }
                Err(refusal) => return Look::unseen(&refusal),
            }
        }
        let way = if changes.is_empty() {
            Way::ByHand("choose CPUs on another core: the kernel keeps this one's siblings online".to_owned())
        } else {
            Way::Write(changes)
        };
        let look = Look::noisy(now, format!("{} off", cpus(&off)), way);
        if kept.is_empty() { look } else { look.note(format!("the kernel keeps {} online", cpus(&kept))) }
    }
}
