//! The user's folders from the environment, also under sudo: for records and for settings.

use std::path::{Path, PathBuf};

use crate::user::{Invoker, is_root, others_may_change};

/// The folder of records below a home.
const BELOW_HOME: &str = ".local/state/linespeed";
/// Root's folder for what ends with the boot.
pub const RUNTIME: &str = "/run/linespeed";
/// Root's home.
const ROOT: &str = "/root";

fn absolute(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// The home of the user, also under sudo.
fn home() -> Option<PathBuf> {
    Invoker::of_sudo().map(|invoker| invoker.home).or_else(|| absolute("HOME"))
}

/// The folder for records; root's own if root, without sudo, was given one that other users may change. `None` if the environment names
/// none.
pub fn state_folder() -> Option<PathBuf> {
    let named = named_state_folder()?;
    let exposed = is_root() && Invoker::of_sudo().is_none() && others_may_change(&named);
    Some(if exposed { Path::new(ROOT).join(BELOW_HOME) } else { named })
}

/// The folder for records by the environment: `$XDG_STATE_HOME/linespeed`, by default `~/.local/state/linespeed` of the user,
/// also under sudo.
pub fn named_state_folder() -> Option<PathBuf> {
    let named = absolute("XDG_STATE_HOME").map(|state| state.join("linespeed"));
    named.or_else(|| home().map(|home| home.join(BELOW_HOME)))
}

/// The folders searched for records: the one named, root's by default, and this user's.
pub fn state_folders() -> Vec<PathBuf> {
    let root = absolute("HOME").filter(|_| is_root()).unwrap_or_else(|| ROOT.into()).join(BELOW_HOME);
    let more = absolute("XDG_STATE_HOME").is_none().then_some(root);
    let mut folders: Vec<PathBuf> = Vec::new();
    for folder in [named_state_folder(), more, state_folder()].into_iter().flatten() {
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    folders
}

/// The folder for temporary files; for root /tmp if other users may change the one in the environment.
pub fn temporary_folder() -> PathBuf {
    let named = std::env::temp_dir();
    if is_root() && others_may_change(&named) { "/tmp".into() } else { named }
}

/// The folder of the user's settings: `$XDG_CONFIG_HOME/linespeed`, by default `~/.config/linespeed` of the user, also under sudo.
pub fn config_folder() -> Option<PathBuf> {
    let config = absolute("XDG_CONFIG_HOME").or_else(|| home().map(|home| home.join(".config")))?;
    Some(config.join("linespeed"))
}
