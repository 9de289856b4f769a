//! The state directory, which contains the journal and the lock. Only its owner can write to it.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::files::may_write;

/// The journal's name in this directory.
pub const JOURNAL: &str = "quiet.journal";
/// Root's directory, which survives a power loss.
pub const SYSTEM: &str = "/var/lib/linespeed";
/// Root's directory if the permanent one is not writable. Its contents are lost at reboot, as are the values.
pub const RUNTIME: &str = os::places::RUNTIME;

/// The directory for this user: a system directory for root, and the given state directory for other users.
pub fn locate(state: Option<&Path>) -> Option<PathBuf> {
    if !os::is_root() {
        return state.map(Path::to_owned);
    }
    let [lasting, runtime] = [SYSTEM, RUNTIME].map(PathBuf::from);
    // A journal stays in the directory in which it was begun, regardless of later mounts.
    let elsewhere = has_journal(&runtime) || !can_be_written(&lasting) && can_be_written(&runtime);
    Some(if elsewhere && !has_journal(&lasting) { runtime } else { lasting })
}

fn has_journal(folder: &Path) -> bool {
    std::fs::symlink_metadata(folder.join(JOURNAL)).is_ok()
}

/// Whether this user may write to a directory, or create it.
fn can_be_written(folder: &Path) -> bool {
    folder.ancestors().find(|folder| folder.symlink_metadata().is_ok()).is_some_and(may_write)
}

/// Whether a directory belongs to another user, for example after `su` without `-`. Such a directory contains no files
/// of this user.
pub fn is_foreign(folder: &Path) -> bool {
    let me = os::effective_user();
    match std::fs::symlink_metadata(folder) {
        Ok(there) => there.uid() != me,
        Err(error) => error.kind() == io::ErrorKind::PermissionDenied,
    }
}

/// The reason why nothing can be saved in the state directory.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// The system refused an operation at this path.
    #[error("the original settings cannot be saved, so nothing was changed: {}: {}", .0.display(), unwritable(.1))]
    Unwritable(PathBuf, io::Error),
    /// The path is not a directory.
    #[error("{0} is not a directory")]
    NotAFolder(PathBuf),
    /// The lock is not a regular file.
    #[error("{0} is not a regular file; check it, then remove it")]
    NotAFile(PathBuf),
    /// Users other than the owner may write to the directory.
    #[error("{0} is writable by other users, so it is not used; run chmod go-w on it, or remove it")]
    WritableByOthers(PathBuf),
}

/// The operation that the system refused, and the remedy.
fn unwritable(error: &io::Error) -> String {
    let says = match error.raw_os_error() {
        Some(libc::EROFS) => "its file system is mounted read-only",
        Some(libc::ENOSPC | libc::EDQUOT) => "no space left",
        Some(libc::ELOOP) => "it is a symbolic link, which is not followed; check it, then remove it",
        Some(libc::ENOTDIR | libc::EEXIST) => "a component of its path is not a directory",
        Some(libc::EISDIR) => "it is a directory; check it, then remove it",
        Some(libc::EACCES | libc::EPERM) if !os::is_root() => {
            "this user has no write permission; set HOME or XDG_STATE_HOME to a writable directory"
        }
        _ => return error.to_string(),
    };
    says.to_owned()
}

/// Creates the directory if it is missing, and checks whether it can be trusted.
pub fn prepare(folder: &Path) -> Result<(), DirectoryError> {
    let refused = |error: io::Error| DirectoryError::Unwritable(folder.to_owned(), error);
    DirBuilder::new().recursive(true).mode(0o755).create(folder).map_err(refused)?;
    let metadata = std::fs::symlink_metadata(folder).map_err(refused)?;
    let me = os::effective_user();
    if !metadata.is_dir() {
        return Err(DirectoryError::NotAFolder(folder.to_owned()));
    }
    if metadata.uid() != me || metadata.mode() & 0o022 != 0 {
        return Err(DirectoryError::WritableByOthers(folder.to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_others_may_write_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        prepare(folder.path()).unwrap();
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
        assert!(
            matches!(prepare(folder.path()), Err(DirectoryError::WritableByOthers(path)) if path == folder.path())
        );
    }
}
