//! What can be counted here, found out by trying, once.

use std::sync::OnceLock;

use record::{Template, Unavailable};

use super::attr::{Mode, Whose};
use super::events::{self, HARDWARE_GROUPS};
use super::group::{Group, Opener, Wish};
use super::reading::Tally;
use super::refusal::{self, Scope};
use super::wishes::hardware_wishes;

/// Why nothing is counted, where nothing else is known of it.
pub const NO_COUNTERS: Template = Template { code: "counters-none", words: "no hardware counters" };

/// Which counters this machine gives to this user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Availability {
    /// Whether the CPU's cycles can be counted.
    pub pmu: bool,
    /// Why not, with the setting that is at fault, and what would change that.
    pub refusal: Option<Unavailable>,
}

/// What can be counted here; looked at once.
pub fn availability() -> &'static Availability {
    static HERE: OnceLock<Availability> = OnceLock::new();
    HERE.get_or_init(probe_counters)
}

fn probe_counters() -> Availability {
    let here = refusal::surroundings();
    let mut opener = Opener::new(Whose::Thread(0), Scope::Own, Mode::default(), here);
    for wish in hardware_wishes(HARDWARE_GROUPS) {
        opener.open(&wish);
    }
    let pmu = !opener.groups.is_empty();
    // The remedy belongs to the same failure: asked for again, with the error at hand.
    let refusal = if pmu { None } else { opener.first_refusal(&Wish::plain(events::CORE_GROUP)) };
    Availability { pmu, refusal }
}

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
