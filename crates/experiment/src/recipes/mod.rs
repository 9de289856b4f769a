//! Recipes describe how to run benchmark programs and how to find their scores. They are small TOML files, one per
//! program, in this directory; user recipes are in `$XDG_CONFIG_HOME/linespeed/recipes/`. docs/recipes.md explains how
//! to write a recipe.

mod choose;
mod fields;
pub mod needs;
mod read;
mod recipe;
pub mod score;
pub mod template;

use std::path::Path;

use os::Invoker;

pub use choose::{ChoiceError, choose_recipe};
use read::read_own;
pub use read::{ReadError, read_file, read_text};
pub use recipe::{COMMAND, Origin, Recipe, Service, Setting};

/// The recipes that ship with linespeed: name and text.
pub const BUILT_IN: &[(&str, &str)] = &[
    ("bc-pi", include_str!("bc-pi.toml")),
    ("bc-power", include_str!("bc-power.toml")),
    ("likwid-stream", include_str!("likwid-stream.toml")),
    ("mysql-oltp-read-only", include_str!("mysql-oltp-read-only.toml")),
    ("mysql-point-select", include_str!("mysql-point-select.toml")),
    ("openssl-speed", include_str!("openssl-speed.toml")),
    ("stream", include_str!("stream.toml")),
    ("stress-ng-matrix", include_str!("stress-ng-matrix.toml")),
    ("sysbench-cpu", include_str!("sysbench-cpu.toml")),
    ("sysbench-memory", include_str!("sysbench-memory.toml")),
];

/// Maximum number of user files read from one directory.
const MOST_FILES: usize = 1000;

/// The recipe with this name. User recipes in `folder` take precedence over those that ship with linespeed. `None` if
/// there is none.
pub fn find_recipe(name: &str, folder: Option<&Path>) -> Option<Result<Recipe, ReadError>> {
    // Under sudo, root reads only files that the invoking user may read.
    let user = Invoker::of_sudo().map(|invoker| invoker.assume());
    let own = folder.map(|folder| folder.join(format!("{name}.toml"))).filter(|_| !name.contains('/'));
    if let Some(path) = own.filter(|path| path.is_file()) {
        return Some(read_own(&path));
    }
    drop(user);
    let (name, text) = BUILT_IN.iter().find(|(known, _)| *known == name)?;
    Some(read_text(text, name, Origin::BuiltIn))
}

/// All recipes by name: those that ship with linespeed, and user recipes in `folder`, which override them. Unreadable
/// recipes are listed with their errors.
pub fn list_all(folder: Option<&Path>) -> Vec<(String, Result<Recipe, ReadError>)> {
    let mut names: std::collections::BTreeSet<String> =
        BUILT_IN.iter().map(|(name, _)| (*name).to_owned()).collect();
    let user = Invoker::of_sudo().map(|invoker| invoker.assume());
    let files = folder.and_then(|folder| std::fs::read_dir(folder).ok()).into_iter().flatten();
    for entry in files.take(MOST_FILES).filter_map(Result::ok) {
        let path = entry.path();
        if path.extension().is_some_and(|ending| ending == "toml")
            && let Some(name) = path.file_stem().and_then(|name| name.to_str())
        {
            names.insert(name.to_owned());
        }
    }
    drop(user);
    names.into_iter().filter_map(|name| find_recipe(&name, folder).map(|found| (name, found))).collect()
}

#[cfg(test)]
mod tests;
