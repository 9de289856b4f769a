//! Samples of instructions and their registers: what programs wait for in user mode, without a counter.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::diagnosis::BoundKind;
use crate::share::Share;

/// The memory that loads wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MemoryLevel {
    /// Cache of one core.
    L2,
    /// The last-level cache.
    L3,
    /// Memory of the node.
    Dram,
    /// Memory of another node.
    Remote,
    /// Beyond a core's own caches; the end of the last-level cache was not measured here.
    CachesOrMemory,
}

/// The kernel's work for a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KernelTime {
    /// The kind of work.
    pub kind: BoundKind,
    /// Its share of the samples.
    pub share: Share,
}

/// What samples of user mode wait for.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Sampled {
    /// Number of samples: of the interval, or of the last 10 s if that is longer.
    pub samples: u64,
    /// Those whose instructions could not be read or decoded. All shares exclude them.
    pub undecoded: u64,
    /// Those that the kernel dropped for lack of room.
    pub lost: u64,
    /// At loads, from any memory.
    pub loads: Share,
    /// At accesses to more memory than fits the caches.
    pub far: Share,
    /// The part of `far` whose memory lies on another node than the CPU.
    pub remote: Share,
    /// The part of `far` that accesses memory sequentially.
    pub sequential: Share,
    /// At loads from memory that fits the last-level cache but not a core's own.
    pub last_cache: Share,
    /// At loads from memory that fits the second-level cache but not the first.
    pub own_cache: Share,
    /// At loads with an unknown address: they may belong to any of these.
    pub hidden: Share,
    /// At cache lines that several threads access on several CPUs, at least one of them writing.
    pub shared: Share,
    /// In loops that wait for another thread.
    pub spinning: Share,
    /// Behind atomic instructions and fences.
    pub atomic: Share,
    /// Behind divisions and square roots.
    pub long: Share,
    /// Behind floating-point additions and multiplications.
    pub float: Share,
    /// At jump targets without anything to wait for: mispredicted branches, and code to fetch.
    pub jumps: Share,
    /// The memory accessed by `far`, bytes; if there is none, that of the loads that wait for a cache.
    pub working_set: Option<f64>,
    /// Where most of that memory lies.
    pub level: Option<MemoryLevel>,
    /// The latency of such a load by this machine's own latency curve, ns.
    pub load_ns: Option<f64>,
    /// Samples of the kernel; none if this user may not sample it.
    pub in_kernel: u64,
    /// The work in these, most first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kernel: Vec<KernelTime>,
}

impl Sampled {
    /// Number of decoded samples.
    pub fn decoded(&self) -> u64 {
        self.samples.saturating_sub(self.undecoded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_seen_is_not_nothing() {
        assert_eq!((Share::of(0, 0, 0).low, Share::of(0, 0, 0).high), (0.0, 1.0));
        let none = Share::of(0, 100, 0);
        assert!(none.low == 0.0 && (0.03..0.04).contains(&none.high), "{none:?}");
        // As R's prop.test(61, 100, correct = FALSE) has it.
        let some = Share::of(61, 100, 0);
        assert!((some.low - 0.512).abs() < 1e-3 && (some.high - 0.6998).abs() < 1e-3, "{some:?}");
        // Undecided samples may be part of it.
        let open = Share::of(0, 100, 40);
        assert!(open.low == 0.0 && open.high > 0.45, "{open:?}");
    }

    proptest::proptest! {
        #[test]
        fn a_share_lies_in_its_interval(all in 1_u64..5000, of in 0.0..=1.0_f64, untold in 0_u64..5000) {
            let count = (of * all as f64) as u64;
            let share = Share::of(count, all, untold);
            proptest::prop_assert!(share.low <= share.share + 1e-12 && share.share <= share.high + 1e-12);
            proptest::prop_assert!(share.high > 0.0 && share.high <= 1.0 && share.low >= 0.0);
        }
    }
}
