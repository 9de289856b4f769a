//! Options of `fleet`.

use std::path::PathBuf;

use clap::Args;

/// Options of `fleet`.
#[derive(Debug, Args)]
pub struct Fleet {
    /// Record files, or directories
    #[arg(value_name = "DIR|FILE", required = true)]
    pub paths: Vec<PathBuf>,
    /// Write class medians, for linespeed check --baseline
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
}
