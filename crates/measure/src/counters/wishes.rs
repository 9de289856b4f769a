//! Determines which events are opened together: the groups of each set on this machine.

use machine::Root;

use super::events;
use super::group::{Wish, may_pin};
use super::{refusal, top_down};

/// A set of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Set {
    /// Cycles and instructions, in one group.
    Core,
    /// Software events: time, switches, migrations, faults.
    Software,
    /// Only the events that the kernel does not account per process, or that its accounting already counts before the process starts its
    /// program. The set is as small as possible, because the kernel patches its code twice for each event that is not yet in use.
    Unaccounted,
    /// Every event of [`super::EVENTS`], and top-down analysis if the CPU supports it. The groups take turns on the counters.
    Full,
}

impl Set {
    /// The software events, the groups of hardware events, and whether top-down analysis is included.
    fn parts(self) -> (&'static [&'static str], &'static [&'static [&'static str]], bool) {
        match self {
            Set::Core => (&[], &[events::CORE_GROUP], false),
            Set::Software => (events::SOFTWARE_GROUP, &[], false),
            Set::Unaccounted => (events::UNACCOUNTED_GROUP, &[], false),
            Set::Full => (events::SOFTWARE_GROUP, events::HARDWARE_GROUPS, true),
        }
    }
}

/// The events of a set whose names are the same on every machine.
pub(super) fn named_events(set: Set) -> impl Iterator<Item = &'static str> {
    let (software, hardware, _) = set.parts();
    software.iter().chain(hardware.iter().copied().flatten()).copied()
}

/// The groups of a set on this machine, most important first.
pub(super) fn group_wishes(set: Set) -> Vec<Wish> {
    let (software, hardware, top_down) = set.parts();
    let mut wishes = Vec::new();
    if !software.is_empty() {
        wishes.push(Wish::plain(software));
    }
    if !hardware.is_empty() {
        wishes.extend(hardware_wishes(hardware));
    }
    if top_down {
        wishes.extend(top_down::plan().into_iter().flat_map(|plan| plan.groups.iter().map(Wish::from)));
    }
    wishes
}

/// The requests for these groups, one per kind of core on this machine. Cycles and instructions are counted permanently, without taking
/// turns, if the PMU has enough counters.
pub(super) fn hardware_wishes(groups: &[&[&str]]) -> Vec<Wish> {
    let units = refusal::surroundings().units.as_deref().unwrap_or_default();
    if units.len() < 2 {
        let pinned = |names: &[&str]| names == events::CORE_GROUP && may_pin();
        return groups.iter().map(|names| Wish { pinned: pinned(names), ..Wish::plain(names) }).collect();
    }
    let root = Root::live();
    let on_units = groups.iter().flat_map(|names| units.iter().map(move |unit| (names, unit)));
    on_units.map(|(names, unit)| Wish::on_unit(names, unit, |name| unit.event(&root, name))).collect()
}
