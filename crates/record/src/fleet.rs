//! A fleet of machines that should be alike: the types only. The `fleet` crate computes the results.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;
use serde_with::skip_serializing_none;

use crate::baseline::ClassFigure;
use crate::document::Tool;
use crate::metrics::Metric;
use crate::text::Text;

/// The version of the fleet format.
pub const FLEET_VERSION: u32 = 1;

/// Groups of results with common causes: a machine counts as slow once per family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, strum::VariantArray, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// Clock, single-thread work, the caches of a core.
    Core,
    /// The slowest CPU relative to the others of its machine.
    SlowestCpu,
    /// Work of all CPUs together.
    AllCpus,
    /// Latency beyond a core's own caches.
    MemoryLatency,
    /// Memory bandwidth.
    MemoryBandwidth,
    /// Local and remote memory.
    Nodes,
    /// From CPU to CPU.
    CoreToCore,
    /// Wake-up latency.
    WakeUp,
    /// System calls, faults, switches.
    KernelCosts,
    /// Anything else.
    Others,
}

impl Family {
    /// All, in output order.
    pub const ALL: &[Family] = <Self as strum::VariantArray>::VARIANTS;

    /// The displayed text.
    pub fn word(self) -> &'static str {
        match self {
            Family::Core => "core",
            Family::SlowestCpu => "slowest CPU",
            Family::AllCpus => "all CPUs",
            Family::MemoryLatency => "memory latency",
            Family::MemoryBandwidth => "memory bandwidth",
            Family::Nodes => "NUMA nodes",
            Family::CoreToCore => "core to core",
            Family::WakeUp => "wake-up latency",
            Family::KernelCosts => "kernel costs",
            Family::Others => "other results",
        }
    }
}

/// The results of a fleet's records.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Fleet {
    /// [`FLEET_VERSION`] of the program that made it.
    pub fleet: u32,
    /// The program that wrote it.
    pub tool: Tool,
    /// What was read, and what was left out.
    pub reading: Reading,
    /// Classes of similar machines, the largest first.
    pub classes: Vec<Class>,
    /// The slow machines, the slowest first.
    pub slow: Vec<Slow>,
    /// If no machine was compared with its peers: commands to paste that compare some with each other.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub instead: Vec<String>,
    /// Commands to paste that measure the slow machines again: for Slurm, pdsh, Ansible, Kubernetes.
    pub confirm: Vec<String>,
}

/// What was read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Reading {
    /// Number of files read.
    pub files: u64,
    /// Number of records among them.
    pub records: u64,
    /// Number of machines in these records.
    pub machines: u64,
    /// Records older than another of the same machine.
    pub earlier: u64,
    /// Notes and reasons for leaving files out, those with the most files first.
    pub remarks: Vec<Remark>,
}

/// A remark on several files.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Remark {
    /// The remark.
    pub what: Text,
    /// Its code.
    pub code: String,
    /// Whether these files were left out.
    pub left_out: bool,
    /// How many.
    pub count: u64,
    /// The first of them, each with its details, if these differ.
    pub examples: Vec<String>,
}

/// A fact and its value.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FactValue {
    /// The fact in words.
    pub what: Text,
    /// Its place in a record.
    pub from: String,
    /// The value.
    pub value: String,
}

/// Machines that are comparable with each other.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Class {
    /// A short description.
    pub name: String,
    /// The facts that they share.
    pub facts: Vec<FactValue>,
    /// If a fact divides similar machines into classes of different speed: this class's value of it. Empty if no fact explains
    /// the difference.
    pub camp: Option<Camp>,
    /// How many machines.
    pub machines: u32,
    /// Whether there are enough machines to find slow ones.
    pub judged: bool,
    /// A note on a class that is too small to find slow machines.
    pub note: Option<Text>,
    /// The machine nearest to the medians of all.
    pub medoid: String,
    /// Its record.
    #[serde(skip)]
    pub medoid_path: PathBuf,
    /// The compared results.
    pub figures: Vec<ClassFigure>,
    /// The family of each of these.
    pub families: Vec<Family>,
    /// Facts in which its machines differ without an effect on speed.
    pub varying: Vec<Varying>,
    /// Results that drifted during the collection; the drift is removed before machines are compared.
    pub drifts: Vec<Drift>,
    /// Results that form two groups among these machines although nothing else divides them; no machine is called slow because of them.
    pub two_valued: Vec<Text>,
    /// One entry per machine. Not in JSON: `--csv` has every result.
    #[serde(skip)]
    pub rows: Vec<MachineRow>,
}

/// Why similar machines form two classes.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Camp {
    /// The facts that divide them, with the values of this camp; empty if none does.
    pub by: Vec<FactValue>,
    /// The result in which the camps differ most.
    pub what: Text,
    /// This camp's median speed relative to that of the fastest camp: 0.8 is a fifth slower.
    pub speed: f64,
}

/// A fact in which machines of a class differ.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Varying {
    /// The fact in words.
    pub what: Text,
    /// Its place in a record.
    pub from: String,
    /// Its values, each with its number of machines; the most frequent first.
    pub values: Vec<(String, u32)>,
    /// The only machine that differs, if all others agree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only: Option<String>,
}

/// A result that drifted.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Drift {
    /// The result.
    pub what: Text,
    /// The speed of the last machines relative to the first ones.
    pub speed: f64,
}

/// A machine within its class.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineRow {
    /// Its name.
    pub machine: String,
    /// Its record.
    pub source: String,
    /// When it was measured.
    pub started: String,
    /// Whether it is slow.
    pub slow: bool,
    /// One cell per result of the class.
    pub cells: Vec<Option<MachineCell>>,
}

/// A result of one machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MachineCell {
    /// The value.
    pub value: f64,
    /// Its own interval.
    pub interval: Option<(f64, f64)>,
    /// Its speed relative to the class median: below 1 it is slower.
    pub speed: f64,
    /// How many scales (spreads) of its class it is below the median speed.
    pub z: f64,
}

/// A slow machine.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Slow {
    /// Its name.
    pub machine: String,
    /// Its record.
    pub source: String,
    /// The same as a path.
    #[serde(skip)]
    pub path: PathBuf,
    /// When it was measured.
    pub started: String,
    /// Its class, by index.
    pub class: usize,
    /// The slow results: one per family, the greatest loss first.
    pub figures: Vec<SlowFigure>,
    /// What explains it, the likeliest first.
    pub causes: Vec<FleetCause>,
    /// The explanation by `linespeed compare` with the machine that represents its class.
    pub explained: Vec<Text>,
    /// The number of earlier collections in which it was also slow, and of those that included it.
    pub before: (u32, u32),
}

/// A slow result of a machine.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SlowFigure {
    /// The family with the same causes.
    pub family: Family,
    /// The slowest result of that family.
    pub what: Text,
    /// Its metric.
    pub metric: Metric,
    /// Unit of the values.
    pub unit: String,
    /// The machine's value.
    pub value: f64,
    /// The class's median.
    pub median: f64,
    /// The machine's speed relative to that median.
    pub speed: f64,
    /// The interval of that, from the machine's own interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<(f64, f64)>,
    /// The probability that a machine of the class is this slow by chance.
    pub chance: f64,
    /// Whether the slower clock alone explains it.
    pub follows_clock: bool,
}

/// What explains a slow machine.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FleetCause {
    /// Its stable code.
    pub code: String,
    /// In words.
    pub says: Text,
}
