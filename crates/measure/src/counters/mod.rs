//! Performance counters, used directly through `perf_event_open`: events in groups, with the share of time for which
//! each was counted.
//!
//! Opening never fails as a whole. Refusals by a PMU, the kernel's settings or a container are listed with their
//! reasons ([`Counters::refused`]), and the rest is counted. Without a PMU, the software events remain.

mod attr;
mod events;
mod group;
mod pmu;
mod probe;
mod reading;
mod records;
mod refusal;
mod sampling;
mod top_down;
mod uncore;
mod whole;
mod wishes;

use record::{Text, text};

use attr::{Mode, Whose};
use group::{Group, Opener};
use reading::Tally;
use refusal::Scope;
use wishes::{group_wishes, named_events};

pub use events::{EVENTS, Event, find};
pub use probe::{Availability, NO_COUNTERS, availability};
pub use reading::{Count, Reading};
pub use records::measurements;
pub(crate) use records::{counts, shares};
#[cfg(test)]
pub(crate) use sampling::REGISTERS;
pub(crate) use sampling::{Noted, Sample, Sampler};
pub use top_down::TopDown;
pub use uncore::{Carried, Uncore};
pub use whole::{CpuCounters, CpuReading};
pub use wishes::Set;

/// The target whose events are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// The calling thread.
    ThisThread,
    /// Events of the thread `pid`, which is the whole process if it has no other threads yet.
    Process {
        /// The process.
        pid: i32,
        /// Whether threads and processes that the target starts from now on are also counted.
        inherit: bool,
        /// Whether counting begins when the target calls exec, so that the parent's preparations are not counted.
        enable_on_exec: bool,
    },
}

/// Open counters. They start counting at [`Counters::enable`] (or at exec), and are closed on drop.
#[derive(Debug)]
pub struct Counters {
    groups: Vec<Group>,
    refused: Vec<(&'static str, Text)>,
}

impl Counters {
    /// Opens as many events of `set` as possible for `target`; [`Counters::refused`] lists the others.
    ///
    /// Each event costs some microseconds in the kernel. If no other counters are active on the machine, the first
    /// event of a thread or process costs some milliseconds more, because the kernel patches its scheduler. The kernel
    /// reverts the patch one second after the last event is closed.
    pub fn open(target: Target, set: Set) -> Counters {
        Self::open_mode(target, set, false)
    }

    /// Like [`Counters::open`], but counts only user mode, so that instructions of interrupt handlers are not counted.
    pub fn open_user(target: Target, set: Set) -> Counters {
        Self::open_mode(target, set, true)
    }

    fn open_mode(target: Target, set: Set, user_only: bool) -> Counters {
        let (pid, scope, wanted) = match target {
            Target::ThisThread => (0, Scope::Own, Mode::default()),
            Target::Process { pid, inherit, enable_on_exec } => {
                (pid, Scope::Process(pid), Mode { inherit, enable_on_exec, ..Mode::default() })
            }
        };
        let mut opener =
            Opener::new(Whose::Thread(pid), scope, Mode { user_only, ..wanted }, refusal::surroundings());
        // 0 and negative numbers do not identify a process, but would count the caller or everything.
        if matches!(target, Target::Process { pid: ..=0, .. }) {
            for wish in group_wishes(set) {
                for (event, _) in wish.events {
                    opener.refuse(event, text!("there is no such process"));
                }
            }
        } else {
            group_wishes(set).iter().for_each(|wish| opener.open(wish));
        }
        // An event is refused only if it is open on no kind of core: one kind may count events that another does not,
        // and an event may have no encoding for any kind.
        for event in named_events(set) {
            if !opener.groups.iter().any(|group| group.has(event)) {
                opener.refuse(event, refusal::NOT_COUNTED.into());
            }
        }
        let open = |event: &str| opener.groups.iter().any(|group| group.has(event));
        let refused = opener.refused.iter().filter(|(event, _)| !open(event)).cloned().collect();
        Counters { refused, groups: opener.groups }
    }

    /// Starts counting.
    pub fn enable(&self) {
        self.groups.iter().for_each(Group::enable);
    }

    /// Reads the counts since the start.
    pub fn read(&self) -> Reading {
        let mut tally = Tally::default();
        self.groups.iter().for_each(|group| group.read(&mut tally));
        tally.reading()
    }

    /// Unavailable events, each with the reason.
    pub fn refused(&self) -> &[(&'static str, Text)] {
        &self.refused
    }

    /// Whether no event is counted.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }
}

#[cfg(test)]
mod live_tests;
