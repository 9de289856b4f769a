//! Options of the commands that read what is there: the machine, records, other tools' texts.

use std::path::PathBuf;

use clap::Args;

/// Options of `inspect`.
#[derive(Debug, Args)]
pub struct Inspect {
    /// Read a captured tree of another machine (a folder with its /proc and /sys)
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// The machine's shape as a picture, and how CPU numbers lie on it
    #[arg(long)]
    pub tree: bool,
}

/// Options of `show`.
#[derive(Debug, Args)]
pub struct Show {
    /// A record that linespeed wrote; - is standard input, . the newest of this machine
    pub record: PathBuf,
    /// As a page (HTML), to --output or standard output
    #[arg(long)]
    pub html: bool,
    #[command(flatten)]
    pub forms: WakeupForms,
}

pub(super) const REFERENCE_HELP: &str = "\
Where a record's file may stand, so may reference:NAME: linespeed compare . reference:kunpeng-920-4826. --json without a \
name lists the machines; with one it prints the record, in which each figure names the line that it was read from.";

/// Options of `reference`.
#[derive(Debug, Args)]
pub struct Reference {
    /// One of them
    pub name: Option<String>,
    /// As a page (HTML), to --output or standard output
    #[arg(long, requires = "name")]
    pub html: bool,
    /// The published output and figures themselves, as they were imported
    #[arg(long, requires = "name", conflicts_with = "html")]
    pub text: bool,
}

pub(super) const COMPARE_HELP: &str = "\
The first record is the baseline, unless --baseline says otherwise. --json and --csv hold every figure that two records \
share; the terminal and the page sum them up over CPUs and working sets.";

/// Options of `compare`.
#[derive(Debug, Args)]
pub struct Compare {
    /// Records that linespeed wrote; . is the newest of this machine, reference:NAME a machine that ships with linespeed,
    /// - standard input
    #[arg(value_name = "RECORD", required = true)]
    pub records: Vec<String>,
    /// Which of them the others are held against, counted from 1
    #[arg(long, value_name = "N", default_value = "1", hide_default_value = true)]
    pub baseline: usize,
    /// As a page (HTML), to --output or standard output
    #[arg(long)]
    pub html: bool,
    /// As comma-separated values, a line a figure and record
    #[arg(long, conflicts_with_all = ["html", "json"])]
    pub csv: bool,
}

/// Options of `import`.
#[derive(Debug, Args)]
pub struct Import {
    /// Texts with other tools' output, or tables of dmidecode --dump-bin; - is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// What tells machines apart, beside the host names of prompts: files, headings, or a regular expression
    #[arg(long, value_name = "files|headings|REGEX")]
    pub split: Option<String>,
    /// Only this machine: its host name or heading as printed, or its number in the order of the text
    #[arg(long, value_name = "NAME|N")]
    pub only: Option<String>,
}

pub(super) const IMPORT_HELP: &str = "\
Machines: prompts that name their host (root@db1:~#) tell machines apart. With --split files each file is a machine. With \
--split headings the heading above an output names its machine, and so does the first cell of a table's row; a host that a \
prompt named is forgotten there. With a regular \
expression each line that matches it begins a machine; its first group is the machine's name, and lines with the same name \
are one machine: --split '(?i)^#+ (intel|arm)'.

Several machines give one record each, in the state folder or in the folder that --output names; one whose name ends in / \
is made.

What is not told stays unknown. Figures that cannot be true are kept as text only. Lines that belong to no tool's output \
are counted; -v prints them.";

/// Wake-up latency as cyclictest prints it.
#[derive(Debug, Args, Default)]
pub struct WakeupForms {
    /// Print wake-up latency in cyclictest's lines
    #[arg(long)]
    pub cyclictest: bool,
    /// Print wake-up latency as cyclictest's histogram (-h)
    #[arg(long)]
    pub histogram: bool,
}
