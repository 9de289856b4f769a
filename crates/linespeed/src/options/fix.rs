//! Options of `fix`.

use clap::Args;

/// Options of `fix`.
#[derive(Debug, Args)]
pub struct Fix {
    /// Number of the finding in the report, or its rule (clock-limit)
    #[arg(value_name = "N")]
    pub finding: String,
    /// The record with the finding [default: the newest here]
    #[arg(long, value_name = "RECORD", default_value = ".", hide_default_value = true)]
    pub record: String,
    /// Keep the new value until linespeed quiet --restore
    #[arg(long)]
    pub keep: bool,
    /// Print the planned changes; change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Rounds of measurement [default: as needed]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub rounds: Option<u32>,
    /// Measure this command's time instead of the finding's metric
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<std::ffi::OsString>,
}
