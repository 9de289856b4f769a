//! `linespeed scale --list`.

use std::path::Path;

use experiment::recipes::{self, Origin, needs};
use report::terminal;

use crate::delivery::{Forms, hand_out};
use crate::failure::Failure;
use crate::options::Options;

/// `scale --list`: every recipe, what it measures, its settings, and what it lacks here.
pub fn list(options: &Options, own: Option<&Path>) -> Result<u8, Failure> {
    let os_release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let folders = needs::search_path();
    let mut entries = Vec::new();
    let mut listed = Vec::new();
    for (name, found) in recipes::list_all(own) {
        let entry = match found {
            Err(error) => {
                terminal::ListedRecipe { name, broken: Some(error.to_string()), ..Default::default() }
            }
            Ok(mut recipe) => {
                let missing = recipe.find_programs(&folders, &os_release).err();
                let settings = recipe.settings.iter();
                terminal::ListedRecipe {
                    name,
                    what: recipe.what.clone(),
                    file: match &recipe.origin {
                        Origin::BuiltIn => None,
                        Origin::File(path) => Some(path.to_string_lossy().into_owned()),
                    },
                    settings: settings
                        .map(|(name, s)| (name.clone(), s.value.clone(), s.what.clone()))
                        .collect(),
                    missing,
                    broken: None,
                }
            }
        };
        entries.push(serde_json::json!({
            "name": entry.name,
            "what": entry.what,
            "file": entry.file,
            "settings": entry.settings.iter().map(|(name, value, what)| {
                serde_json::json!({"name": name, "value": value, "what": what})
            }).collect::<Vec<_>>(),
            "missing": entry.missing,
            "error": entry.broken,
        }));
        listed.push(entry);
    }
    let forms = Forms::new(|style| terminal::recipes(&listed, style));
    hand_out(options, &forms.with_value(entries.into())).map(|()| 0)
}
