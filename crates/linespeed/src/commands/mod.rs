//! One file per command.

mod check;
mod compare;
mod definitions;
mod explain;
mod fix;
mod fleet;
mod gate;
mod history;
mod import;
mod inspect;
mod list;
mod live;
mod measuring;
mod overhead;
mod plan;
mod quiet;
pub mod records;
mod reference;
mod run;
mod scale;
mod show;
mod stat;

use std::path::Path;

use machine::{Inspection, Root};
use record::{Record, schema};

use crate::delivery::to_standard_output;
use crate::failure::Failure;
use crate::options::{Command, Options};
use crate::output;

/// Runs the command and returns the exit code, which also indicates failure if a setting could not be
/// restored.
pub fn run(options: &Options) -> Result<u8, Failure> {
    let code = done(options)?;
    Ok(if code == 0 && quiet::tuned_session::is_something_not_back() { quiet::NOT_QUIET } else { code })
}

fn done(options: &Options) -> Result<u8, Failure> {
    match &options.command {
        None => run::everything(options),
        Some(Command::Run(run)) => run::some(options, run),
        Some(Command::Inspect(inspect)) => inspect::run(options, inspect),
        Some(Command::List) => list::run(options),
        Some(Command::Live(live)) => live::run(options, live),
        Some(Command::Check(asked)) => check::run(options, asked),
        Some(Command::Scale(scale)) => scale::run(options, scale),
        Some(Command::Stat(stat)) => stat::run(options, stat),
        Some(Command::Plan(plan)) => plan::run(options, plan),
        Some(Command::Quiet(quiet)) => quiet::run(options, quiet),
        Some(Command::Fix(asked)) => fix::run(options, asked),
        Some(Command::Overhead(overhead)) => overhead::run(options, overhead),
        Some(Command::Import(import)) => import::run(options, import),
        Some(Command::Show(show)) => show::run(options, show),
        Some(Command::Records(asked)) => records::run(options, asked),
        Some(Command::Compare(compare)) => compare::run(options, compare),
        Some(Command::Fleet(asked)) => fleet::run(options, asked),
        Some(Command::History(asked)) => history::run(options, asked),
        Some(Command::Reference(asked)) => reference::run(options, asked),
        // A name may consist of several words.
        Some(Command::Explain { name })
            if name.len() < 2 || crate::glossary::all().find(&name.join(" ")).is_some() =>
        {
            explain::run(options, &name.join(" "))
        }
        Some(Command::Explain { name }) => {
            name.iter().try_fold(0, |code, name| explain::run(options, name).map(|last| last.max(code)))
        }
        Some(Command::Schema { of }) => {
            let schema = schema::of_command(of.as_deref().unwrap_or_default());
            let schema = serde_json::to_string_pretty(&schema).unwrap_or_default();
            output::print(&format!("{schema}\n")).map(|()| 0)
        }
        Some(Command::Completions { shell }) => definitions::completions(*shell),
        Some(Command::Man { folder }) => definitions::man(folder.as_deref()),
    }
}

/// The current time, in the format used in records.
pub fn now() -> String {
    record::date::rfc3339(std::time::SystemTime::now())
}

/// This machine, or a captured tree of another one.
fn root(captured: Option<&Path>) -> Result<Root, Failure> {
    // The error message contains the name of the directory.
    captured.map_or(Ok(Root::live()), Root::captured).map_err(|error| Failure::Cannot(error.to_string()))
}

/// A record of an inspected machine whose run starts now.
fn record_of(found: &Inspection) -> Record {
    let mut record = new_record();
    record.machine = found.machine.clone();
    record.conditions.before = found.snapshot.clone();
    record
}

/// A record whose run starts now.
fn new_record() -> Record {
    let command = std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect();
    Record::new(env!("CARGO_PKG_VERSION"), now(), command)
}
