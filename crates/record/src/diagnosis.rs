//! What a record means: the cache levels, the distance of each resource from line speed, and the findings. Types only;
//! the `diagnose` crate computes the values from a record.

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
use crate::{JsonSchema, Label, Labels};

/// All conclusions from a record's results.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Diagnosis {
    /// The levels of the memory hierarchy found in the latency curve, nearest first, memory last.
    pub levels: Vec<Level>,
    /// The place of the latency curve on which the levels, the headline and the chart are based; absent if there is no curve.
    pub latency_curve: Option<CurvePlace>,
    /// One entry per resource: its ceiling and the delivered result.
    pub resources: Vec<Resource>,
    /// Resources that the measurements did not exercise, one sentence each; for example memory, if the working set fitted in the
    /// caches.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_reached: Vec<Text>,
    /// Average number of CPUs used by other processes during the run (or, for a command, while it ran); absent if the
    /// run was too short.
    pub used_by_others: Option<f64>,
    /// Causes of lost speed, worst first.
    pub findings: Vec<Finding>,
    /// For each resource, the causes that separate the delivered result from the ceiling, with the loss due to each.
    #[serde(rename = "ladders", skip_serializing_if = "Vec::is_empty")]
    pub loss_breakdowns: Vec<LossBreakdown>,
    /// Rules whose data is missing from the record.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_looked_for: Vec<NotLookedFor>,
    /// Conclusions from the matrices of a machine with several nodes; absent if there is only one node.
    pub numa: Option<Numa>,
    /// The actual placement of the machine's CPUs; absent if not measured.
    pub shape: Option<Shape>,
    /// The scaling of workloads, one entry per workload and placement.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scaling: Vec<Scaling>,
    /// The gain from SMT siblings, for each workload measured with and without siblings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub siblings: Vec<SiblingsAdd>,
    /// The time that one routine takes in each layer of the machine, fastest layer first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<Layer>,
    /// The cost of each step between two layers, with an interpretation; absent if layers were not timed alternately.
    pub overhead: Option<Overhead>,
    /// The best layout of a program on a machine with several nodes; absent if there is only one node.
    pub plan: Option<Plan>,
    /// The limiting factor of a command; only in records of `linespeed stat`.
    pub bound: Option<Bound>,
    /// Differences between alternating commands; only in records of `linespeed stat` with several commands.
    pub turns: Option<Turns>,
}

/// The CPU and the memory node of a latency curve; each is absent if the record does not contain it.
#[skip_serializing_none]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct CurvePlace {
    /// The CPU that issues the loads.
    pub cpu: Option<u64>,
    /// The node of the memory.
    pub node: Option<u64>,
}

impl CurvePlace {
    /// The place where a result was measured, from the labels of the result.
    pub fn of_figure(labels: &Labels) -> Self {
        Self { cpu: labels.count(Label::Cpu), node: labels.count(Label::Node) }
    }
}

/// What remote accesses cost a NUMA-unaware program, and whether the firmware's distances are correct.
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
    /// Share of remote accesses among all memory accesses of a NUMA-unaware program: (nodes - 1) / nodes.
    pub remote_share: f64,
    /// Average latency of such a program's accesses, relative to local accesses (1.5 is 50 % more).
    pub ignoring_factor: Option<f64>,
    /// Average bandwidth of such a program's accesses, relative to local accesses (0.6 is 40 % less).
    pub bandwidth_factor: Option<f64>,
    /// Rank correlation of the firmware's distances with the measured latencies, -1 to 1.
    pub distance_agreement: Option<f64>,
    /// Pairs whose distance disagrees with the measurement, one phrase per pair.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub distance_mismatches: Vec<Text>,
    /// What the worst mismatch costs a program that relies on the firmware's distances and therefore uses the slower
    /// node.
    pub distance_loss: Option<Verdict>,
    /// One or two sentences on these results and their consequences.
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
    /// The smallest and the largest number of threads among the fitted steps. If siblings share cores, not all steps
    /// are fitted. With `cores-first`, only steps without siblings are fitted. With other placements, only steps with
    /// more than one thread are fitted, since a single thread has a core to itself.
    pub fitted: Option<(u32, u32)>,
    /// Throughput of one thread according to the fit, work/s.
    pub rate: f64,
    /// The serialized share of the work (sigma).
    pub contention: f64,
    /// Cost of keeping threads coherent, per pair of threads (kappa).
    pub coherency: f64,
    /// Median relative deviation of the measured points from the fit.
    pub residual: f64,
    /// Speed-up of the last step over one thread.
    pub speedup: f64,
    /// The interval of the speed-up, from the intervals of both steps.
    pub speedup_interval: Option<(f64, f64)>,
    /// Threads of the last step.
    pub threads: u32,
    /// Number of threads beyond which each further thread adds less than half of a single thread's throughput; absent
    /// if this number was not reached.
    pub knee: Option<u32>,
    /// Interpretation, in sentences.
    pub meaning: Text,
    /// The measured steps, by increasing number of threads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
    /// Whether the speed-up exceeds the number of threads because of an unreliable step.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disturbed: bool,
}

