//! Suggests commands to run if records share no result.

use record::document::Tool;
use record::import::PUBLISHED_FIGURES;
use record::phrase::{join_most, quote_word};
use record::{Label, Measurement, Record, Text, detail, text};

use std::collections::BTreeSet;

use super::work::{WORKS, Works};
use super::{Extent, Side, compare};
use crate::tables::rows;

/// The prefix for reference machines shipped with linespeed.
const REFERENCE: &str = "reference:";
/// Maximum number of commands listed per imported text.
const MOST_COMMANDS: usize = 3;
/// Maximum length of a displayed command, in characters.
const LONGEST_COMMAND: usize = 100;

/// Suggests commands that produce more shared results, or another record to use instead. Measurements that were already run are not
/// suggested again. `measurements`: the arguments of `suggest_runs` if nothing is shared, otherwise `None`. `here`: the side with this
/// machine's record. `newer` reads the newer records of this machine, and is called only if there is something to suggest.
pub fn suggest(
    sides: &[Side],
    measurements: Option<(impl Fn(&Record) -> Vec<&'static str>, impl Fn(&Record, &str) -> bool)>,
    here: Option<usize>,
    newer: impl FnOnce(usize) -> Vec<(String, Record)>,
) -> Vec<Text> {
    let nothing_shared = measurements.is_some();
    let mut says = measurements.map_or_else(Vec::new, |(names, can)| suggest_runs(sides, names, can));
    let works = suggest_works(sides, &[]);
    let here = here.filter(|at| *at < sides.len() && !(says.is_empty() && works.is_empty()));
    let newer = here.map_or_else(Vec::new, newer);
    let shares = |sides: &[Side]| {
        nothing_shared && !super::compare(sides, 0, Tool::default(), Extent::Summary).rows.is_empty()
    };
    match here.and_then(|here| suggest_newer(sides, here, &newer, shares)) {
        Some(taken) => says = std::iter::once(taken).chain(suggest_works(sides, &newer)).collect(),
        None => says.extend(works),
    }
    says
}

/// For each record with results, the commands that measure the same quantities on the other machines. `measured_by` returns the
/// measurements that produced a record's results; `can_measure` returns whether a record's machine can run a measurement.
pub(super) fn suggest_runs(
    sides: &[Side],
    measured_by: impl Fn(&Record) -> Vec<&'static str>,
    can_measure: impl Fn(&Record, &str) -> bool,
) -> Vec<Text> {
    let with_figures = sides.iter().filter(|side| !side.record.measurements.is_empty());
    let suggestions = with_figures.filter_map(|side| {
        // Published machines cannot run commands.
        let others = sides.iter().filter(|other| !std::ptr::eq(*other, side) && !is_published(other.record));
        let others: Vec<&Side> = others.collect();
        others.first()?;
        let on = name_others(&others);
        let record = side.name.to_owned();
        if side.record.import.is_some() {
            let tools = list_tools(side.record);
            return (!tools.is_empty()).then(|| {
                text!(
                    "{record} contains results from {tools}. To compare, run these tools on {on} and import the output: \
                     linespeed import FILE.",
                    tools = tools.join("; "))
            });
        }
        let recipes = list_recipes(side.record);
        if !recipes.is_empty() {
            let commands: Vec<String> =
                recipes.iter().map(|recipe| format!("linespeed scale --recipe {recipe}")).collect();
            let commands = commands.join("; ");
            return Some(
                text!(
                    "compare-run-same-recipes",
                    "To compare with {record}, run on {on}: {commands}.")
            );
        }
        // A measurement that none of the other machines can run is not suggested.
        let mut measured = measured_by(side.record);
        measured.retain(|name| others.iter().any(|other| can_measure(other.record, name)));
        (!measured.is_empty()).then(|| {
            text!(
                "To compare with {record}, run on {on}: linespeed run {measurements}.",
                measurements = measured.join(" ")
            )
        })
    });
    suggestions.collect()
}

/// Suggests a newer record of the same machine to replace the side `here`: the newest record that contains work which another side has but
/// the current record lacks, or that `shares` any result with the others. `newer`: these records with their names, newest first.
pub(super) fn suggest_newer(
    sides: &[Side],
    here: usize,
    newer: &[(String, Record)],
    shares: impl Fn(&[Side]) -> bool,
) -> Option<Text> {
    let own = Works::of(sides.get(here)?.record, false);
    let others: Vec<_> = sides.iter().enumerate().filter(|(i, _)| *i != here).map(|(_, side)| side).collect();
    let lacking: Vec<Works> = others.iter().map(|side| Works::of(side.record, false)).collect();
    let has_more = |record: &Record| {
        let works = Works::of(record, false);
        let is_new = |name: &str| !own.has_name(name) && works.has_name(name);
        lacking.iter().any(|of| of.names().any(is_new))
    };
    newer.iter().find_map(|(name, record)| {
        let one = Side { name, source: name, record };
        let replaced: Vec<Side> =
            sides.iter().enumerate().map(|(at, side)| if at == here { one } else { *side }).collect();
        if !has_more(record) && !shares(&replaced) {
            return None;
        }
        let words: Vec<String> = replaced.iter().map(|side| quote_word(side.source)).collect();
        Some(text!(
            "{newer} is newer and has more results to compare with {record}: {command}.",
            newer = name.clone(),
            record = name_others(&others),
            command = format!("linespeed compare {}", words.join(" "))
        ))
    })
}

/// For a record with published or imported results of known work, the recipes or loops that measure this work on the other machines.
/// Suggests only work that is neither in their records nor in those in `newer`, and nothing for published machines, which cannot be
/// measured.
pub(super) fn suggest_works(sides: &[Side], newer: &[(String, Record)]) -> Vec<Text> {
    let suggest = |side: &Side| {
        let others: Vec<&Side> = sides.iter().filter(|other| !std::ptr::eq(*other, side)).collect();
        if side.record.import.is_none() || others.iter().any(|other| is_published(other.record)) {
            return None;
        }
        let records = others.iter().map(|other| other.record).chain(newer.iter().map(|(_, record)| record));
        let had: Vec<Works> = records.map(|record| Works::of(record, false)).collect();
        let works = Works::of(side.record, false);
        let missing = works.names().filter(|name| !had.iter().any(|works| works.has_name(name)));
        let commands: BTreeSet<String> = missing.filter_map(find_maker).collect();
        let on = name_others(&others);
        (!commands.is_empty()).then(|| {
            text!(
                "To compare more results of {record}, run on {on}: {commands}.",
                record = side.name.to_owned(),
                commands = commands.into_iter().collect::<Vec<_>>().join("; ")
            )
        })
    };
    sides.iter().filter_map(suggest).collect()
}

fn name_others<'a>(others: &[&Side<'a>]) -> &'a str {
    if let [other] = others { other.name } else { "the others" }
}

