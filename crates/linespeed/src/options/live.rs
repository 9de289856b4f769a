//! Options of `live`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

/// Options of `live`.
#[derive(Debug, Args)]
pub struct Live {
    /// Time between two screens
    #[arg(short, long, value_name = "TIME", default_value = "1s", value_parser = super::duration)]
    pub interval: Duration,
    /// Watch so long, print one screen and exit [10s where TIME is left out]
    #[arg(long, value_name = "TIME", num_args = 0..=1, default_missing_value = "10s", value_parser = super::duration,
          conflicts_with = "interval")]
    pub once: Option<Duration>,
    /// Rewrite FILE each interval in Prometheus's text format, for node_exporter's textfile collector
    #[arg(long, value_name = "FILE")]
    pub prom: Option<PathBuf>,
}

pub(super) const LIVE_HELP: &str = "\
Needs no root and no counters; stops, starts and changes nothing. What the machine does is held against its own figures: \
run linespeed once while it is idle. --json prints an object an interval, one a line. Ctrl-C ends with a summary.

Exit codes: 0 done; 2 wrong usage; 3 a file cannot be written; 143 ended by SIGTERM.";
