//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

const EXIT_CODES: &str = "\
Exit codes: boot returns linespeed's own (128+n for signal n in the machine); check and all: 0 all checks passed, 1 a \
check failed; 2 usage error; 3 cannot run; 128+n on signal n.";

/// Virtual machines of any shape, with linespeed as their only program.
///
/// A SHAPE is the name of an included shape (see list) or a TOML file. Times in these records come from an emulator and
/// do not show speed.
#[derive(Debug, Parser)]
#[command(name = "lab", version, after_help = EXIT_CODES, disable_help_subcommand = true)]
pub struct Options {
    #[command(subcommand)]
    pub command: Command,
    #[command(flatten)]
    pub parts: Parts,
}

/// The command.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Boot one machine, run linespeed in it, and retrieve its record
    Boot(Boot),
    /// Boot machines and compare linespeed's records with their shapes
    Check(Check),
    /// Check every shape
    All,
    /// List the included shapes
    List,
    /// Build linespeed's kernel module for Debian's newest kernel of each series, without warnings
    Module {
        /// Instruction sets [default: both]
        architectures: Vec<String>,
        /// Only one of these kernels, selected by number
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
    /// Save its record to FILE (- for standard output)
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// A static program or another file for the machine's /bin (repeatable)
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
    /// The shapes marked as quick: a few minutes on two CPUs
    #[arg(long, conflicts_with = "shapes")]
    pub quick: bool,
    /// Two of the shapes marked as quick, selected by number
    #[arg(long, value_name = "N", conflicts_with_all = ["shapes", "quick"])]
    pub share: Option<usize>,
    /// Save each record in this directory, as SHAPE.json
    #[arg(long, value_name = "DIR")]
    pub records: Option<PathBuf>,
}

/// The components of machines.
#[derive(Debug, Args)]
pub struct Parts {
    /// The static linespeed to run [default: the newest cargo build for the machine]
    #[arg(long, global = true, value_name = "FILE")]
    pub program: Option<PathBuf>,
    /// The kernel to boot [default: Debian's, from its package]
    #[arg(long, global = true, value_name = "FILE")]
    pub kernel: Option<PathBuf>,
    /// Power a machine off after this many seconds including boot, which is tried twice for up to half of the time
    /// [default: from its shape]
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub seconds: Option<u64>,
    /// In checks, treat a matrix that is incomplete because the host was too busy as a failure
    #[arg(long, global = true)]
    pub strict: bool,
    /// Show QEMU's command line, and each passed check
    #[arg(short, long, global = true)]
    pub verbose: bool,
}
