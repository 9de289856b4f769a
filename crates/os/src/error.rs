//! What the kernel could do and we cannot have.

use std::{fmt, io};

/// Why something cannot be had, where the kernel itself has no error for it.
#[derive(Debug)]
pub(crate) enum OsError {
    /// A copy of this process could not go on, or would not outlive it.
    CannotFork,
    /// There are neither transparent huge pages nor free reserved ones.
    NoHugePages,
    /// The kernel runs a thread on another CPU than the one that it is pinned to.
    Elsewhere { cpu: u32, now: u32 },
    /// What ends at a zero byte cannot hold one.
    ZeroByte(String),
}

impl fmt::Display for OsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CannotFork => f.write_str("a guardian requires a process of one thread that is not PID 1"),
            Self::NoHugePages => f.write_str(
                "THP is off and no reserved huge pages are free; set THP to madvise, or raise vm.nr_hugepages",
            ),
            Self::Elsewhere { cpu, now } => {
                write!(f, "the thread is pinned to CPU {cpu} but runs on CPU {now}")
            }
            Self::ZeroByte(text) => write!(f, "{text}: NUL byte"),
        }
    }
}

impl std::error::Error for OsError {}

impl From<OsError> for io::Error {
    fn from(error: OsError) -> Self {
        io::Error::other(error)
    }
}
