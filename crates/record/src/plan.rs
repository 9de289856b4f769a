//! How to lay a program out on a machine: how many processes with how many threads, on which CPUs, with which memory,
//! and the expected gain. The types only; the `diagnose` crate derives them from a record.

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
    /// Usable NUMA nodes with CPUs.
    pub nodes: u32,
    /// The processes in order.
    pub processes: Vec<Process>,
    /// Whether to use the siblings of a core; absent if no core has any.
    pub siblings: Option<Siblings>,
    /// The expected gain, one entry per kind of program. Modelled from the measurements.
    pub gains: Vec<Gain>,
    /// A level below the nodes: several last-level caches per node.
    pub caches: Option<CacheDomains>,
    /// What else to set: memory, huge pages, interrupts.
    pub advice: Vec<Advice>,
    /// Lines to paste, one entry per tool; none if nothing needs to be bound.
    #[serde(rename = "pastes")]
    pub snippets: Vec<Snippet>,
    /// What the plan omits and its weaknesses, a sentence each.
    pub cautions: Vec<Text>,
    /// Unknowns, and how to resolve them, a sentence each.
    pub unknown: Vec<Text>,
    /// The record given to `linespeed plan`; absent for this machine.
    pub record: Option<String>,
    /// The sources of the results, a sentence each.
    pub sources: Vec<Text>,
    /// The measured gain of running a command both ways.
    pub verification: Option<Verification>,
}

/// One process of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Process {
    /// Its number, from 0.
    pub number: u32,
    /// Its threads; absent if the machine's CPUs are not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// The nodes on whose CPUs it runs.
    pub nodes: CpuList,
    /// Its CPUs; empty if they are not known: then all CPUs of its nodes.
    pub cpus: CpuList,
    /// Whether `cpus` are all usable CPUs of its nodes.
    pub whole_nodes: bool,
    /// The nodes that its memory comes from; empty if the machine has one.
    pub memory: CpuList,
    /// The memory policy.
    pub policy: Policy,
}

/// The memory policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// The kernel's default: from the node of the CPU that touches a page first.
    #[default]
    Default,
    /// From these nodes only, the nearest first.
    Bind,
    /// Page by page, alternating between these nodes.
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
    /// Whether results support this; otherwise it is a choice.
    pub measured: bool,
    /// Why, a sentence or two.
    pub why: Text,
    /// The results behind it.
    pub evidence: Vec<Evidence>,
    /// One CPU of each core, for the other choice; empty if CPUs are not known.
    pub one_a_core: CpuList,
}

/// The expected gain of one kind of program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Gain {
    /// The kind: `memory-latency-bound`, `memory-bandwidth-bound`.
    pub program: String,
    /// Its work in the same time, relative to a program that ignores nodes.
    pub factor: f64,
    /// The interval of the factor, from the results' intervals; absent without these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<(f64, f64)>,
    /// How it follows from the results.
    pub why: Text,
    /// The results.
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
    /// The results behind it.
    pub evidence: Vec<Evidence>,
}

/// Another setting.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Advice {
    /// What: `memory`, `huge pages`, `interrupts`.
    pub about: String,
    /// What to do and why.
    pub says: Text,
    /// The results behind it.
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
    /// Where the lines go, and notes.
    pub says: Text,
    /// The lines, one piece per process, or one for all.
    pub pieces: Vec<Piece>,
}

/// Lines that belong together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Piece {
    /// Its process; absent if it is for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<u32>,
    /// The lines.
    pub lines: Vec<String>,
}

/// A command run alternately as planned and unbound.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Verification {
    /// The command as it was typed.
    pub command: Vec<String>,
    /// How it was run: the number of copies, and their binding.
    pub how: Text,
    /// Seconds until the last copy had ended, round by round, bound as planned.
    pub planned: Vec<f64>,
    /// The same unbound.
    pub unbound: Vec<f64>,
    /// Work in the same time, planned over unbound, round by round.
    pub ratio: Summary,
    /// The gain of the layout: the share of time that running unbound costs (or, if `slower`, that the layout costs).
    pub verdict: Option<Verdict>,
    /// Whether the layout made it slower.
    pub slower: bool,
    /// The median difference of two consecutive runs of the same kind, as a share.
    pub noise: Option<f64>,
    /// Events during the runs, each with its number of runs.
    pub marks: Vec<(Mark, u32)>,
    /// The result in a sentence or two, compared with the expectation.
    pub says: Text,
}

impl Plan {
    /// CPUs of all processes.
    pub fn cpus(&self) -> CpuList {
        self.processes.iter().fold(CpuList::new(), |all, process| all.union(&process.cpus))
    }
}
