//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

const EXIT_CODES: &str = "\
Exit codes: boot passes on linespeed's own (128+n for signal n in the machine); check and all: 0 everything held, \
1 something did not; 2 wrong usage; 3 could not do it; 128+n on signal n.";

/// Virtual machines of any shape, with linespeed as their only program.
///
/// A SHAPE is the name of one that comes along (see list) or a TOML file. Times in records from here are those of an
/// emulator: they are no speeds.
#[derive(Debug, Parser)]
#[command(name = "lab", version, after_help = EXIT_CODES, disable_help_subcommand = true)]
pub struct Options {
    #[command(subcommand)]
    pub command: Command,
    #[command(flatten)]
    pub parts: Parts,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Boot one machine, run linespeed in it, and bring its record back
    Boot(Boot),
    /// Boot machines and hold what linespeed says of them against their shapes
    Check(Check),
    /// Check every shape
    All,
    /// The shapes that come along
    List,
    /// Build linespeed's kernel module for Debian's newest kernel of each series, without a warning
    Module {
        /// Instruction sets; both when none is named
        architectures: Vec<String>,
        /// Only one of all these kernels, drawn by a number
        #[arg(long, value_name = "N")]
        share: Option<usize>,
    },
    /// Fetch the newest kernel for each instruction set, or for these (x86_64, aarch64)
    Kernel {
        /// Instruction sets
        architectures: Vec<String>,
    },
}

/// Options of `boot`.
#[derive(Debug, Args)]
pub struct Boot {
    /// The machine
    pub shape: String,
    /// Where its record goes; - is standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// A static program or another file for the machine's /bin; may be given several times
    #[arg(long, value_name = "FILE")]
    pub with: Vec<PathBuf>,
    /// linespeed's arguments
    #[arg(last = true, value_name = "LINESPEED-ARGS")]
    pub arguments: Vec<String>,
}

/// Options of `check`.
#[derive(Debug, Args)]
pub struct Check {
    /// The machines
    #[arg(required_unless_present_any = ["quick", "share"], value_name = "SHAPE")]
    pub shapes: Vec<String>,
    /// The shapes that are marked as quick: a few minutes on two CPUs
    #[arg(long, conflicts_with = "shapes")]
    pub quick: bool,
    /// Two of the shapes that are marked as quick, drawn by a number
    #[arg(long, value_name = "N", conflicts_with_all = ["shapes", "quick"])]
    pub share: Option<usize>,
    /// Keep each record in this folder, as SHAPE.json
    #[arg(long, value_name = "DIR")]
    pub records: Option<PathBuf>,
}

/// What machines are made of.
#[derive(Debug, Args)]
pub struct Parts {
    /// The linespeed to run, static; without: the newest that cargo built for the machine
    #[arg(long, global = true, value_name = "FILE")]
    pub program: Option<PathBuf>,
    /// The kernel to boot; without: Debian's, taken from its package and kept
    #[arg(long, global = true, value_name = "FILE")]
    pub kernel: Option<PathBuf>,
    /// Switch a machine off after this many seconds, boot included, which may take half of them and is tried twice; without:
    /// as its shape says
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub seconds: Option<u64>,
    /// In checks: a matrix that is not whole because this host was too busy is wrong, too
    #[arg(long, global = true)]
    pub strict: bool,
    /// Show QEMU's command line, and each thing that held
    #[arg(short, long, global = true)]
    pub verbose: bool,
}
