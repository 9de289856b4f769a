//! The available recipes: `linespeed scale --list`.

use std::path::PathBuf;

use experiment::recipes::{Origin, ReadError, Recipe};
use serde_json::{Value, json};

use report::view::{Screen, Span, Tone};

/// A recipe in the list of `linespeed scale --list`.
pub struct ListedRecipe {
    name: String,
    /// The recipe, or the reason why the user's file cannot be read.
    found: Result<Recipe, ReadError>,
    /// The missing programs, with the remedy.
    missing: Option<String>,
}

impl ListedRecipe {
    /// The displayed data of a recipe. Its programs are searched for in `folders`; `os_release` is the text of
    /// /etc/os-release.
    pub fn new(
        name: String,
        mut found: Result<Recipe, ReadError>,
        folders: &[PathBuf],
        os_release: &str,
    ) -> Self {
        let missing = found.as_mut().ok().and_then(|recipe| recipe.find_programs(folders, os_release).err());
        Self { name, found, missing }
    }

    /// The recipe's file, if it is not built in.
    fn file(&self) -> Option<String> {
        match &self.found.as_ref().ok()?.origin {
            Origin::BuiltIn => None,
            Origin::File(path) => Some(path.to_string_lossy().into_owned()),
        }
    }

    /// The recipe as JSON.
    pub fn to_json(&self) -> Value {
        let recipe = self.found.as_ref();
        let settings = recipe.iter().flat_map(|recipe| &recipe.settings);
        let settings = settings.map(|(name, of)| json!({"name": name, "value": of.value, "what": of.what}));
        json!({
            "name": self.name,
            "what": recipe.map_or("", |recipe| &recipe.what),
            "file": self.file(),
            "settings": settings.collect::<Value>(),
            "missing": self.missing,
            "error": recipe.err().map(ToString::to_string),
        })
    }
}

/// The recipes, one line each; with `all`, also their settings and the programs missing here.
pub fn recipes(screen: &mut Screen, listed: &[ListedRecipe], all: bool) {
    screen.begin_answer(all);
    if all {
        listed.iter().for_each(|recipe| whole(recipe, screen));
    } else {
        brief(listed, screen);
    }
}

/// The description of a recipe, its settings, and the missing programs.
fn whole(listed: &ListedRecipe, screen: &mut Screen) {
    let state = match (&listed.found, &listed.missing) {
        (Err(_), _) => "  cannot be read",
        (Ok(_), Some(_)) => "  not installed here",
        (Ok(_), None) => "",
    };
    screen.blank();
    screen.line(&[Span::strong(&listed.name), Span::quiet(state)]);
    let what = listed.found.as_ref().map_or_else(ToString::to_string, |recipe| recipe.what.clone());
    for text in [Some(&what), listed.missing.as_ref()].into_iter().flatten().filter(|text| !text.is_empty()) {
        screen.paragraph(&[Span::plain("  ")], Tone::Plain, text);
    }
    for (name, setting) in listed.found.iter().flat_map(|recipe| &recipe.settings) {
        let what = if setting.what.is_empty() { String::new() } else { format!(": {}", setting.what) };
        screen.hanging("  --set ", "        ", format!("{name}={}{what}", setting.value));
    }
    if let Some(file) = listed.file() {
        screen.hanging("  from ", "       ", file);
    }
}

/// One or two lines per recipe: the name, and the first clause of the description.
fn brief(listed: &[ListedRecipe], screen: &mut Screen) {
    let tell = |listed: &ListedRecipe| {
        let clause = |recipe: &Recipe| {
            let sentence = recipe.what.split(". ").next().unwrap_or_default().trim_end_matches('.');
            let missing = if listed.missing.is_some() { " (not installed here)" } else { "" };
            format!("{}{missing}", sentence.split(": ").next().unwrap_or_default())
        };
        (listed.name.clone(), listed.found.as_ref().map_or_else(ToString::to_string, clause))
    };
    screen.list("", listed.iter().map(tell));
    screen.more("--all (settings, missing items)");
}
