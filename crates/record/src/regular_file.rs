//! Reads entire regular files, up to a size limit. A pipe, a socket or a device is refused without blocking.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{Error, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub enum NotRead {
    /// A system call failed.
    #[error("cannot be read: {0}")]
    Io(#[from] Error),
    /// The file is a directory, a pipe, a socket or a device.
    #[error("is not a regular file")]
    NotRegular,
    /// The file is larger than this limit, in bytes.
    #[error("has more than {0} bytes")]
    TooLarge(u64),
}

/// The content of a regular file of up to `most` bytes, and its metadata.
///
/// # Errors
///
/// The file cannot be read, is larger than `most`, or is not a regular file.
pub fn read(path: &Path, most: u64) -> Result<(Vec<u8>, Metadata), NotRead> {
    // The type is checked before opening, because opening a device may have side effects, and again afterwards, because
    // the file may have been replaced in between.
    regular(&std::fs::metadata(path)?)?;
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?;
    let metadata = file.metadata()?;
    regular(&metadata)?;
    let mut content = Vec::with_capacity(metadata.len().min(most) as usize + 1);
    File::take(file, most.saturating_add(1)).read_to_end(&mut content)?;
    if content.len() as u64 > most {
        return Err(NotRead::TooLarge(most));
    }
    Ok((content, metadata))
}

fn regular(metadata: &Metadata) -> Result<(), NotRead> {
    metadata.is_file().then_some(()).ok_or(NotRead::NotRegular)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_up_to_its_limit_and_nothing_else_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("file"), "12345").unwrap();
        std::os::unix::fs::symlink("file", at("link")).unwrap();
        std::os::unix::fs::symlink("loop", at("loop")).unwrap();
        for name in ["file", "link"] {
            assert_eq!(read(&at(name), 5).unwrap().0, b"12345");
            assert!(matches!(read(&at(name), 4), Err(NotRead::TooLarge(4))));
        }
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        for name in [".", "socket", "/dev/zero"] {
            assert!(matches!(read(&at(name), 5), Err(NotRead::NotRegular)), "{name}");
        }
        for name in ["none", "loop", "file/x"] {
            assert!(matches!(read(&at(name), 5), Err(NotRead::Io(_))), "{name}");
        }
    }
}
