//! Reading the command line, and what else its definition gives.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches};
use record::phrase::quote_word;

use super::{Options, defaults, fail_on, is_taken};
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
            let text = no_number(&error).unwrap_or_else(|| error.render().to_string());
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

/// Flags of perf stat and hyperfine that stat has not, and what is there for their use.
const OF_OTHERS: &[(&str, &str)] = &[
    ("-e", "stat's events are fixed; perf stat -e counts others"),
    ("-a", "stat watches a command or --pid, perf stat -a the whole system; every table: --all"),
    ("-I", "stat prints no intervals; perf stat -I does"),
    ("-d", "what perf stat -d adds is counted anyway"),
    ("-C", "--cpus LIST binds the command"),
    ("-N", "stat uses no shell; for one write sh -c 'COMMAND'"),
    ("--shell", "stat uses no shell; for one write sh -c 'COMMAND'"),
    ("--runs", "-r N runs each command N times"),
    ("--export-json", "--json, or --output FILE.json"),
    ("--export-csv", "--csv, or --output FILE.csv"),
    ("--export-markdown", "--markdown, or --output FILE.md"),
];

/// The complaint about a value that is no whole number.
fn no_number(error: &clap::Error) -> Option<String> {
    std::error::Error::source(error)?.downcast_ref::<std::num::ParseIntError>()?;
    let [value, flag] = [ContextKind::InvalidValue, ContextKind::InvalidArg].map(|kind| error.get(kind));
    let (value, flag) = (value?, flag?);
    Some(format!("invalid value '{value}' for '{flag}': write a whole number"))
}

/// Adds to the complaint about an argument that is not known what to write instead: for flags of perf stat and hyperfine, for a label, and
/// for a command of `scale` without `--` before it.
fn add_way_out(error: &mut clap::Error, mut arguments: Vec<OsString>) {
    let matches = definition().ignore_errors(true).try_get_matches_from_mut(&arguments);
    let command = matches.ok().and_then(|matches| matches.subcommand_name().map(str::to_owned));
    let suggest = |error: &mut clap::Error, tip: String| {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    };
    if command.as_deref() == Some("records")
        && !matches!(error.kind(), ErrorKind::InvalidValue | ErrorKind::ValueValidation)
    {
        return suggest(error, "to label a record: linespeed records RECORD --label NAME".to_owned());
    }
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidArg) else { return };
    if command.as_deref() == Some("live") && word == "--for" {
        return suggest(error, "to print one screen of so long: --once TIME".to_owned());
    }
    if command.as_deref() == Some("stat")
        && let Some((_, way_out)) = OF_OTHERS.iter().find(|(flag, _)| word == flag)
    {
        return suggest(error, (*way_out).to_owned());
    }
    let is_scale = command.as_deref() == Some("scale");
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
    suggest(error, format!("{way_out}: linespeed {}", words.collect::<Vec<_>>().join(" ")));
}

/// The whole definition, for completions and man pages.
pub fn definition() -> clap::Command {
    let names: Vec<&str> = measure::MEASUREMENTS.iter().map(|m| m.name).collect();
    let about = format!("Run only some measurements: {}", names.join(", "));
    let all = Options::command().mut_subcommand("run", |run| run.about(about));
    // To users of perf stat -a is the whole system.
    let every_table = all.get_arguments().find(|arg| arg.get_id() == "all").cloned();
    let mut all = all.mut_subcommand("stat", |stat| stat.args(every_table.map(|arg| arg.short(None))));
    // Only then have the commands the flags that all take.
    all.build();
    let names: Vec<String> = all.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    names.iter().fold(all, |all, name| all.mut_subcommand(name, |command| hide_idle(command, name)))
}

/// Hides flags that mean nothing to a command, and to those below it, and explains what means something else to it.
fn hide_idle(command: clap::Command, name: &str) -> clap::Command {
    let below: Vec<String> = command.get_subcommands().map(|below| below.get_name().to_owned()).collect();
    let command = below.iter().fold(command, |all, one| all.mut_subcommand(one, |one| hide_idle(one, name)));
    command.mut_args(|arg| {
        let idle = !is_taken(arg.get_id().as_str(), name);
        match arg.get_id().as_str() {
            // Of records that are compared it is a gate.
            "fail_on" if name == "compare" => {
                arg.help(fail_on::OF_COMPARE).value_name(fail_on::OF_COMPARE_VALUE)
            }
            "fail_on" if name == "stat" => arg.help(fail_on::OF_STAT).value_name(fail_on::OF_STAT_VALUE),
            "json" if name == "quiet" => arg.help(
                "Print the result as JSON; of COMMAND to standard error, since standard output is the command's",
            ),
            _ if idle => arg.hide(true),
            _ => arg,
        }
    })
}
