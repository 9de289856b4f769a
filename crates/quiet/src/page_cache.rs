//! The page cache before a command: dropped.

use std::io;

const DROP: &str = "/proc/sys/vm/drop_caches";

/// Drops the kernel's page cache of the whole machine. Dirty pages are written first, since only clean pages can be dropped.
pub fn drop_all() -> Result<(), PageCacheError> {
    // SAFETY: the call takes nothing and cannot fail.
    unsafe { libc::sync() };
    std::fs::write(DROP, "3\n").map_err(|error| match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM | libc::EROFS) => PageCacheError::MayNotDrop,
        _ => PageCacheError::Drop(error),
    })
}

/// Why the page cache cannot be dropped.
#[derive(Debug, thiserror::Error)]
pub enum PageCacheError {
    /// The kernel does not drop it.
    #[error("--drop-caches: {}: {}", DROP, .0)]
    Drop(io::Error),
    /// This user, or this container, may not drop it.
    #[error("--drop-caches: {}: requires root outside a container", DROP)]
    MayNotDrop,
}
