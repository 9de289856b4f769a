//! What programs wait for in user mode, derived from samples of instructions and registers, without hardware counters.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::JsonSchema;
use crate::diagnosis::BoundKind;
use crate::share::Share;

/// Where the data that loads wait for is located.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MemoryLevel {
    /// A private cache of the core.
    L2,
    /// The last-level cache.
    L3,
    /// Memory of the node on which the thread runs.
    Dram,
    /// Memory of another node.
    Remote,
    /// The last-level cache or memory; which of the two is unknown, because the size of the last-level cache was not
    /// measured here.
    CachesOrMemory,
}

/// The kernel's work for a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KernelTime {
    /// The kind of work.
    pub kind: BoundKind,
    /// The share of the samples that show this kind of work.
    pub share: Share,
}

/// What user-mode code waits for, according to samples.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Sampled {
    /// Number of samples in the interval, or in the last 10 s if that is longer.
    pub samples: u64,
    /// Samples whose instruction could not be read or decoded. All shares exclude them.
    pub undecoded: u64,
    /// Samples dropped by the kernel for lack of buffer space.
    pub lost: u64,
    /// Share of samples at loads, from caches or memory.
    pub loads: Share,
    /// Share of samples at accesses to a memory area larger than the caches.
    pub far: Share,
    /// The part of `far` that accesses memory on a node other than the CPU's.
    pub remote: Share,
    /// The part of `far` with sequential accesses.
    pub sequential: Share,
    /// Share of samples at loads from a memory area that fits in the last-level cache but not in the core's private caches.
    pub last_cache: Share,
    /// Share of samples at loads from a memory area that fits in the second-level cache but not in the first-level cache.
    pub own_cache: Share,
    /// Share of samples at loads with an unknown address; these loads may belong to any of the groups above.
    pub hidden: Share,
    /// Share of samples at cache lines that several threads on different CPUs access, with at least one thread writing.
    pub shared: Share,
    /// Share of samples in loops that wait for another thread.
    pub spinning: Share,
    /// Share of samples after atomic instructions and fences.
    pub atomic: Share,
    /// Share of samples after divisions and square roots.
    pub long: Share,
    /// Share of samples after floating-point additions and multiplications.
    pub float: Share,
    /// Share of samples at jump targets where nothing else explains the wait: mispredicted branches and instruction fetch.
    pub jumps: Share,
    /// Size of the memory area that `far` accesses, bytes; if `far` is empty, size of the area accessed by the loads that wait for a
    /// cache.
    pub working_set: Option<f64>,
    /// Where most of that memory area is located.
    pub level: Option<MemoryLevel>,
    /// Latency of a load from that memory area according to this machine's measured latency curve, ns.
    pub load_ns: Option<f64>,
    /// Samples in kernel mode; 0 if this user may not sample the kernel.
    pub in_kernel: u64,
    /// The kernel's work in these samples, largest share first.
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
        // The result of prop.test(61, 100, correct = FALSE) in R.
        let some = Share::of(61, 100, 0);
        assert!((some.low - 0.512).abs() < 1e-3 && (some.high - 0.6998).abs() < 1e-3, "{some:?}");
        // Undecided samples may belong to the share.
        let open = Share::of(0, 100, 40);
        assert!(open.low == 0.0 && open.high > 0.45, "{open:?}");
    }

    proptest::proptest! {
        #[test]
        fn a_share_lies_in_its_interval(all in 1_u64..5000, of in 0.0..=1.0_f64, untold in 0_u64..5000) {
            let share = Share::of((of * all as f64) as u64, all, untold);
            proptest::prop_assert!(share.low <= share.share + 1e-12 && share.share <= share.high + 1e-12);
            proptest::prop_assert!(share.high > 0.0 && share.high <= 1.0 && share.low >= 0.0);
        }
    }
}
