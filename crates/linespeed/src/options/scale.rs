//! Options of `scale`.

use std::time::Duration;

use clap::Args;
use measure::fill_order::{FILL_ORDERS, FillOrder};
use record::CpuList;

/// Options of `scale`.
#[derive(Debug, Args)]
pub struct Scale {
    /// Run a recipe: a name from --list, or a file
    #[arg(long, value_name = "NAME|FILE", conflicts_with = "command")]
    pub recipe: Option<String>,
    /// Change a recipe's setting: algorithm=aes-256-gcm
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting, requires = "recipe", conflicts_with = "command")]
    pub set: Vec<(String, String)>,
    /// List the recipes; --all adds settings
    #[arg(long)]
    pub list: bool,
    /// Numbers of CPUs: 1,2,4-8 [default: 1, 2, 4 to all]
    #[arg(long, value_name = "LIST")]
    pub steps: Option<CpuList>,
    /// Order of CPUs [default: all distinct orders]
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = placement)]
    pub placement: Vec<FillOrder>,
    /// Runs per step [default: 3]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub repeat: Option<u32>,
    /// Time limit per run, such as 30s or 5m
    #[arg(long, value_name = "TIME", value_parser = super::duration)]
    pub timeout: Option<Duration>,
    /// Also count failed runs
    #[arg(short, long)]
    pub ignore_failure: bool,
    /// Runs one copy per CPU; with {threads}, one copy per step
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<std::ffi::OsString>,
}

fn setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !value.contains('\0') => Ok((name.to_owned(), value.to_owned())),
        _ => Err("use NAME=VALUE".to_owned()),
    }
}

fn placement(name: &str) -> Result<FillOrder, String> {
    let names = || FILL_ORDERS.map(FillOrder::name).join(", ");
    FillOrder::find(name).ok_or_else(|| format!("possible values: {}", names()))
}
