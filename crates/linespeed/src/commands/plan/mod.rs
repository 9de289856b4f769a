//! `linespeed plan`: how to lay a program out on this machine, or on that of a record.

mod verify;

use record::detail;
use std::path::{Path, PathBuf};

use diagnose::{PlanError, PlanRequest};
use machine::Root;
use record::{Machine, Record};
use report::terminal;

use super::{new_record, output_file, to_standard_output};
use crate::failure::Failure;
use crate::options::{Options, Plan};
use crate::{files, output, sources};

/// Figures that a plan needs: of each group the newest record counts whose figures are sound, and where none are, the
/// newest that has any.
const NEEDED: [&[&str]; 5] = [
    &["numa.latency", "numa.bandwidth"],
    &["smt.yield"],
    LATENCY,
    &["core_to_core.latency"],
    &["workload.throughput"],
];

/// The latency curve.
const LATENCY: &[&str] = &["load.latency"];

/// Records of this machine that are looked at, the newest first.
const MOST_RECORDS: usize = 30;

/// Prints the plan.
pub fn run(options: &Options, plan: &Plan) -> Result<u8, Failure> {
    if let (false, [first, ..]) = (plan.verify, plan.command.as_slice()) {
        let first = first.to_string_lossy();
        return Err(Failure::Usage(format!(
            "to run a command both ways write linespeed plan --verify -- {first} …"
        )));
    }
    if options.measuring.quiet_machine && !plan.verify {
        return Err(Failure::Usage(
            "--quiet-machine is for --verify: without it linespeed plan measures nothing".to_owned(),
        ));
    }
    // A dot is this machine.
    if let (true, Some(record)) = (plan.verify, plan.record.as_deref().filter(|record| *record != ".")) {
        let record = crate::failure::shown(Path::new(record));
        return Err(Failure::Usage(format!(
            "--verify runs the command on this machine, so it takes no record: leave {record} out, or --verify and the command"
        )));
    }
    if plan.verify && plan.tool.is_some() {
        return Err(Failure::Usage(
            "--verify prints what the layout gave and --as only lines to paste: leave one of them out"
                .to_owned(),
        ));
    }
    if plan.verify && plan.command.is_empty() {
        return Err(Failure::Usage(
            "nothing to run; write linespeed plan --verify -- COMMAND ({threads} in it is a process's threads)".to_owned(),
        ));
    }
    let wish = PlanRequest {
        processes: plan.processes,
        threads: plan.threads,
        purpose: plan.purpose.into(),
        cpus: options.measuring.cpus.clone(),
    };
    let (record, from) = match &plan.record {
        Some(argument) if argument != "." => of_record(argument)?,
        _ => of_this_machine(),
    };
    let mut made = diagnose::plan(&record, &wish).map_err(|error| refused(plan, &wish, &error))?;
    made.sources = from.into_iter().map(Into::into).collect();
    if let Some(tool) = &plan.tool {
        let lines = terminal::pasted(&made, tool).ok_or_else(|| nothing_to_paste(tool, &made))?;
        return match output_file(options) {
            Some(path) => files::write(&path, &lines),
            None => output::print(&lines),
        }
        .map(|()| 0);
    }
    let destination = output_file(options);
    let mut code = 0;
    if plan.verify {
        if let Some(path) = &destination {
            files::check_writable(path)?;
        }
        code = verify::run(options, plan, &mut made)?;
    }
    let json = made.to_json();
    let text = if to_standard_output(options) {
        json.clone()
    } else if options.out.quiet_output {
        String::new()
    } else {
        terminal::plan(&made, &output::style(&options.out))
    };
    // What was measured is shown even when it could not be stored.
    let written = destination.map_or(Ok(()), |path| files::write(&path, &json));
    output::print(&text)?;
    written.map(|()| code)
}

/// What is wrong: with a flag, or with the record.
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
    let why = if plan.snippets.is_empty() {
        "this layout is what happens without binding".to_owned()
    } else {
        format!("this layout cannot be told to it; there is: {}", {
            plan.snippets.iter().map(|snippet| snippet.tool.as_str()).collect::<Vec<_>>().join(", ")
        })
    };
    Failure::Cannot(format!("nothing to paste for {tool}: {why}"))
}

