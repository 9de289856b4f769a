//! Options of `check`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Options of `check`.
#[derive(Debug, Args)]
pub struct Check {
    /// Record, or file of fleet --baseline [default: .]
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<String>,
    /// Also measure for 5 s: clock and memory
    #[arg(long, group = "measured")]
    pub probe: bool,
    /// Also measure everything (1 min; --quick: 10 s)
    #[arg(long, group = "measured")]
    pub screen: bool,
    /// Check in 3 s whether results are comparable
    #[arg(long, group = "measured", conflicts_with = "exit")]
    pub class: bool,
    /// Exit code and output for slurm, npd or nagios
    #[arg(long, value_name = "ENGINE", hide_possible_values = true)]
    pub exit: Option<Exit>,
    /// Read a captured tree (/proc and /sys) instead
    #[arg(long, value_name = "DIR", conflicts_with = "measured")]
    pub root: Option<PathBuf>,
}

/// The monitoring system that reads the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Exit {
    /// Slurm's prolog or HealthCheckProgram: 1 if a setting differs, else 0, even without a baseline
    Slurm,
    /// Kubernetes node-problem-detector: 0 good, 1 problem, 2 unknown
    Npd,
    /// Nagios: 0 good, 1 a setting differs, 2 hardware differs or a result is slower, 3 unknown
    Nagios,
}
