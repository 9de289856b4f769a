//! Knobs of the quiet CPUs: the command runs on them, and all other tasks on the remaining CPUs.

use record::{CpuList, text};

use crate::compound_change::CompoundChange;
use crate::knob::{Adjustment, Inspection, Knob, KnobContext, ProcessSetting, Seen};
use crate::value_syntax::{ValueSyntax, name_cpus};

pub(super) fn inspect_affinity(_: &Knob, context: &KnobContext) -> Seen {
    let quiet = &context.quiet;
    if quiet.is_empty() {
        let note = text!("--cpus LIST pins a command to those CPUs");
        return Ok(Some(Inspection::steady("on all CPUs").note(note)));
    }
    let setting = Adjustment::ProcessSetting(ProcessSetting::Affinity(quiet.clone()));
    let bound = context.own.as_ref().map(|own| &own.affinity).filter(|cpus| !cpus.is_empty());
    Ok(Some(match bound.filter(|cpus| cpus.is_subset(quiet)) {
        Some(cpus) => Inspection::steady(format!("on {}", name_cpus(cpus))),
        None => Inspection::noisy("on all CPUs", format!("on {}", name_cpus(quiet)), setting),
    }))
}

pub(super) fn inspect_shield(_: &Knob, context: &KnobContext) -> Seen {
    let shield = match &context.shield {
        None if !context.live => return Ok(None),
        None => {
            let note = text!("--cpus LIST with a command reserves those CPUs for the command");
            return Ok(Some(Inspection::steady("none").note(note)));
        }
        Some(Err(why)) => return Ok(Some(Inspection::absent(why.clone()))),
        Some(Ok(shield)) => shield,
    };
    let how = if shield.version == 2 {
        text!("an isolated cgroup v2 partition")
    } else {
        text!("two cgroup v1 cpusets; tasks already pinned to CPUs stay there")
    };
    let adjustment = Adjustment::Compound(CompoundChange::Shield(shield.clone()));
    Ok(Some(Inspection::noisy("shared", "reserved", adjustment).note(how)))
}

pub(super) fn inspect_isolation(_: &Knob, context: &KnobContext) -> Seen {
    let list = |path: &str| context.text(path).map(|text| text.parse::<CpuList>().unwrap_or_default());
    let Some(isolated) = list("/sys/devices/system/cpu/isolated") else { return Ok(None) };
    let tickless = list("/sys/devices/system/cpu/nohz_full").unwrap_or_default();
    let quiet = &context.quiet;
    let now = if isolated.is_empty() { "no CPU".to_owned() } else { name_cpus(&isolated) };
    Ok(Some(if quiet.is_empty() && isolated.is_empty() {
        Inspection::steady(now).note(text!("--cpus LIST inspects those CPUs"))
    } else if quiet.is_empty() {
        Inspection::steady(now)
    } else if quiet.is_subset(&isolated) && quiet.is_subset(&tickless) {
        Inspection::steady(format!("{now}, without the tick: {tickless}"))
    } else {
        let boot = format!("isolcpus=managed_irq,domain,{quiet} nohz_full={quiet} rcu_nocbs={quiet}");
        Inspection::noisy(now, name_cpus(quiet), Adjustment::BootParameters(boot))
    }))
}

const WORKQUEUE_CPUS: &str = "/sys/devices/virtual/workqueue/cpumask";

pub(super) fn inspect_workqueues(knob: &Knob, context: &KnobContext) -> Seen {
    if context.quiet.is_empty() {
        context.files.read(WORKQUEUE_CPUS)?;
        let note = text!("--cpus LIST moves this work to the other CPUs");
        return Ok(Some(Inspection::steady("on all CPUs").note(note)));
    }
    let rest = context.rest();
    let elsewhere = format!("on {}", name_cpus(&rest));
    Ok(Some(match knob.plan(context, WORKQUEUE_CPUS, ValueSyntax::CpuMask, &rest.to_mask())? {
        None => Inspection::steady(elsewhere),
        Some(change) if context.is_clear(&change.old) => Inspection::steady(text!("not on the quiet CPUs")),
        Some(change) => Inspection::noisy("on all CPUs", elsewhere, Adjustment::Write(vec![change])),
    }))
}

