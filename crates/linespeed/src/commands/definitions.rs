//! Completions and manual pages, from the one definition of the command line.

use std::path::Path;

use clap::builder::PossibleValuesParser;
use clap_complete::Shell;
use experiment::recipes;
use measure::MEASUREMENTS;
use measure::fill_order::FILL_ORDERS;

use crate::failure::Failure;
use crate::{files, options, output};

/// Completions for a shell on standard output.
pub fn completions(shell: Shell) -> Result<u8, Failure> {
    let mut text = Vec::new();
    let mut definition = with_names(options::definition());
    clap_complete::generate(shell, &mut definition, "linespeed", &mut text);
    let mut text = String::from_utf8_lossy(&text).into_owned();
    if shell == Shell::Fish {
        text.push_str(&fish_arguments(&definition));
    }
    output::print(&text).map(|()| 0)
}

/// What clap_complete leaves out for fish: the values of arguments that are no flags.
fn fish_arguments(definition: &clap::Command) -> String {
    let mut text = String::new();
    for command in definition.get_subcommands() {
        for argument in command.get_positionals() {
            let values: Vec<String> =
                argument.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
            if !values.is_empty() {
                text.push_str(&format!(
                    "complete -c linespeed -n \"__fish_linespeed_using_subcommand {}\" -f -a \"{}\"\n",
                    command.get_name(),
                    values.join(" ")
                ));
            }
        }
    }
    text
}

/// The definition with the names that can stand in each place. The parser knows them not: it says more of a name that is
/// wrong than that it is not in a list.
fn with_names(definition: clap::Command) -> clap::Command {
    let measurements = PossibleValuesParser::new(MEASUREMENTS.iter().map(|m| m.name));
    let placements = PossibleValuesParser::new(FILL_ORDERS.iter().map(|order| order.name()));
    // Names of the definition live as long as the program, which ends when they are printed.
    let known =
        recipes::list_all(crate::files::recipes().as_deref()).into_iter().map(|(name, _)| &*name.leak());
    let recipes = PossibleValuesParser::new(known);
    let references = PossibleValuesParser::new(reference::MACHINES.iter().map(|machine| machine.name));
    let words = PossibleValuesParser::new(crate::glossary::all().terms().iter().map(|term| term.name));
    let knobs = PossibleValuesParser::new(::quiet::knobs::KNOBS.iter().map(|knob| knob.name));
    definition
        .mut_subcommand("quiet", |quiet| quiet.mut_arg("knobs", |names| names.value_parser(knobs)))
        .mut_subcommand("run", |run| run.mut_arg("names", |names| names.value_parser(measurements)))
        .mut_subcommand("scale", |scale| {
            scale
                .mut_arg("placement", |placement| placement.value_parser(placements))
                .mut_arg("recipe", |recipe| recipe.value_parser(recipes))
        })
        .mut_subcommand("reference", |command| command.mut_arg("name", |name| name.value_parser(references)))
        .mut_subcommand("explain", |explain| explain.mut_arg("name", |name| name.value_parser(words)))
}

/// The main manual page on standard output, or all of them into a folder.
pub fn man(folder: Option<&Path>) -> Result<u8, Failure> {
    let mut definition = options::definition();
    // Gives every command its whole name and the options that all have.
    definition.build();
    let Some(folder) = folder else {
        return output::print(&page(definition)?).map(|()| 0);
    };
    files::create(folder)?;
    // What help prints stands in the pages.
    for command in definition.get_subcommands().filter(|command| command.get_name() != "help") {
        let name = format!("linespeed-{}", command.get_name());
        files::write(&folder.join(format!("{name}.1")), &page(command.clone().display_name(name))?)?;
    }
    files::write(&folder.join("linespeed.1"), &page(definition)?)?;
    Ok(0)
}

fn page(command: clap::Command) -> Result<String, Failure> {
    let synopsis = synopsis(&command);
    let mut text = Vec::new();
    clap_mangen::Man::new(command).render(&mut text).map_err(|error| Failure::Output {
        path: None,
        error,
        way_out: "",
    })?;
    let text = String::from_utf8_lossy(&text);
    // The one that clap_mangen writes has no values.
    let whole = text.split_once(SYNOPSIS).and_then(|(before, rest)| {
        let (_, after) = rest.split_once("\n.SH ")?;
        Some(format!("{before}{SYNOPSIS}{synopsis}\n.SH {after}"))
    });
    Ok(whole.unwrap_or_else(|| text.into_owned()))
}

const SYNOPSIS: &str = ".SH SYNOPSIS\n";

/// The command with its flags and what stands behind them, in roff: `linespeed scale [--steps LIST] … [-- COMMAND...]`.
fn synopsis(command: &clap::Command) -> String {
    let plain = |text: &str| text.replace('\\', "\\\\").replace('-', "\\-");
    let bold = |text: &str| format!("\\fB{}\\fR", plain(text));
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    let mut words = vec![bold(name)];
    let mut arguments: Vec<&clap::Arg> = command.get_arguments().filter(|arg| !arg.is_hide_set()).collect();
    arguments.sort_by_key(|arg| arg.is_positional());
    for arg in arguments {
        let takes = arg.get_action().takes_values();
        let values: Vec<String> =
            arg.get_value_names().unwrap_or_default().iter().map(ToString::to_string).collect();
        let value = if takes { format!("\\fI{}\\fR", plain(&values.join(" "))) } else { String::new() };
        let least = arg.get_num_args().map_or(1, |range| range.min_values());
        let flags =
            [arg.get_short().map(|c| format!("-{c}")), arg.get_long().map(|long| format!("--{long}"))];
        let flags: Vec<String> = flags.into_iter().flatten().map(|flag| bold(&flag)).collect();
        let many = if arg.get_num_args().is_some_and(|range| range.max_values() > 1) { "..." } else { "" };
        let text = match (flags.is_empty(), takes, least) {
            (true, ..) if arg.is_last_set() => format!("{} {value}{many}", bold("--")),
            (true, ..) => format!("{value}{many}"),
            (false, false, _) => flags.join("|"),
            (false, true, 0) => format!("{}[={value}]", flags.join("|")),
            (false, true, _) => format!("{} {value}", flags.join("|")),
        };
        words.push(if arg.is_required_set() { text } else { format!("[{text}]") });
    }
    if command.has_subcommands() {
        words.push("[\\fICOMMAND\\fR]".to_owned());
    }
    words.join(" ")
}
