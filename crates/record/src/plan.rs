//! How to lay a program out on a machine: how many processes of how many threads, on which CPUs, with which memory, and
//! what that should give. The types only; the `diagnose` crate makes them from a record.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::CpuList;
use crate::difference::Verdict;
use crate::evidence::Evidence;
use crate::measurement::Mark;
use crate::statistics::Summary;
use crate::text::Text;

/// How to lay a program out on one machine.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Plan {
    /// The whole plan in a sentence or two.
    pub summary: Text,
    /// NUMA nodes with CPUs that may be used.
    pub nodes: u32,
    /// The processes in order.
    pub processes: Vec<Process>,
    /// Whether to use the siblings of a core; absent where no core has any.
    pub siblings: Option<Siblings>,
    /// What the layout should give, one entry a kind of program. Modelled from what was measured.
    pub gains: Vec<Gain>,
    /// A level below the nodes: several last-level caches on each.
    pub caches: Option<CacheDomains>,
    /// What else to set: memory, huge pages, interrupts.
    pub advice: Vec<Advice>,
    /// Lines to paste, one entry a tool; none where nothing needs to be bound.
    #[serde(rename = "pastes")]
    pub snippets: Vec<Snippet>,
    /// What the plan leaves out or where it is weak, a sentence each.
    pub cautions: Vec<Text>,
    /// What is not known, and how to find it out, a sentence each.
    pub unknown: Vec<Text>,
    /// The record that `linespeed plan` was given; absent for this machine.
    pub record: Option<String>,
    /// Where the figures come from, a sentence each.
    pub sources: Vec<Text>,
    /// What running a command both ways really gave.
    pub verification: Option<Verification>,
}

/// One process of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Process {
    /// Its number, from 0.
    pub number: u32,
    /// Its threads; absent where the machine's CPUs are not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// The nodes on whose CPUs it runs.
    pub nodes: CpuList,
    /// Its CPUs; empty where they are not known: then all CPUs of its nodes.
    pub cpus: CpuList,
    /// Whether `cpus` are all usable CPUs of its nodes.
    pub whole_nodes: bool,
    /// The nodes that its memory comes from; empty where the machine has one.
    pub memory: CpuList,
    /// How it is taken from them.
    pub policy: Policy,
}

/// How memory is taken from nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// As the kernel does it: from the node of the CPU that touches it first.
    #[default]
    Default,
    /// From these nodes only, the nearest first.
    Bind,
    /// Page by page from these nodes in turn.
    Interleave,
}

/// Whether to use the siblings of a core.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Siblings {
    /// Hardware threads of a core.
    pub per_core: u32,
    /// Whether the plan uses them.
    pub used: bool,
    /// Whether figures say so; otherwise it is a choice.
    pub measured: bool,
    /// Why, a sentence or two.
    pub why: Text,
    /// The figures behind it.
    pub evidence: Vec<Evidence>,
    /// One CPU of each core, for those who want the other way; empty where CPUs are not known.
    pub one_a_core: CpuList,
}

/// What a layout should give one kind of program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Gain {
    /// The kind: `memory-latency-bound`, `memory-bandwidth-bound`.
    pub program: String,
    /// How many times the work it does in the same time, against one that ignores nodes.
    pub factor: f64,
    /// Between what the figures' intervals allow it to lie; absent where they have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<(f64, f64)>,
    /// How it follows from the figures.
    pub why: Text,
    /// The figures.
    pub evidence: Vec<Evidence>,
}

/// Several last-level caches on a node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CacheDomains {
    /// The level of the cache.
    pub level: u32,
    /// The usable CPUs of each.
    pub domains: Vec<CpuList>,
    /// What that means for a program.
    pub says: Text,
    /// The figures behind it.
    pub evidence: Vec<Evidence>,
}

/// Something else to set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Advice {
    /// What: `memory`, `huge pages`, `interrupts`.
    pub about: String,
    /// What to do and why.
    pub says: Text,
    /// The figures behind it.
    pub evidence: Vec<Evidence>,
    /// Commands to paste.
    pub commands: Vec<String>,
    /// How to undo them.
    pub undo: Vec<String>,
}

/// One tool's lines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Snippet {
    /// `numactl`, `taskset`, `systemd`, `docker`.
    pub tool: String,
    /// Where they go and what to know.
    pub says: Text,
    /// The lines, one piece a process, or one for all.
    pub pieces: Vec<Piece>,
}

/// Lines that belong together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Piece {
    /// The process that they are for; absent where they are for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<u32>,
    /// The lines.
    pub lines: Vec<String>,
}

/// A command run as planned and unbound, in turn.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Verification {
    /// The command as it was typed.
    pub command: Vec<String>,
    /// How it was run: how many copies, bound to what.
    pub how: Text,
    /// Seconds until the last copy had ended, round by round, bound as planned.
    pub planned: Vec<f64>,
    /// The same unbound.
    pub unbound: Vec<f64>,
    /// Work in the same time as planned over unbound, round by round.
    pub ratio: Summary,
    /// What the layout gave: the share of time that running unbound costs (or, where `slower`, that the layout costs).
    pub verdict: Option<Verdict>,
    /// Whether the layout made it slower.
    pub slower: bool,
    /// Two runs of the same kind in a row differ by this share in the median.
    pub noise: Option<f64>,
    /// What happened during runs, each with the number of runs.
    pub marks: Vec<(Mark, u32)>,
    /// The result in a sentence or two, held against what was expected.
    pub says: Text,
}

impl Plan {
    /// As JSON, indented, with a newline at the end.
    ///
    /// # Errors
    ///
    /// A value has no form in JSON.
    pub fn to_json(&self) -> std::io::Result<String> {
        crate::json::write_text(self)
    }

    /// CPUs of all processes.
    pub fn cpus(&self) -> CpuList {
        self.processes.iter().fold(CpuList::new(), |all, process| all.union(&process.cpus))
    }
}
