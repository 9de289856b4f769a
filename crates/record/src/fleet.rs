//! The types for a fleet of machines that should perform alike. The `fleet` crate computes the results.

use std::path::PathBuf;

use serde::Serialize;
use serde_with::skip_serializing_none;

use crate::JsonSchema;
use crate::baseline::ClassFigure;
use crate::document::Tool;
use crate::metrics::Metric;
use crate::text::Text;

/// The version of the fleet format.
pub const FLEET_VERSION: u32 = 1;

/// Families of results with common causes; a machine has at most one slow result per family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, strum::VariantArray, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// The core clock, single-threaded work and the caches of a core.
    Core,
    /// The speed of a machine's slowest CPU relative to the machine's other CPUs.
    SlowestCpu,
    /// Throughput of all CPUs together.
    AllCpus,
    /// Latency beyond a core's own caches.
    MemoryLatency,
    /// Memory bandwidth.
    MemoryBandwidth,
    /// Local and remote memory.
    Nodes,
    /// Core-to-core latency.
    CoreToCore,
    /// Wake-up latency.
    WakeUp,
    /// System calls, page faults and context switches.
    KernelCosts,
    /// Anything else.
    Others,
}

impl Family {
    /// All families, in output order.
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

/// The outcome of comparing the machines of a fleet by their records.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Fleet {
    /// [`FLEET_VERSION`] of the program that wrote the results.
    pub fleet: u32,
    /// The program that wrote the results.
    pub tool: Tool,
    /// The files read, and the files skipped.
    pub reading: Reading,
    /// Classes of similar machines, largest class first.
    pub classes: Vec<Class>,
    /// The slow machines, slowest first.
    pub slow: Vec<Slow>,
    /// If no machine was compared with its peers: commands to paste that compare some of the machines with each other.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub instead: Vec<String>,
    /// Commands to paste that measure the slow machines again with Slurm, pdsh, Ansible or Kubernetes.
    pub confirm: Vec<String>,
}

/// The files read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Reading {
    /// Number of files read.
    pub files: u64,
    /// Number of records among them.
    pub records: u64,
    /// Number of machines in these records.
    pub machines: u64,
    /// Number of records ignored because a newer record of the same machine exists.
    pub earlier: u64,
    /// Notes on files and reasons for skipping files; the notes that apply to the most files come first.
    pub remarks: Vec<Remark>,
}

/// A remark on several files.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Remark {
    /// The remark.
    pub what: Text,
    /// The remark's code.
    pub code: String,
    /// Whether the files were skipped.
    pub left_out: bool,
    /// Number of files.
    pub count: u64,
    /// The first few of these files, each with its details if the details differ.
    pub examples: Vec<String>,
}

/// A fact and its value.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FactValue {
    /// The fact in words.
    pub what: Text,
    /// The fact's place in a record.
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
    /// The facts shared by the machines.
    pub facts: Vec<FactValue>,
    /// If similar machines form several classes of different speed: how this class differs from the others. Absent
    /// otherwise.
    pub camp: Option<Camp>,
    /// Number of machines.
    pub machines: u32,
    /// Whether there are enough machines to find slow ones.
    pub judged: bool,
    /// A note on a class that is too small to find slow machines.
    pub note: Option<Text>,
    /// The machine closest to the medians of all results.
    pub medoid: String,
    /// The path of that machine's record.
    #[serde(skip)]
    pub medoid_path: PathBuf,
    /// The compared results.
    pub figures: Vec<ClassFigure>,
    /// The family of each of these results.
    pub families: Vec<Family>,
    /// Facts that differ between the machines of the class but do not affect speed.
    pub varying: Vec<Varying>,
    /// Results that drifted during the collection; the drift is removed before machines are compared.
    pub drifts: Vec<Drift>,
    /// Results that divide these machines into two groups although no fact explains the division; no machine is
    /// reported as slow because of such a result.
    pub two_valued: Vec<Text>,
    /// One entry per machine. The rows are not in the JSON; `--csv` prints every result.
    #[serde(skip)]
    pub rows: Vec<MachineRow>,
}

/// A camp: one of several groups of similar machines that differ in speed.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Camp {
    /// The facts that distinguish the camps, with this camp's values; empty if no fact distinguishes them.
    pub by: Vec<FactValue>,
    /// The result in which the camps differ most.
    pub what: Text,
    /// This camp's median speed relative to that of the fastest camp: 0.8 is 20 % slower.
    pub speed: f64,
}

/// A fact that differs between machines of a class.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Varying {
    /// The fact in words.
    pub what: Text,
    /// The fact's place in a record.
    pub from: String,
    /// The fact's values, each with its number of machines, most frequent first.
    pub values: Vec<(String, u32)>,
    /// The machine with a different value, if all other machines have the same value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only: Option<String>,
}

/// A result that drifted.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Drift {
    /// The result.
    pub what: Text,
    /// The speed of the machines measured last relative to those measured first.
    pub speed: f64,
}

/// A machine within its class.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineRow {
    /// The machine's name.
    pub machine: String,
    /// The machine's record.
    pub source: String,
    /// When the machine was measured.
    pub started: String,
    /// Whether the machine is slow.
    pub slow: bool,
    /// One cell per result of the class.
    pub cells: Vec<Option<MachineCell>>,
}

/// A result of one machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MachineCell {
    /// The value.
    pub value: f64,
    /// The interval of this machine's value.
    pub interval: Option<(f64, f64)>,
    /// The machine's speed relative to the class median: below 1, it is slower.
    pub speed: f64,
    /// How far the machine is below the class's median speed, in units of the class's spread.
    pub z: f64,
}

/// A slow machine.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Slow {
    /// The machine's name.
    pub machine: String,
    /// The host name for commands; `machine` if the record has none.
    #[serde(skip)]
    pub host: String,
    /// The machine's record.
    pub source: String,
    /// The path of the record.
    #[serde(skip)]
    pub path: PathBuf,
    /// When the machine was measured.
    pub started: String,
    /// The machine's class, by index.
    pub class: usize,
    /// The slow results, at most one per family, greatest loss first.
    pub figures: Vec<SlowFigure>,
    /// Possible causes, most likely first.
    pub causes: Vec<FleetCause>,
    /// The explanations of `linespeed compare` for the difference from the machine that represents the class.
    pub explained: Vec<Text>,
    /// The number of earlier collections in which the machine was also slow, and the number of earlier collections that
    /// included it.
    pub before: (u32, u32),
}

/// A slow result of a machine.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SlowFigure {
    /// The family of the result.
    pub family: Family,
    /// The slowest result of that family.
    pub what: Text,
    /// The metric of the result.
    pub metric: Metric,
    /// Unit of the values.
    pub unit: String,
    /// The machine's value.
    pub value: f64,
    /// The class's median.
    pub median: f64,
    /// The machine's speed relative to that median.
    pub speed: f64,
    /// The interval of `speed`, from the machine's own interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<(f64, f64)>,
    /// The probability that a machine of this class is this slow by chance.
    pub chance: f64,
    /// Whether the machine's slower clock fully explains the result.
    pub follows_clock: bool,
}

/// A possible reason why a machine is slow.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FleetCause {
    /// The code of the cause, which never changes.
    pub code: String,
    /// The cause in words.
    pub says: Text,
}
