//! The folder of a run alone.

use std::fmt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Bytes that the path of a Unix socket may have: sun_path holds 108 with the zero at its end (unix(7)).
const SOCKET_PATH: usize = 107;

/// A folder that only this user can enter, removed with all that is in it when this is dropped.
#[derive(Debug)]
pub(crate) struct Folder {
    folder: tempfile::TempDir,
}

/// Why there is no folder.
#[derive(Debug)]
pub(crate) struct NoFolder {
    place: PathBuf,
    error: std::io::Error,
}

impl fmt::Display for NoFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: no temporary folder can be made there: {}; name another place with TMPDIR",
            self.place.display(),
            self.error
        )
    }
}

impl Folder {
    /// Makes one in the folder for temporary files; in /tmp where that one's path leaves no room for a socket's name.
    pub(crate) fn new() -> Result<Self, NoFolder> {
        let place = std::env::temp_dir();
        let room = place.as_os_str().len() + "/linespeed-XXXXXX/socket".len() <= SOCKET_PATH;
        let place = if room { place } else { PathBuf::from("/tmp") };
        let folder = tempfile::Builder::new()
            .prefix("linespeed-")
            // Whoever reaches a server's socket could use the server.
            .permissions(std::fs::Permissions::from_mode(0o700))
            .tempdir_in(&place);
        folder.map(|folder| Self { folder }).map_err(|error| NoFolder { place, error })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A path for a socket in it.
    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_else_can_enter_it_and_it_goes() {
        let folder = Folder::new().unwrap();
        let path = folder.path().to_owned();
        std::fs::create_dir(path.join("data")).unwrap();
        std::fs::write(path.join("data/file"), "x").unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        assert!(folder.socket().as_os_str().len() <= SOCKET_PATH);
        drop(folder);
        assert!(!path.exists());
    }
}
