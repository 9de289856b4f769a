//! Default options of the user: in `$XDG_CONFIG_HOME/linespeed/options`, one per line as on the command line, and in LINESPEED_OPTS.
//! A line that begins with a command applies only to that command. The command line takes precedence. Under sudo, the invoking
//! user's file is read, but options that name files or programs are ignored.

use std::any::TypeId;
use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, Command};
use record::phrase::visible;

use super::is_taken;
use crate::failure::Failure;
use crate::files;

const VARIABLE: &str = "LINESPEED_OPTS";

/// An option, its origin, and the command that it applies to.
struct Default {
    from: String,
    command: Option<String>,
    words: Vec<String>,
    /// Whether the option may name files and programs; it may not if root reads another user's options.
    own: bool,
}

/// Adds the options in the variable and the file to the command line, except those that the command line
/// already contains and those that conflict with it.
pub fn complete(
    mut line: Vec<OsString>,
    given: &ArgMatches,
    whole: &Command,
) -> Result<Vec<OsString>, Failure> {
    let name = given.subcommand_name();
    let (matches, taken_by) = given
        .subcommand()
        .map_or((given, whole), |(name, matches)| (matches, whole.find_subcommand(name).unwrap_or(whole)));
    let mut added: Vec<clap::Id> = Vec::new();
    let at = name.map_or(1, |name| position(&line, name, whole));
    for default in all()? {
        let refused = |why: &str| Failure::Usage(format!("{}: {why}", default.from));
        let commands = || {
            whole
                .get_subcommands()
                .filter(|one| default.command.is_none() || default.command.as_deref() == Some(one.get_name()))
        };
        let first = default.words.first().map_or("", String::as_str);
        let flag = first.split('=').next().unwrap_or(first);
        let find = |command: &Command| command.get_arguments().find(|arg| is_called(arg, flag)).cloned();
        if !flag.starts_with('-') {
            return Err(refused(&format!("{first} is not an option; write options as on the command line")));
        }
        if !commands().any(|command| find(command).is_some()) {
            return Err(refused(&format!("there is no option {flag}")));
        }
        let Some(arg) = find(taken_by) else { continue };
        // Words after the option's values would be arguments or a command to run.
        if let Some(more) = default.words.get(1 + most_values(&arg, first)) {
            return Err(refused(&format!("unexpected value {more} for {flag}")));
        }
        if !default.own && is_free(&arg) {
            continue;
        }
        let id = arg.get_id();
        let given = added.contains(id) || matches.value_source(id.as_str()) == Some(ValueSource::CommandLine);
        let for_another = default.command.is_some() && default.command.as_deref() != name;
        if given || for_another || name.is_some_and(|name| !is_taken(id.as_str(), name)) {
            continue;
        }
        let mut longer = line.clone();
        longer.splice(at..at, default.words.iter().map(OsString::from));
        match whole.clone().try_get_matches_from(&longer) {
            Ok(_) => {
                line = longer;
                added.push(id.clone());
            }
            // Options in the variable take precedence over those in the file.
            Err(error) if error.kind() == ErrorKind::ArgumentConflict => {}
            Err(error) => {
                let text = error.render().to_string();
                let first = text.lines().next().unwrap_or_default();
                return Err(refused(first.strip_prefix("error: ").unwrap_or(first)));
            }
        }
    }
    Ok(line)
}

/// The position at which the options of a command are inserted: after the command's name, which may also occur earlier as the value
/// of an option.
fn position(line: &[OsString], name: &str, whole: &Command) -> usize {
    let is_command =
        |at: &usize| line[*at] == name && whole.clone().try_get_matches_from(&line[..*at]).is_ok();
    (1..line.len()).find(is_command).map_or(1, |at| at + 1)
}

fn is_called(arg: &clap::Arg, flag: &str) -> bool {
    let long = arg.get_long().is_some_and(|long| flag.strip_prefix("--") == Some(long));
    // What follows the letter is the option's value, not another option.
    let short = |short: char| {
        let rest = flag.strip_prefix('-').and_then(|rest| rest.strip_prefix(short));
        rest.is_some_and(|rest| rest.is_empty() || arg.get_action().takes_values())
    };
    long || arg.get_short().is_some_and(short)
}

/// The maximum number of values of an option.
fn most_values(arg: &clap::Arg, first: &str) -> usize {
    let attached = first.contains('=') || !first.starts_with("--") && first.chars().count() > 2;
    let takes = arg.get_action().takes_values() && !attached && !arg.is_require_equals_set();
    if takes { arg.get_num_args().map_or(1, |range| range.max_values()) } else { 0 }
}

/// Whether the option's value can name a file or a program.
fn is_free(arg: &clap::Arg) -> bool {
    let free = [TypeId::of::<String>(), TypeId::of::<OsString>(), TypeId::of::<PathBuf>()];
    arg.get_action().takes_values() && free.iter().any(|free| arg.get_value_parser().type_id() == *free)
}

/// The words of each option.
fn chunks(words: &[String]) -> impl Iterator<Item = Vec<String>> {
    words.chunk_by(|_, next| !next.starts_with('-') || next == "-").map(<[String]>::to_vec)
}

/// The options in the variable, followed by those in the file.
fn all() -> Result<Vec<Default>, Failure> {
    let mut all = Vec::new();
    if let Ok(text) = std::env::var(VARIABLE) {
        let words = split(VARIABLE, &text)?;
        let option = |words| Default { from: VARIABLE.to_owned(), command: None, words, own: true };
        all.extend(chunks(&words).map(option));
    }
    let Some((path, text, own)) = files::setting("options")? else { return Ok(all) };
    for (number, line) in text.lines().enumerate() {
        let from = format!("{} line {}", visible(&path), number + 1);
        let mut words = if line.trim_start().starts_with('#') { Vec::new() } else { split(&from, line)? };
        let is_command = words.first().is_some_and(|word| !word.starts_with('-')) && words.len() > 1;
        let command = is_command.then(|| words.remove(0));
        let option = |words| Default { from: from.clone(), command: command.clone(), words, own };
        all.extend(chunks(&words).map(option));
    }
    Ok(all)
}

fn split(from: &str, text: &str) -> Result<Vec<String>, Failure> {
    shell_words::split(text).map_err(|_| Failure::Usage(format!("{from}: a quote is not closed")))
}
