//! Options of the commands that read what is there: the machine, records, other tools' texts.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Options of `inspect`.
#[derive(Debug, Args)]
pub struct Inspect {
    /// Read a captured tree of another machine (a folder with its /proc and /sys)
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Draw the topology, with CPU numbers
    #[arg(long, conflicts_with = "all")]
    pub tree: bool,
}

/// Options of `records`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Records {
    #[command(subcommand)]
    pub action: Option<RecordsAction>,
    /// The record to label with --label [without: the newest of this machine]
    pub record: Option<String>,
}

/// What is done to records.
#[derive(Debug, Subcommand)]
pub enum RecordsAction {
    /// Remove records with their pages and labels
    Rm {
        /// Names as listed, labels or files in the state folder
        #[arg(required = true, value_name = "RECORD")]
        records: Vec<String>,
    },
    /// Remove all but the newest records of each host; what has a label and the newest run of everything stay
    Prune {
        /// How many of each host to keep
        #[arg(long, value_name = "N")]
        keep: usize,
        /// Print what would be removed, and remove nothing
        #[arg(long)]
        dry_run: bool,
    },
}

/// Options of `show`.
#[derive(Debug, Args)]
pub struct Show {
    /// A record's file or label; - is standard input, . the newest of this machine
    pub record: String,
    /// Print only these: findings, losses, noise, coverage, a measurement, a metric
    #[arg(conflicts_with_all = ["html", "all", "json", "csv"])]
    pub parts: Vec<String>,
    #[command(flatten)]
    pub forms: WakeupForms,
}

/// Options of `reference`.
#[derive(Debug, Args)]
pub struct Reference {
    /// A machine's name [without: list all]
    pub name: Option<String>,
    /// Print the published output and figures as they were imported
    #[arg(long, requires = "name", conflicts_with = "form")]
    pub text: bool,
    /// Show a record's figures beside those published of such machines, or one figure: "MLC idle latency 142 ns on EPYC 9554"
    #[arg(long, value_name = "RECORD|LINE", num_args = 0..=1, default_missing_value = ".", conflicts_with = "name")]
    pub like: Option<String>,
    /// Add each figure's percentile among the records of such machines in this folder
    #[arg(long, value_name = "DIR", requires = "like")]
    pub among: Option<PathBuf>,
}

/// Options of `compare`.
#[derive(Debug, Args)]
pub struct Compare {
    /// Records' files; . is the newest of this machine, reference:NAME a reference machine, - standard input
    #[arg(value_name = "RECORD", required = true)]
    pub records: Vec<String>,
    /// Number of the baseline record [default: 1, the first]
    #[arg(long, value_name = "N", default_value = "1", hide_default_value = true)]
    pub baseline: usize,
    /// Compare what different commands took (of stat and scale) as if they did the same work
    #[arg(long)]
    pub different_commands: bool,
    /// Write what --fail-on held to FILE, too, as JUnit's XML: a test a figure, skipped where it is too noisy to tell
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
}

/// Options of `import`.
#[derive(Debug, Args)]
pub struct Import {
    /// Files with other tools' output, or tables of dmidecode --dump-bin; - is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// What separates machines, besides host names in prompts: files, headings, or a regular expression
    #[arg(long, value_name = "files|headings|REGEX")]
    pub split: Option<String>,
    /// Read Markdown tables of figures, such as 'workload.time: rows=machine, col=Seconds, workload=bc, unit=s'
    #[arg(long = "table", value_name = "METRIC: KEY=PART, ...")]
    pub tables: Vec<String>,
    /// Add a key that the text does not tell to every result that may have it, such as threads=32
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub settings: Vec<String>,
    /// Import only this machine: its host name or heading, or its number in the text
    #[arg(long, value_name = "NAME|N")]
    pub only: Option<String>,
}

/// How wake-ups are measured, as cyclictest's options say it.
#[derive(Debug, Args, Default)]
pub struct WakeupOptions {
    /// How long to measure wake-up latency, for example 10m, as cyclictest -D; all settings share it without --cyclictest
    #[arg(long = "for", value_name = "TIME", value_parser = super::duration)]
    pub time: Option<std::time::Duration>,
    /// Interval of wake-ups in microseconds, as cyclictest -i [default: 1000]
    #[arg(short, long, value_name = "MICROSECONDS", value_parser = clap::value_parser!(u32).range(10..=1_000_000))]
    pub interval: Option<u32>,
    /// Priority of SCHED_FIFO, as cyclictest -p; 0 for SCHED_OTHER alone [default: 80]
    #[arg(short, long, value_name = "PRIORITY", value_parser = clap::value_parser!(u8).range(0..=99))]
    pub priority: Option<u8>,
}

/// Wake-up latency as cyclictest prints it.
#[derive(Clone, Copy, Debug, Args, Default)]
pub struct WakeupForms {
    /// Print wake-up latency in cyclictest's format; run measures then what cyclictest does, and no other setting
    #[arg(long)]
    pub cyclictest: bool,
    /// Print wake-up latency as a cyclictest histogram (-h)
    #[arg(long)]
    pub histogram: bool,
}

impl WakeupForms {
    /// Whether one was asked for.
    pub fn any(&self) -> bool {
        self.cyclictest || self.histogram
    }
}
