//! The method for measuring wake-ups, by default the method of cyclictest.

use crate::budget::Depth;

/// The method for measuring wake-ups.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wakeups {
    /// Interval between wake-ups, ns.
    pub interval_ns: u32,
    /// The priority of SCHED_FIFO; 0 to use only SCHED_OTHER.
    pub priority: u8,
    /// Total duration; if not given, it depends on the depth.
    pub seconds: Option<f64>,
    /// Whether to use only cyclictest's setting for the whole time: SCHED_FIFO with idle states disabled, if these are
    /// allowed.
    pub as_cyclictest: bool,
}

impl Wakeups {
    /// cyclictest's default interval, and the priority that its manual and most reports use.
    pub const USUAL: Self =
        Self { interval_ns: 1_000_000, priority: 80, seconds: None, as_cyclictest: false };

    pub(crate) fn interval(self) -> i64 {
        i64::from(self.interval_ns.max(1))
    }

    pub(crate) fn seconds(self, depth: Depth) -> f64 {
        self.seconds.unwrap_or_else(|| depth.pick(1.1, 7.2, 58.0))
    }
}
