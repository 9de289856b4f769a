//! Options of `quiet`.

use std::path::PathBuf;

use clap::Args;

/// Options of `quiet`.
#[derive(Debug, Args)]
pub struct Quiet {
    /// Only these knobs, as the table names them [without: all but those marked as set only when named]
    #[arg(value_name = "KNOB")]
    pub knobs: Vec<String>,
    /// Set the knobs until --restore
    #[arg(long, conflicts_with_all = ["restore", "status", "command", "all"])]
    pub apply: bool,
    /// Print what would be written, and write nothing
    #[arg(long, conflicts_with_all = ["restore", "status", "all"])]
    pub dry_run: bool,
    /// Restore the original values
    #[arg(long, conflicts_with_all = ["status", "knobs", "command", "all"])]
    pub restore: bool,
    /// Show what is set, and by whom
    #[arg(long, conflicts_with_all = ["knobs", "command", "all"])]
    pub status: bool,
    /// Measure what each knob gains, before and after in turn; with a command, what boost, affinity, priority and the page
    /// cache (or the knobs named) change in its time
    #[arg(long, conflicts_with_all = ["apply", "dry_run", "restore", "status", "all"])]
    pub prove: bool,
    /// Rounds of --prove [without: as many as an interval needs, and some to spare]
    #[arg(long, value_name = "N", requires = "prove", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub rounds: Option<u32>,
    /// Read a captured tree of another machine (a folder with its /proc and /sys)
    #[arg(long, value_name = "DIR", conflicts_with_all = ["apply", "prove", "restore", "status", "command", "drop_caches"])]
    pub root: Option<PathBuf>,
    /// Drop the whole machine's page cache before the command; requires root, cannot be restored
    #[arg(long, requires = "command", conflicts_with_all = ["apply", "restore", "status"])]
    pub drop_caches: bool,
    /// Run this command with the knobs set, then restore them
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "all")]
    pub command: Vec<std::ffi::OsString>,
}

pub(super) const QUIET_USAGE: &str = "\
linespeed quiet [--cpus LIST] [KNOB]...
       linespeed quiet [--dry-run] [--cpus LIST] [KNOB]... [--drop-caches] -- COMMAND...
       linespeed quiet --apply|--dry-run [--cpus LIST] [KNOB]...
       linespeed quiet --restore|--status
       linespeed quiet --prove [--rounds N] [--cpus LIST] [KNOB]... [-- COMMAND...]
       linespeed quiet --root DIR [--dry-run] [--cpus LIST] [KNOB]...";
