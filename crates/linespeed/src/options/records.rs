//! Options of the commands that read existing data: the machine, records, or the output of other tools.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Options of `inspect`.
#[derive(Debug, Args)]
pub struct Inspect {
    /// Read a captured tree (/proc and /sys) instead
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Draw the topology with CPU numbers
    #[arg(long, conflicts_with = "all")]
    pub tree: bool,
}

/// Options of `records`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Records {
    #[command(subcommand)]
    pub action: Option<RecordsAction>,
    /// The record to label with --label [default: the newest here]
    pub record: Option<String>,
}

/// Actions on records.
#[derive(Debug, Subcommand)]
pub enum RecordsAction {
    /// Remove records with their pages and labels
    #[command(aliases = ["remove", "delete"])]
    Rm {
        /// Record names, labels, or files in the state directory
        #[arg(required = true, value_name = "RECORD")]
        records: Vec<String>,
    },
    /// Remove all but the newest records of each host
    Prune {
        /// Records to keep per host
        #[arg(long, value_name = "N")]
        keep: usize,
        /// List the records to remove
        #[arg(long)]
        dry_run: bool,
    },
}

/// Options of `show`.
#[derive(Debug, Args)]
pub struct Show {
    /// A record's file or label; . is the newest here, - is stdin
    pub record: String,
    /// Print only findings, losses, noise, coverage, or one measurement
    #[arg(conflicts_with_all = ["html", "all", "json", "csv"])]
    pub parts: Vec<String>,
    #[command(flatten)]
    pub forms: WakeupForms,
}

/// Options of `reference`.
#[derive(Debug, Args)]
pub struct Reference {
    /// A machine's name [default: list all]
    pub name: Option<String>,
    /// Print the published source text
    #[arg(long, requires = "name", conflicts_with = "form")]
    pub text: bool,
    /// Compare with published results of similar CPUs
    #[arg(long, value_name = "RECORD|LINE", num_args = 0..=1, default_missing_value = ".", conflicts_with = "name")]
    pub like: Option<String>,
    /// Add percentiles among the records in DIR
    #[arg(long, value_name = "DIR", requires = "like")]
    pub among: Option<PathBuf>,
}

/// Options of `compare`.
#[derive(Debug, Args)]
pub struct Compare {
    /// Records; . is the newest here, - is stdin; or reference:NAME
    #[arg(value_name = "RECORD", required = true)]
    pub records: Vec<String>,
    /// Number of the baseline record [default: 1]
    #[arg(long, value_name = "N", default_value = "1", hide_default_value = true)]
    pub baseline: usize,
    /// Treat different commands as the same work
    #[arg(long)]
    pub different_commands: bool,
    /// Also write the gate's result as JUnit XML
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
}

/// Options of `import`.
#[derive(Debug, Args)]
pub struct Import {
    /// Files with output of other tools; - is stdin
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// How to separate machines: files, headings or a regex
    #[arg(long, value_name = "HOW")]
    pub split: Option<String>,
    /// Map a Markdown table to a metric
    #[arg(long = "table", value_name = "SPEC")]
    pub tables: Vec<String>,
    /// Set a value missing from the input (threads=32)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub settings: Vec<String>,
    /// Import only this machine, by name or number
    #[arg(long, value_name = "NAME|N")]
    pub only: Option<String>,
}

/// How wake-ups are measured, with cyclictest's options.
#[derive(Debug, Args, Default)]
pub struct WakeupOptions {
    /// Measure wake-up latency for TIME (cyclictest -D)
    #[arg(long = "for", value_name = "TIME", value_parser = super::duration)]
    pub time: Option<std::time::Duration>,
    /// Wake-up interval in µs (cyclictest -i) [default: 1000]
    #[arg(short, long, value_name = "US", value_parser = clap::value_parser!(u32).range(10..=1_000_000))]
    pub interval: Option<u32>,
    /// SCHED_FIFO priority, 0 for none [default: 80]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=99))]
    pub priority: Option<u8>,
}

/// Wake-up latency in cyclictest's formats.
#[derive(Clone, Copy, Debug, Args, Default)]
pub struct WakeupForms {
    /// Print wake-up latency as cyclictest does
    #[arg(long)]
    pub cyclictest: bool,
    /// Print wake-up latency as a cyclictest histogram
    #[arg(long)]
    pub histogram: bool,
}

impl WakeupForms {
    /// Whether one of these formats was requested.
    pub fn any(&self) -> bool {
        self.cyclictest || self.histogram
    }
}
