//! Reads the command line, and generates help, completions and man pages from its definition.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches};
use record::glossary::Group;
use record::phrase::quote_word;

use super::taken::ALL;
use super::{Options, is_taken};
use crate::failure::Failure;

/// What the command line requests.
pub enum Asked {
    /// The help or the version, as text for standard output.
    Text(String),
    /// Something to do.
    Do(Box<Options>),
}

/// Reads the command line.
pub fn parse() -> Result<Asked, Failure> {
    use std::io::IsTerminal;
    let arguments: Vec<OsString> = std::env::args_os().collect();
    match read(arguments.clone()) {
        Ok((_, matches)) if matches.subcommand_name() == Some(ALL) => {
            let page = definition().find_subcommand_mut(ALL).map(|page| page.render_long_help().to_string());
            Ok(Asked::Text(page.unwrap_or_default()))
        }
        Ok((options, matches)) => options.check(&matches).map(|()| Asked::Do(Box::new(options))),
        Err(error) if error.use_stderr() => Err(Failure::Usage(complaint(&error, arguments))),
        Err(error) if std::io::stdout().is_terminal() => Ok(Asked::Text(error.render().ansi().to_string())),
        Err(error) => Ok(Asked::Text(error.render().to_string())),
    }
}

/// Reads arguments; the first is the program.
pub(super) fn read(arguments: Vec<OsString>) -> Result<(Options, clap::ArgMatches), clap::Error> {
    // Help and error messages list the shared options and hide those that do not apply.
    let mut whole = definition();
    let matches = whole.try_get_matches_from_mut(arguments)?;
    let options = Options::from_arg_matches(&matches).map_err(|error| error.format(&mut whole))?;
    Ok((options, matches))
}

/// Flags of perf stat and hyperfine that a command lacks, and their replacements.
const OF_OTHERS: &str = include_str!("of_others.txt");

/// An error in one line: clap's first paragraph, the remedy, and the command that shows the relevant help.
fn complaint(error: &clap::Error, arguments: Vec<OsString>) -> String {
    let matches = definition().ignore_errors(true).try_get_matches_from_mut(&arguments);
    let command = matches.ok().and_then(|matches| matches.subcommand_name().map(str::to_owned));
    let rendered = error.render().to_string();
    let mut paragraphs = rendered.trim().split("\n\n");
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let message = paragraphs.next().unwrap_or_default();
    let message = no_number(error).unwrap_or(one_line(message.trim_start_matches("error: ")));
    // Tips are indented; the usage line is not.
    let tips = paragraphs.next().filter(|tips| tips.starts_with(' '));
    // clap's tip to put an unknown argument after `--` is rarely useful.
    let tip = || tips?.trim().lines().next().map(|tip| one_line(tip.trim_start_matches("tip: ")));
    let is_useful =
        error.kind() != ErrorKind::UnknownArgument || error.get(ContextKind::SuggestedArg).is_some();
    let tip = || tip().filter(|_| is_useful);
    let help = ["linespeed", command.as_deref().unwrap_or_default(), "--help"].join(" ").replace("  ", " ");
    let way_out = way_out(error, command.as_deref(), arguments).or_else(tip);
    [Some(message), way_out, Some(help)].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// The error about a value that is not a whole number.
fn no_number(error: &clap::Error) -> Option<String> {
    std::error::Error::source(error)?.downcast_ref::<std::num::ParseIntError>()?;
    let [value, flag] = [ContextKind::InvalidValue, ContextKind::InvalidArg].map(|kind| error.get(kind));
    let (value, flag) = (value?, flag?);
    Some(format!("invalid value '{value}' for '{flag}': use a whole number"))
}

/// What to write instead of an unknown argument: for flags of perf stat and hyperfine, for a label, and for a command of `scale` or
/// `quiet` without a preceding `--`.
fn way_out(error: &clap::Error, command: Option<&str>, mut arguments: Vec<OsString>) -> Option<String> {
    let is_value = matches!(error.kind(), ErrorKind::InvalidValue | ErrorKind::ValueValidation);
    if command == Some("records") && !is_value {
        return Some("to label a record: linespeed records RECORD --label NAME".to_owned());
    }
    if error.kind() == ErrorKind::MissingRequiredArgument && command == Some("fix") {
        return Some("linespeed show . prints the findings with their numbers".to_owned());
    }
    if let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) {
        let (is_path, word) = (word.contains(['/', '.']), quote_word(word));
        let is_mistyped = error.get(ContextKind::SuggestedSubcommand).is_some();
        let record = if is_path { format!("; a record: linespeed show {word}") } else { String::new() };
        return (is_path || !is_mistyped).then(|| format!("to run it: linespeed stat -- {word}{record}"));
    }
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidArg) else { return None };
    let known = |word: &str| {
        let of_others = format!("{} {word}: ", command.unwrap_or_default());
        OF_OTHERS.lines().find_map(|line| Some(line.strip_prefix(&of_others)?.to_owned()))
    };
    let any = || known("*").filter(|_| !word.starts_with(['-', '<', '[']));
    if let Some(way_out) = known(word).or_else(any) {
        return Some(way_out);
    }
    let is_unknown = error.kind() == ErrorKind::UnknownArgument;
    let command = command.filter(|name| is_unknown && matches!(*name, "scale" | "quiet"))?;
    let words: Vec<_> = arguments.iter().map(|argument| argument.to_string_lossy()).collect();
    let begin = words.iter().position(|word| word == command)? + 1;
    let mut at = begin + words.iter().skip(begin).position(|known| known == word)?;
    // An unknown flag belongs to the command before it, so `--` is inserted before that command. The value of a flag is not a command.
    if word.starts_with('-') {
        at = (begin..at).rev().find(|at| !words[*at].starts_with('-') && !words[at - 1].starts_with("--"))?;
    }
    let is_recipe = command == "scale" && experiment::recipes::BUILT_IN.iter().any(|(name, _)| name == word);
    let (way_out, added) = match is_recipe {
        true => ("to run the recipe", "--recipe"),
        false => ("put a command after --", "--"),
    };
    arguments.insert(at, added.into());
    let words = arguments.iter().skip(1).map(|argument| quote_word(&argument.to_string_lossy()));
    Some(format!("{way_out}: linespeed {}", words.collect::<Vec<_>>().join(" ")))
}

