//! Options of `fix`.

use clap::Args;

/// Options of `fix`.
#[derive(Debug, Args)]
pub struct Fix {
    /// The finding: its number in the report, or its rule (clock-limit)
    #[arg(value_name = "N")]
    pub finding: String,
    /// The record that the finding is in [without: this machine's newest record]
    #[arg(long, value_name = "RECORD", default_value = ".", hide_default_value = true)]
    pub record: String,
    /// Leave the value set, until linespeed quiet --restore or the next boot [without: put it back]
    #[arg(long)]
    pub keep: bool,
    /// Print what would be written and measured; write and measure nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Rounds of before and after [without: as many as an interval needs, and some to spare]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub rounds: Option<u32>,
    /// Measure this command's time instead of the finding's figure
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<std::ffi::OsString>,
}
