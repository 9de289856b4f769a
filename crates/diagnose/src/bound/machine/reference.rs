//! What a machine that is watched is compared with.

use record::command_run::Ceilings;
use record::live::Probe;

/// The probe hears so much more than idle before memory is said to be busy: readings of an idle machine differ by less.
pub(super) const HEARD: f64 = 1.3;

/// By so much what the probe hears of one load may differ from one time to another: idle machines differ by 5 % in some minutes (111
/// to 118 ns and 146 to 153 ns on two guests).
const REPEATED: f64 = 1.05;

/// What a machine is compared with: its own figures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reference {
    /// Its ceilings, with the probe's curve, of a record.
    pub ceilings: Ceilings,
    /// What the probe heard before the recording, ns, where no record tells: the machine may not have been idle then.
    pub calibrated_ns: Option<f64>,
}

impl Reference {
    /// What the probe hears without load, ns.
    pub fn idle_ns(&self) -> Option<f64> {
        self.ceilings.probe.first().map(|point| point.ns).or(self.calibrated_ns)
    }

    /// How full memory is where the probe hears so much: the load at which it heard that, of the most, between the curve's
    /// points by a straight line. 1 beyond its end; `None` where the curve hardly rises, as where the CPUs that may be used do not
    /// fill the memory.
    pub fn fill(&self, ns: f64) -> Option<f64> {
        let curve = &self.ceilings.probe;
        let most = curve.last()?.bandwidth;
        // What is heard only rises with the load; where it was heard to fall, others were quieter.
        let mut rising: Vec<(f64, f64)> = Vec::new();
        for point in curve {
            let ns = rising.last().map_or(point.ns, |(_, before)| point.ns.max(*before));
            rising.push((point.bandwidth, ns));
        }
        let idle = rising.first()?.1;
        if rising.last()?.1 < HEARD * idle {
            return None;
        }
        if ns <= idle {
            return Some(0.0);
        }
        let between = rising.windows(2).find(|pair| pair[0].1 < ns && ns <= pair[1].1);
        let bandwidth = between.map_or(most, |pair| {
            pair[0].0 + (pair[1].0 - pair[0].0) * (ns - pair[0].1) / (pair[1].1 - pair[0].1)
        });
        (most > 0.0).then(|| (bandwidth / most).clamp(0.0, 1.0))
    }

    /// From how little to how much of the bandwidth may be in use: at the ends of the interval of what the probe heard of the slowest
    /// node, and by how much the curve itself may be off.
    pub fn fill_interval(&self, probe: &Probe) -> Option<(f64, f64)> {
        let (node, ns) = probe.slowest()?;
        let (low, high) = probe.latency_interval_ns.get(&node).copied().unwrap_or((ns, ns));
        // Quieter than an idle machine is idle.
        let high = high.max(self.idle_ns()?);
        Some((self.fill(low / REPEATED)?, self.fill(high * REPEATED)?))
    }
}