/// The text of each command's help, except its options: paragraphs, followed by sections, each with a heading that ends in a colon. A
/// manual page also contains each section of `all` whose heading is not among the command's own headings.
const HELP: &str = include_str!("help.md");

/// A heading in a command's help, and the lines below it.
type Section = (&'static str, &'static str);

/// The sections of a command's manual page.
pub fn manual_sections(name: &str) -> Vec<Section> {
    let helps = Group::new("Help", HELP).entries;
    let of =
        |name: &str| helps.iter().find(|(of, _)| *of == name).map_or(Vec::new(), |(_, text)| sections(text));
    let mut all = of(name);
    let shared = of("all").into_iter().filter(|(heading, _)| all.iter().all(|(own, _)| own != heading));
    all.extend(shared.collect::<Vec<_>>());
    all
}

fn sections(text: &'static str) -> Vec<Section> {
    text.trim().split("\n\n").filter_map(|part| part.split_once(":\n")).collect()
}

/// Adds a command's help: paragraphs above the options, and sections below them. The short help has only the first section, the examples.
fn with_help(command: clap::Command, text: &'static str) -> clap::Command {
    let tools = import::tool_names().into_iter().collect::<Vec<_>>().join(", ");
    let names = measure::MEASUREMENTS.iter().map(|one| one.name).collect::<Vec<_>>().join(", ");
    let text_below = |(heading, lines): &Section| format!("{heading}:\n  {}", lines.replace('\n', "\n  "));
    let own = if command.get_name() == ALL { manual_sections(ALL) } else { sections(text) };
    let below: Vec<String> = own.iter().map(text_below).collect();
    let about = command.get_about().map(|about| format!("{about}.")).into_iter();
    let paragraphs = text.trim().split("\n\n").filter(|part| !part.contains(":\n"));
    let above: Vec<String> = about.chain(paragraphs.map(|part| part.replace('\n', " "))).collect();
    let above = above.join("\n\n").replace("{tools}", &tools).replace("{names}", &names);
    let more = if command.get_name() == ALL { "" } else { "Shared options: linespeed help options" };
    let short = [below.first().map_or("", String::as_str), more].join("\n\n").trim().to_owned();
    command.long_about(above).after_help(short).after_long_help(below.join("\n\n"))
}

/// The complete definition, also for completions and man pages.
pub fn definition() -> clap::Command {
    let shared = clap::Command::new(ALL).about("Options that commands share").hide(true);
    let shared = shared.override_usage("linespeed [COMMAND] [OPTIONS]");
    let all = Options::command().max_term_width(80).subcommand(shared);
    let all = Group::new("Help", HELP).entries.into_iter().fold(all, |all, (name, text)| match name {
        "linespeed" => all.override_help(text.trim_start().to_owned()),
        _ if all.find_subcommand(name).is_none() => all,
        _ => all.mut_subcommand(name, |command| with_help(command, text)),
    });
    // stat has no -a, because users of perf stat expect it to mean the whole system.
    let every_table = all.get_arguments().find(|arg| arg.get_id() == "all").cloned();
    let mut all = all.mut_subcommand("stat", |stat| stat.args(every_table.map(|arg| arg.short(None))));
    // Only after this call do the commands have the shared flags.
    all.build();
    let names: Vec<String> = all.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    names.iter().fold(all, |all, name| all.mut_subcommand(name, |command| hide_idle(command, name)))
}

/// Hides flags that do not apply to a command and its subcommands, and explains flags that have a special meaning for the command. The
/// short help omits output formats.
fn hide_idle(command: clap::Command, name: &str) -> clap::Command {
    let below: Vec<String> = command.get_subcommands().map(|below| below.get_name().to_owned()).collect();
    let command = below.iter().fold(command, |all, one| all.mut_subcommand(one, |one| hide_idle(one, name)));
    command.mut_args(|arg| {
        let idle = !is_taken(arg.get_id().as_str(), name);
        let of_output = name != ALL && arg.get_help_heading().is_some();
        let arg = arg.hide_short_help(of_output);
        match arg.get_id().as_str() {
            "fail_on" if matches!(name, "compare" | "stat") => {
                arg.help("Exit 1 if slower[:5%] (0 if inconclusive) or noisy").value_name("GATE")
            }
            _ if idle => arg.hide(true),
            _ => arg,
        }
    })
}
