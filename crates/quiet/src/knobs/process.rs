//! Settings that affect only the command: nice, SCHED_FIFO, ionice, fixed addresses.

use crate::files::Files;
use crate::knob::{Adjustment, Inspection, Knob, KnobContext, ProcessSetting, Seen};
use crate::process_settings::process::ProcessAttributes;
use record::{Text, text};

/// The lowest possible nice value, which has the highest weight.
const NICEST: i32 = -20;

/// The nice value for a command. This is the lowest value that this user may set or, if that is not lower than the
/// current value, the lowest value that root may set.
pub fn lowest_nice_value(own: &ProcessAttributes) -> i32 {
    if own.lowest_nice < own.nice { own.lowest_nice } else { NICEST }
}

const AUTOGROUPS: &str = "/proc/sys/kernel/sched_autogroup_enabled";

/// The scope of a nice value; `None` if the value has an effect on all tasks. The scope may be limited because the
/// scheduler first weighs groups, and then weighs tasks only within a group. If autogroups are enabled, tasks without a
/// separate control group are grouped by session (sched(7)).
pub fn nice_scope_limit(files: &dyn Files) -> Option<Text> {
    if let Some(group) = group_of_its_own(files) {
        Some(text!(
            "quiet-nice-within-cgroup",
            "the cgroup {group} has its own CPU weight, so nice applies only within that cgroup; to outrank \
             other tasks, use the knob fifo or raise the cgroup's weight"
        ))
    } else if files.read(AUTOGROUPS).is_ok_and(|text| text == "1") {
        Some(text!(
            "quiet-nice-within-session",
            "tasks are grouped by session (sched_autogroup_enabled is 1), so nice applies only within the \
             session; to outrank other sessions, use the knob fifo or run sudo sysctl \
             kernel.sched_autogroup_enabled=0"
        ))
    } else {
        None
    }
}

/// The innermost control group of this process that has its own weight; `None` if that is the root.
fn group_of_its_own(files: &dyn Files) -> Option<String> {
    let groups = files.read("/proc/self/cgroup").ok()?;
    // The lines are `4:cpu,cpuacct:/a` for cgroup v1 and `0::/a` for cgroup v2 (cgroups(7)).
    let find_path = |wanted: fn(&str) -> bool| {
        groups.lines().find_map(|line| {
            let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
            controllers.split(',').any(wanted).then_some(path)
        })
    };
    if let Some(path) = find_path(|name| name == "cpu") {
        return (path != "/").then(|| path.to_owned());
    }
    // The real root group has no weight; a container's root group has one.
    let mut path = find_path(str::is_empty)?.trim_end_matches('/');
    loop {
        if files.read(&format!("/sys/fs/cgroup{path}/cpu.weight")).is_ok() {
            return Some(if path.is_empty() { "/" } else { path }.to_owned());
        }
        path = path.rsplit_once('/')?.0;
    }
}

pub(super) fn inspect_nice(_: &Knob, context: &KnobContext) -> Seen {
    let Some(own) = &context.own else { return Ok(None) };
    if own.nice == NICEST {
        return Ok(Some(Inspection::steady(NICEST.to_string())));
    }
    let to = lowest_nice_value(own);
    let setting = Adjustment::ProcessSetting(ProcessSetting::Nice(to));
    let mut inspection = Inspection::noisy(own.nice.to_string(), to.to_string(), setting);
    inspection.notes.extend(nice_scope_limit(context.files));
    Ok(Some(inspection))
}

/// The real-time priority, which is above all ordinary tasks and below the kernel's real-time threads (50 and more).
const PRIORITY: i32 = 1;

pub(super) fn inspect_fifo(_: &Knob, context: &KnobContext) -> Seen {
    let setting = Adjustment::ProcessSetting(ProcessSetting::Fifo(PRIORITY));
    Ok(context.own.as_ref().map(|own| match own.policy {
        libc::SCHED_FIFO | libc::SCHED_RR => Inspection::steady("real-time"),
        _ => Inspection::noisy("no", "SCHED_FIFO", setting),
    }))
}

pub(super) fn inspect_io(_: &Knob, context: &KnobContext) -> Seen {
    let Some((class, level)) = context.own.as_ref().and_then(|own| own.io) else { return Ok(None) };
    let now = match class {
        0 => "none".to_owned(),
        1 => format!("real-time {level}"),
        2 => format!("best effort {level}"),
        _ => "idle".to_owned(),
    };
    let setting = Adjustment::ProcessSetting(ProcessSetting::IoPriority(0));
    Ok(Some(match (class, level) {
        (1, _) | (2, 0) => Inspection::steady(now),
        _ => Inspection::noisy(now, "best effort 0", setting),
    }))
}

pub(super) fn inspect_aslr(_: &Knob, context: &KnobContext) -> Seen {
    let setting = Adjustment::ProcessSetting(ProcessSetting::FixedAddresses);
    Ok(context.text("/proc/sys/kernel/randomize_va_space").map(|value| match value.as_str() {
        "0" => Inspection::steady(text!("off for all programs")),
        _ => Inspection::noisy("on", text!("off for the command"), setting),
    }))
}
