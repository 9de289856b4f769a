//! What can be counted here, found out by trying, once.

use std::sync::OnceLock;

use record::{Template, Unavailable};

use super::attr::{Mode, Whose};
use super::events::{self, HARDWARE_GROUPS};
use super::group::{Opener, Wish};
use super::refusal::{self, Scope};
use super::wishes::hardware_wishes;

/// Why nothing is counted, where nothing else is known of it.
pub const NO_COUNTERS: Template = Template::new("counters-none", "no hardware counters");

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