/// The command that measures this work; `None` if linespeed has no such command.
fn find_maker(name: &str) -> Option<String> {
    rows(WORKS, "commands").iter().find_map(|row| {
        let [work, command] = row.as_slice() else { return None };
        let part = match work.split_once("{}") {
            None => return (*work == name).then(|| format!("linespeed {command}")),
            Some((head, tail)) => name.strip_prefix(head)?.strip_suffix(tail)?,
        };
        (!part.is_empty() && !part.contains(' '))
            .then(|| format!("linespeed {}", command.replace("{}", part)))
    })
}

/// Whether a record is of a reference machine shipped with linespeed.
fn is_published(record: &Record) -> bool {
    let texts = record.import.iter().flat_map(|import| &import.texts);
    texts.into_iter().any(|text| text.name.starts_with(REFERENCE))
}

/// The recipes that produced a record's results.
fn list_recipes(record: &Record) -> Vec<&str> {
    let mut recipes = Vec::new();
    for m in record.measurements.iter().filter(|m| m.detail.get(detail::SETTINGS).is_some()) {
        if let Some(recipe) = m.labels.word(Label::Workload).filter(|recipe| !recipes.contains(recipe)) {
            recipes.push(recipe);
        }
    }
    recipes
}

/// The tools whose output was imported into a record, with their commands if known.
fn list_tools(record: &Record) -> Vec<String> {
    let Some(import) = &record.import else { return Vec::new() };
    let mut tools: Vec<String> = Vec::new();
    for output in &import.outputs {
        let within = |m: &Measurement| {
            m.origin.as_ref().is_some_and(|origin| {
                origin.text == output.text && (output.lines.0..=output.lines.1).contains(&origin.line)
            })
        };
        let is_table = output.tool == PUBLISHED_FIGURES && output.command.is_none();
        if tools.len() == MOST_COMMANDS || is_table || !record.measurements.iter().any(within) {
            continue;
        }
        let command: Option<String> =
            output.command.as_ref().map(|command| command.chars().take(LONGEST_COMMAND).collect());
        let named = command.map_or(output.tool.to_string(), |command| format!("{} ({command})", output.tool));
        tools.extend((!tools.contains(&named)).then_some(named));
    }
    tools
}
/// Maximum number of reference machines listed.
const NAMED: usize = 6;

/// Lists the `references` that have results in common with this side, which shares none with the other sides.
pub fn comparable_references(side: &Side, references: &[(String, Record)], tool: &Tool) -> Text {
    let shares = |(name, record): &&(String, Record)| {
        let other = Side { name, source: name, record };
        !compare(&[*side, other], 0, tool.clone(), Extent::Summary).rows.is_empty()
    };
    let names: Vec<String> = references.iter().filter(shares).map(|(name, _)| name.clone()).collect();
    let (name, others) = (side.name.to_owned(), join_most(&names, NAMED));
    match names.is_empty() {
        true => text!("No reference machine has results in common with {name}.", name),
        false => text!("Reference machines with results in common with {name}: {others}.", name, others),
    }
}
