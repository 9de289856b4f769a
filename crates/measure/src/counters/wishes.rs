//! Which events are asked for together: the groups of each set on this machine.

use machine::Root;

use super::events;
use super::group::Wish;
use super::{pinned, refusal, top_down};

/// Which events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Set {
    /// Cycles and instructions, in one group.
    Core,
    /// The kernel's own: time, switches, migrations, faults.
    Software,
    /// Of them those that the kernel's accounts of a process do not hold, or hold from before its program began: each event
    /// that nobody counts yet costs the kernel a change of its own code, twice.
    Unaccounted,
    /// Every event of [`super::EVENTS`], and top-down where the CPU gives it. Groups take turns on the counters.
    Full,
    /// Cycles, instructions and the events of top-down level 1.
    TopDown,
}

/// The events of a set that have a name on every machine.
pub(super) fn named_events(set: Set) -> impl Iterator<Item = &'static str> {
    let software: &[&'static str] = match set {
        Set::Software | Set::Full => events::SOFTWARE_GROUP,
        Set::Unaccounted => events::UNACCOUNTED_GROUP,
        Set::Core | Set::TopDown => &[],
    };
    let hardware: &[&[&'static str]] = match set {
        Set::Software | Set::Unaccounted => &[],
        Set::Core | Set::TopDown => &[events::CORE_GROUP],
        Set::Full => events::HARDWARE_GROUPS,
    };
    software.iter().chain(hardware.iter().copied().flatten()).copied()
}

/// The groups of a set on this machine, the most wanted first.
pub(super) fn group_wishes(set: Set) -> Vec<Wish> {
    let mut wishes = Vec::new();
    match set {
        Set::Software | Set::Full => wishes.push(Wish::plain(events::SOFTWARE_GROUP)),
        Set::Unaccounted => wishes.push(Wish::plain(events::UNACCOUNTED_GROUP)),
        Set::Core | Set::TopDown => {}
    }
    wishes.extend(match set {
        Set::Software | Set::Unaccounted => Vec::new(),
        Set::Core | Set::TopDown => hardware_wishes(&[events::CORE_GROUP]),
        Set::Full => hardware_wishes(events::HARDWARE_GROUPS),
    });
    if matches!(set, Set::TopDown | Set::Full) {
        wishes.extend(top_down::plan().into_iter().flat_map(|plan| plan.groups.iter().map(Wish::from)));
    }
    wishes
}

/// These groups for each kind of core of this machine; cycles and instructions stay on the PMU where they can.
pub(super) fn hardware_wishes(groups: &[&[&str]]) -> Vec<Wish> {
    let units = refusal::surroundings().units.as_deref().unwrap_or_default();
    if units.len() < 2 {
        let pinned = |names: &[&str]| names == events::CORE_GROUP && pinned::may_pin();
        return groups.iter().map(|names| Wish { pinned: pinned(names), ..Wish::plain(names) }).collect();
    }
    let root = Root::live();
    let on_units = groups.iter().flat_map(|names| units.iter().map(move |unit| (names, unit)));
    on_units.map(|(names, unit)| Wish::on_unit(names, unit, |name| unit.event(&root, name).ok())).collect()
}
