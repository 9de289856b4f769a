//! What many records say of machines that ought to be alike: the types only; the figures come from the `fleet` crate.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;
use serde_with::skip_serializing_none;

use crate::baseline::ClassFigure;
use crate::document::Tool;
use crate::metrics::Metric;
use crate::text::Text;

/// The version of the form of what is said of a fleet.
pub const FLEET_VERSION: u32 = 1;

/// What figures share their causes with: of those that say the same, a machine is slow once.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, strum::VariantArray, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// Clock, one thread's work, the caches of a core.
    Core,
    /// One CPU against the others of its machine.
    SlowestCpu,
    /// Work of all CPUs together.
    AllCpus,
    /// Latency beyond a core's own caches.
    MemoryLatency,
    /// Memory bandwidth.
    MemoryBandwidth,
    /// Own and other nodes' memory.
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
    /// All, in the order in which they are told.
    pub const ALL: &[Family] = <Self as strum::VariantArray>::VARIANTS;

    /// The words for people.
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
            Family::Others => "other figures",
        }
    }
}

/// What the records of a fleet say.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Fleet {
    /// [`FLEET_VERSION`] of the program that made it.
    pub fleet: u32,
    /// The program that made it.
    pub tool: Tool,
    /// What was read, and what of it was left out.
    pub reading: Reading,
    /// Classes of like machines, the largest first.
    pub classes: Vec<Class>,
    /// The machines that are slow, the slowest first.
    pub slow: Vec<Slow>,
    /// Where no machine was held against its like, commands to paste that hold some against each other.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub instead: Vec<String>,
    /// Commands to paste that measure the slow ones again: for Slurm, pdsh, Ansible, Kubernetes.
    pub confirm: Vec<String>,
}

/// What was read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Reading {
    /// Files that were looked at.
    pub files: u64,
    /// Of these, records.
    pub records: u64,
    /// Machines that they are of.
    pub machines: u64,
    /// Records that are older than another of their machine.
    pub earlier: u64,
    /// What was left out or should be known, by reason; those of most files first.
    pub remarks: Vec<Remark>,
}

/// Files of which the same is to be known.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Remark {
    /// What.
    pub what: Text,
    /// Its code.
    pub code: String,
    /// Whether these files were left out.
    pub left_out: bool,
    /// How many.
    pub count: u64,
    /// The first of them, each with more where that differs.
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

/// Machines that are held against each other.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Class {
    /// What they are, in a few words.
    pub name: String,
    /// What makes them of one kind.
    pub facts: Vec<FactValue>,
    /// Where the machines of a kind are of different speed by a fact: this camp's value of it. Of camps that no fact explains it
    /// is empty.
    pub camp: Option<Camp>,
    /// How many machines.
    pub machines: u32,
    /// Whether there are enough to say which of them is slow.
    pub judged: bool,
    /// What can be said of machines too few to call one slow.
    pub note: Option<Text>,
    /// The machine that is nearest to the medians of all.
    pub medoid: String,
    /// Its record.
    #[serde(skip)]
    pub medoid_path: PathBuf,
    /// The figures that are held against each other.
    pub figures: Vec<ClassFigure>,
    /// The family of each of these.
    pub families: Vec<Family>,
    /// Facts in which its machines differ without being of different speed by them.
    pub varying: Vec<Varying>,
    /// Figures that moved in the course of the collection, taken out before machines are held against each other.
    pub drifts: Vec<Drift>,
    /// Figures that have two values among these machines though nothing else divides them; none is called slow by them.
    pub two_valued: Vec<Text>,
    /// One entry a machine. Not in JSON: `--csv` has every figure.
    #[serde(skip)]
    pub rows: Vec<MachineRow>,
}

/// Why the machines of a kind are two classes.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Camp {
    /// The facts that divide them, and what this camp has of them; empty where none does.
    pub by: Vec<FactValue>,
    /// In what the camps differ most.
    pub what: Text,
    /// This camp's median over that of the fastest camp, as speed: 0.8 is a fifth slower.
    pub speed: f64,
}

/// A fact in which machines of a class differ.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Varying {
    /// The fact in words.
    pub what: Text,
    /// Its place in a record.
    pub from: String,
    /// Its values, each with how many machines have it; the most frequent first.
    pub values: Vec<(String, u32)>,
    /// The machine that differs from all others, where these agree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only: Option<String>,
}

/// A figure that moved.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Drift {
    /// The figure.
    pub what: Text,
    /// The last machines' speed over the first ones'.
    pub speed: f64,
}

/// A machine among its class.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineRow {
    /// Its name.
    pub machine: String,
    /// Its record.
    pub source: String,
    /// When that was begun.
    pub started: String,
    /// Whether it is slow.
    pub slow: bool,
    /// A cell a figure of the class.
    pub cells: Vec<Option<MachineCell>>,
}

/// A figure of one machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MachineCell {
    /// The figure.
    pub value: f64,
    /// Its own interval.
    pub interval: Option<(f64, f64)>,
    /// Its speed over the class's median: below 1 it is slower.
    pub speed: f64,
    /// How many scales of its class it is slower.
    pub z: f64,
}

/// A machine that is slow.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Slow {
    /// Its name.
    pub machine: String,
    /// Its record.
    pub source: String,
    /// The same as a path.
    #[serde(skip)]
    pub path: PathBuf,
    /// When that was begun.
    pub started: String,
    /// Its class, by index.
    pub class: usize,
    /// In what it is slow: a figure a family, the greatest loss first.
    pub figures: Vec<SlowFigure>,
    /// What explains it, the likeliest first.
    pub causes: Vec<FleetCause>,
    /// What `linespeed compare` says of it beside the machine that stands for its class.
    pub explained: Vec<Text>,
    /// Earlier collections in which it was slow, too, of those that it was in.
    pub before: (u32, u32),
}

/// In what a machine is slow.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SlowFigure {
    /// What it shares its causes with.
    pub family: Family,
    /// The figure of that family that is slowest.
    pub what: Text,
    /// Its metric.
    pub metric: Metric,
    /// Unit of the figures.
    pub unit: String,
    /// The machine's figure.
    pub value: f64,
    /// The class's median.
    pub median: f64,
    /// The machine's speed over that median.
    pub speed: f64,
    /// The interval of that by the machine's own interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<(f64, f64)>,
    /// How likely a machine of the class is so slow by chance.
    pub chance: f64,
    /// Whether the slower clock alone makes it so slow.
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

impl Fleet {
    /// As JSON, indented, with a newline at the end.
    ///
    /// # Errors
    ///
    /// A value has no form in JSON.
    pub fn to_json(&self) -> std::io::Result<String> {
        crate::json::write_text(self)
    }

    /// Its JSON Schema.
    pub fn json_schema() -> serde_json::Value {
        crate::schema::read(crate::schema::FLEET)
    }
}
