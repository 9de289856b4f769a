//! Siblings: two threads on one core, each of which takes from the other.

use record::{CpuList, Template, Text, text};

use crate::change::Change;
use crate::knob::{Adjustment, Inspection, Knob, KnobContext};
use crate::value_syntax::{ValueSyntax, name_cpus};

/// `smt/control` for all cores, or, where CPUs are to be quiet, those siblings of theirs that are not (Documentation/ABI
/// sysfs-devices-system-cpu).
#[derive(Debug)]
pub struct Smt;

const IN_THE_FIRMWARE: Template =
    Template { code: "quiet-smt-in-firmware", words: "in the firmware: SMT or hyper-threading off" };
const CONTROL: &str = "/sys/devices/system/cpu/smt/control";
const ACTIVE: &str = "/sys/devices/system/cpu/smt/active";

impl Knob for Smt {
    fn name(&self) -> &'static str {
        "smt"
    }

    fn effect(&self) -> Text {
        text!(
            "quiet-smt-effect",
            "a task on the SMT sibling takes part of the core, and how much depends on that task"
        )
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
                Inspection::absent(text!("quiet-smt-absent", "no SMT siblings are listed"))
            } else if context.live && !has_them {
                // A host's siblings run others all the same: that is not quiet, and not to be set from here.
                Inspection::absent(text!(
                    "quiet-smt-no-siblings",
                    "no core shows two siblings: no SMT, off in the firmware, or hidden by a hypervisor"
                ))
            } else {
                Inspection::steady(text!("quiet-smt-off", "no core shows two siblings"))
            };
        }
        let now = text!("quiet-smt-on", "on: {shared} of {all} CPUs share a core", shared, all = pairs.len());
        if context.quiet.is_empty() {
            return match Change::plan(context.files, self.name(), CONTROL, ValueSyntax::Word, "off") {
                Ok(Some(change)) if change.old == "on" => {
                    Inspection::noisy(now, "off", Adjustment::Write(vec![change]))
                }
                Ok(_) => Inspection::noisy(now, "off", Adjustment::Manual(IN_THE_FIRMWARE.into())),
                Err(refusal) if refusal.is_missing() => {
                    Inspection::noisy(now, "off", Adjustment::Manual(IN_THE_FIRMWARE.into()))
                }
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
            return Inspection::steady(text!(
                "quiet-smt-no-sibling-used",
                "no other CPU shares a core with the quiet CPUs"
            ));
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
            Adjustment::Manual(text!(
                "quiet-smt-another-core",
                "choose CPUs on another core: the kernel keeps the siblings of this one online"
            ))
        } else {
            Adjustment::Write(changes)
        };
        let inspection = Inspection::noisy(now, format!("{} off", name_cpus(&off)), adjustment);
        if contents.is_empty() {
            inspection
        } else {
            inspection.note(text!(
                "quiet-smt-kept-online",
                "the kernel keeps {cpus} online",
                cpus = name_cpus(&contents)
            ))
        }
    }
}
