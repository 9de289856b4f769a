//! `linespeed compare`: records side by side.

use diagnose::{Extent, Side, compare};
use measure::list;
use record::Record;
use record::comparison::Relation;
use report::terminal;
use report::view::{Form, View};

use super::gate;
use crate::delivery::{checked_output_file, hand_out};
use crate::failure::Failure;
use crate::options::{Compare, Options};
use crate::redaction::redact_sources;
use crate::sources;

/// Above this number of records, only the parts needed for a comparison are kept in memory.
const MANY: usize = 16;
/// If at most this many records are compared, a command that would yield more shared results is suggested.
const FEW: usize = 4;

/// Compares records and prints the result, or writes it as a page, JSON or CSV if requested.
pub fn run(options: &Options, asked: &Compare) -> Result<u8, Failure> {
    let count = asked.records.len();
    if count < 2 {
        return Err(Failure::usage(
            "compare needs at least two records: files, . for this machine's newest record, or \
             reference:NAME",
        ));
    }
    if !(1..=count).contains(&asked.baseline) {
        let (number, all) = (asked.baseline, format!("there are {count} records; use 1 to {count}"));
        return Err(Failure::Usage(format!("--baseline {number}: {all}")));
    }
    let baseline = asked.baseline - 1;
    if asked.records.iter().filter(|argument| *argument == "-").count() > 1 {
        return Err(Failure::usage("standard input can provide only one record: use - once"));
    }
    let terms = options.measuring.gate_terms()?;
    checked_output_file(options)?;
    gate::check_junit(asked.junit.as_ref())?;
    let prepare = |record: &mut Record| {
        if count > MANY {
            diagnose::drop_uncompared(record);
        }
        if asked.different_commands {
            diagnose::ignore_commands(record);
        }
    };
    let mut sources = sources::read_all(&asked.records, prepare)?;
    redact_sources(options, &mut sources)?;
    let find = |watch: bool| sources.iter().find(|source| source.record.watch.is_some() == watch);
    if let (Some(watch), Some(other)) = (find(true), find(false)) {
        let watch = record::phrase::visible(std::path::Path::new(&watch.from));
        let why = format!(
            "is not a recording, but {watch} is; recordings can only be compared with recordings (live \
             --output FILE)"
        );
        return Err(Failure::Input { path: other.from.clone().into(), why });
    }
    sources.iter().for_each(|source| sources::say_note(source, &options.out));
    let sides: Vec<Side> = sources
        .iter()
        .map(|source| Side { name: &source.name, source: &source.from, record: &source.record })
        .collect();
    let tool = super::new_record().tool;
    let form =
        options.out.form().or_else(|| options.out.output.is_some().then(|| options.out.form_of_file()));
    let extent = if matches!(form, Some(Form::Csv | Form::Json)) { Extent::All } else { Extent::Summary };
    let mut comparison = compare(&sides, baseline, tool, extent);
    for (subject, argument) in comparison.subjects.iter_mut().zip(&asked.records) {
        subject.newest = argument == record::source::HERE;
    }
    let of_commands = comparison.refused.iter().any(|refusal| refusal.why.is(&diagnose::OTHER_COMMAND));
    if count <= FEW {
        let shares_nothing =
            comparison.rows.is_empty() && !of_commands && comparison.relation != Relation::SameRecord;
        let here = asked.records.iter().position(|argument| argument == record::source::HERE);
        // Redacted output has no suggestion: it would contain the names of other records, which include the host name.
        let here = here.filter(|_| !options.out.redact);
        let measurements = shares_nothing.then_some((list::measured_by, list::can_measure));
        let newer = |side: usize| newer_records(sides[side].record);
        comparison.notes.extend(diagnose::suggest(&sides, measurements, here, newer));
        let is_reference = |side: &&Side| side.source.starts_with(reference::PREFIX);
        if shares_nothing && let Some(side) = sides.iter().find(is_reference) {
            let others = reference::records_but(side.source, env!("CARGO_PKG_VERSION"));
            comparison.notes.push(diagnose::comparable_references(side, &others, &comparison.tool));
        }
    }
    let gate = terms.map(|terms| gate::held(diagnose::gate(&comparison, terms)));
    let junit = asked.junit.as_ref();
    if let Some(Err(why)) = &gate {
        gate::write_junit(junit, gate.as_ref(), |_| String::new())?;
        return gate::code(Some(Err(why.clone())));
    }
    comparison.gate = gate.clone().and_then(Result::ok);
    let forms = View::new(|screen| terminal::comparison_answer(screen, &comparison, options.out.all))
        .with_json(|| record::json::write_text(&comparison))
        .with_csv(|| report::csv::comparison(&comparison))
        .with_page(|| report::page::comparison(&comparison, sources.iter().map(|source| &source.record)));
    hand_out(options, &forms)?;
    let name = |index: usize| comparison.subjects.get(index).map_or("", |subject| &subject.name);
    let suite = |index| format!("{} compared with {}", name(index), name(comparison.baseline));
    gate::write_junit(junit, gate.as_ref(), suite)?;
    gate::code(gate)
}

/// Newer records of the same machine, with their names, newest first.
fn newer_records(own: &Record) -> Vec<(String, Record)> {
    let newer =
        sources::records_here(&own.machine, |_| true).take_while(|(_, record)| record.started > own.started);
    newer.map(|(path, record)| (sources::name_of(&path), record)).collect()
}
