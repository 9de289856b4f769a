//! The recipes that there are: `linespeed scale --list`.

use std::path::PathBuf;

use experiment::recipes::{Origin, ReadError, Recipe};
use serde_json::{Value, json};

use report::view::{Screen, Span, Tone};

/// A recipe as `linespeed scale --list` shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedRecipe {
    /// Its name.
    pub name: String,
    /// What it measures.
    pub what: String,
    /// Its file, for one that does not ship with linespeed.
    pub file: Option<String>,
    /// Its settings: name, usual value, what it is.
    pub settings: Vec<(String, String, String)>,
    /// The programs that are missing here, with the way out.
    pub missing: Option<String>,
    /// Why it cannot be read.
    pub broken: Option<String>,
}

impl ListedRecipe {
    /// What is to be shown of a recipe, of which a file of the user's may be broken. Its programs are looked for in `folders`;
    /// `os_release` is the text of /etc/os-release.
    pub fn new(
        name: String,
        found: Result<Recipe, ReadError>,
        folders: &[PathBuf],
        os_release: &str,
    ) -> Self {
        let mut recipe = match found {
            Ok(recipe) => recipe,
            Err(error) => return Self { name, broken: Some(error.to_string()), ..Self::default() },
        };
        let missing = recipe.find_programs(folders, os_release).err();
        let file = match recipe.origin {
            Origin::BuiltIn => None,
            Origin::File(path) => Some(path.to_string_lossy().into_owned()),
        };
        let settings =
            recipe.settings.into_iter().map(|(name, setting)| (name, setting.value, setting.what)).collect();
        Self { name, what: recipe.what, file, settings, missing, broken: None }
    }

    /// The same for programs.
    pub fn to_json(&self) -> Value {
        let setting = |(name, value, what): &(String, String, String)| json!({"name": name, "value": value, "what": what});
        json!({
            "name": self.name,
            "what": self.what,
            "file": self.file,
            "settings": self.settings.iter().map(setting).collect::<Value>(),
            "missing": self.missing,
            "error": self.broken,
        })
    }
}

/// The recipes, a line each, or `all` of what can be set and what they lack here.
pub fn recipes(screen: &mut Screen, listed: &[ListedRecipe], all: bool) {
    screen.begin_answer(all);
    if all {
        listed.iter().for_each(|recipe| whole(recipe, screen));
    } else {
        brief(listed, screen);
    }
}

/// What one measures, what can be set, and what it lacks.
fn whole(recipe: &ListedRecipe, screen: &mut Screen) {
    let state = match (&recipe.broken, &recipe.missing) {
        (Some(_), _) => "  cannot be read",
        (None, Some(_)) => "  not installed here",
        (None, None) => "",
    };
    screen.blank();
    screen.line(&[Span::strong(&recipe.name), Span::quiet(state)]);
    let texts = [Some(&recipe.what), recipe.broken.as_ref(), recipe.missing.as_ref()];
    for text in texts.into_iter().flatten().filter(|text| !text.is_empty()) {
        screen.paragraph(&[Span::plain("  ")], Tone::Plain, text);
    }
    for (name, value, what) in &recipe.settings {
        let what = if what.is_empty() { String::new() } else { format!(": {what}") };
        screen.hanging("  --set ", "        ", format!("{name}={value}{what}"));
    }
    if let Some(file) = &recipe.file {
        screen.hanging("  from ", "       ", file);
    }
}

/// A line or two each: the name, and the first clause of what it measures.
fn brief(listed: &[ListedRecipe], screen: &mut Screen) {
    let tell = |recipe: &ListedRecipe| {
        let sentence = recipe.what.split(". ").next().unwrap_or_default().trim_end_matches('.');
        let clause = sentence.split(": ").next().unwrap_or_default();
        let missing = if recipe.missing.is_some() { " (not installed here)" } else { "" };
        (recipe.name.clone(), recipe.broken.clone().unwrap_or(format!("{clause}{missing}")))
    };
    screen.list("", listed.iter().map(tell));
    screen.more("--all (settings, missing items)");
}
