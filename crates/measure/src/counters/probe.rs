//! Determines once which events can be counted on this machine.

use std::sync::OnceLock;

use record::{Template, Unavailable};

use super::attr::{Mode, Whose};
use super::events::{self, HARDWARE_GROUPS};
use super::group::{Opener, Wish};
use super::refusal::{self, Scope};
use super::wishes::hardware_wishes;

/// The reason if no other is known.
pub const NO_COUNTERS: Template = Template::new("counters-none", "no hardware counters");

/// The counters available to this user on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Availability {
    /// Whether the CPU's cycles can be counted.
    pub pmu: bool,
    /// The reason if they cannot, with the responsible setting and the remedy.
    pub refusal: Option<Unavailable>,
}

/// The available counters; determined once.
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
    // The event is opened again to obtain the remedy that belongs to the same failure.
    let refusal = if pmu { None } else { opener.first_refusal(&Wish::plain(events::CORE_GROUP)) };
    Availability { pmu, refusal }
}
