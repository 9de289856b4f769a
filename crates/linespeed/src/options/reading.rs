//! Reading the command line, and what else its definition gives.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches};
use record::glossary::Group;
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
        Err(error) if error.use_stderr() => Err(Failure::Usage(complaint(&error, arguments))),
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

/// Flags of perf stat and hyperfine that a command has not, and what is there for their use.
const OF_OTHERS: &[(&str, &str, &str)] = &[
    ("stat", "-e", "stat's events are fixed; perf stat -e counts others"),
    ("stat", "-a", "stat watches a command or --pid, perf stat -a the whole system; every table: --all"),
    ("stat", "-I", "stat prints no intervals; perf stat -I does"),
    ("stat", "-d", "what perf stat -d adds is counted anyway"),
    ("stat", "-C", "--cpus LIST binds the command"),
    ("stat", "-N", "stat uses no shell; for one write sh -c 'COMMAND'"),
    ("stat", "--shell", "stat uses no shell; for one write sh -c 'COMMAND'"),
    ("stat", "--runs", "-r N runs each command N times"),
    ("stat", "--export-json", "--json, or --output FILE.json"),
    ("stat", "--export-csv", "--csv, or --output FILE.csv"),
    ("stat", "--export-markdown", "--markdown, or --output FILE.md"),
    ("live", "--for", "to print one screen of so long: --once TIME"),
];

/// A complaint in one line: clap's first paragraph, the way out, and whose help to read.
fn complaint(error: &clap::Error, arguments: Vec<OsString>) -> String {
    let matches = definition().ignore_errors(true).try_get_matches_from_mut(&arguments);
    let command = matches.ok().and_then(|matches| matches.subcommand_name().map(str::to_owned));
    let rendered = error.render().to_string();
    let mut paragraphs = rendered.trim().split("\n\n");
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let message = paragraphs.next().unwrap_or_default();
    let message = no_number(error).unwrap_or(one_line(message.trim_start_matches("error: ")));
    // Tips are indented, a usage is not.
    let tips = paragraphs.next().filter(|tips| tips.starts_with(' '));
    let tip = || tips?.trim().lines().next().map(|tip| one_line(tip.trim_start_matches("tip: ")));
    let help = ["linespeed", command.as_deref().unwrap_or_default(), "--help"].join(" ").replace("  ", " ");
    let way_out = way_out(error, command.as_deref(), arguments).or_else(tip);
    [Some(message), way_out, Some(help)].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// The complaint about a value that is no whole number.
fn no_number(error: &clap::Error) -> Option<String> {
    std::error::Error::source(error)?.downcast_ref::<std::num::ParseIntError>()?;
    let [value, flag] = [ContextKind::InvalidValue, ContextKind::InvalidArg].map(|kind| error.get(kind));
    let (value, flag) = (value?, flag?);
    Some(format!("invalid value '{value}' for '{flag}': write a whole number"))
}

/// What to write instead of an argument that is not known: for flags of perf stat and hyperfine, for a label, and for a command of
/// `scale` without `--` before it.
fn way_out(error: &clap::Error, command: Option<&str>, mut arguments: Vec<OsString>) -> Option<String> {
    let is_value = matches!(error.kind(), ErrorKind::InvalidValue | ErrorKind::ValueValidation);
    if command == Some("records") && !is_value {
        return Some("to label a record: linespeed records RECORD --label NAME".to_owned());
    }
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidArg) else { return None };
    if let Some((.., way_out)) = OF_OTHERS.iter().find(|(of, flag, _)| command == Some(of) && word == flag) {
        return Some((*way_out).to_owned());
    }
    if error.kind() != ErrorKind::UnknownArgument || word.starts_with('-') || command != Some("scale") {
        return None;
    }
    let begin = arguments.iter().position(|argument| argument == "scale").unwrap_or(0) + 1;
    let at = arguments.iter().skip(begin).position(|argument| argument == word.as_str())?;
    let (way_out, added) = if experiment::recipes::BUILT_IN.iter().any(|(name, _)| name == word) {
        ("to run the recipe", "--recipe")
    } else {
        ("a command stands after --", "--")
    };
    arguments.insert(begin + at, added.into());
    let words = arguments.iter().skip(1).map(|argument| quote_word(&argument.to_string_lossy()));
    Some(format!("{way_out}: linespeed {}", words.collect::<Vec<_>>().join(" ")))
}

/// What the help of each command ends with.
const HELP: &str = include_str!("help.md");

/// The command with what its help ends with: paragraphs, which clap fits to the terminal.
fn with_ending(all: clap::Command, name: &str, text: &str) -> clap::Command {
    let mut paragraphs: Vec<String> = text.trim().split("\n\n").map(|one| one.replace('\n', " ")).collect();
    match name {
        "linespeed" => return all.after_help(paragraphs.concat()),
        "import" => {
            let tools: Vec<&str> = import::tool_names().into_iter().collect();
            paragraphs.insert(0, format!("Tools: {}.", tools.join(", ")));
        }
        _ => {}
    }
    all.mut_subcommand(name, |command| command.after_help(paragraphs.join("\n\n")))
}

/// The whole definition, for completions and man pages.
pub fn definition() -> clap::Command {
    let names: Vec<&str> = measure::MEASUREMENTS.iter().map(|m| m.name).collect();
    let about = format!("Run only some measurements: {}", names.join(", "));
    let helps = Group::new("Help", HELP).entries.into_iter();
    let all = helps.fold(Options::command(), |all, (name, text)| with_ending(all, name, text));
    let all = all.mut_subcommand("run", |run| run.about(about));
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
