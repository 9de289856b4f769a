//! Drops the page cache before a command.

use std::io;

const DROP: &str = "/proc/sys/vm/drop_caches";

/// Drops the page cache of the entire machine. Dirty pages are written to disk first, because only clean pages can be
/// dropped.
pub fn drop_all() -> Result<(), PageCacheError> {
    // SAFETY: the call takes no arguments and cannot fail.
    unsafe { libc::sync() };
    std::fs::write(DROP, "3\n").map_err(|error| match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM | libc::EROFS) => PageCacheError::MayNotDrop,
        _ => PageCacheError::Drop(error),
    })
}

/// The reason why the page cache cannot be dropped.
#[derive(Debug, thiserror::Error)]
pub enum PageCacheError {
    /// The kernel refused to drop the cache.
    #[error("--drop-caches cannot write {}: {}", DROP, .0)]
    Drop(io::Error),
    /// This user may not drop the cache, or no user in this container may.
    #[error("--drop-caches: writing {} requires root outside a container", DROP)]
    MayNotDrop,
}
