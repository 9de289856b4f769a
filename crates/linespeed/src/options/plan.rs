//! Options of `plan`.

use std::time::Duration;

use clap::Args;

/// Options of `plan`.
#[derive(Debug, Args)]
pub struct Plan {
    /// Plan for this record or reference:NAME [default: this machine]
    pub record: Option<String>,
    /// Number of processes [default: one per NUMA node]
    #[arg(long, value_name = "N")]
    pub processes: Option<u32>,
    /// Threads per process [default: one per CPU]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub threads: Option<u32>,
    /// Print commands for numactl, taskset, systemd, docker
    #[arg(long = "as", value_name = "TOOL", value_parser = clap::builder::PossibleValuesParser::new(diagnose::TOOLS),
          hide_possible_values = true,
          conflicts_with_all = ["form", "all"])]
    pub tool: Option<String>,
    /// Run COMMAND as planned and unpinned, and compare
    // The command itself rejects this flag together with a record or `--as`, because clap's usage line would
    // show the record.
    #[arg(long)]
    pub verify: bool,
    /// Rounds of --verify
    #[arg(short, long, value_name = "N", default_value = "10", requires = "verify",
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub repeat: u32,
    /// Time limit per run of --verify, such as 5m
    #[arg(long, value_name = "TIME", requires = "verify", value_parser = super::duration)]
    pub timeout: Option<Duration>,
    /// The command of --verify
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<std::ffi::OsString>,
}
