//! Completions and manual pages, generated from the definition of the command line.

use std::io::IsTerminal;
use std::path::Path;

use clap::builder::PossibleValuesParser;
use clap::builder::Resettable::Reset;
use clap_complete::Shell;
use clap_mangen::roff::{Roff, bold, roman};
use experiment::recipes;
use measure::MEASUREMENTS;
use measure::fill_order::FILL_ORDERS;

use crate::failure::Failure;
use crate::{files, options, output};

/// Prints the completions for a shell on standard output.
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

/// Completions for the values of positional arguments, which clap_complete omits for fish.
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

/// The definition with the valid names of each argument. The parser does not use these names, because its own errors for wrong names are
/// more informative.
fn with_names(definition: clap::Command) -> clap::Command {
    // Names in the definition must have a static lifetime. The leak is harmless, because the program exits after printing them.
    let recipes = recipes::list_all(files::recipes().as_deref());
    let places: [(&str, &str, Vec<&str>); 6] = [
        ("quiet", "knobs", ::quiet::knobs::KNOBS.iter().map(|knob| knob.name).collect()),
        ("run", "names", MEASUREMENTS.iter().map(|m| m.name).collect()),
        ("scale", "placement", FILL_ORDERS.iter().map(|order| order.name()).collect()),
        ("scale", "recipe", recipes.into_iter().map(|(name, _)| &*name.leak()).collect()),
        ("reference", "name", reference::MACHINES.iter().map(|machine| machine.name).collect()),
        ("explain", "name", crate::glossary::all().terms().iter().map(|term| term.name).collect()),
    ];
    places.into_iter().fold(definition, |all, (command, argument, names)| {
        let names = PossibleValuesParser::new(names);
        all.mut_subcommand(command, |one| one.mut_arg(argument, |argument| argument.value_parser(names)))
    })
}

/// Prints the main manual page on standard output, or writes all pages to a directory.
pub fn man(folder: Option<&Path>) -> Result<u8, Failure> {
    let mut definition = options::definition();
    // Adds the full name and the shared options to every command.
    definition.build();
    let Some(folder) = folder else {
        if std::io::stdout().is_terminal() {
            return Err(Failure::usage(
                "the manual page is not plain text; read it with: linespeed man | man -l -",
            ));
        }
        return output::print(&page(definition)?).map(|()| 0);
    };
    files::create(folder)?;
    let mut pages = vec![("linespeed".to_owned(), definition)];
    while let Some((name, command)) = pages.pop() {
        // The `help` command needs no page, because the manual pages contain the help text.
        let below = command.get_subcommands().filter(|one| one.get_name() != "help");
        pages.extend(below.map(|one| (format!("{name}-{}", one.get_name()), one.clone())));
        files::write(&folder.join(format!("{name}.1")), &page(command.display_name(name))?)?;
    }
    Ok(0)
}

/// A manual page: the help text, and further sections.
fn page(command: clap::Command) -> Result<String, Failure> {
    let failed = |error| Failure::Output { path: None, error, way_out: "" };
    let sections = options::manual_sections(command.get_name());
    // The sections after the options are omitted here and added below, under the usual names of manual sections.
    let command = command.after_help(Reset).after_long_help(Reset).mut_args(|arg| arg.hide_short_help(false));
    let command = command.mut_subcommands(|one| {
        let hidden = one.is_hide_set() || one.get_name() == "help";
        one.hide(hidden)
    });
    let version = format!("linespeed {}", env!("LINESPEED_VERSION"));
    let man = clap_mangen::Man::new(command).source(version).manual("linespeed manual");
    let mut text = Vec::new();
    man.render(&mut text).map_err(failed)?;
    let mut roff = Roff::new();
    for (heading, lines) in sections {
        roff.control("SH", [heading.to_uppercase().as_str()]);
        for line in lines.lines() {
            let (term, meaning) = line.split_once("  ").unwrap_or((line, ""));
            roff.control("TP", []).text([bold(term)]).text([roman(meaning.trim())]);
        }
    }
    roff.to_writer(&mut text).map_err(failed)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}
