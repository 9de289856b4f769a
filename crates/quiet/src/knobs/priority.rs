//! The command before others: nice, SCHED_FIFO, ionice.

use crate::holds::process::Own;
use crate::knob::{Hold, Knob, Look, Scene, State, Way};

/// The command's nice value (nice(7)).
#[derive(Debug)]
pub struct Nice;

/// The lowest there is: the most weight.
const NICEST: i32 = -20;

/// The nice value that a command is given: as low as this user may, if that is lower than its own, otherwise what root may.
pub fn nicest(own: &Own) -> i32 {
    if own.lowest_nice < own.nice { own.lowest_nice } else { NICEST }
}

impl Knob for Nice {
    fn name(&self) -> &'static str {
        "nice"
    }

    fn effect(&self) -> &'static str {
        "whoever else wants the CPU takes it from the command in turn"
    }

    fn look(&self, scene: &Scene) -> Look {
        let Some(own) = &scene.own else { return not_told() };
        if own.nice == NICEST {
            return Look::steady(NICEST.to_string());
        }
        let to = nicest(own);
        Look::noisy(own.nice.to_string(), to.to_string(), Way::Hold(Hold::Nice(to)))
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

    fn effect(&self) -> &'static str {
        "under SCHED_FIFO nobody but the kernel and other real-time threads takes the CPU from the command"
    }

    fn only_when_named(&self) -> bool {
        true
    }

    fn look(&self, scene: &Scene) -> Look {
        let Some(own) = &scene.own else { return not_told() };
        if own.policy == libc::SCHED_FIFO || own.policy == libc::SCHED_RR {
            return Look::steady("real-time");
        }
        Look::noisy("no", "SCHED_FIFO", Way::Hold(Hold::Fifo(PRIORITY))).note(
            "a command that never sleeps keeps the CPU from everybody, the kernel's own work included, except for the share \
             that rt-runtime leaves: some machines stall then",
        )
    }
}

/// The command's input and output (ioprio_set(2)).
#[derive(Debug)]
pub struct IoPriority;

impl Knob for IoPriority {
    fn name(&self) -> &'static str {
        "ionice"
    }

    fn effect(&self) -> &'static str {
        "where the disk's scheduler knows priorities (bfq, mq-deadline), others' reads come before the command's"
    }

    fn look(&self, scene: &Scene) -> Look {
        let Some((class, level)) = scene.own.as_ref().and_then(|own| own.io) else { return not_told() };
        let now = match class {
            0 => "none".to_owned(),
            1 => format!("real-time {level}"),
            2 => format!("best effort {level}"),
            _ => "idle".to_owned(),
        };
        match (class, level) {
            (1, _) | (2, 0) => Look::steady(now),
            _ => Look::noisy(now, "best effort 0", Way::Hold(Hold::IoPriority(0))),
        }
    }
}

fn not_told() -> Look {
    let why = "a captured tree does not tell what a command would have".to_owned();
    Look { state: State::Absent(why), ..Look::absent("") }
}
