//! The meaning of a record: the cache levels in it, how far each resource is from line speed, and findings. The types
//! only; the `diagnose` crate computes them from a record alone.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

pub use crate::bound::{Bound, BoundBy, BoundKind};
use crate::difference::Verdict;
use crate::doubt::Doubt;
pub use crate::evidence::{CeilingSource, Evidence};
pub use crate::finding::{Confidence, Finding, NotLookedFor, Relevance, Severity};
use crate::loss_breakdown::LossBreakdown;
use crate::plan::Plan;
use crate::shape::Shape;
use crate::text::Text;
use crate::turns::Turns;
use crate::{Label, Labels};

/// All conclusions from a record's results.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Diagnosis {
    /// The levels of the memory hierarchy found in the latency curve, nearest first, memory last.
    pub levels: Vec<Level>,
    /// Where the latency curve for the levels, the headline and the chart was measured; absent without a curve.
    pub latency_curve: Option<CurvePlace>,
    /// One entry per resource: its ceiling and what was delivered.
    pub resources: Vec<Resource>,
    /// Resources that the measurement did not reach, one sentence each: memory if it was measured within the caches.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_reached: Vec<Text>,
    /// Average number of CPUs used by other processes during the run (for a command: while it ran); absent if that was too short.
    pub used_by_others: Option<f64>,
    /// What costs speed, the worst first.
    pub findings: Vec<Finding>,
    /// One entry per resource: from its ceiling down to what is delivered, cause by cause.
    #[serde(rename = "ladders", skip_serializing_if = "Vec::is_empty")]
    pub loss_breakdowns: Vec<LossBreakdown>,
    /// Rules whose data is missing from the record.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_looked_for: Vec<NotLookedFor>,
    /// Conclusions from the matrices of a machine with several nodes; absent for one node.
    pub numa: Option<Numa>,
    /// Where the machine's CPUs really are; absent if not measured.
    pub shape: Option<Shape>,
    /// How each workload scales, one entry per workload and placement.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scaling: Vec<Scaling>,
    /// What siblings add to each workload measured with and without them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub siblings: Vec<SiblingsAdd>,
    /// What each layer of the machine adds to the time of one routine, the fastest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<Layer>,
    /// What each step between two layers costs, and what that means; absent if layers were not timed alternately.
    pub overhead: Option<Overhead>,
    /// How to lay out a program on a machine with several nodes; absent for one node.
    pub plan: Option<Plan>,
    /// What a command was bound by; only in records of `linespeed stat`.
    pub bound: Option<Bound>,
    /// How several alternating commands differ; only in records of `linespeed stat` with several commands.
    pub turns: Option<Turns>,
}

/// The CPU and the memory node of a latency curve; absent if the record has none.
#[skip_serializing_none]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct CurvePlace {
    /// The CPU that issues the loads.
    pub cpu: Option<u64>,
    /// The node of the memory.
    pub node: Option<u64>,
}

impl CurvePlace {
    /// Where a result was measured.
    pub fn of_figure(labels: &Labels) -> Self {
        Self { cpu: labels.count(Label::Cpu), node: labels.count(Label::Node) }
    }
}

/// What nodes cost a program that ignores them, and whether the firmware's distances are right.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Numa {
    /// Number of measured nodes with memory.
    pub nodes: u32,
    /// Median latency to a node's own memory, ns.
    pub local_ns: Option<f64>,
    /// Median latency to other nodes' memory, ns.
    pub remote_ns: Option<f64>,
    /// The slowest pair and its latency: from, to, ns.
    pub slowest: Option<(u32, u32, f64)>,
    /// Share of accesses that are remote for a program that ignores nodes: (nodes - 1) / nodes.
    pub remote_share: f64,
    /// Average latency of such a program's accesses, relative to local (1.5 is half more).
    pub ignoring_factor: Option<f64>,
    /// The same for bandwidth: relative to that of local accesses (0.6 is 40 % less).
    pub bandwidth_factor: Option<f64>,
    /// Rank correlation of the firmware's distances with the measured latencies, -1 to 1.
    pub distance_agreement: Option<f64>,
    /// Pairs whose distance disagrees with the measurement, a phrase each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub distance_mismatches: Vec<Text>,
    /// What the worst of them costs a program that trusts the table and therefore uses the slower node.
    pub distance_loss: Option<Verdict>,
    /// These results and their consequences, in a sentence or two.
    pub meaning: Text,
}

