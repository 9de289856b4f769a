//! Options of `stat`.

use clap::{Args, ValueEnum};

/// Options of `stat`.
#[derive(Debug, Args)]
pub struct Stat {
    /// Run it this many times: the median, and from 6 on its 95 % interval (each reads the same file on standard input from where it stood)
    #[arg(short, long, value_name = "N", default_value = "1", hide_default_value = true,
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub repeat: u32,
    /// Run it this many times before, uncounted
    #[arg(long, value_name = "N", default_value = "0", hide_default_value = true,
          value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub warmup: u32,
    /// Print the counts as perf stat does; with --output, into that file
    #[arg(long, value_name = "FORM", num_args = 0..=1, require_equals = true, default_missing_value = "text", conflicts_with = "json")]
    pub perf_format: Option<PerfFormat>,
    /// The same as fields, with this between them, as perf stat -x (\t is a tab)
    #[arg(short = 'x', value_name = "SEPARATOR", value_parser = separator, conflicts_with_all = ["perf_format", "json"])]
    pub separator: Option<String>,
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
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
Standard output and standard error stay the command's own. The report follows it on standard error; --json prints the \
record on standard error in the report's place, --output FILE writes the record to a file beside the report. --cpus LIST binds the command.

Exit codes: the command's own; 128+n when signal n ended it, or linespeed; 127 it was not found; 126 it cannot be run; \
2 wrong usage; 3 a file cannot be written.";
