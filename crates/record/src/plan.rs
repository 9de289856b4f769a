//! The layout of a program on a machine: the number of processes and threads, their CPUs and memory, and the expected
//! gain. This module contains only the types; the `diagnose` crate derives the values from a record.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::CpuList;
use crate::JsonSchema;
use crate::difference::Verdict;
use crate::evidence::Evidence;
use crate::measurement::Mark;
use crate::statistics::Summary;
use crate::text::Text;

/// The layout of a program on one machine.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Plan {
    /// The complete plan in one or two sentences.
    pub summary: Text,
    /// Usable NUMA nodes with CPUs.
    pub nodes: u32,
    /// The processes in order.
    pub processes: Vec<Process>,
    /// Whether to use SMT siblings; absent if no core has any.
    pub siblings: Option<Siblings>,
    /// The expected gain, one entry per kind of program, modelled from the measurements.
    pub gains: Vec<Gain>,
    /// The last-level caches within each node, if nodes have several.
    pub caches: Option<CacheDomains>,
    /// Other settings: memory, huge pages, interrupts.
    pub advice: Vec<Advice>,
    /// Lines to paste, one entry per tool; empty if nothing needs to be bound.
    #[serde(rename = "pastes")]
    pub snippets: Vec<Snippet>,
    /// Omissions and weaknesses of the plan, one sentence each.
    pub cautions: Vec<Text>,
    /// Unknown facts; one sentence each, which also states how to determine the fact.
    pub unknown: Vec<Text>,
    /// The record given to `linespeed plan`; absent if the plan is for this machine.
    pub record: Option<String>,
    /// The sources of the results, one sentence each.
    pub sources: Vec<Text>,
    /// The measured gain, from running a command with and without the plan.
    pub verification: Option<Verification>,
}

/// One process of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Process {
    /// The process's number, from 0.
    pub number: u32,
    /// The number of threads; absent if the machine's CPUs are not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// The nodes whose CPUs the process uses.
    pub nodes: CpuList,
    /// The process's CPUs; empty if they are unknown, which means all CPUs of its nodes.
    pub cpus: CpuList,
    /// Whether `cpus` contains all usable CPUs of these nodes.
    pub whole_nodes: bool,
    /// The nodes for the process's memory; empty if the machine has only one node.
    pub memory: CpuList,
    /// The memory policy.
    pub policy: Policy,
}

/// The memory policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// The kernel's default: each page is allocated on the node of the CPU that first touches it.
    #[default]
    Default,
    /// Memory is allocated only on these nodes, nearest node first.
    Bind,
    /// Pages are allocated alternately on these nodes.
    Interleave,
}

/// Whether to use SMT siblings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Siblings {
    /// Hardware threads of each core.
    pub per_core: u32,
    /// Whether the plan uses them.
    pub used: bool,
    /// Whether the choice is based on results; otherwise, it is the default.
    pub measured: bool,
    /// The reason, in one or two sentences.
    pub why: Text,
    /// The results on which the choice is based.
    pub evidence: Vec<Evidence>,
    /// One CPU of each core, for users who do not want to use siblings; empty if the CPUs are not known.
    pub one_a_core: CpuList,
}

/// The expected gain of one kind of program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Gain {
    /// The kind: `memory-latency-bound`, `memory-bandwidth-bound`.
    pub program: String,
    /// The work that the program does in the same time with this plan, relative to a NUMA-unaware program.
    pub factor: f64,
    /// The interval of the factor, derived from the intervals of the results; absent if they have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<(f64, f64)>,
    /// How the factor is derived from the results.
    pub why: Text,
    /// The results.
    pub evidence: Vec<Evidence>,
}

/// The last-level caches of a node that has several.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CacheDomains {
    /// The level of the cache.
    pub level: u32,
    /// The usable CPUs of each cache.
    pub domains: Vec<CpuList>,
    /// The consequences for a program.
    pub says: Text,
    /// The results on which the consequences are based.
    pub evidence: Vec<Evidence>,
}

/// Another setting.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Advice {
    /// The subject of the advice: `memory`, `huge pages`, `interrupts`.
    pub about: String,
    /// The advice with its reason.
    pub says: Text,
    /// The results on which the advice is based.
    pub evidence: Vec<Evidence>,
    /// Commands to paste.
    pub commands: Vec<String>,
    /// Commands that undo the advice.
    pub undo: Vec<String>,
}

/// One tool's lines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Snippet {
    /// `numactl`, `taskset`, `systemd`, `docker`.
    pub tool: String,
    /// Notes on the lines, and where to put them.
    pub says: Text,
    /// The lines: one group per process, or one group for all.
    pub pieces: Vec<Piece>,
}

/// Lines that belong together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Piece {
    /// The process to which the lines apply; absent if they are for all processes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<u32>,
    /// The lines.
    pub lines: Vec<String>,
}

/// A command run alternately with and without the planned binding.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Verification {
    /// The command as typed.
    pub command: Vec<String>,
    /// The number of copies and their binding.
    pub how: Text,
    /// Seconds until the last copy exited, with the copies bound as planned; one value per round.
    pub planned: Vec<f64>,
    /// The same times for runs without binding.
    pub unbound: Vec<f64>,
    /// Throughput with the plan relative to unbound runs, one value per round.
    pub ratio: Summary,
    /// The share of run time that unbound runs lose compared with the layout; if `slower` is set, the share that the layout loses.
    pub verdict: Option<Verdict>,
    /// Whether the layout made the command slower.
    pub slower: bool,
    /// The median difference of two consecutive runs of the same kind, as a share.
    pub noise: Option<f64>,
    /// Events during the runs, each with the number of runs in which it occurred.
    pub marks: Vec<(Mark, u32)>,
    /// The result in one or two sentences, compared with the expectation.
    pub says: Text,
}

impl Plan {
    /// CPUs of all processes.
    pub fn cpus(&self) -> CpuList {
        self.processes.iter().fold(CpuList::new(), |all, process| all.union(&process.cpus))
    }
}