impl Scaling {
    /// Whether the speed-up of a step is plausible. If the results were disturbed, a speed-up above the number of
    /// threads is implausible.
    pub fn is_possible(&self, step: &Step) -> bool {
        !self.disturbed || step.efficiency <= 1.0
    }

    /// Whether the speed-up is too imprecise for any conclusion, that is, whether its error exceeds 10 %.
    pub fn is_too_noisy(&self) -> bool {
        self.speedup_interval.is_some_and(|(low, high)| high - low > 0.2 * self.speedup)
    }

    /// Throughput of this many threads according to the fit, work/s.
    pub fn throughput_at(&self, threads: f64) -> f64 {
        let others = threads - 1.0;
        self.rate * threads / (1.0 + self.contention * others + self.coherency * threads * others)
    }
}

/// One step of a scaling measurement, compared with one thread of the same workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// Number of threads, or of copies of a command.
    pub threads: u32,
    /// The total throughput of these threads, work/s.
    pub throughput: f64,
    /// Throughput divided by the throughput of one thread.
    pub speedup: f64,
    /// Speed-up divided by the number of threads: 1 is linear.
    pub efficiency: f64,
}

/// What a result is based on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Both sides of the comparison were measured.
    Measured,
    /// One side is extrapolated from a smaller step, assuming that the remaining cores behave in the same way.
    Extrapolated,
}

/// How much throughput a workload gains from SMT siblings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SiblingsAdd {
    /// The workload.
    pub workload: String,
    /// The workload's block size, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Throughput of all CPUs divided by that of one thread per core, minus one (0.13 is 13 % more).
    pub adds: f64,
    /// Whether the step with one thread per core was measured or extrapolated.
    pub basis: Basis,
    /// The results, in sentences.
    pub says: Text,
}

/// One layer of the machine in which a routine was timed.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Layer {
    /// The layer's name, such as `kernel`, `user`, `guest kernel` or `guest user`.
    pub layer: String,
    /// The binding of the routine, if known: `none`, `cpu 3`.
    pub bound: Option<String>,
    /// Whether interrupts were `on` or `off`, if known.
    pub interrupts: Option<String>,
    /// Time of a pass, in the measurement's unit: the mean of all passes.
    pub time: f64,
    /// The time of a pass in seconds, if it was measured.
    pub seconds: Option<f64>,
    /// 95 % CI of the median pass time, if there are enough samples.
    pub interval: Option<(f64, f64)>,
    /// Standard deviation of the passes divided by their mean; included because published tables use it.
    pub variation: Option<f64>,
    /// How much longer this layer's passes took in total than those of the fastest layer (0.12 is 12 %).
    pub over: f64,
    /// The interval of `over`, from the slices that both layers ran alternately; the confidence level is 95 % for all
    /// steps together.
    pub over_interval: Option<(f64, f64)>,
    /// Events during the passes: interrupts, switches, migrations per second.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<Text>,
    /// Why the result is unreliable.
    #[serde(flatten)]
    pub doubt: Option<Doubt>,
    /// The result in words.
    pub says: Text,
    /// The measurement.
    pub from: String,
}

/// The cost of the machine's layers, timed alternately with the same machine code. Each step compares two layers that
/// differ in a single condition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Overhead {
    /// The fastest layer, with which the others are compared.
    pub line_speed: String,
    /// The difference between two runs of the same layer, which is noise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor: Option<Verdict>,
    /// The noise in words.
    pub floor_says: Text,
    /// The steps, each with the cost of the difference between two layers.
    pub steps: Vec<LayerStep>,
    /// The conclusions of a published comparison of layers, each with a verdict on whether this machine's results
    /// support it.
    pub claims: Vec<Claim>,
}

