//! The folder of a run alone.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::failure::ServiceError;

/// Bytes that the path of a Unix socket may have: sun_path holds 108 with the zero at its end (unix(7)).
const SOCKET_PATH: usize = 107;

/// Makes a folder that only this user can enter, in that for temporary files; in /tmp where that one's path leaves no room
/// for a socket's name. It is removed with all that is in it when it is dropped.
pub(super) fn create_folder() -> Result<TempDir, ServiceError> {
    let place = std::env::temp_dir();
    let room = place.as_os_str().len() + "/linespeed-XXXXXX/socket".len() <= SOCKET_PATH;
    let place = if room { place } else { PathBuf::from("/tmp") };
    // Whoever reaches a server's socket could use the server.
    let mode = std::fs::Permissions::from_mode(0o700);
    let folder = tempfile::Builder::new().prefix("linespeed-").permissions(mode).tempdir_in(&place);
    folder.map_err(|error| ServiceError::NoFolder { place, error: error.to_string() })
}

/// A path for a socket in it.
pub(super) fn name_socket(folder: &Path) -> PathBuf {
    folder.join("socket")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_else_can_enter_it_and_it_goes() {
        let folder = create_folder().unwrap();
        let path = folder.path().to_owned();
        std::fs::create_dir(path.join("data")).unwrap();
        std::fs::write(path.join("data/file"), "x").unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        assert!(name_socket(folder.path()).as_os_str().len() <= SOCKET_PATH);
        drop(folder);
        assert!(!path.exists());
    }
}
