//! Reading the command line, and what else its definition gives.

use clap::{CommandFactory, FromArgMatches};

use super::{Command, IDLE, Measuring, Options, Out, Stat};
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
    match read(std::env::args_os().collect::<Vec<_>>().into_iter()) {
        Ok(options) => options.check().map(|()| Asked::Do(Box::new(options))),
        Err(mut error) if error.use_stderr() => {
            add_way_out(&mut error);
            let text = error.render().to_string();
            Err(Failure::Usage(text.strip_prefix("error: ").unwrap_or(&text).trim_end().to_owned()))
        }
        Err(error) if std::io::stdout().is_terminal() => Ok(Asked::Text(error.render().ansi().to_string())),
        Err(error) => Ok(Asked::Text(error.render().to_string())),
    }
}

/// Reads arguments, of which the first is the program.
pub(super) fn read(
    arguments: impl Iterator<Item = std::ffi::OsString> + Clone,
) -> Result<Options, clap::Error> {
    // To put the others' definitions together takes longer than many a command that stat runs.
    if arguments.clone().nth(1).is_some_and(|word| word == "stat")
        && let Some(options) = read_stat(arguments.clone())
    {
        return Ok(options);
    }
    // Helps and complaints name what all have and hide what is idle.
    let mut whole = definition();
    let matches = whole.try_get_matches_from_mut(arguments)?;
    Options::from_arg_matches(&matches).map_err(|error| error.format(&mut whole))
}

/// The command line as [`Options`] has it, with `stat` alone.
#[derive(clap::Parser)]
struct Alone {
    #[command(subcommand)]
    command: OnlyStat,
    #[command(flatten)]
    measuring: Measuring,
    #[command(flatten)]
    out: Out,
}

#[derive(clap::Subcommand)]
enum OnlyStat {
    Stat(Stat),
}

/// What `stat` is asked for, if nothing is wrong with it.
fn read_stat(arguments: impl Iterator<Item = std::ffi::OsString>) -> Option<Options> {
    let mut definition = Alone::command();
    let matches = definition.try_get_matches_from_mut(arguments).ok()?;
    let Alone { command: OnlyStat::Stat(stat), measuring, out } = Alone::from_arg_matches(&matches).ok()?;
    // Taking them apart is nobody's gain: they are few, and the process short.
    std::mem::forget((definition, matches));
    Some(Options { command: Some(Command::Stat(stat)), measuring, out })
}

/// Adds to the complaint about a command without `--` before it what to write instead.
fn add_way_out(error: &mut clap::Error) {
    use clap::error::{ContextKind, ContextValue, ErrorKind};
    let (Some(ContextValue::String(word)), Some(ContextValue::StyledStr(usage))) =
        (error.get(ContextKind::InvalidArg), error.get(ContextKind::Usage))
    else {
        return;
    };
    if error.kind() != ErrorKind::UnknownArgument || word.starts_with('-') {
        return;
    }
    if !usage.to_string().contains("linespeed scale") {
        return;
    }
    let mut words: Vec<String> =
        std::env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned()).collect();
    let begin = words.iter().position(|arg| arg == "scale").unwrap_or(0);
    let Some(at) = words.iter().skip(begin + 1).position(|arg| arg == word).map(|at| begin + 1 + at) else {
        return;
    };
    let way_out = if experiment::recipes::BUILT_IN.iter().any(|(name, _)| name == word) {
        words.insert(at, "--recipe".to_owned());
        "to run the recipe"
    } else {
        words.insert(at, "--".to_owned());
        "a command stands after --"
    };
    let words: Vec<String> = words.iter().map(|word| record::phrase::quote_word(word)).collect();
    let tip = format!("{way_out}: linespeed {}", words.join(" "));
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
}

/// The whole definition, for completions and man pages.
pub fn definition() -> clap::Command {
    let mut all = Options::command();
    // Only then have the commands the flags that all take.
    all.build();
    IDLE.iter().fold(all, |all, (name, flags)| {
        let is_idle = |arg: &clap::Arg| {
            arg.get_long().is_some_and(|long| flags.iter().any(|flag| flag.strip_prefix("--") == Some(long)))
        };
        all.mut_subcommand(name, |command| {
            command.mut_args(|arg| if is_idle(&arg) { arg.hide(true) } else { arg })
        })
    })
}
