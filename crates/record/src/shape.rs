//! The true shape of a machine: which CPUs are near each other, from looks of a few milliseconds between all other
//! measurements, and what a series of them shows.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::CpuList;
use crate::share::Share;

/// Looks at the same CPUs, in chronological order.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Looks {
    /// The CPUs, ascending.
    pub cpus: Vec<u32>,
    /// The pairs, as positions in `cpus`; absent if every pair was measured: 0-1, 0-2, … 1-2, ….
    pub pairs: Option<Vec<(u32, u32)>>,
    /// The looks.
    pub looks: Vec<Look>,
}

/// Where the CPUs were within a few milliseconds.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Look {
    /// When it began, seconds from the start of the run.
    pub at_seconds: f64,
    /// Its duration, ms.
    pub took_ms: f64,
    /// Whether all CPUs were busy until then: a host places busy CPUs differently.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub busy: bool,
    /// Latency of a cache line from one CPU of a pair to the other, ns, the minimum of a few short blocks; null if a side
    /// did not run.
    pub line_ns: Vec<Option<f64>>,
    /// Latency of a load from memory by each CPU, ns, all from the same page; null if it did not run. Empty if lines cannot be
    /// flushed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub memory_ns: Vec<Option<f64>>,
    /// Pairs that computed at the same time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub contended: Vec<Contended>,
}

/// Two CPUs that each kept one execution unit busy, alone and simultaneously.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Contended {
    /// The CPUs, the lower one first.
    pub pair: (u32, u32),
    /// The loop's time beside the other over its time alone: 1 on separate cores, 2 on one core.
    pub slowdown: f64,
}

impl Looks {
    /// The pairs as positions in `cpus`, in the order of each look's `line_ns`.
    pub fn positions(&self) -> Vec<(usize, usize)> {
        let n = self.cpus.len();
        match &self.pairs {
            Some(pairs) => {
                let inside = |at: u32| usize::try_from(at).ok().filter(|at| *at < n);
                pairs.iter().filter_map(|(a, b)| Some((inside(*a)?, inside(*b)?))).collect()
            }
            None => (0..n).flat_map(|a| (a + 1..n).map(move |b| (a, b))).collect(),
        }
    }
}

/// What the looks of a run show.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Shape {
    /// When these looks were taken, RFC 3339 in UTC, if in another run than the record's.
    pub looked_at: Option<String>,
    /// Conclusive looks.
    pub looks: u32,
    /// Their total time, relative to the run.
    pub cost: Option<f64>,
    /// Distances of CPUs on separate cores, nearest first.
    pub distances: Vec<Distance>,
    /// Whether CPUs keep their places.
    pub motion: Motion,
    /// Changes from one look to the next, of cores or domains.
    pub changes: u32,
    /// Pairs that shared a core in some look, the most frequent first.
    pub shared_cores: Vec<SharedCore>,
    /// Looks in which CPUs shared a core that Linux shows as separate cores.
    pub sharing: Option<Share>,
    /// The same for the looks right after all CPUs were busy.
    pub sharing_busy: Option<Share>,
    /// Siblings in Linux's topology that did not slow each other down.
    pub siblings_not_confirmed: Vec<(u32, u32)>,
    /// Looks in which the CPUs lay in several domains that Linux does not show.
    pub split: Option<Share>,
    /// Whether loads from the same page have two different latencies: from the node's own memory, and from another's.
    pub memory: Option<TwoDistances>,
    /// Linux's topology compared with the looks.
    pub topology: Topology,
    /// Each look's state, in order; absent for an inconclusive one.
    pub states: Vec<Option<ShapeState>>,
}

impl Shape {
    /// The same as the shape of another record, measured at that time.
    pub fn looked_on(self, started: &str) -> Self {
        Self { looked_at: Some(started.to_owned()), ..self }
    }

    /// Whether Linux shows separate cores for these CPUs, which shared one.
    pub fn hides(&self, core: &CpuList) -> bool {
        let inside = |one: &&SharedCore| core.contains(one.pair.0) && core.contains(one.pair.1);
        self.shared_cores.iter().filter(inside).any(|one| !one.shown)
    }

    /// How many cores these CPUs had: each number with its number of looks, the fewest first.
    pub fn cores_of(&self, cpus: &CpuList) -> BTreeMap<usize, usize> {
        let mut counts = BTreeMap::new();
        for state in self.states.iter().flatten() {
            *counts.entry(state.cores_of(cpus)).or_default() += 1;
        }
        counts
    }
}

impl ShapeState {
    /// How many cores these CPUs had.
    pub fn cores_of(&self, cpus: &CpuList) -> usize {
        let shared = self.cores.iter().map(|core| core.intersection(cpus).len().saturating_sub(1));
        cpus.len().saturating_sub(shared.sum())
    }
}

/// A class of distances.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Distance {
    /// The median, ns one way.
    pub median_ns: f64,
    /// The lowest, ns.
    pub low_ns: f64,
    /// The highest, ns.
    pub high_ns: f64,
    /// Its share of all pairs of all looks.
    pub share: f64,
}

/// Whether CPUs keep their places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Motion {
    /// Too few looks.
    #[default]
    Unknown,
    /// All looks agree.
    Pinned,
    /// They do not agree.
    Floating,
}

/// Two CPUs on one core.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SharedCore {
    /// The CPUs.
    pub pair: (u32, u32),
    /// In how many looks.
    pub looks: u32,
    /// Whether Linux shows them as siblings.
    pub shown: bool,
}

/// Loads from one page by CPUs near its memory and far from it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TwoDistances {
    /// A load by a near CPU, median, ns.
    pub near_ns: f64,
    /// By a far one.
    pub far_ns: f64,
    /// The share of the CPUs' loads that were far.
    pub far: Share,
}

/// Linux's topology, compared with the looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Topology {
    /// Too few looks, or nothing to compare.
    #[default]
    Unknown,
    /// The looks show the same domains as Linux.
    AsShown,
    /// CPUs that Linux shows together lie apart.
    Finer,
    /// CPUs that Linux shows apart lie together.
    Coarser,
    /// The measured domains cross those that Linux shows, or change.
    Crossing,
}

/// Where the CPUs were in one look.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ShapeState {
    /// CPUs that shared a core, one list per core.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cores: Vec<CpuList>,
    /// For each bound between classes of distances, nearest first: the CPUs nearer to each other than the bound, one list per
    /// domain. Bounds at which a CPU moved within the look are left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub domains: Vec<Vec<CpuList>>,
    /// CPUs that were far from the memory of the looks' page.
    #[serde(skip_serializing_if = "CpuList::is_empty")]
    pub far_from_memory: CpuList,
}
