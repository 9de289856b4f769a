//! Options of `history`.

use std::path::PathBuf;

use clap::Args;

/// Options of `history`.
#[derive(Debug, Args)]
pub struct History {
    /// Headlines or metrics [default: all headlines]
    #[arg(value_name = "RESULT")]
    pub figures: Vec<String>,
    /// Read the newest N records
    #[arg(long, value_name = "N", default_value = "300", value_parser = clap::value_parser!(u32).range(1..))]
    pub last: u32,
    /// Read records from DIR
    #[arg(long, value_name = "DIR")]
    pub from: Option<PathBuf>,
    /// Read records of host NAME
    #[arg(long, value_name = "NAME")]
    pub host: Option<String>,
}
