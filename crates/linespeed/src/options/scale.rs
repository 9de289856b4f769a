//! Options of `scale`.

use std::time::Duration;

use clap::Args;
use measure::fill_order::{FILL_ORDERS, FillOrder};
use record::CpuList;

/// Options of `scale`.
#[derive(Debug, Args)]
pub struct Scale {
    /// Run a recipe: a name from --list, or a file (see docs/recipes.md)
    #[arg(long, value_name = "NAME|FILE", conflicts_with = "command")]
    pub recipe: Option<String>,
    /// Change a recipe's setting, for example algorithm=aes-256-gcm
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting, requires = "recipe", conflicts_with = "command")]
    pub set: Vec<(String, String)>,
    /// List the recipes; with --all their settings, and what they lack here
    #[arg(long)]
    pub list: bool,
    /// Numbers of CPUs, for example 1,2,4-8 [without: 1, 2, 4 … all, and full cores, NUMA nodes and sockets]
    #[arg(long, value_name = "LIST")]
    pub steps: Option<CpuList>,
    /// Order of CPUs: cores-first, siblings-first, node-compact, node-spread [without: all that differ here]
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = placement)]
    pub placement: Vec<FillOrder>,
    /// Runs per step, in interleaved rounds [without: 3; 1 with --quick, 6 with --full]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub repeat: Option<u32>,
    /// Time limit of one run, for example 30s or 5m
    #[arg(long, value_name = "TIME", value_parser = super::duration)]
    pub timeout: Option<Duration>,
    /// Count failed runs, too
    #[arg(short, long)]
    pub ignore_failure: bool,
    /// The command: one copy pinned to each CPU; with {threads} in it, one copy on all CPUs of the step
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<std::ffi::OsString>,
}

fn setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !value.contains('\0') => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write NAME=VALUE".to_owned()),
    }
}

fn placement(name: &str) -> Result<FillOrder, String> {
    let names = || FILL_ORDERS.map(FillOrder::name).join(", ");
    FillOrder::find(name).ok_or_else(|| format!("there are: {}", names()))
}
