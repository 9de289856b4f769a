//! Reads and checks a recipe's file; errors include the line number.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use record::regular_file::{self, NotRead};

use super::recipe::{Origin, Recipe};
use super::score::{compile, list_settings};
use super::template::{GIVEN, Template, Values};

/// Maximum size of a recipe's file: recipes are about a page of text.
const MOST_BYTES: u64 = 256 << 10;

/// An error in a recipe file, with its location.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{file}{}: {fault}", line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct ReadError {
    /// The file, or the name of a recipe that ships with linespeed.
    pub file: String,
    /// The line, from 1.
    pub line: Option<usize>,
    /// The error.
    pub fault: String,
}

/// Reads the recipe in a file specified by the user.
pub fn read_file(path: &Path) -> Result<Recipe, ReadError> {
    read_owned(path, |_| true)
}

/// Reads a recipe in the user's directory, which must belong to the current user or root.
pub(super) fn read_own(path: &Path) -> Result<Recipe, ReadError> {
    read_owned(path, os::is_ours)
}

fn read_owned(path: &Path, may: fn(u32) -> bool) -> Result<Recipe, ReadError> {
    let name = path.to_string_lossy().into_owned();
    let fail = |line, fault| ReadError { file: name.clone(), line, fault };
    let cannot = |not_read| match not_read {
        NotRead::Io(error) => fail(None, format!("cannot be read: {error}")),
        NotRead::NotRegular => fail(None, "not a regular file; a recipe is a TOML file".to_owned()),
        NotRead::TooLarge(_) => fail(None, format!("a recipe is limited to {} KiB", MOST_BYTES >> 10)),
    };
    let (content, data) = regular_file::read(path, MOST_BYTES).map_err(cannot)?;
    if !may(data.uid()) {
        let why = "belongs to another user, but its programs would run as this user; to run it anyway, specify the \
             path of the file";
        return Err(fail(None, why.to_owned()));
    }
    let text = String::from_utf8(content).map_err(|error| {
        let line = line_at(error.as_bytes(), error.utf8_error().valid_up_to());
        fail(Some(line), "not UTF-8 text; recipes are TOML files".to_owned())
    })?;
    read_text(&text, &name, Origin::File(path.to_owned()))
}

/// Parses the text of a recipe; `file` is the name used in errors.
pub fn read_text(text: &str, file: &str, origin: Origin) -> Result<Recipe, ReadError> {
    let fail = |line, fault| ReadError { file: file.to_owned(), line, fault };
    let mut recipe: Recipe = toml::from_str(text).map_err(|error| {
        let message = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
        fail(error.span().map(|span| line_at(text.as_bytes(), span.start)), message)
    })?;
    check(&recipe).map_err(|(sought, fault)| fail(find_line(text, &sought), fault))?;
    recipe.origin = origin;
    recipe.what = recipe.what.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some(service) = &mut recipe.service {
        service.prepare.retain(|command| !command.is_empty());
        service.load.retain(|command| !command.is_empty());
    }
    Ok(recipe)
}

/// The part of a recipe's file whose line number is to be found.
enum Sought {
    Key(String),
    /// The line that contains this string.
    Text(String),
}

/// Checks a recipe; returns the location and the error.
fn check(recipe: &Recipe) -> Result<(), (Sought, String)> {
    let wrong = |key: &str, fault: &str| Err((Sought::Key(key.to_owned()), fault.to_owned()));
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.' | '_');
    if !(1..=60).contains(&recipe.name.len()) || !recipe.name.chars().all(allowed) {
        return wrong("name", "a name must have 1 to 60 characters from a-z, 0-9, - . _");
    }
    let reserved =
        |name: &&String| GIVEN.contains(&name.as_str()) || matches!(name.as_str(), "score" | "word");
    if let Some(name) = recipe.settings.keys().find(reserved) {
        return wrong(name, &format!("linespeed fills in {name}, so it cannot be a setting"));
    }
    if recipe.command.is_empty() {
        return wrong("command", "the command is empty; use a list such as [\"bc\", \"-q\"]");
    }
    if let Some(name) = recipe.environment.keys().find(|name| name.is_empty() || name.contains(['=', '\0'])) {
        return wrong(name, &format!("{name:?} cannot be the name of an environment variable"));
    }
    if recipe.service.as_ref().is_some_and(|service| service.start.is_empty()) {
        return wrong("start", "the service's start command is empty; specify the program to start");
    }
    let known = |name: &str| recipe.settings.contains_key(name) || GIVEN.contains(&name);
    if let Some(name) = recipe.templates().flat_map(Template::places).find(|name| !known(name)) {
        let given = GIVEN.join(", ");
        let fault = format!(
            "{{{name}}} is neither a setting of this recipe nor one of {given}; for the literal text, use {{{{{name}}}}}"
        );
        return Err((Sought::Text(format!("{{{name}}}")), fault));
    }
    if recipe.copies == Some(true) && recipe.sets_threads() {
        return wrong(
            "copies",
            "copies = true runs one command per CPU, but {threads} runs one command on all CPUs; remove one of the \
             two",
        );
    }
    let usual: Values =
        recipe.settings.iter().map(|(name, setting)| (name.clone(), setting.value.clone())).collect();
    let scores = recipe.scores.iter().map(|score| (&score.pattern, true));
    for (pattern, is_score) in scores.chain(recipe.expect.iter().map(|expect| (expect, false))) {
        let here = |fault| (Sought::Text(pattern.clone()), fault);
        if let Some(name) = list_settings(pattern).into_iter().find(|name| !usual.contains_key(name)) {
            return Err(here(format!(
                "{{{name}}} in a pattern is neither {{score}}, {{word}}, {{...}} nor a setting"
            )));
        }
        compile(pattern, &usual, is_score).map_err(here)?;
    }
    Ok(())
}

/// The line number of the byte at this offset, from 1.
fn line_at(text: &[u8], offset: usize) -> usize {
    text.iter().take(offset).filter(|byte| **byte == b'\n').count() + 1
}

/// The first line with a key, or the last line that contains a text: the patterns in a recipe follow the descriptions,
/// which may contain the same text.
fn find_line(text: &str, sought: &Sought) -> Option<usize> {
    let is_key = |head: &str, key: &str| head.trim().rsplit(['.', '[']).next() == Some(key);
    let mut lines = (1..).zip(text.lines());
    let found = match sought {
        Sought::Key(key) => {
            lines.find(|(_, line)| line.split(['=', ']']).next().is_some_and(|head| is_key(head, key)))
        }
        Sought::Text(text) => lines.filter(|(_, line)| line.contains(text.as_str())).last(),
    };
    found.map(|(number, _)| number)
}
