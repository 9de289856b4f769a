//! What can be counted here, found out by trying, once.

use std::sync::OnceLock;

use super::attr::Mode;
use super::events::{self, EVENTS, Event, HARDWARE_GROUPS};
use super::group::{Group, Opener, Wish};
use super::hardware_wishes;
use super::reading::Tally;
use super::refusal::{self, Scope};

/// Which counters this machine gives to this user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Availability {
    /// Whether the CPU's cycles can be counted.
    pub pmu: bool,
    /// Why not, one line; with the setting that is at fault.
    pub reason: Option<String>,
    /// What would change that.
    pub remedy: Option<String>,
    /// Hardware events of [`EVENTS`] that can be counted, by perf's names. The kernel's own are not tried: where nobody
    /// counts anything, the first event that can be had keeps its caller for ten milliseconds and more.
    pub supported: Vec<&'static str>,
    /// Whether only user mode can be counted.
    pub user_only: bool,
}

/// What can be counted here; looked at once.
pub fn availability() -> &'static Availability {
    static HERE: OnceLock<Availability> = OnceLock::new();
    HERE.get_or_init(probe_counters)
}

fn probe_counters() -> Availability {
    let here = refusal::surroundings();
    let mut opener = Opener::new(0, -1, Scope::Own, Mode::default(), here);
    for wish in hardware_wishes(HARDWARE_GROUPS) {
        opener.open(&wish);
    }
    let user_only = opener.user_only();
    let had = |event: &&Event| opener.groups.iter().any(|group| group.has(event.name));
    let supported: Vec<&'static str> = EVENTS.iter().filter(had).map(|event| event.name).collect();
    let pmu = !opener.groups.is_empty();
    // The remedy belongs to the same failure: asked for again, with the error at hand.
    let refusal = if pmu { None } else { opener.first_refusal(&Wish::plain(events::CORE_GROUP)) };
    Availability {
        pmu,
        reason: refusal.as_ref().map(|refusal| refusal.reason.clone()),
        remedy: refusal.and_then(|refusal| refusal.remedy),
        supported,
        user_only,
    }
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
        let mut opener = Opener::new(0, -1, Scope::Own, Mode::default(), here);
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
