//! Options of `scale`.

use clap::Args;
use record::CpuList;

/// Options of `scale`.
#[derive(Debug, Args)]
pub struct Scale {
    /// A recipe: a name that --list tells, or a file (see docs/recipes.md)
    #[arg(long, value_name = "NAME|FILE")]
    pub recipe: Option<String>,
    /// Set something of a recipe, for instance algorithm=aes-256-gcm
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// The recipes: what they measure, what can be set, what they lack here
    #[arg(long)]
    pub list: bool,
    /// Numbers of CPUs to measure, for instance 1,2,4-8; without: 1, 2, 4 … all, and where cores, nodes and packages end
    #[arg(long, value_name = "LIST")]
    pub steps: Option<CpuList>,
    /// Which CPUs are taken first: cores-first, siblings-first, node-compact, node-spread; without: all that differ here
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub placement: Vec<String>,
    /// Runs of each step, in interleaved rounds; without: 3 (1 with --quick, 6 with --full)
    #[arg(short, long, value_name = "N")]
    pub repeat: Option<usize>,
    /// The longest that one run may take, for instance 30s or 5m
    #[arg(long, value_name = "TIME")]
    pub timeout: Option<String>,
    /// Count runs of a command that fails, too
    #[arg(short, long)]
    pub ignore_failure: bool,
    /// The command: a copy is pinned to each CPU; with {threads} in it, one command has all CPUs of the step
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<std::ffi::OsString>,
}

pub(super) const SCALE_HELP: &str = "\
A command stands after --: linespeed scale -- COMMAND. It should do a fixed amount of work: the time of a run is its score. \
Of a program that runs for a fixed time a recipe reads the score that it prints.

Exit codes: 0 done; 1 a finding at or above --fail-on; 2 wrong usage; 3 could not do it, or every run failed; 127 the \
command was not found; 126 it cannot be run; 128+n on signal n, after writing what was measured so far.";
