//! What a record means: the cache levels found in it, how far each resource is from line speed, and findings.
//! The types only; the figures come from the `diagnose` crate, which computes them from a record alone.

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

/// Everything that follows from a record's figures.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Diagnosis {
    /// The levels of the memory hierarchy found in the latency curve, nearest first, memory last.
    pub levels: Vec<Level>,
    /// Where the latency curve was measured that the levels, the headline and the chart are of; absent without a curve.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_curve: Option<CurvePlace>,
    /// One entry a resource: its ceiling and what was delivered.
    pub resources: Vec<Resource>,
    /// Resources that were measured too little of to be one, a sentence each: memory from within the caches.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_reached: Vec<Text>,
    /// CPUs that others used on average during the run, of one command while it ran; absent where that was too short to tell.
    pub used_by_others: Option<f64>,
    /// What costs speed, the worst first.
    pub findings: Vec<Finding>,
    /// One entry a resource: from its ceiling down to what is delivered, cause by cause.
    #[serde(rename = "ladders", skip_serializing_if = "Vec::is_empty")]
    pub loss_breakdowns: Vec<LossBreakdown>,
    /// Rules that could not look because what they need is not in the record.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_looked_for: Vec<NotLookedFor>,
    /// What the matrices of a machine with several nodes say; absent for one node.
    pub numa: Option<Numa>,
    /// Where the machine's CPUs really are; absent where nobody looked.
    pub shape: Option<Shape>,
    /// How each workload scales, one entry a workload and placement.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scaling: Vec<Scaling>,
    /// What siblings add to each workload that was run with and without them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub siblings: Vec<SiblingsAdd>,
    /// What each layer of the machine adds to the time of one routine, the fastest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<Layer>,
    /// What each step between two layers costs, and what that says; absent where layers were not timed in turn.
    pub overhead: Option<Overhead>,
    /// How to lay a program out on a machine of several nodes; absent for one node.
    pub plan: Option<Plan>,
    /// What a command was bound by; only in records of `linespeed stat`.
    pub bound: Option<Bound>,
    /// How commands differ that were run in turn; only in records of `linespeed stat` of several.
    pub turns: Option<Turns>,
}

/// The CPU and the node's memory of a latency curve; absent where the record does not tell.
#[skip_serializing_none]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct CurvePlace {
    /// The CPU that loads.
    pub cpu: Option<u64>,
    /// The node of the memory.
    pub node: Option<u64>,
}

impl CurvePlace {
    /// Where a figure was measured.
    pub fn of_figure(labels: &Labels) -> Self {
        Self { cpu: labels.count(Label::Cpu), node: labels.count(Label::Node) }
    }
}

/// What nodes cost a program that ignores them, and whether the firmware tells the truth about their distances.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Numa {
    /// Nodes with memory that were measured.
    pub nodes: u32,
    /// Median latency to a node's own memory, ns.
    pub local_ns: Option<f64>,
    /// Median latency to other nodes' memory, ns.
    pub remote_ns: Option<f64>,
    /// The slowest pair and its latency: from, to, ns.
    pub slowest: Option<(u32, u32, f64)>,
    /// Share of accesses that are remote for a program that ignores nodes: (nodes - 1) / nodes.
    pub remote_share: f64,
    /// Latency that such a program sees on average over its accesses, relative to local (1.5 is half more).
    pub ignoring_factor: Option<f64>,
    /// The same for bandwidth: what it gets relative to what local accesses would get (0.6 is 40 % less).
    pub bandwidth_factor: Option<f64>,
    /// Rank correlation of the firmware's distances with the measured latencies, -1 to 1.
    pub distance_agreement: Option<f64>,
    /// Pairs whose distance disagrees with what was measured, a phrase each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub distance_mismatches: Vec<Text>,
    /// What the worst of them costs a program that follows the table: it takes the slower node for the nearer one.
    pub distance_loss: Option<Verdict>,
    /// Which figures these are, and what follows, in a sentence or two.
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
    /// Steps that were fitted.
    pub points: u32,
    /// Least and most threads of the steps that were fitted. Not all are where siblings begin to share cores: with
    /// `cores-first` those of the cores alone, with other placements those beyond one thread, which alone is alone.
    pub fitted: Option<(u32, u32)>,
    /// Throughput of one thread by the fit, work/s.
    pub rate: f64,
    /// Share of the work that is serialized (sigma).
    pub contention: f64,
    /// Cost of keeping threads coherent, a pair of threads (kappa).
    pub coherency: f64,
    /// Median distance of the measured points from the fit, relative.
    pub residual: f64,
    /// Speed-up of the last step over one thread.
    pub speedup: f64,
    /// Between what the intervals of both steps allow it to lie.
    pub speedup_interval: Option<(f64, f64)>,
    /// Threads of the last step.
    pub threads: u32,
    /// Threads beyond which more of them add less than half of what they should; absent where that was not reached.
    pub knee: Option<u32>,
    /// What it means, in sentences.
    pub meaning: Text,
    /// The steps that were measured, by rising threads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
    /// Whether a step in doubt makes some speed-up more than so many threads can have.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disturbed: bool,
}

