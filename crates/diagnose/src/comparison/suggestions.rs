//! What to run where records share no figure.

use record::import::PUBLISHED_FIGURES;
use record::{Label, Measurement, Record, Text, detail, text};

use super::Side;

/// How the texts of machines that ship with linespeed are called.
const REFERENCE: &str = "reference:";
/// Commands of one imported text that are named.
const MOST_COMMANDS: usize = 3;
/// Letters of a command that are shown.
const LONGEST_COMMAND: usize = 100;

/// For each record that has figures, how the others get such. `measured_by` names the measurements that a record's figures
/// are of, `can_measure` says whether a record's machine can run one.
pub fn suggest_runs(
    sides: &[Side],
    measured_by: impl Fn(&Record) -> Vec<&'static str>,
    can_measure: impl Fn(&Record, &str) -> bool,
) -> Vec<Text> {
    let with_figures = sides.iter().filter(|side| !side.record.measurements.is_empty());
    let suggestions = with_figures.filter_map(|side| {
        // On a machine that was published nobody can run anything.
        let others = sides.iter().filter(|other| !std::ptr::eq(*other, side) && !is_published(other.record));
        let others: Vec<&Side> = others.collect();
        let other = others.first()?;
        let on = if others.len() == 1 { other.name } else { "the others" }.to_owned();
        let record = side.name.to_owned();
        if side.record.import.is_some() {
            let tools = list_tools(side.record);
            return (!tools.is_empty()).then(|| {
                text!(
                    "compare-import-same-tools",
                    "{record} has figures of {tools}. To compare, run the same on {on} and import the output: linespeed \
                     import FILE.",
                    record,
                    tools = tools.join("; "),
                    on
                )
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
                    "To compare with {record}, run on {on}: {commands}.",
                    record,
                    on,
                    commands
                )
            );
        }
        // What none of the others can measure is no advice.
        let mut measured = measured_by(side.record);
        measured.retain(|name| others.iter().any(|other| can_measure(other.record, name)));
        (!measured.is_empty()).then(|| {
            text!(
                "compare-run-same-measurements",
                "To compare with {record}, run on {on}: linespeed run {measurements}.",
                record,
                on,
                measurements = measured.join(" ")
            )
        })
    });
    suggestions.collect()
}

/// Whether a record is of a machine that ships with linespeed.
fn is_published(record: &Record) -> bool {
    let texts = record.import.iter().flat_map(|import| &import.texts);
    texts.into_iter().any(|text| text.name.starts_with(REFERENCE))
}

/// The recipes that made a record's figures.
fn list_recipes(record: &Record) -> Vec<&str> {
    let mut recipes = Vec::new();
    for m in record.measurements.iter().filter(|m| m.detail.get(detail::SETTINGS).is_some()) {
        if let Some(recipe) = m.labels.word(Label::Workload).filter(|recipe| !recipes.contains(recipe)) {
            recipes.push(recipe);
        }
    }
    recipes
}

/// The tools whose output a record's figures were read from, each with its command where the text has it.
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
        if !tools.contains(&named) {
            tools.push(named);
        }
    }
    tools
}
