//! Reading the command line, and what else its definition gives.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches};
use record::phrase::quote_word;

use super::{Options, defaults, is_taken};
use crate::failure::Failure;

/// What the command line asks for.
pub enum Asked {
    /// Help, or the version: a text for standard output.
    Text(String),
    /// Something to do.
    Do(Box<Options>),
}

/// Reads the command line.
pub fn parse() -> Result<Asked, Failure> {
    use std::io::IsTerminal;
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let mut read_line = read(arguments.clone());
    if let Ok((_, matches)) = &read_line {
        read_line = read(defaults::complete(arguments.clone(), matches, &definition())?);
    }
    match read_line {
        Ok((options, matches)) => options.check(&matches).map(|()| Asked::Do(Box::new(options))),
        Err(mut error) if error.use_stderr() => {
            add_way_out(&mut error, arguments);
            let text = error.render().to_string();
            Err(Failure::Usage(text.strip_prefix("error: ").unwrap_or(&text).trim_end().to_owned()))
        }
        Err(error) if std::io::stdout().is_terminal() => Ok(Asked::Text(error.render().ansi().to_string())),
        Err(error) => Ok(Asked::Text(error.render().to_string())),
    }
}

/// Reads arguments, of which the first is the program.
pub(super) fn read(arguments: Vec<OsString>) -> Result<(Options, clap::ArgMatches), clap::Error> {
    // Helps and complaints name what all have and hide what is idle.
    let mut whole = definition();
    let matches = whole.try_get_matches_from_mut(arguments)?;
    let options = Options::from_arg_matches(&matches).map_err(|error| error.format(&mut whole))?;
    Ok((options, matches))
}

/// Adds to the complaint about a command of `scale` without `--` before it what to write instead.
fn add_way_out(error: &mut clap::Error, mut arguments: Vec<OsString>) {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidArg) else { return };
    let matches = definition().ignore_errors(true).try_get_matches_from_mut(&arguments);
    let is_scale = matches.is_ok_and(|matches| matches.subcommand_name() == Some("scale"));
    if error.kind() != ErrorKind::UnknownArgument || word.starts_with('-') || !is_scale {
        return;
    }
    let begin = arguments.iter().position(|argument| argument == "scale").unwrap_or(0) + 1;
    let Some(at) = arguments.iter().skip(begin).position(|argument| argument == word.as_str()) else {
        return;
    };
    let (way_out, added) = if experiment::recipes::BUILT_IN.iter().any(|(name, _)| name == word) {
        ("to run the recipe", "--recipe")
    } else {
        ("a command stands after --", "--")
    };
    arguments.insert(begin + at, added.into());
    let words = arguments.iter().skip(1).map(|argument| quote_word(&argument.to_string_lossy()));
    let tip = format!("{way_out}: linespeed {}", words.collect::<Vec<_>>().join(" "));
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
}

/// The whole definition, for completions and man pages.
pub fn definition() -> clap::Command {
    let names: Vec<&str> = measure::MEASUREMENTS.iter().map(|m| m.name).collect();
    let about = format!("Run only some measurements: {}", names.join(", "));
    let mut all = Options::command().mut_subcommand("run", |run| run.about(about));
    // Only then have the commands the flags that all take.
    all.build();
    let names: Vec<String> = all.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    names.iter().fold(all, |all, name| all.mut_subcommand(name, |command| hide_idle(command, name)))
}

/// Hides flags that mean nothing to a command, and to those below it.
fn hide_idle(command: clap::Command, name: &str) -> clap::Command {
    let below: Vec<String> = command.get_subcommands().map(|below| below.get_name().to_owned()).collect();
    let command = below.iter().fold(command, |all, one| all.mut_subcommand(one, |one| hide_idle(one, name)));
    command.mut_args(|arg| {
        let idle = !is_taken(arg.get_id().as_str(), name);
        if idle { arg.hide(true) } else { arg }
    })
}
