//! The page cache before a command: dropped, warmed.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use machine::Root;
use machine::text::bytes_field;

/// Bytes that are read at once.
const PIECE: usize = 1 << 20;
const DROP: &str = "/proc/sys/vm/drop_caches";

/// Drops what the kernel keeps of files, of the whole machine. What was not written yet is written first, since only clean pages can be dropped.
pub fn drop_all() -> Result<(), PageCacheError> {
    // SAFETY: the call takes nothing and cannot fail.
    unsafe { libc::sync() };
    std::fs::write(DROP, "3\n").map_err(|error| match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM | libc::EROFS) => PageCacheError::MayNotDrop,
        _ => PageCacheError::Drop(error),
    })
}

/// Drops what the kernel keeps of these files, and of no others: it needs no root. What was not written yet is written first, since
/// only clean pages can be dropped; pages that a running program has mapped stay. Files that cannot be opened are passed over.
pub fn drop_files(files: &[PathBuf]) {
    for file in files.iter().filter_map(|path| File::open(path).ok()) {
        let _ = file.sync_data();
        // SAFETY: a descriptor that is open; a length of 0 means to the end.
        unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
    }
}

/// What was read into the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Warmed {
    /// Bytes read.
    pub bytes: u64,
    /// Bytes of memory that are free then; `None` where the kernel does not tell.
    pub free: Option<u64>,
}

impl Warmed {
    /// Whether what was read first may be gone again.
    pub fn exceeds_memory(&self) -> bool {
        self.free.is_some_and(|free| free < self.bytes)
    }
}

/// Reads files from beginning to end, so that they lie in the page cache.
pub fn warm(files: &[PathBuf]) -> Result<Warmed, PageCacheError> {
    let mut piece = vec![0u8; PIECE];
    let mut bytes = 0u64;
    for path in files {
        bytes = bytes.saturating_add(read(path, &mut piece)?);
    }
    let meminfo = Root::live().text("/proc/meminfo").unwrap_or_default();
    Ok(Warmed { bytes, free: bytes_field(&meminfo, "MemAvailable") })
}

fn read(path: &Path, piece: &mut [u8]) -> Result<u64, PageCacheError> {
    let refused = |error: io::Error| PageCacheError::Read(path.to_owned(), error);
    let metadata = std::fs::metadata(path).map_err(refused)?;
    if metadata.is_dir() {
        return Err(PageCacheError::Folder(path.to_owned()));
    }
    if !metadata.is_file() {
        return Err(PageCacheError::NoRegularFile(path.to_owned()));
    }
    let mut file = File::open(path).map_err(refused)?;
    let mut bytes = 0u64;
    loop {
        match file.read(piece) {
            Ok(0) => return Ok(bytes),
            Ok(count) => bytes += count as u64,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(refused(error)),
        }
    }
}

/// Why the page cache cannot be dropped or warmed.
#[derive(Debug, thiserror::Error)]
pub enum PageCacheError {
    /// The kernel does not drop it.
    #[error("--drop-caches: {}: {}", DROP, .0)]
    Drop(io::Error),
    /// This user, or this container, may not drop it.
    #[error("--drop-caches: {}: only root may do that, outside of a container", DROP)]
    MayNotDrop,
    /// A file cannot be read.
    #[error("--warm {0}: {1}")]
    Read(PathBuf, io::Error),
    /// A folder was named.
    #[error("--warm {0}: it is a folder; name the files in it")]
    Folder(PathBuf),
    /// What was named is no regular file.
    #[error("--warm {0}: it is no regular file, so there is nothing to keep of it")]
    NoRegularFile(PathBuf),
}
