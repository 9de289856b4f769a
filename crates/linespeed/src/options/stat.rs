//! Options of `stat`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use record::phrase::count_noun;

use crate::failure::Failure;

/// Options of `stat`.
#[derive(Debug, Args)]
pub struct Stat {
    /// Run each command N times
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub repeat: Option<u32>,
    /// Warm-up runs per command, not counted
    #[arg(long, value_name = "N", default_value = "0", hide_default_value = true,
          value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub warmup: u32,
    /// Run CMD in a shell before each run
    #[arg(long, value_name = "CMD", conflicts_with_all = ["pid", "probe"])]
    pub prepare: Vec<String>,
    /// Also write the gate's result as JUnit XML
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Print counts in perf stat's format
    #[arg(long, conflicts_with = "json")]
    pub perf_format: bool,
    /// Field separator, as perf stat -x
    #[arg(short = 'x', value_name = "SEP", value_parser = separator, conflicts_with_all = ["perf_format", "json"])]
    pub separator: Option<String>,
    /// Find what limits the command, in about 40 test runs
    #[arg(long, conflicts_with_all = ["pid", "warmup", "perf_format", "separator"])]
    pub probe: bool,
    /// Observe running processes
    #[arg(short, long, value_name = "PID[,PID]", value_delimiter = ',', value_parser = clap::value_parser!(i32).range(1..),
          conflicts_with_all = ["command", "repeat", "warmup", "perf_format", "separator"])]
    pub pid: Vec<i32>,
    /// Observe processes, or alternate commands, for TIME
    #[arg(long = "for", value_name = "TIME", value_parser = super::duration, conflicts_with = "repeat")]
    pub limit: Option<std::time::Duration>,
    /// The command; separate several with :::
    #[arg(required_unless_present = "pid", trailing_var_arg = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// The separator of commands, as in GNU parallel.
const BETWEEN: &str = ":::";
/// Maximum number of alternating commands.
const MOST: usize = 8;

impl Stat {
    /// The commands, one or several. `fails_on` means that a gate is requested.
    ///
    /// # Errors
    ///
    /// A command is empty, there are too many commands, or an option does not support several.
    pub fn commands(&self, fails_on: bool) -> Result<Vec<&[OsString]>, Failure> {
        let commands: Vec<&[OsString]> = self.command.split(|word| word == BETWEEN).collect();
        let several = commands.len() > 1;
        let quoted = commands
            .iter()
            .filter_map(|command| command.first()?.to_str())
            .find(|word| word.split_whitespace().any(|part| part == BETWEEN));
        let wrong = if let Some(line) = quoted {
            format!("commands separated by ::: must not be in quotes: linespeed stat -- {}", line.trim())
        } else if several && commands.iter().any(|command| command.is_empty()) {
            "one side of ::: has no command: linespeed stat -- OLD ::: NEW".into()
        } else if commands.len() > MOST {
            format!("{} commands are too many to run alternately; at most {MOST}", commands.len())
        } else if several && self.probe {
            "--probe supports one command: omit --probe, or ::: and everything after it".into()
        } else if several && (self.perf_format || self.separator.is_some()) {
            "perf's format supports one command: omit --perf-format and -x, or ::: and everything \
                 after it"
                .into()
        } else if !several && fails_on {
            "--fail-on compares commands, OLD ::: NEW; for records use linespeed compare --fail-on".into()
        } else if !several && self.pid.is_empty() && self.limit.is_some() {
            "--for requires -p PID or several commands (OLD ::: NEW); -r N runs one command N times".into()
        } else if ![0, 1, commands.len()].contains(&self.prepare.len()) {
            let (given, of) =
                (count_noun(self.prepare.len(), "--prepare"), count_noun(commands.len(), "command"));
            format!("{given} for {of}: specify one for all commands, or one per command")
        } else {
            return Ok(commands);
        };
        Err(Failure::Usage(wrong))
    }

    /// The shell command that runs before each run of the command with this number (counted from 0).
    pub fn prepare_of(&self, command: usize) -> Option<&str> {
        self.prepare.get(command).or(self.prepare.first()).map(String::as_str)
    }

    /// Number of runs of one command.
    pub fn runs(&self) -> u32 {
        self.repeat.unwrap_or(1)
    }
}

/// The field separator. perf interprets `\t` as a tab and everything else literally.
fn separator(text: &str) -> Result<String, std::convert::Infallible> {
    Ok(if text == "\\t" { "\t" } else { text }.to_owned())
}
