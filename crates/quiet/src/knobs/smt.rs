//! Siblings: two threads on one core, each of which takes from the other.

use record::CpuList;

use crate::change::Change;
use crate::knob::{Adjustment, Inspection, Knob, KnobContext};
use crate::value_syntax::{ValueSyntax, name_cpus};

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

    fn inspect(&self, context: &KnobContext) -> Inspection {
        let pairs: Vec<(u32, CpuList)> = context
            .online
            .iter()
            .filter_map(|cpu| {
                let topology = format!("/sys/devices/system/cpu/cpu{cpu}/topology");
                let list = context.text(&format!("{topology}/thread_siblings_list"));
                // Kernels before 2.6.26 have only the mask.
                let siblings = match list {
                    Some(list) => list.parse::<CpuList>().ok()?,
                    None => {
                        CpuList::from_mask(&context.text(&format!("{topology}/thread_siblings"))?).ok()?
                    }
                };
                Some((cpu, siblings.intersection(&context.online)))
            })
            .collect();
        let shared = pairs.iter().filter(|(_, siblings)| siblings.len() > 1).count();
        if shared == 0 {
            let control = context.text(CONTROL);
            let has_them = control.is_some_and(|text| ["on", "off", "forceoff"].contains(&text.as_str()));
            return if pairs.is_empty() && context.text(ACTIVE).is_none() {
                Inspection::absent("nothing here tells which CPUs are siblings")
            } else if context.live && !has_them {
                // A host's siblings run others all the same: that is not quiet, and not to be set from here.
                Inspection::absent(
                    "no core shows two siblings: it has none, the firmware keeps them off, or a hypervisor hides them",
                )
            } else {
                Inspection::steady("no core shows two siblings")
            };
        }
        let now = format!("on: {shared} of {} CPUs share a core", pairs.len());
        if context.quiet.is_empty() {
            return match Change::plan(context.files, self.name(), CONTROL, ValueSyntax::Word, "off") {
                Ok(Some(change)) if change.old == "on" => {
                    Inspection::noisy(now, "off", Adjustment::Write(vec![change]))
                }
                Ok(_) => Inspection::noisy(
                    now,
                    "off",
                    Adjustment::Manual("in the firmware: SMT or hyper-threading off".to_owned()),
                ),
                Err(refusal) if refusal.is_missing() => Inspection::noisy(
                    now,
                    "off",
                    Adjustment::Manual("in the firmware: SMT or hyper-threading off".to_owned()),
                ),
                Err(refusal) => Inspection::unseen(&refusal),
            };
        }
        let mut off = CpuList::new();
        for (cpu, siblings) in &pairs {
            if context.quiet.contains(*cpu) {
                // Of siblings that are both to be quiet the first stays.
                let others = siblings.iter().filter(|other| other != cpu);
                for other in others {
                    if !context.quiet.contains(other) || other > *cpu {
                        off.insert(other);
                    }
                }
            }
        }
        if off.is_empty() {
            return Inspection::steady("the quiet CPUs have their cores to themselves");
        }
        let mut changes = Vec::new();
        let mut contents = CpuList::new();
        for cpu in off.iter() {
            let path = format!("/sys/devices/system/cpu/cpu{cpu}/online");
            match Change::plan(context.files, self.name(), &path, ValueSyntax::Word, "0") {
                Ok(change) => changes.extend(change),
                Err(refusal) if refusal.is_missing() => {
                    contents.insert(cpu);
                }
                Err(refusal) => return Inspection::unseen(&refusal),
            }
        }
        let adjustment = if changes.is_empty() {
            Adjustment::Manual(
                "choose CPUs on another core: the kernel keeps this one's siblings online".to_owned(),
            )
        } else {
            Adjustment::Write(changes)
        };
        let inspection = Inspection::noisy(now, format!("{} off", name_cpus(&off)), adjustment);
        if contents.is_empty() {
            inspection
        } else {
            inspection.note(format!("the kernel keeps {} online", name_cpus(&contents)))
        }
    }
}
