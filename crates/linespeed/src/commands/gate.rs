//! The gate of `--fail-on`.

use std::path::{Path, PathBuf};

use diagnose::Ungated;
use record::gate::Gate;
use record::phrase::count_noun;

use crate::failure::{FOUND, Failure};
use crate::files;

/// The outcome of a gate, or why there is nothing to compare.
pub(super) type Held = Result<Gate, String>;

/// Rejects a `--junit` file that cannot be written.
pub(super) fn check_junit(path: Option<&PathBuf>) -> Result<(), Failure> {
    let checked = path.map_or(Ok(()), |path| files::check_writable(path));
    checked.map_err(|failure| failure.with_way_out("choose another path with --junit FILE"))
}

/// The results of the gate, or why there are none.
pub(super) fn held(gate: Result<Gate, Ungated>) -> Held {
    gate.map_err(|ungated| match ungated {
        Ungated::SameRecord => "all arguments are the same record".to_owned(),
        Ungated::NothingShared { why: Some(why) } => format!("no comparable results ({why})"),
        Ungated::NothingShared { why: None } => "no comparable results".to_owned(),
        Ungated::NoInterval { figures } => format!(
            "too few samples to compute an interval for {}; take more samples (stat -r 10, run --full)",
            count_noun(figures, "result")
        ),
    })
}

/// Writes the `--junit` file, even if nothing was compared, because an older file could otherwise be mistaken for the
/// result.
pub(super) fn write_junit(
    path: Option<&PathBuf>,
    gate: Option<&Held>,
    suite: impl Fn(usize) -> String,
) -> Result<(), Failure> {
    let (Some(path), Some(gate)) = (path, gate) else { return Ok(()) };
    let xml = match gate {
        Ok(gate) => report::junit::report(gate, suite),
        Err(why) => report::junit::error(why),
    };
    files::write(Path::new(path), &xml)
}

/// The exit code: 1 if the gate failed.
///
/// # Errors
///
/// Nothing was compared.
pub(super) fn code(gate: Option<Held>) -> Result<u8, Failure> {
    match gate {
        Some(Err(why)) => Err(Failure::Cannot(format!("--fail-on has nothing to compare: {why}"))),
        Some(Ok(gate)) if !gate.passed => Ok(FOUND),
        _ => Ok(0),
    }
}
