//! The real topology of a machine: the distances between CPUs according to placement checks, and the conclusions from a
//! series of such checks. A check takes a few milliseconds; checks run between all other measurements.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::CpuList;
use crate::JsonSchema;
use crate::Text;
use crate::share::Share;

/// Placement checks on the same CPUs, in chronological order.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Looks {
    /// The CPUs, ascending.
    pub cpus: Vec<u32>,
    /// The pairs, as indices into `cpus`; absent if every pair was measured: 0-1, 0-2, … 1-2, ….
    pub pairs: Option<Vec<(u32, u32)>>,
    /// The placement checks.
    pub looks: Vec<Look>,
}

/// One placement check: where the CPUs were located during a few milliseconds.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Look {
    /// The start of the check, in seconds since the start of the run.
    pub at_seconds: f64,
    /// The duration of the check, ms.
    pub took_ms: f64,
    /// Whether all CPUs were busy right before the check; hosts place busy CPUs differently.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub busy: bool,
    /// Whether the check shows no placement, because a CPU did not run for most of the check or while it was tested for a shared core.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// Latency of a cache-line transfer from one CPU of a pair to the other, ns (the minimum of a few short blocks);
    /// null if either CPU did not run.
    pub line_ns: Vec<Option<f64>>,
    /// Latency of a load from memory by each CPU, ns. All CPUs load from the same page. Null if the CPU did not run.
    /// Empty if cache lines cannot be flushed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub memory_ns: Vec<Option<f64>>,
    /// Results for pairs of CPUs that computed simultaneously.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub contended: Vec<Contended>,
}

/// Two CPUs that each kept one execution unit busy, first separately and then simultaneously.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Contended {
    /// The CPUs, the lower one first.
    pub pair: (u32, u32),
    /// Time of the loop when both CPUs run it, relative to its time on a single CPU: 1 on separate cores, 2 on one
    /// core.
    pub slowdown: f64,
}

impl Looks {
    /// The pairs as indices into `cpus`, in the order of `line_ns` in each check.
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

    /// Whether every CPU responded to at least half of the other CPUs. The location of a CPU that did not run is unknown.
    pub fn is_answered(&self, look: &Look) -> bool {
        let positions = self.positions();
        let (mut asked, mut answered) = (vec![0u32; self.cpus.len()], vec![0u32; self.cpus.len()]);
        for (at, (a, b)) in positions.iter().enumerate() {
            for cpu in [*a, *b] {
                asked[cpu] += 1;
                answered[cpu] += u32::from(look.transfer(at).is_some());
            }
        }
        let is_whole = !positions.is_empty() && look.line_ns.len() == positions.len();
        is_whole && asked.iter().zip(&answered).all(|(asked, answered)| 2 * answered >= *asked)
    }
}

/// If a cache-line transfer takes longer than this many nanoseconds, one of the two CPUs was not running. The slowest
/// pairs of multi-socket machines take a third of this time.
const LOST_NS: f64 = 2_000.0;

impl Look {
    /// The transfer time of the pair at this index, if both CPUs ran.
    pub fn transfer(&self, pair: usize) -> Option<f64> {
        (*self.line_ns.get(pair)?).filter(|ns| *ns > 0.0 && *ns < LOST_NS)
    }
}

/// Conclusions from the placement checks of a run.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Shape {
    /// The time of these checks, RFC 3339 in UTC, if they were not part of this record's run.
    pub looked_at: Option<String>,
    /// Number of conclusive checks.
    pub looks: u32,
    /// The total time of the checks, as a share of the run.
    pub cost: Option<f64>,
    /// The distance between CPUs that shared a core.
    pub one_core: Option<Distance>,
    /// Distances between CPUs on separate cores, nearest first.
    pub distances: Vec<Distance>,
    /// Core-to-core latencies that depend on the placement of their CPUs, with the results and shares by placement.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub core_to_core: Vec<Text>,
    /// Whether the CPUs stay in place from check to check.
    pub motion: Motion,
    /// How often the state differed from that of the previous conclusive check.
    pub changes: u32,
    /// Pairs that shared a core in at least one check, most frequent first.
    pub shared_cores: Vec<SharedCore>,
    /// The share of checks in which CPUs shared a core although Linux reports separate cores.
    pub sharing: Option<Share>,
    /// Like `sharing`, but only for checks made immediately after all CPUs were busy.
    pub sharing_busy: Option<Share>,
    /// Pairs of CPUs that Linux reports as siblings but that did not slow each other down.
    pub siblings_not_confirmed: Vec<(u32, u32)>,
    /// The share of checks in which the CPUs were in several domains that Linux does not report.
    pub split: Option<Share>,
    /// The two latencies of loads from the same page, like those of local and remote memory; absent if there is only one latency.
    pub memory: Option<TwoDistances>,
    /// How Linux's topology compares with the placement checks.
    pub topology: Topology,
    /// The state in each check, in order; absent for an inconclusive check.
    pub states: Vec<Option<ShapeState>>,
}

