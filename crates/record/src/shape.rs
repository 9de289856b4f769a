//! The true shape of a machine: which CPUs are near each other, in looks of a few milliseconds between all other measurements,
//! and what a series of them says.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::CpuList;
use crate::share::Share;

/// Looks at the same CPUs, in the order in which they were taken.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Looks {
    /// The CPUs, ascending.
    pub cpus: Vec<u32>,
    /// The pairs, as positions in `cpus`; absent where every pair was looked at: 0-1, 0-2, … 1-2, ….
    pub pairs: Option<Vec<(u32, u32)>>,
    /// The looks.
    pub looks: Vec<Look>,
}

/// Where the CPUs were within a few milliseconds.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Look {
    /// When it began, seconds from the run's begin.
    pub at_seconds: f64,
    /// How long it took, ms.
    pub took_ms: f64,
    /// Whether all CPUs had worked until then: a host places busy CPUs differently.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub busy: bool,
    /// A cache line from one CPU of a pair to the other, ns, the least of a few short blocks; null where a side did not run.
    pub line_ns: Vec<Option<f64>>,
    /// A load from memory by each CPU, ns, all of the same page; null where it did not run. Empty where lines cannot be flushed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub memory_ns: Vec<Option<f64>>,
    /// Pairs that computed at the same time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub contended: Vec<Contended>,
}

/// Two CPUs that each kept one execution unit busy, alone and at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Contended {
    /// The CPUs, the lower one first.
    pub pair: (u32, u32),
    /// How many times as long the loop took beside the other as alone: 1 on cores of their own, 2 on one core.
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

/// What the looks of a run say.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Shape {
    /// When these looks were taken, where that was another run than the record's: RFC 3339 in UTC.
    pub looked_at: Option<String>,
    /// Looks that say something.
    pub looks: u32,
    /// What they took together, relative to the run.
    pub cost: Option<f64>,
    /// Distances of CPUs with cores of their own, nearest first.
    pub distances: Vec<Distance>,
    /// Whether CPUs stay where they are.
    pub motion: Motion,
    /// Changes from one look to the next, of cores or domains.
    pub changes: u32,
    /// Pairs that shared a core in some look, the most frequent first.
    pub shared_cores: Vec<SharedCore>,
    /// Looks in which CPUs shared a core that Linux shows as cores of their own.
    pub sharing: Option<Share>,
    /// The same of the looks right after all CPUs had worked.
    pub sharing_busy: Option<Share>,
    /// Siblings that Linux shows and that took nothing from each other.
    pub siblings_not_confirmed: Vec<(u32, u32)>,
    /// Looks in which the CPUs lay in several domains that Linux does not show.
    pub split: Option<Share>,
    /// Whether loads from the same page take two different times: from the node's own memory, and from another's.
    pub memory: Option<TwoDistances>,
    /// What Linux shows apart, and what is not.
    pub topology: Topology,
    /// Each look's state, in order; absent for one that says nothing.
    pub states: Vec<Option<ShapeState>>,
}

impl Shape {
    /// As what it is of another record, which was begun then.
    pub fn looked_on(self, started: &str) -> Self {
        Self { looked_at: Some(started.to_owned()), ..self }
    }

    /// Whether Linux shows cores of their own for these CPUs, which shared one.
    pub fn hides(&self, core: &CpuList) -> bool {
        let inside = |one: &&SharedCore| core.contains(one.pair.0) && core.contains(one.pair.1);
        self.shared_cores.iter().filter(inside).any(|one| !one.shown)
    }

    /// How many cores these CPUs had: for each number in how many looks, the fewest first.
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
    /// Its part of all pairs of all looks.
    pub share: f64,
}

/// Whether CPUs stay where they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Motion {
    /// Too few looks to tell.
    #[default]
    Unknown,
    /// All looks show the same.
    Pinned,
    /// They do not.
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
    /// The CPUs' loads that were far.
    pub far: Share,
}

/// The topology that Linux shows, held against the looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Topology {
    /// Too few looks, or nothing to compare.
    #[default]
    Unknown,
    /// The looks show the domains that Linux shows.
    AsShown,
    /// CPUs that Linux shows together lie apart.
    Finer,
    /// CPUs that Linux shows apart lie together.
    Coarser,
    /// Domains that were measured cross those that Linux shows, or change.
    Crossing,
}

/// Where the CPUs were in one look.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ShapeState {
    /// CPUs that shared a core, a list each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cores: Vec<CpuList>,
    /// For each bound between classes of distances, nearest first, the CPUs that were nearer to each other than it, a list a domain.
    /// Bounds at which a CPU moved within the look are left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub domains: Vec<Vec<CpuList>>,
    /// CPUs that were far from the memory of the looks' page.
    #[serde(skip_serializing_if = "CpuList::is_empty")]
    pub far_from_memory: CpuList,
}
