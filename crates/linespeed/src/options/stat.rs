//! Options of `stat`.

use clap::{Args, ValueEnum};

/// Options of `stat`.
#[derive(Debug, Args)]
pub struct Stat {
    /// Run the command N times: median, and from 6 runs its 95 % interval; a file on standard input is read anew by each
    #[arg(short, long, value_name = "N", default_value = "1", hide_default_value = true,
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub repeat: u32,
    /// Run the command N times before, uncounted
    #[arg(long, value_name = "N", default_value = "0", hide_default_value = true,
          value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub warmup: u32,
    /// Print the counts in perf stat's format, to --output if given
    #[arg(long, value_name = "FORM", num_args = 0..=1, require_equals = true, default_missing_value = "text", conflicts_with = "json")]
    pub perf_format: Option<PerfFormat>,
    /// Print fields with this separator, as perf stat -x (\t is a tab)
    #[arg(short = 'x', value_name = "SEPARATOR", value_parser = separator, conflicts_with_all = ["perf_format", "json"])]
    pub separator: Option<String>,
    /// Find out what it needs: run it some 40 times more, in rounds (-r N), with huge pages, on fewer CPUs, beside takers of bandwidth
    /// and cache; only the first run prints
    #[arg(long, conflicts_with_all = ["pid", "warmup", "perf_format", "separator"])]
    pub probe: bool,
    /// Watch running processes instead, until Ctrl-C, --for or their end; nothing is done to them
    #[arg(short, long, value_name = "PID[,PID]", value_delimiter = ',', value_parser = clap::value_parser!(i32).range(1..),
          conflicts_with_all = ["command", "repeat", "warmup", "perf_format", "separator"])]
    pub pid: Vec<i32>,
    /// Watch so long [without: until Ctrl-C]
    #[arg(long = "for", value_name = "TIME", value_parser = super::duration, requires = "pid")]
    pub limit: Option<std::time::Duration>,
    /// The command and its arguments
    #[arg(required_unless_present = "pid", trailing_var_arg = true, value_name = "COMMAND")]
    pub command: Vec<std::ffi::OsString>,
}

/// perf stat's layouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PerfFormat {
    /// For people
    Text,
    /// Comma-separated fields, as perf stat -x,
    Csv,
}

/// What stands between fields. perf takes `\t` for a tab and nothing else for anything but itself.
fn separator(text: &str) -> Result<String, std::convert::Infallible> {
    Ok(if text == "\\t" { "\t" } else { text }.to_owned())
}

pub(super) const STAT_HELP: &str = "\
Standard output and standard error stay the command's own. The report follows on standard error, and a record is kept as \
that of a run; --json prints the record after the command's standard output instead, --output FILE writes it to a file. --cpus \
LIST binds the command.

Exit codes: the command's own; 128+n for signal n; 127 command not found; 126 command cannot be run; 2 wrong usage; 3 a \
file cannot be written.";