impl Shape {
    /// This topology for use in another record, marked with the time of its measurement.
    pub fn looked_on(self, started: &str) -> Self {
        Self { looked_at: Some(started.to_owned()), ..self }
    }

    /// Whether these CPUs, which shared a core, include CPUs that are on separate cores according to Linux.
    pub fn hides(&self, core: &CpuList) -> bool {
        let inside = |one: &&SharedCore| core.contains(one.pair.0) && core.contains(one.pair.1);
        self.shared_cores.iter().filter(inside).any(|one| !one.shown)
    }

    /// How many cores these CPUs used: each number of cores, with the number of checks in which it occurred, fewest cores
    /// first.
    pub fn cores_of(&self, cpus: &CpuList) -> BTreeMap<usize, usize> {
        let mut counts = BTreeMap::new();
        for state in self.states.iter().flatten() {
            *counts.entry(state.cores_of(cpus)).or_default() += 1;
        }
        counts
    }
}

impl ShapeState {
    /// Number of cores that these CPUs used.
    pub fn cores_of(&self, cpus: &CpuList) -> usize {
        let shared = self.cores.iter().map(|core| core.intersection(cpus).len().saturating_sub(1));
        cpus.len().saturating_sub(shared.sum())
    }
}

/// A class of distances.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Distance {
    /// The median one-way latency, ns.
    pub median_ns: f64,
    /// The lowest latency, ns.
    pub low_ns: f64,
    /// The highest latency, ns.
    pub high_ns: f64,
    /// The share of pairs that are in this class, over all pairs and checks.
    pub share: f64,
}

/// Whether the CPUs stay in place from check to check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Motion {
    /// Too few checks.
    #[default]
    Unknown,
    /// All checks agree.
    Pinned,
    /// The checks differ.
    Floating,
}

/// Two CPUs that shared a core.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SharedCore {
    /// The CPUs.
    pub pair: (u32, u32),
    /// Number of checks in which the pair shared a core.
    pub looks: u32,
    /// Whether Linux reports the CPUs as siblings.
    pub shown: bool,
}

/// Latencies of loads from one page by CPUs close to its memory and by distant CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TwoDistances {
    /// Median latency of a load by a near CPU, ns.
    pub near_ns: f64,
    /// Median latency of a load by a far CPU, ns.
    pub far_ns: f64,
    /// The share of the loads that far CPUs made.
    pub far: Share,
}

/// How Linux's topology compares with the placement checks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Topology {
    /// There are too few checks, or there is nothing to compare.
    #[default]
    Unknown,
    /// The checks show the same domains as Linux.
    AsShown,
    /// According to the checks, CPUs that Linux reports in one domain are in several domains.
    Finer,
    /// According to the checks, CPUs that Linux reports in several domains are in one domain.
    Coarser,
    /// The measured domains overlap those reported by Linux, or change over time.
    Crossing,
}

/// Where the CPUs were located in one placement check.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ShapeState {
    /// CPUs that shared a core, one list per core.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cores: Vec<CpuList>,
    /// For each boundary between two classes of distances, nearest first: the CPUs closer to each other than the boundary, one
    /// list per domain. A boundary is omitted if a CPU moved during the check, because the transfer times are then not
    /// consistent with any domains.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub domains: Vec<Vec<CpuList>>,
    /// CPUs far from the node whose memory contains the page used by the checks.
    #[serde(skip_serializing_if = "CpuList::is_empty")]
    pub far_from_memory: CpuList,
}
