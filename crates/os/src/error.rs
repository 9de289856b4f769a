//! Unavailable kernel features.

use std::io;

/// Failures for which the kernel has no error code.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OsError {
    /// A copy of this process could not continue, or would not outlive this process.
    #[error("a guardian requires a single-threaded process other than PID 1")]
    CannotFork,
    /// Neither transparent nor free reserved huge pages are available.
    #[error("THP is off and no reserved huge pages are free; set THP to madvise, or raise vm.nr_hugepages")]
    NoHugePages,
    /// The kernel runs a thread on a different CPU than the one it is pinned to.
    #[error("the thread is pinned to CPU {cpu} but runs on CPU {now}")]
    Elsewhere { cpu: u32, now: u32 },
    /// A zero-terminated string cannot contain a zero byte.
    #[error("{0}: NUL byte")]
    ZeroByte(String),
}

impl From<OsError> for io::Error {
    fn from(error: OsError) -> Self {
        io::Error::other(error)
    }
}
