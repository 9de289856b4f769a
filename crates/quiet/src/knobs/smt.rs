//! SMT siblings: hardware threads that share a core and compete for its resources.

use record::{CpuList, text};

use crate::knob::{Adjustment, Inspection, Knob, KnobContext, Seen};
use crate::value_syntax::{ValueSyntax, name_cpus};

const CONTROL: &str = "/sys/devices/system/cpu/smt/control";
const ACTIVE: &str = "/sys/devices/system/cpu/smt/active";

pub(super) fn inspect(knob: &Knob, context: &KnobContext) -> Seen {
    let pairs: Vec<(u32, CpuList)> =
        context.online.iter().filter_map(|cpu| Some((cpu, siblings(context, cpu)?))).collect();
    let shared = pairs.iter().filter(|(_, siblings)| siblings.len() > 1).count();
    if shared == 0 {
        let control = context.text(CONTROL);
        let has_them = control.is_some_and(|text| ["on", "off", "forceoff"].contains(&text.as_str()));
        return Ok(if pairs.is_empty() && context.text(ACTIVE).is_none() {
            None
        } else if context.live && !has_them {
            // In a guest, other guests may still run on the siblings of the host CPUs that run this guest; the guest
            // cannot prevent this.
            Some(Inspection::absent(text!(
                "quiet-smt-no-siblings",
                "no core has two siblings: SMT is absent, disabled in the firmware, or hidden by a hypervisor"
            )))
        } else {
            Some(Inspection::steady(text!("no core has two siblings")))
        });
    }
    let now = text!(
        "quiet-smt-on",
        "on: {shared} of {all} CPUs share their core with another CPU",
        all = pairs.len()
    );
    if context.quiet.is_empty() {
        let adjustment = match knob.plan(context, CONTROL, ValueSyntax::Word, "off") {
            Ok(Some(change)) if change.old == "on" => Adjustment::Write(vec![change]),
            Err(refusal) if !refusal.is_missing() => return Err(refusal),
            _ => Adjustment::Manual(text!("disable SMT (hyper-threading) in the firmware")),
        };
        return Ok(Some(Inspection::noisy(now, "off", adjustment)));
    }
    // If both siblings of a core are to be kept quiet, the first one stays online.
    let goes = |cpu: u32, other: u32| other != cpu && (!context.quiet.contains(other) || other > cpu);
    let quiet = pairs.iter().filter(|(cpu, _)| context.quiet.contains(*cpu));
    let off: CpuList = quiet.flat_map(|(cpu, all)| all.iter().filter(|other| goes(*cpu, *other))).collect();
    if off.is_empty() {
        return Ok(Some(Inspection::steady(text!("no other CPU shares a core with the quiet CPUs"))));
    }
    let file = |cpu| format!("/sys/devices/system/cpu/cpu{cpu}/online");
    let changes = knob.plan_words(context, off.iter().map(file), "0")?.changes;
    let adjustment = if changes.is_empty() {
        Adjustment::Manual(text!(
            "quiet-smt-another-core",
            "choose CPUs on another core: the kernel keeps the siblings on this core online"
        ))
    } else {
        Adjustment::Write(changes)
    };
    let inspection = Inspection::noisy(now, format!("{} off", name_cpus(&off)), adjustment);
    let kept: CpuList = off.iter().filter(|cpu| context.text(&file(*cpu)).is_none()).collect();
    if kept.is_empty() {
        return Ok(Some(inspection));
    }
    let cpus = name_cpus(&kept);
    Ok(Some(inspection.note(text!("the kernel keeps {cpus} online"))))
}

pub(super) fn set_to(knob: &Knob, context: &KnobContext, value: &str, _: Option<&CpuList>) -> Seen {
    let change = knob.plan(context, CONTROL, ValueSyntax::Word, value)?;
    let now = change.as_ref().map(|change| change.old.clone()).unwrap_or_default();
    // `notsupported`, `notimplemented`, `forceoff`: the kernel accepts no value in these states.
    Ok(Some(if ["on", "off", ""].contains(&now.as_str()) {
        Inspection::towards(now, value, change.into_iter().collect())
    } else {
        Inspection::absent(text!("the kernel cannot switch SMT on this machine ({now})"))
    }))
}

/// The online CPUs on the same core.
fn siblings(context: &KnobContext, cpu: u32) -> Option<CpuList> {
    let list = context.text(&format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"))?;
    Some(list.parse::<CpuList>().ok()?.intersection(&context.online))
}