const INTERRUPTS_FOLDER: &str = "/proc/irq";

pub(super) fn inspect_interrupts(knob: &Knob, context: &KnobContext) -> Seen {
    let numbers = context.numbered(INTERRUPTS_FOLDER);
    if numbers.is_empty() {
        return Ok(None);
    }
    if context.quiet.is_empty() {
        let note = text!("--cpus LIST moves them to the other CPUs");
        return Ok(Some(Inspection::steady(text!("spread over all CPUs")).note(note)));
    }
    let rest = context.rest();
    let mut changes = Vec::new();
    let default = format!("{INTERRUPTS_FOLDER}/default_smp_affinity");
    match knob.plan(context, &default, ValueSyntax::CpuMask, &rest.to_mask()) {
        Ok(change) => changes.extend(change.filter(|change| !context.is_clear(&change.old))),
        Err(refusal) if refusal.is_missing() => {}
        Err(refusal) => return Err(refusal),
    }
    let (mut here, mut fixed) = (0u64, Vec::new());
    for number in &numbers {
        let path = format!("{INTERRUPTS_FOLDER}/{number}/smp_affinity_list");
        let Some(now) = context.text(&path).and_then(|text| text.parse::<CpuList>().ok()) else {
            continue;
        };
        if now.intersection(&context.quiet).is_empty() {
            continue;
        }
        here += 1;
        // If the kernel itself places an interrupt (such as the interrupt of a queue that serves one CPU), the affinity
        // cannot be written.
        if context.files.is_fixed(&path) {
            fixed.push(number.as_str());
            continue;
        }
        let left = now.difference(&context.quiet);
        let to = if left.is_empty() { &rest } else { &left };
        // An interrupt that has disappeared since it was listed does not count.
        changes.extend(knob.plan(context, &path, ValueSyntax::CpuList, &to.to_string()).ok().flatten());
    }
    let inspection = if !changes.is_empty() {
        let all = numbers.len();
        let now = text!("{here} of {all} may be delivered to the quiet CPUs");
        Inspection::noisy(now, format!("on {}", name_cpus(&rest)), Adjustment::Write(changes))
    } else if fixed.is_empty() {
        Inspection::steady(text!("none on the quiet CPUs"))
    } else {
        Inspection::steady(text!("none that can be moved"))
    };
    Ok(Some(if !fixed.is_empty() {
        inspection.note(text!(
            "these IRQs remain on the quiet CPUs, because only the kernel can move them: {irqs}",
            irqs = fixed.join(", ")
        ))
    } else if inspection.steadier.is_some() {
        inspection.note(text!("IRQs tied to one CPU cannot be moved"))
    } else {
        inspection
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_the_kernel_places_itself_is_left_and_named() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        for irq in [7, 36] {
            let file = folder.path().join(format!("proc/irq/{irq}/smp_affinity_list"));
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, "0-1\n").unwrap();
            let mode = if irq == 36 { 0o444 } else { 0o644 };
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        }
        let root = machine::Root::captured(folder.path()).unwrap();
        let context = KnobContext::new(&root, "1".parse().unwrap());
        let context = KnobContext { online: "0-1".parse().unwrap(), ..context };
        let inspection = crate::knobs::find("interrupts").unwrap().inspect(&context);
        let Adjustment::Write(changes) = &inspection.adjustment else { panic!("{inspection:?}") };
        let paths: Vec<&str> = changes.iter().map(|change| change.path.as_str()).collect();
        assert_eq!(paths, ["/proc/irq/7/smp_affinity_list"]);
        assert_eq!(inspection.notes[0].value("irqs"), Some(&"36".into()), "{inspection:?}");
    }
}
