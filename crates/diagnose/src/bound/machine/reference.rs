//! The reference values for judging a recorded machine.

use record::command_run::Ceilings;
use record::live::Probe;

/// Memory counts as busy if the probe's latency exceeds the idle latency by this factor; the latency of idle machines
/// varies less.
pub(super) const HEARD: f64 = 1.3;

/// Variation of the probe's latency over time at constant load: on idle machines, it varies by 5 % within a few minutes (111 to 118 ns
/// and 146 to 153 ns on two guests).
const REPEATED: f64 = 1.05;

/// The machine's own earlier results, used for comparison.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reference {
    /// The machine's ceilings and the probe's curve, from a record.
    pub ceilings: Ceilings,
    /// The probe's latency before the recording, ns, if there is no record; the machine may not have been idle at that
    /// time.
    pub calibrated_ns: Option<f64>,
}

impl Reference {
    /// The probe's latency without load, ns.
    pub fn idle_ns(&self) -> Option<f64> {
        self.ceilings.probe.first().map(|point| point.ns).or(self.calibrated_ns)
    }

    /// Memory load at this probe latency, as a share of the highest load, interpolated linearly between the
    /// curve's points. The load is 1 beyond the end of the curve, and `None` if the curve hardly rises, for instance if the allowed CPUs
    /// cannot saturate memory.
    pub fn fill(&self, ns: f64) -> Option<f64> {
        let curve = &self.ceilings.probe;
        let most = curve.last()?.bandwidth;
        // Latency only rises with load; a drop means that the host's other guests used less memory bandwidth at that point.
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

    /// The possible range of bandwidth in use, derived from the interval of the slowest node's probe latency and widened by the uncertainty
    /// of the curve.
    pub fn fill_interval(&self, probe: &Probe) -> Option<(f64, f64)> {
        let (node, ns) = probe.slowest()?;
        let (low, high) = probe.latency_interval_ns.get(&node).copied().unwrap_or((ns, ns));
        // A latency below that of an idle machine counts as idle.
        let high = high.max(self.idle_ns()?);
        Some((self.fill(low / REPEATED)?, self.fill(high * REPEATED)?))
    }
}