impl Scaling {
    /// Whether a speed-up can be: a disturbed line's is none where it is above its threads.
    pub fn is_possible(&self, step: &Step) -> bool {
        !self.disturbed || step.efficiency <= 1.0
    }

    /// Whether the speed-up is known so badly that nothing else follows: to worse than a tenth of it.
    pub fn is_too_noisy(&self) -> bool {
        self.speedup_interval.is_some_and(|(low, high)| high - low > 0.2 * self.speedup)
    }

    /// Throughput of so many threads by the fit, work/s.
    pub fn throughput_at(&self, threads: f64) -> f64 {
        let others = threads - 1.0;
        self.rate * threads / (1.0 + self.contention * others + self.coherency * threads * others)
    }
}

/// One step of scaling, against one thread of the same workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// Threads, or copies of a command.
    pub threads: u32,
    /// What they did together, work/s.
    pub throughput: f64,
    /// Over one thread.
    pub speedup: f64,
    /// Speed-up over threads: 1 is linear.
    pub efficiency: f64,
}

/// What a figure rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Both sides were measured.
    Measured,
    /// One side follows from a smaller step, if the rest is like it.
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
    /// Throughput of all CPUs over that of one thread a core, less one (0.13 is 13 % more).
    pub adds: f64,
    /// Whether the step of one thread a core was measured.
    pub basis: Basis,
    /// The figures, in sentences.
    pub says: Text,
}

/// One layer of the machine in which a routine was timed.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Layer {
    /// `kernel`, `user`, `guest kernel`, `guest user`.
    pub layer: String,
    /// What the routine was bound to, where that is told: `none`, `cpu 3`.
    pub bound: Option<String>,
    /// `on` or `off`, where that is told.
    pub interrupts: Option<String>,
    /// Time of a pass, in the measurement's unit: the mean of all passes.
    pub time: f64,
    /// The same in seconds, where that was timed.
    pub seconds: Option<f64>,
    /// 95 % interval of a pass's median, where there are samples enough.
    pub interval: Option<(f64, f64)>,
    /// Standard deviation ÷ mean, because the field's tables use it.
    pub variation: Option<f64>,
    /// How much longer than the fastest layer all its passes took (0.12 is 12 %).
    pub over: f64,
    /// The interval of that, from the portions that both ran in turn; it holds for all steps together.
    pub over_interval: Option<(f64, f64)>,
    /// What happened beside it: interrupts, switches, migrations a second.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<Text>,
    /// Why the figure should not be leaned on.
    #[serde(flatten)]
    pub doubt: Option<Doubt>,
    /// The same in words.
    pub says: Text,
    /// The measurement.
    pub from: String,
}

