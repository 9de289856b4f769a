//! Options of `fleet`.

use std::path::PathBuf;

use clap::Args;

pub(super) const FLEET_HELP: &str = "\
Folders are searched with their subfolders for .json files. Of several records of a machine the newest counts; older ones show \
whether it was slow before. Files that are no record are counted and named, and end nothing.

Machines are of one class by system, processor, packages and hypervisor. A class is judged from five machines on; where a fact \
divides it into camps of different speed, each camp is judged by itself. Of the machines that are called slow at most 5 % are \
expected to be so by chance: measure them again before acting on it.

--csv has every figure of every machine (machine, time, metric, unit, places, value, low, high), --html a page.";

/// Options of `fleet`.
#[derive(Debug, Args)]
pub struct Fleet {
    /// Folders with records, or records' files
    #[arg(value_name = "DIR|FILE", required = true)]
    pub paths: Vec<PathBuf>,
    /// Write the classes' medians, for linespeed check --baseline
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
}
