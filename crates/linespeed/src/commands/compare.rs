//! `linespeed compare`: records side by side.

use diagnose::{Extent, Side, compare};
use record::Record;
use record::comparison::Relation;
use record::detail;
use record::document::Tool;

use super::{output_file, to_standard_output};
use crate::failure::Failure;
use crate::options::{Compare, Options};
use crate::{files, output, sources};

/// Records from which on only what a comparison needs of each is kept in memory.
const MANY: usize = 16;
/// Details of measurements that a comparison needs.
const DETAILS: &[&str] = &[
    detail::ARRAY_BYTES.name(),
    detail::ARRAYS.name(),
    detail::CLASS.name(),
    detail::CLOCK_HZ.name(),
    detail::NS_AT_80_PERCENT_OF_PEAK.name(),
    detail::NS_AT_HALF_OF_PEAK.name(),
    detail::SETTINGS.name(),
    detail::WORK.name(),
];

/// Records up to which it is told what to run for figures that they could share.
const FEW: usize = 4;
/// Commands that are told of one text.
const MOST_COMMANDS: usize = 3;
/// Letters of a command that are told.
const LONGEST_COMMAND: usize = 100;

/// What would give records that share no figure one, a sentence for each record that has figures.
fn what_to_run(sides: &[Side]) -> Vec<String> {
    let mut said = Vec::new();
    for side in sides.iter().filter(|side| !side.record.measurements.is_empty()) {
        let others: Vec<&Side> = sides.iter().filter(|other| !std::ptr::eq(*other, side)).collect();
        let Some(other) = others.first() else { continue };
        let who = if others.len() == 1 { other.name } else { "the others" };
        if side.record.import.is_none() {
            let mut measured: Vec<&str> = measured_by(side.record);
            // What none of the others can measure is no advice.
            measured.retain(|name| others.iter().any(|other| can_measure(other.record, name)));
            if !measured.is_empty() {
                said.push(format!(
                    "For figures as {} has them, on {who}: linespeed run {}.",
                    side.name,
                    measured.join(" ")
                ));
            }
            continue;
        }
        let tools = tools_of(side.record);
        if !tools.is_empty() {
            said.push(format!(
                "The figures of {} are of {}. For such on {who}, run the same there and import what it prints: \
                 linespeed import FILE.",
                side.name,
                tools.join("; ")
            ));
        }
    }
    said
}

/// The measurements of linespeed that a record's figures are of.
fn measured_by(record: &Record) -> Vec<&'static str> {
    let has = |metric: &&str| record.measurements_of(metric).next().is_some();
    let all = measure::list::MEASUREMENTS.iter();
    all.filter(|measurement| measurement.metrics().iter().any(has))
        .map(|measurement| measurement.name())
        .collect()
}

/// Whether a record's machine can measure this: nodes are nothing to measure where there is one.
fn can_measure(record: &Record, name: &str) -> bool {
    let machine = &record.machine;
    measure::list::find(name).is_none_or(|measurement| {
        let outlook = measurement.outlook(machine, &record.conditions.before, &machine.allowed_cpus());
        outlook.state != record::State::Impossible
    })
}

/// The tools whose output a record's figures were read from, each with its command where the text has it.
fn tools_of(record: &Record) -> Vec<String> {
    let Some(import) = &record.import else { return Vec::new() };
    let mut tools: Vec<String> = Vec::new();
    for output in &import.outputs {
        let within = |m: &record::Measurement| {
            m.origin.as_ref().is_some_and(|origin| {
                origin.text == output.text && (output.lines.0..=output.lines.1).contains(&origin.line)
            })
        };
        if tools.len() == MOST_COMMANDS || !record.measurements.iter().any(within) {
            continue;
        }
        let command: Option<String> =
            output.command.as_ref().map(|command| command.chars().take(LONGEST_COMMAND).collect());
        let reported =
            command.map_or(output.tool.to_string(), |command| format!("{} ({command})", output.tool));
        if !tools.contains(&reported) {
            tools.push(reported);
        }
    }
    tools
}

/// Drops what a comparison does not look at.
fn lighten(record: &mut Record) {
    record.coverage = Vec::new();
    for m in &mut record.measurements {
        m.distribution = Vec::new();
        m.marks = Vec::new();
        m.origin = None;
        m.detail.retain(|name| DETAILS.contains(&name));
    }
}

/// Compares and prints, as a page, JSON or CSV where that was asked for.
pub fn run(options: &Options, asked: &Compare) -> Result<u8, Failure> {
    let count = asked.records.len();
    if count < 2 {
        let words = "compare needs at least two: records' files, . for this machine's newest record, or reference:NAME";
        return Err(Failure::Usage(words.to_owned()));
    }
    let baseline = match asked.baseline {
        number if (1..=count).contains(&number) => number - 1,
        number => {
            return Err(Failure::Usage(format!(
                "--baseline {number}: there are {count} records, so it is 1 to {count}"
            )));
        }
    };
    if asked.records.iter().filter(|argument| *argument == "-").count() > 1 {
        return Err(Failure::Usage("standard input can be one record only: give - once".to_owned()));
    }
    if let Some(path) = output_file(options) {
        files::check_writable(&path)?;
    }
    let many = asked.records.len() > MANY;
    let sources = sources::read_all(&asked.records, if many { Some(lighten) } else { None })?;
    sources.iter().for_each(|source| source.say_note(&options.out));
    let sides: Vec<Side> = sources
        .iter()
        .map(|source| Side { name: &source.name, source: &source.from, record: &source.record })
        .collect();
    let json = to_standard_output(options) || (options.out.output.is_some() && !asked.html && !asked.csv);
    let tool = Tool { name: "linespeed".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() };
    let extent = if !asked.html && (asked.csv || json) { Extent::All } else { Extent::Summary };
    let mut comparison = compare(&sides, baseline, tool, extent);
    if comparison.rows.is_empty() && comparison.relation != Relation::SameRecord && count <= FEW {
        comparison.notes.extend(what_to_run(&sides).into_iter().map(Into::into));
    }
    let text = if asked.html {
        report::page::comparison(&comparison)
    } else if asked.csv {
        report::csv::comparison(&comparison)
    } else if json {
        comparison.to_json()
    } else {
        report::terminal::comparison(&comparison, &output::style(&options.out))
    };
    match output_file(options) {
        Some(path) => files::write(&path, &text)?,
        None => output::print(&text)?,
    }
    Ok(0)
}
