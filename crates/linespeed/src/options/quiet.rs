//! Options of `quiet`.

use std::path::PathBuf;

use clap::Args;

/// Options of `quiet`.
#[derive(Debug, Args)]
pub struct Quiet {
    /// Only these knobs [default: all except opt-in knobs]
    #[arg(value_name = "KNOB")]
    pub knobs: Vec<String>,
    /// Set the knobs until --restore
    #[arg(long, conflicts_with_all = ["restore", "status", "command", "all"])]
    pub apply: bool,
    /// Print the planned changes; change nothing
    #[arg(long, conflicts_with_all = ["restore", "status", "all"])]
    pub dry_run: bool,
    /// Restore the original values
    #[arg(long, conflicts_with_all = ["status", "knobs", "command", "all"])]
    pub restore: bool,
    /// Show set knobs and their owner
    #[arg(long, conflicts_with_all = ["knobs", "command", "all"])]
    pub status: bool,
    /// Measure each knob's gain
    #[arg(long, conflicts_with_all = ["apply", "dry_run", "restore", "status", "all"])]
    pub prove: bool,
    /// Rounds of --prove [default: as needed]
    #[arg(long, value_name = "N", requires = "prove", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub rounds: Option<u32>,
    /// Read a captured tree (/proc and /sys) instead
    #[arg(long, value_name = "DIR", conflicts_with_all = ["apply", "prove", "restore", "status", "command", "drop_caches"])]
    pub root: Option<PathBuf>,
    /// First drop the machine's page cache (root)
    #[arg(long, requires = "command", conflicts_with_all = ["apply", "restore", "status"])]
    pub drop_caches: bool,
    /// Run this command with the knobs set, then restore them
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "all")]
    pub command: Vec<std::ffi::OsString>,
}
