//! Whether cycles and instructions may stay on the PMU, found out by trying, once.

use std::sync::OnceLock;

use super::attr::{Mode, Whose};
use super::events::{self, HARDWARE_GROUPS};
use super::group::{Group, Opener, Wish};
use super::reading::Tally;
use super::refusal::{self, Scope};

/// Whether cycles and instructions may stay on the PMU all the time: a pair of events must still have its turn beside
/// them. Small PMUs (four counters, two of them ours, one a watchdog's) have no room for that.
pub(super) fn may_pin() -> bool {
    static PIN: OnceLock<bool> = OnceLock::new();
    *PIN.get_or_init(|| {
        let here = refusal::surroundings();
        if here.units.as_ref().is_none_or(|units| units.len() != 1) {
            return false;
        }
        let mut opener = Opener::new(Whose::Thread(0), Scope::Own, Mode::default(), here);
        opener.open(&Wish { pinned: true, ..Wish::plain(events::CORE_GROUP) });
        // The first pair that this PMU has.
        let pairs = HARDWARE_GROUPS[1..].iter().filter(|names| names.len() == 2);
        for names in pairs {
            if opener.groups.len() < 2 {
                opener.open(&Wish::plain(names));
            }
        }
        if opener.groups.len() < 2 {
            return false;
        }
        opener.groups.iter().for_each(Group::enable);
        // Enabling puts a group on the PMU at once if it fits; time passes with the calls themselves.
        opener.groups.iter().rev().for_each(Group::disable);
        let mut tally = Tally::default();
        opener.groups.iter().for_each(|group| group.read(&mut tally));
        let reading = tally.reading();
        !reading.counts.is_empty() && reading.not_counted.is_empty()
    })
}
