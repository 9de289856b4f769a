//! Options of `check`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Options of `check`.
#[derive(Debug, Args)]
pub struct Check {
    /// Hold it against this record, or what fleet --baseline wrote [without: this machine's newest record]
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<String>,
    /// Measure for 5 seconds, too: the clock, memory latency and bandwidth of one thread
    #[arg(long, group = "measured")]
    pub probe: bool,
    /// Measure everything, too, in a minute; with --quick in 10 seconds
    #[arg(long, group = "measured")]
    pub screen: bool,
    /// Say in 2 seconds whether results of this machine may be compared with the baseline's: design, shape, clock
    #[arg(long, group = "measured", conflicts_with = "exit")]
    pub class: bool,
    /// Exit as this engine wants it, and print what it reads
    #[arg(long, value_name = "ENGINE")]
    pub exit: Option<Exit>,
    /// Check a captured tree of another machine (a folder with its /proc and /sys)
    #[arg(long, value_name = "DIR", conflicts_with = "measured")]
    pub root: Option<PathBuf>,
}

/// Who reads the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Exit {
    /// A prolog or HealthCheckProgram: 1 if something is off, else 0, also where nothing could be held against anything
    Slurm,
    /// Kubernetes's node-problem-detector: 0 good, 1 problem, 2 unknown
    Npd,
    /// Nagios and what runs its plugins: 0 good, 1 a setting, 2 the hardware or a figure, 3 unknown
    Nagios,
}
