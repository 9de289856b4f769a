//! `linespeed plan`: finds the best layout of a program on this machine, or on a machine described by a record.

mod verify;

use std::path::{Path, PathBuf};

use diagnose::{PlanError, PlanRequest};
use machine::Root;
use record::store::Entry;
use record::{Record, RunMode, Text};
use report::terminal;
use report::view::View;

use crate::delivery::{checked_output_file, hand_out, output_file};
use crate::failure::Failure;
use crate::options::{Options, Plan};
use crate::{files, output, sources};

/// Maximum number of quick runs that are read for a plan. A normal run takes precedence, even if newer quick runs
/// exist.
const MOST_QUICK: usize = 10;

/// Prints the plan.
pub fn run(options: &Options, plan: &Plan) -> Result<u8, Failure> {
    if let Some(words) = wrong(options, plan) {
        return Err(Failure::Usage(words));
    }
    let wish = PlanRequest {
        processes: plan.processes,
        threads: plan.threads,
        cpus: options.measuring.cpus.clone(),
    };
    let (record, sources) = match &plan.record {
        Some(argument) if argument != "." => of_record(argument)?,
        _ => of_this_machine(),
    };
    let mut made = diagnose::plan(&record, &wish).map_err(|error| refused(plan, &wish, &error))?;
    made.sources.splice(..0, sources);
    made.record = plan.record.clone().filter(|record| record != ".");
    if let Some(tool) = &plan.tool {
        let lines = terminal::pasted(&made, tool).ok_or_else(|| nothing_to_paste(tool, &made))?;
        return match output_file(options) {
            Some(path) => files::write(&path, &lines),
            None => output::print(&lines),
        }
        .map(|()| 0);
    }
    let mut code = 0;
    if plan.verify {
        checked_output_file(options)?;
        code = verify::run(options, plan, &mut made)?;
    }
    let forms = View::new(|screen| terminal::plan(screen, &made, options.out.all));
    hand_out(options, &forms.with_json(|| record::json::write_text(&made))).map(|()| code)
}

/// The error message if parts of the command line conflict.
fn wrong(options: &Options, plan: &Plan) -> Option<String> {
    // A dot means this machine.
    let named = plan.record.as_deref().filter(|record| *record != ".");
    Some(match (plan.verify, plan.command.as_slice(), named) {
        (false, [first, ..], _) => {
            let first = first.to_string_lossy();
            format!("to run a command both as planned and unpinned, use linespeed plan --verify -- {first} …")
        }
        (false, ..) if options.measuring.quiet_machine => {
            "--quiet-machine requires --verify, without which linespeed plan measures nothing".to_owned()
        }
        (false, ..) => return None,
        (true, _, Some(record)) => {
            let record = record::phrase::visible(Path::new(record));
            format!("--verify runs the command on this machine: omit {record}, or omit --verify and COMMAND")
        }
        (true, ..) if plan.tool.is_some() => {
            "--verify prints a measured result, --as prints lines to paste: omit one option".to_owned()
        }
        (true, [], _) => {
            "nothing to run; use linespeed plan --verify -- COMMAND ({threads}: threads per process)"
                .to_owned()
        }
        _ => return None,
    })
}

/// Classifies the error: wrong usage, an unusable record, or a layout that is impossible on this machine.
fn refused(plan: &Plan, wish: &PlanRequest, error: &PlanError) -> Failure {
    let why = error.to_string();
    match &plan.record {
        _ if error.is_of_request() => Failure::Usage(why),
        Some(argument) => Failure::Input { path: PathBuf::from(argument), why },
        None if wish.cpus.is_some() => Failure::Usage(why),
        None => Failure::Cannot(why),
    }
}

fn nothing_to_paste(tool: &str, plan: &record::plan::Plan) -> Failure {
    let there: Vec<&str> = plan.snippets.iter().map(|snippet| snippet.tool.as_str()).collect();
    let why = match there.as_slice() {
        [] => "this layout requires no binding".to_owned(),
        tools => format!("this layout can only be expressed with {}", tools.join(", ")),
    };
    Failure::Cannot(format!("nothing to paste for {tool}: {why}"))
}

/// Reads a record; also returns a description of its source.
fn of_record(argument: &str) -> Result<(Record, Vec<Text>), Failure> {
    let source = sources::read(argument)?;
    let from = record::phrase::visible(Path::new(&source.from));
    let says = diagnose::describe_source(&from, &source.record);
    Ok((source.record, vec![says]))
}

/// This machine in its current state with the results of its newest records, and the names of these records.
fn of_this_machine() -> (Record, Vec<Text>) {
    let mut record = super::record_of(&machine::inspect(&Root::live()));
    let mut quick = 0;
    let wanted = |entry: &Entry| {
        let is_quick = entry.mode == Some(RunMode::Quick);
        let needed = entry.metrics.iter().any(|metric| diagnose::plan_needs(*metric));
        quick += usize::from(needed && is_quick);
        needed && (!is_quick || quick <= MOST_QUICK)
    };
    let here: Vec<(String, Record)> = sources::records_here(&record.machine, wanted)
        .map(|(path, record)| (sources::name_of(&path), record))
        .collect();
    let from = diagnose::merge_records(&mut record, &here);
    (record, from)
}