/// A record, with where it lies.
fn of_record(argument: &str) -> Result<(Record, Vec<String>), Failure> {
    let source = sources::read(argument)?;
    let from = crate::failure::shown(Path::new(&source.from));
    let says = if source.record.import.is_some() {
        format!("{from}, by other tools")
    } else {
        format!("{from}, of {}", day(&source.record))
    };
    Ok((source.record, vec![says]))
}

fn day(record: &Record) -> &str {
    record.started.get(..10).unwrap_or("an unknown day")
}

/// What a record's figures must be for a plan to take them.
enum Demand {
    /// Without doubt for the most part, and of latency as far as memory.
    SoundAndWhole,
    /// Without doubt for the most part.
    Sound,
    /// Of latency as far as memory.
    Whole,
    Any,
}

/// This machine as it is now, with the figures of its newest records; and which those are.
fn of_this_machine() -> (Record, Vec<String>) {
    let found = machine::inspect(&Root::live());
    let mut record = new_record();
    record.machine = found.machine;
    record.conditions.before = found.snapshot;
    let mut sources = Vec::new();
    let mut missing: Vec<&[&str]> = NEEDED.to_vec();
    // What huge pages are worth needs a curve that reached memory on both kinds, and what was measured beside others'
    // work is known less well than what was not: first the newest without such a lack, then with one of them.
    // A file that is no record, or another machine's, is none of ours.
    let here: Vec<(PathBuf, Record)> = records_here(&record.machine)
        .into_iter()
        .filter_map(|path| Some((Record::read(&path).ok()?, path)))
        .filter(|(other, _)| same(&record.machine, &other.machine))
        .map(|(other, path)| (path, other))
        .collect();
    let demands = [Demand::SoundAndWhole, Demand::Sound, Demand::Whole, Demand::Any];
    let all = demands.iter().flat_map(|demand| here.iter().map(move |(path, other)| (demand, path, other)));
    for (demand, path, other) in all {
        if missing.is_empty() {
            break;
        }
        let reached = other.diagnosis.resources.iter().any(|r| r.name == diagnose::MEMORY_LATENCY);
        let mut taken: Vec<&str> = Vec::new();
        let mut doubted = false;
        missing.retain(|group| {
            let wanted = |m: &&record::Measurement| {
                // What a command does, or a recipe's, is not what the machine is like.
                group.contains(&m.metric.as_str()) && !m.detail.has(detail::COMMAND)
            };
            let (sure, doubtful): (Vec<_>, Vec<_>) =
                other.measurements.iter().filter(wanted).partition(|m| m.doubt.is_none());
            let is_sound = sure.len() > doubtful.len();
            let is_whole = *group != LATENCY || reached;
            let suffices = match demand {
                Demand::SoundAndWhole => is_sound && is_whole,
                Demand::Sound => is_sound,
                Demand::Whole => is_whole,
                Demand::Any => true,
            };
            if !suffices {
                return true;
            }
            let mut metrics: Vec<&str> = Vec::new();
            for m in other.measurements.iter().filter(wanted) {
                record.measurements.push(m.clone());
                if let Some(metric) = group.iter().find(|metric| **metric == m.metric)
                    && !metrics.contains(metric)
                {
                    metrics.push(metric);
                }
            }
            taken.extend(&metrics);
            doubted |= !metrics.is_empty() && !is_sound;
            metrics.is_empty()
        });
        if !taken.is_empty() {
            let doubt = if doubted { " (most of it in doubt: linespeed show says why)" } else { "" };
            let path = crate::failure::shown(path);
            sources.push(format!("{} of {}: {path}{doubt}", taken.join(", "), day(other)));
        }
    }
    (record, sources)
}

/// Files that may be records of this machine, the newest first: names begin with the host's and end in the time.
pub(super) fn records_here(machine: &Machine) -> Vec<PathBuf> {
    let Ok(folder) = files::state_folder() else { return Vec::new() };
    let host = files::record_name(machine.hostname.as_deref(), "");
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
        .filter(|path| {
            path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(&host))
        })
        .collect();
    names.sort();
    names.reverse();
    names.truncate(MOST_RECORDS);
    names
}

/// Whether two inventories are of the same hardware; what a process may use of it may differ.
pub(super) fn same(here: &Machine, there: &Machine) -> bool {
    let identity = |machine: &Machine| {
        (
            machine.hostname.clone(),
            machine.architecture.clone(),
            machine.processor.model_name.clone(),
            machine.counts.cpus_present,
            machine.counts.nodes,
        )
    };
    identity(here) == identity(there)
}