/// What layers of the machine cost that were timed in turn with the same bytes: one entry a step, in which one thing
/// differs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Overhead {
    /// The fastest layer, which the others are held against.
    pub line_speed: String,
    /// A layer compared with itself: what this machine's noise alone makes of a step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor: Option<Verdict>,
    /// The same in words.
    pub floor_says: Text,
    /// What differs between two layers, and what it costs.
    pub steps: Vec<LayerStep>,
    /// What the published comparison of layers concluded, and whether these figures say the same.
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
    /// Portions of the routine that both did in turn.
    pub rounds: u64,
    /// What it costs, as a share of the time without it.
    pub verdict: Verdict,
    /// Whether the time of either layer is in doubt.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unreliable: bool,
    /// The same in words.
    pub says: Text,
    /// What the cost would mean for each of the events that were counted beside it: `0.8 µs for each of 250
    /// interrupts/s`; where that cannot be, it says so.
    pub each: Option<Text>,
}

/// A published conclusion, held against figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    /// The conclusion.
    pub claim: Text,
    /// What these figures say of it.
    pub answer: Answer,
    /// Why.
    pub why: Text,
}

/// What figures say of a conclusion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// They say the same.
    Supported,
    /// They say the contrary.
    Contradicted,
    /// They do not tell.
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
    /// Working set at which the curve leaves it, bytes; absent for memory.
    pub measured_bytes: Option<u64>,
    /// What sysfs says that it holds, bytes.
    pub advertised_bytes: Option<u64>,
    /// How the two agree, one sentence.
    pub judgement: Text,
}

/// One resource and its distance from line speed.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Resource {
    /// `core`, `memory bandwidth`, `memory latency`, `wake-up`.
    pub name: String,
    /// Unit of both figures.
    pub unit: String,
    /// The fastest that the hardware could go.
    pub ceiling: Option<f64>,
    /// Where the ceiling comes from.
    pub source: Option<CeilingSource>,
    /// What was delivered.
    pub delivered: f64,
    /// Share of line speed that is delivered (1 is all of it), where the ceiling is the hardware's or its family's.
    pub share: Option<f64>,
    /// Which figures these are, one sentence.
    pub meaning: Text,
    /// Why the figures behind it should not be leaned on, in a few words: `too noisy`.
    #[serde(flatten)]
    pub doubt: Option<Doubt>,
    /// By how much the figure differs between its two interleaved halves, every second sample each, as a share of their mean;
    /// absent where fewer than four samples, or none of them, were kept.
    pub repeatability: Option<f64>,
    /// The lowest and the highest ceiling over the parts of the processor's family, where the ceiling is the family's: this part's
    /// lies between them, and so does the share.
    pub family_ceilings: Option<(f64, f64)>,
    /// What was published of machines like it; absent where nothing was.
    pub typical: Option<Typical>,
    /// How it stands beside that; absent where nothing was published of a machine that is known.
    pub position: Option<Position>,
    /// A fact beside it that is no loss of it: the default timer slack of wake-ups, the share of CPU time that others took.
    pub beside: Option<Text>,
}

/// The range of published figures of machines like one.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Typical {
    /// The least, in the resource's unit.
    pub low: f64,
    /// The most.
    pub high: f64,
    /// This machine's figure that was measured like them, where that is another than what is delivered: a load on large pages, a
    /// wake-up with idle states held off.
    pub compared: Option<f64>,
    /// The machines that they are of: `AMD Zen 4 (Genoa)`.
    pub of: String,
    /// Who published them.
    pub sources: Vec<String>,
    /// Whether they are of bare metal, and this is a guest.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_bare_metal: bool,
}

/// How a figure stands beside the published ones of machines like its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Position {
    /// Below all of them.
    Low,
    /// Among them.
    Normal,
    /// Above all of them.
    High,
    /// Nothing is known of such a processor.
    UnknownMachine,
    /// Others used the CPUs meanwhile.
    NotRepresentative,
}