/// A fit of the Universal Scalability Law, X(N) = rate N / (1 + contention (N - 1) + coherency N (N - 1)), to the
/// throughput of one workload with one placement (Gunther, Guerrilla Capacity Planning, 2007).
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Scaling {
    /// The workload.
    pub workload: String,
    /// `cores-first`, `siblings-first`, `node-compact`, `node-spread`.
    pub placement: String,
    /// Number of fitted steps.
    pub points: u32,
    /// Smallest and largest number of threads of the fitted steps. If siblings share cores, not all steps are fitted: with `cores-first` only
    /// those without siblings, with other placements only those with more than one thread, since a single thread has its core to itself.
    pub fitted: Option<(u32, u32)>,
    /// Throughput of one thread according to the fit, work/s.
    pub rate: f64,
    /// The serialized share of the work (sigma).
    pub contention: f64,
    /// Cost of keeping threads coherent, per pair of threads (kappa).
    pub coherency: f64,
    /// Median distance of the measured points from the fit, relative.
    pub residual: f64,
    /// Speed-up of the last step over one thread.
    pub speedup: f64,
    /// The interval of the speed-up, from the intervals of both steps.
    pub speedup_interval: Option<(f64, f64)>,
    /// Threads of the last step.
    pub threads: u32,
    /// Number of threads beyond which each further one adds less than half of a thread's throughput; absent if not reached.
    pub knee: Option<u32>,
    /// What it means, in sentences.
    pub meaning: Text,
    /// The measured steps, by increasing number of threads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
    /// Whether an unreliable step makes a speed-up exceed its number of threads.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disturbed: bool,
}

impl Scaling {
    /// Whether a speed-up is plausible: if the line was disturbed, one above the number of threads is not.
    pub fn is_possible(&self, step: &Step) -> bool {
        !self.disturbed || step.efficiency <= 1.0
    }

    /// Whether the speed-up is too imprecise for any conclusion: known to worse than a tenth.
    pub fn is_too_noisy(&self) -> bool {
        self.speedup_interval.is_some_and(|(low, high)| high - low > 0.2 * self.speedup)
    }

    /// Throughput of this many threads according to the fit, work/s.
    pub fn throughput_at(&self, threads: f64) -> f64 {
        let others = threads - 1.0;
        self.rate * threads / (1.0 + self.contention * others + self.coherency * threads * others)
    }
}

/// One step of scaling, relative to one thread of the same workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// Threads, or copies of a command.
    pub threads: u32,
    /// Their total throughput, work/s.
    pub throughput: f64,
    /// Throughput divided by that of one thread.
    pub speedup: f64,
    /// Speed-up divided by the number of threads: 1 is linear.
    pub efficiency: f64,
}

/// The basis of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Both sides were measured.
    Measured,
    /// One side is extrapolated from a smaller step, assuming that the rest behaves like it.
    Extrapolated,
}

/// What siblings add to the throughput of a workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SiblingsAdd {
    /// The workload.
    pub workload: String,
    /// Its block size, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Throughput of all CPUs divided by that of one thread per core, minus one (0.13 is 13 % more).
    pub adds: f64,
    /// Whether the step of one thread per core was measured.
    pub basis: Basis,
    /// The results, in sentences.
    pub says: Text,
}

/// One layer of the machine in which a routine was timed.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Layer {
    /// `kernel`, `user`, `guest kernel`, `guest user`.
    pub layer: String,
    /// The binding of the routine, if known: `none`, `cpu 3`.
    pub bound: Option<String>,
    /// `on` or `off`, if known.
    pub interrupts: Option<String>,
    /// Time of a pass, in the measurement's unit: the mean of all passes.
    pub time: f64,
    /// The same in seconds, if timed.
    pub seconds: Option<f64>,
    /// 95 % interval of a pass's median, if there are enough samples.
    pub interval: Option<(f64, f64)>,
    /// Standard deviation ÷ mean, included because published tables use it.
    pub variation: Option<f64>,
    /// How much longer its passes took in total than those of the fastest layer (0.12 is 12 %).
    pub over: f64,
    /// Its interval, from the portions that both ran alternately; it holds for all steps together.
    pub over_interval: Option<(f64, f64)>,
    /// Events during the passes: interrupts, switches, migrations per second.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<Text>,
    /// Why the result is unreliable.
    #[serde(flatten)]
    pub doubt: Option<Doubt>,
    /// The same in words.
    pub says: Text,
    /// The measurement.
    pub from: String,
}

