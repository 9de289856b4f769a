//! How noisy the machine is as it stands, in figures.

use measure::os_noise;
use os::Stop;
use record::difference::{Scale, compare_pairs};
use serde::{Deserialize, Serialize};

/// What was measured of the machine as it is; what could not be is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MeasuredNoise {
    /// How far two runs of the same work differ, a share: the machine's noise floor.
    pub floor: Option<f64>,
    /// What this kernel, its interrupts and other tasks take of a CPU's time: a share.
    pub taken_by_os: Option<f64>,
    /// What the hypervisor or the firmware takes.
    pub taken_below: Option<f64>,
    /// What anybody takes, where whose it is is not known.
    pub taken: Option<f64>,
    /// 99th percentile of wake-up latency, seconds.
    pub wakeup_p99: Option<f64>,
    /// How far the clock moves: a share.
    pub clock_spread: Option<f64>,
}

impl MeasuredNoise {
    /// Measures it now: half a second.
    pub fn measure(cpus: &[u32], stop: &Stop) -> Self {
        let block = os_noise::sample_block(cpus, stop);
        Self {
            floor: measure_floor(cpus, stop),
            taken_by_os: block.taken_by_os,
            taken_below: block.taken_below,
            taken: block.taken,
            wakeup_p99: block.wakeup_p99.map(|ns| ns / 1e9),
            clock_spread: block.clock_spread,
        }
    }

    /// Whether these can be what they say.
    pub fn is_sound(&self) -> bool {
        [self.floor, self.taken_by_os, self.taken_below, self.taken, self.wakeup_p99, self.clock_spread]
            .into_iter()
            .flatten()
            .all(|value| value.is_finite() && value >= 0.0)
    }
}

/// How far two runs of the same work differ here, on the last of the CPUs.
pub(crate) fn measure_floor(cpus: &[u32], stop: &Stop) -> Option<f64> {
    let rounds = os_noise::time_same_work(*cpus.last()?, stop);
    compare_pairs(&rounds, Scale::Ratio, 1, None).as_floor().floor
}