/// Two layers that differ in a single property, and the cost of that property.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LayerStep {
    /// The stable code of `what`: `overhead-step-interrupts`. Absent in records written by version 0.1.
    pub code: Option<String>,
    /// The property in which the layers differ: `interrupts`, `not bound to a CPU`.
    pub what: Text,
    /// The layer without the property.
    pub without: String,
    /// The layer with the property.
    pub with: String,
    /// Number of slices of the routine that both layers ran alternately.
    pub rounds: u64,
    /// The cost of the property, as a share of the time without the property.
    pub verdict: Verdict,
    /// Whether the time of either layer is in doubt.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unreliable: bool,
    /// The cost in words.
    pub says: Text,
    /// The cost per event for each kind of counted event (`0.8 µs for each of 250 interrupts/s`), or the reason why it
    /// cannot be computed.
    pub each: Option<Text>,
}

/// A published conclusion, compared with the results of this machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    /// The conclusion.
    pub claim: Text,
    /// The verdict of these results on the conclusion.
    pub answer: Answer,
    /// Why.
    pub why: Text,
}

/// Whether results support a conclusion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The results agree with the conclusion.
    Supported,
    /// The results contradict the conclusion.
    Contradicted,
    /// The results are inconclusive.
    CannotTell,
}

/// One level of the memory hierarchy, as found in the latency curve.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Level {
    /// `L1`, `L2`, `L3`, `memory`.
    pub name: String,
    /// Latency on the plateau of this level, ns.
    pub latency_ns: f64,
    /// The latency in cycles of the core clock.
    pub latency_cycles: Option<f64>,
    /// Size of the working set beyond which the latency rises to that of the next level, bytes; absent for memory.
    pub measured_bytes: Option<u64>,
    /// The size reported in sysfs, bytes.
    pub advertised_bytes: Option<u64>,
    /// Comparison of the two sizes, one sentence.
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
    /// The hardware maximum.
    pub ceiling: Option<f64>,
    /// Where the ceiling comes from.
    pub source: Option<CeilingSource>,
    /// The delivered value.
    pub delivered: f64,
    /// The delivered value as a share of line speed (1 is 100 %), if the ceiling is that of this hardware or of its
    /// processor family.
    pub share: Option<f64>,
    /// Meaning of these values, one sentence.
    pub meaning: Text,
    /// Why the underlying results are unreliable, in a few words: `too noisy`.
    #[serde(flatten)]
    pub doubt: Option<Doubt>,
    /// The difference between the results of two halves of the samples, each consisting of every other sample, as a share
    /// of their mean; absent if fewer than four samples were saved.
    pub repeatability: Option<f64>,
    /// The lowest and the highest ceiling among the models in the processor's family, if the ceiling is that of the
    /// family. The ceiling of this model is between these two, so they also limit the possible share.
    pub family_ceilings: Option<(f64, f64)>,
    /// Published results of similar machines; absent if there are none.
    pub typical: Option<Typical>,
    /// Comparison with the published results; absent if none are known for this resource although the processor is
    /// known, or if the delivered value is unreliable.
    pub position: Option<Position>,
    /// A related fact that is not a loss, for example the default timer slack of wake-ups or the share of CPU time used by other processes.
    pub beside: Option<Text>,
}

/// The range of published results of similar machines.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Typical {
    /// The minimum, in the resource's unit.
    pub low: f64,
    /// The maximum, in the resource's unit.
    pub high: f64,
    /// This machine's result under the same conditions as the published results, if it differs from the delivered
    /// result: for example, the latency on huge pages, or the wake-up latency with idle states disabled.
    pub compared: Option<f64>,
    /// The machines for which these results were published: `AMD Zen 4 (Genoa)`.
    pub of: String,
    /// The sources of the results.
    pub sources: Vec<String>,
    /// Whether the published results are from bare metal while this machine is a guest.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_bare_metal: bool,
}

/// Comparison of a result with published results of similar machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Position {
    /// Below all published results.
    Low,
    /// Within the range of published results.
    Normal,
    /// Above all published results.
    High,
    /// No published results for such a processor are known.
    UnknownMachine,
    /// The result is not representative, because other processes used the CPUs during the run.
    NotRepresentative,
}
