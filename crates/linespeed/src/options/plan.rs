//! Options of `plan`.

use std::time::Duration;

use clap::Args;

/// Options of `plan`.
#[derive(Debug, Args)]
pub struct Plan {
    /// A record of the machine to plan for, or reference:NAME; - is standard input [without, or with a dot: this machine,
    /// with the newest figures of its records]
    pub record: Option<String>,
    /// Number of processes [without: one per NUMA node, or with --threads as many as fit]
    #[arg(long, value_name = "N")]
    pub processes: Option<u32>,
    /// Threads of each process [without: as many as its CPUs allow]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub threads: Option<u32>,
    /// Print only the lines to paste for this tool: numactl, taskset, systemd, docker
    #[arg(long = "as", value_name = "TOOL", value_parser = clap::builder::PossibleValuesParser::new(diagnose::TOOLS),
          conflicts_with_all = ["form", "all"])]
    pub tool: Option<String>,
    /// Run the command as planned and unbound, in turn, and measure what the layout gains
    // That it goes with neither a record nor --as is told by the command: clap's usage line would show the record.
    #[arg(long)]
    pub verify: bool,
    /// Rounds of --verify; 6 give an interval
    #[arg(short, long, value_name = "N", default_value = "10", requires = "verify",
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub repeat: u32,
    /// Time limit of one run of --verify, for example 30s or 5m
    #[arg(long, value_name = "TIME", requires = "verify", value_parser = super::duration)]
    pub timeout: Option<Duration>,
    /// The command of --verify: one copy per process if it has {threads}, {process}, {cpus} or {node} in it, else one per
    /// thread
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<std::ffi::OsString>,
}
