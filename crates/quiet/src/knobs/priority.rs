//! The command before others: nice, SCHED_FIFO, ionice.

use crate::files::Files;
use crate::knob::{Adjustment, Inspection, Knob, KnobClass, KnobContext, ProcessSetting};
use crate::process_settings::process::ProcessAttributes;
use record::{Text, text};

/// The command's nice value (nice(7)).
#[derive(Debug)]
pub struct Nice;

/// The lowest there is: the most weight.
const NICEST: i32 = -20;

/// The nice value that a command is given: as low as this user may, if that is lower than its own, otherwise what root may.
pub fn lowest_nice_value(own: &ProcessAttributes) -> i32 {
    if own.lowest_nice < own.nice { own.lowest_nice } else { NICEST }
}

const AUTOGROUPS: &str = "/proc/sys/kernel/sched_autogroup_enabled";

/// Against whom a nice value counts, where that is not everybody: the scheduler weighs groups first, and tasks only within
/// one. Tasks of no control group's own are grouped by session where autogroups are on (sched(7)).
pub fn nice_scope_limit(files: &dyn Files) -> Option<Text> {
    if let Some(group) = group_of_its_own(files) {
        Some(text!(
            "quiet-nice-within-cgroup",
            "the cgroup {group} has its own CPU weight, so nice counts only against tasks of that cgroup; against others: the \
             knob fifo, or the cgroup's weight",
            group
        ))
    } else if files.read(AUTOGROUPS).is_ok_and(|text| text == "1") {
        Some(text!(
            "quiet-nice-within-session",
            "tasks are grouped by session (sched_autogroup_enabled is 1), so nice counts only within the session; against \
             others: the knob fifo, or sudo sysctl kernel.sched_autogroup_enabled=0"
        ))
    } else {
        None
    }
}

/// The nearest control group of this process with weights of its own; `None` where that is the root.
fn group_of_its_own(files: &dyn Files) -> Option<String> {
    let groups = files.read("/proc/self/cgroup").ok()?;
    // "4:cpu,cpuacct:/a" of version 1, "0::/a" of version 2 (cgroups(7)).
    let of = |wanted: fn(&str) -> bool| {
        groups.lines().find_map(|line| {
            let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
            controllers.split(',').any(wanted).then_some(path)
        })
    };
    if let Some(path) = of(|name| name == "cpu") {
        return (path != "/").then(|| path.to_owned());
    }
    // The root of all has no weight; that of a container has one.
    let mut path = of(str::is_empty)?.trim_end_matches('/');
    loop {
        if files.read(&format!("/sys/fs/cgroup{path}/cpu.weight")).is_ok() {
            return Some(if path.is_empty() { "/" } else { path }.to_owned());
        }
        path = path.rsplit_once('/')?.0;
    }
}

impl Knob for Nice {
    fn name(&self) -> &'static str {
        "nice"
    }

    fn glossary(&self) -> &'static str {
        "
            The command's weight against others that want the same CPU: -20 is the most.
            How: `setpriority`; below what this user has it needs root or RLIMIT_NICE.
            Moves: Nothing against tasks of other sessions where the kernel groups tasks by session
            (`kernel.sched_autogroup_enabled`), nor against those of other control groups where the command's
            has a share of the CPUs of its own: `fifo` does.
        "
    }

    fn class(&self) -> KnobClass {
        KnobClass::OtherTasks
    }

    fn effect(&self) -> Text {
        text!("quiet-nice-effect", "other tasks that want the CPU take turns with the command")
    }

    fn inspect(&self, context: &KnobContext) -> Inspection {
        let Some(own) = &context.own else { return not_captured() };
        if own.nice == NICEST {
            return Inspection::steady(NICEST.to_string());
        }
        let to = lowest_nice_value(own);
        let inspection = Inspection::noisy(
            own.nice.to_string(),
            to.to_string(),
            Adjustment::ProcessSetting(ProcessSetting::Nice(to)),
        );
        match nice_scope_limit(context.files) {
            Some(limits) => inspection.note(limits),
            None => inspection,
        }
    }
}

/// The command under SCHED_FIFO (sched(7)).
#[derive(Debug)]
pub struct Fifo;

/// Above all that is not real-time, and below what else is: the kernel's own threads of this class have 50 and more.
const PRIORITY: i32 = 1;

impl Knob for Fifo {
    fn name(&self) -> &'static str {
        "fifo"
    }

    fn glossary(&self) -> &'static str {
        "
            The command under SCHED_FIFO: before everything that is not real-time. Set only when it is named.
            How: Priority 1, which is above all ordinary tasks and below the kernel's own real-time threads.
            Moves: A command that never sleeps then keeps its CPU from everybody but for 50 ms of each second
            (`rt-runtime`); some machines stall.
        "
    }

    fn class(&self) -> KnobClass {
        KnobClass::OtherTasks
    }

    fn effect(&self) -> Text {
        text!(
            "quiet-fifo-effect",
            "under SCHED_FIFO only the kernel and other real-time threads take the CPU from the command"
        )
    }

    fn only_when_named(&self) -> bool {
        true
    }

    fn inspect(&self, context: &KnobContext) -> Inspection {
        let Some(own) = &context.own else { return not_captured() };
        if own.policy == libc::SCHED_FIFO || own.policy == libc::SCHED_RR {
            return Inspection::steady("real-time");
        }
        Inspection::noisy("no", "SCHED_FIFO", Adjustment::ProcessSetting(ProcessSetting::Fifo(PRIORITY))).note(text!(
            "quiet-fifo-never-sleeps",
            "a command that never sleeps keeps the CPU from all others, kernel threads included, except for the share of \
             rt-runtime: some machines stall then"
        ))
    }
}

/// The command's input and output (ioprio_set(2)).
#[derive(Debug)]
pub struct IoPriority;

impl Knob for IoPriority {
    fn name(&self) -> &'static str {
        "ionice"
    }

    fn glossary(&self) -> &'static str {
        r#"
            The command's place at a disk, before others of the class "best effort".
            How: `ioprio_set`; schedulers of disks without priorities (none, kyber) take no notice.
        "#
    }

    fn effect(&self) -> Text {
        text!(
            "quiet-ionice-effect",
            "where the I/O scheduler has priorities (bfq, mq-deadline), other tasks' reads may come before the command's"
        )
    }

    fn inspect(&self, context: &KnobContext) -> Inspection {
        let Some((class, level)) = context.own.as_ref().and_then(|own| own.io) else { return not_captured() };
        let now = match class {
            0 => "none".to_owned(),
            1 => format!("real-time {level}"),
            2 => format!("best effort {level}"),
            _ => "idle".to_owned(),
        };
        match (class, level) {
            (1, _) | (2, 0) => Inspection::steady(now),
            _ => Inspection::noisy(
                now,
                "best effort 0",
                Adjustment::ProcessSetting(ProcessSetting::IoPriority(0)),
            ),
        }
    }
}

fn not_captured() -> Inspection {
    Inspection::absent(text!(
        "quiet-command-unknown",
        "a captured tree does not show what a command would have"
    ))
}
