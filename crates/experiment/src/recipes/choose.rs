//! Finds the requested recipe and its programs, or a substitute.

use std::path::Path;

use record::{Coverage, text};

use super::{ReadError, Recipe, find_recipe, list_all, needs, read_file};

/// The reason why the requested recipe cannot run.
#[derive(Debug, thiserror::Error)]
pub enum ChoiceError {
    /// No recipe has this name; contains the name, and the names of all recipes.
    #[error("there is no recipe {:?}{} Recipes: {}", .0, hint(.0, .1), .1.join(", "))]
    Unknown(String, Vec<String>),
    /// The recipe's file cannot be read.
    #[error(transparent)]
    Unreadable(ReadError),
    /// Programs of this recipe are missing; contains the recipe's name, and how to install the programs.
    #[error("recipe {0}: {1}")]
    Missing(String, String),
}

/// Returns the recipe with this name or, if `name` is a path, the recipe in that file. The user's recipes in `own` take
/// precedence. If the recipe's programs are missing and it specifies a substitute, returns the substitute with a
/// remark.
///
/// # Errors
///
/// The recipe does not exist, cannot be read, or its programs are missing.
pub fn choose_recipe(name: &str, own: Option<&Path>) -> Result<(Recipe, Option<Coverage>), ChoiceError> {
    let os_release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let folders = needs::search_path();
    let mut recipe = find_named(name, own)?;
    let Err(missing) = recipe.find_programs(&folders, &os_release) else { return Ok((recipe, None)) };
    let missing = ChoiceError::Missing(recipe.name.clone(), missing);
    if let Some(mut other) = recipe.otherwise.as_deref().and_then(|name| find_named(name, own).ok())
        && other.find_programs(&folders, &os_release).is_ok()
    {
        let name = other.name.clone();
        let replaced = text!("{missing}. {name} runs instead", missing = missing.to_string());
        let replaced = Coverage::impossible(format!("recipe {}", recipe.name), replaced);
        return Ok((other, Some(replaced)));
    }
    Err(missing)
}

fn find_named(name: &str, own: Option<&Path>) -> Result<Recipe, ChoiceError> {
    if name.contains('/') || name.ends_with(".toml") {
        return read_file(Path::new(name)).map_err(ChoiceError::Unreadable);
    }
    match find_recipe(name, own) {
        Some(found) => found.map_err(ChoiceError::Unreadable),
        None => {
            let all = list_all(own).into_iter().map(|(name, _)| name).collect();
            Err(ChoiceError::Unknown(name.to_owned(), all))
        }
    }
}

fn hint(name: &str, all: &[String]) -> String {
    let nearest = record::glossary::find_nearest(name, all.iter().map(String::as_str));
    nearest.map_or(".".to_owned(), |near| format!("; did you mean {near}?"))
}