/// The cost of layers of the machine, timed alternately with the same bytes: one entry per step, in which one thing
/// differs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Overhead {
    /// The fastest layer, with which the others are compared.
    pub line_speed: String,
    /// A layer compared with itself: a step that consists only of noise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor: Option<Verdict>,
    /// The same in words.
    pub floor_says: Text,
    /// What differs between two layers, and what it costs.
    pub steps: Vec<LayerStep>,
    /// The conclusions of a published comparison of layers, and whether these results confirm them.
    pub claims: Vec<Claim>,
}

/// What differs between two layers, and what it costs.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LayerStep {
    /// What differs, for programs: `overhead-step-interrupts`. Absent in records of 0.1.
    pub code: Option<String>,
    /// What differs: `interrupts`, `not bound to a CPU`.
    pub what: Text,
    /// The layer without it.
    pub without: String,
    /// The layer with it.
    pub with: String,
    /// Portions of the routine that both ran alternately.
    pub rounds: u64,
    /// What it costs, as a share of the time without it.
    pub verdict: Verdict,
    /// Whether the time of either layer is in doubt.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unreliable: bool,
    /// The same in words.
    pub says: Text,
    /// The cost divided by each kind of counted events: `0.8 µs for each of 250 interrupts/s`; if it cannot be divided,
    /// why.
    pub each: Option<Text>,
}

/// A published conclusion, compared with results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    /// The conclusion.
    pub claim: Text,
    /// What these results show about it.
    pub answer: Answer,
    /// Why.
    pub why: Text,
}

/// What results show about a conclusion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// They agree.
    Supported,
    /// They show the opposite.
    Contradicted,
    /// Inconclusive.
    CannotTell,
}

/// One level of the memory hierarchy as the latency curve shows it.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Level {
    /// `L1`, `L2`, `L3`, `memory`.
    pub name: String,
    /// Latency on its plateau, ns.
    pub latency_ns: f64,
    /// The same in cycles of the core clock.
    pub latency_cycles: Option<f64>,
    /// Working set beyond which the latency rises to the next level, bytes; absent for memory.
    pub measured_bytes: Option<u64>,
    /// Its size in sysfs, bytes.
    pub advertised_bytes: Option<u64>,
    /// How the two sizes agree, one sentence.
    pub judgement: Text,
}

/// One resource and its distance from line speed.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Resource {
    /// `core`, `memory bandwidth`, `memory latency`, `wake-up`.
    pub name: String,
    /// Unit of both values.
    pub unit: String,
    /// The most that the hardware can reach.
    pub ceiling: Option<f64>,
    /// The source of the ceiling.
    pub source: Option<CeilingSource>,
    /// What was delivered.
    pub delivered: f64,
    /// Delivered share of line speed (1 is all of it), if the ceiling is the hardware's or its family's.
    pub share: Option<f64>,
    /// What these values are, one sentence.
    pub meaning: Text,
    /// Why the results on which it is based are unreliable, in a few words: `too noisy`.
    #[serde(flatten)]
    pub doubt: Option<Doubt>,
    /// The difference of the result between its two interleaved halves, every second sample each, as a share of their mean;
    /// absent with fewer than four saved samples.
    pub repeatability: Option<f64>,
    /// The lowest and highest ceiling of the models in the processor's family, if the ceiling is the family's: the ceiling of this model is
    /// between them, and so is the share.
    pub family_ceilings: Option<(f64, f64)>,
    /// Published results of similar machines; absent if there are none.
    pub typical: Option<Typical>,
    /// How it compares with them; absent if none were published for a known machine.
    pub position: Option<Position>,
    /// A related fact that is not a loss: the default timer slack of wake-ups, the share of CPU time used by others.
    pub beside: Option<Text>,
}

/// The range of published results of similar machines.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Typical {
    /// The minimum, in the resource's unit.
    pub low: f64,
    /// The most.
    pub high: f64,
    /// This machine's result measured in the same way, if it differs from the delivered one: a load on large pages, a wake-up with idle states
    /// disabled.
    pub compared: Option<f64>,
    /// The machines behind them: `AMD Zen 4 (Genoa)`.
    pub of: String,
    /// Who published them.
    pub sources: Vec<String>,
    /// Whether they are from bare metal while this is a guest.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_bare_metal: bool,
}

/// How a result compares with published ones of similar machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Position {
    /// Below all of them.
    Low,
    /// Among them.
    Normal,
    /// Above all of them.
    High,
    /// No results for such a processor are known.
    UnknownMachine,
    /// Other processes used the CPUs during the run.
    NotRepresentative,
}
