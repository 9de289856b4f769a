//! Options of `scale`.

use clap::Args;
use record::CpuList;

/// Options of `scale`.
#[derive(Debug, Args)]
pub struct Scale {
    /// Run a recipe: a name from --list, or a file (see docs/recipes.md)
    #[arg(long, value_name = "NAME|FILE")]
    pub recipe: Option<String>,
    /// Change a recipe's setting, for example algorithm=aes-256-gcm
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// List the recipes: what each measures, its settings, what it lacks here
    #[arg(long)]
    pub list: bool,
    /// Numbers of CPUs, for example 1,2,4-8 [without: 1, 2, 4 … all, and full cores, NUMA nodes and sockets]
    #[arg(long, value_name = "LIST")]
    pub steps: Option<CpuList>,
    /// Order of CPUs: cores-first, siblings-first, node-compact, node-spread [without: all that differ here]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub placement: Vec<String>,
    /// Runs per step, in interleaved rounds [without: 3; 1 with --quick, 6 with --full]
    #[arg(short, long, value_name = "N")]
    pub repeat: Option<usize>,
    /// Time limit of one run, for example 30s or 5m
    #[arg(long, value_name = "TIME")]
    pub timeout: Option<String>,
    /// Count failed runs, too
    #[arg(short, long)]
    pub ignore_failure: bool,
    /// The command: one copy pinned to each CPU; with {threads} in it, one copy on all CPUs of the step
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<std::ffi::OsString>,
}

pub(super) const SCALE_HELP: &str = "\
The command stands after --: linespeed scale -- COMMAND. It should do a fixed amount of work: its score is the time of a \
run. For a program that runs for a fixed time, write a recipe, which reads the printed score.

Exit codes: 0 done; 1 a finding at or above --fail-on; 2 wrong usage; 3 failed, or every run failed; 127 command not found; \
126 command cannot be run; 128+n ended by signal n, with what was measured so far written.";
