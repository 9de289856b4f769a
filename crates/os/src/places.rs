//! The user's directories for records and settings, determined from the environment. Under sudo, these are the directories of the user who
//! ran sudo.

use std::path::{Path, PathBuf};

use crate::user::{Invoker, is_root, others_may_change};

/// The directory of records, relative to a home directory.
const BELOW_HOME: &str = ".local/state/linespeed";
/// Root's directory for files that are only valid until the next boot.
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

/// The directory for records. If root's environment (without sudo) specifies a directory that other users may change, root's own directory
/// is used instead. `None` if the environment specifies no directory.
pub fn state_folder() -> Option<PathBuf> {
    let named = named_state_folder()?;
    let exposed = is_root() && Invoker::of_sudo().is_none() && others_may_change(&named);
    Some(if exposed { Path::new(ROOT).join(BELOW_HOME) } else { named })
}

/// The directory for records, according to the environment: `$XDG_STATE_HOME/linespeed`, by default `~/.local/state/linespeed` of the user,
/// also under sudo.
pub fn named_state_folder() -> Option<PathBuf> {
    let named = absolute("XDG_STATE_HOME").map(|state| state.join("linespeed"));
    named.or_else(|| home().map(|home| home.join(BELOW_HOME)))
}

/// The directories searched for records: the specified one, root's default, and this user's.
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

/// The directory for temporary files. For root, /tmp is used if other users may change the directory that the
/// environment specifies.
pub fn temporary_folder() -> PathBuf {
    let named = std::env::temp_dir();
    if is_root() && others_may_change(&named) { "/tmp".into() } else { named }
}

/// The directory of the user's settings: `$XDG_CONFIG_HOME/linespeed`, by default `~/.config/linespeed` of the user, also under sudo.
pub fn config_folder() -> Option<PathBuf> {
    let config = absolute("XDG_CONFIG_HOME").or_else(|| home().map(|home| home.join(".config")))?;
    Some(config.join("linespeed"))
}
