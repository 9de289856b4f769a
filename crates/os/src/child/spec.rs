//! What is started, and how.

use std::ffi::OsString;
use std::fs::File;
use std::path::Path;

use record::CpuList;

/// What is started, and how.
#[derive(Debug, Default)]
pub struct Spec<'a> {
    /// The program, by path or to be found on PATH, and its arguments.
    pub argv: &'a [OsString],
    /// The CPUs on which it may run, set before it starts; `None` for ours.
    pub cpus: Option<&'a CpuList>,
    /// Where its memory comes from; `None` for the kernel's own way, from the node of the CPU that touches it first.
    pub memory: Option<Memory<'a>>,
    /// Its standard input.
    pub stdin: Input,
    /// Its standard output.
    pub stdout: Output<'a>,
    /// Its standard error.
    pub stderr: Output<'a>,
    /// Variables that its environment has beside, or instead of, ours.
    pub env: &'a [(OsString, OsString)],
    /// The folder in which it starts; `None` for ours.
    pub folder: Option<&'a Path>,
    /// Whether it leads a process group of its own, which the terminal's Ctrl-C then does not reach. What forks away
    /// from one of several children can be told from what the others leave.
    pub own_group: bool,
    /// Whether it stands just before the start of its program until [`super::Child::release`]: counters can be attached, and
    /// copies start together.
    pub gate: bool,
}

impl<'a> Spec<'a> {
    /// `argv` with our own input, outputs, folder and environment, started at once.
    pub fn new(argv: &'a [OsString]) -> Self {
        Self { argv, ..Self::default() }
    }
}

/// From which nodes a child's memory comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory<'a> {
    /// The nodes.
    pub nodes: &'a CpuList,
    /// Whether pages are interleaved; otherwise the nearest node comes first.
    pub interleave: bool,
}

/// Where a child reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Input {
    /// Where we do.
    #[default]
    Inherit,
    /// Nothing.
    Null,
}

/// Where a child writes.
#[derive(Clone, Copy, Debug, Default)]
pub enum Output<'a> {
    /// Where we do.
    #[default]
    Inherit,
    /// Nowhere.
    Null,
    /// To a file.
    File(&'a File),
    /// To us. At most `limit` bytes are kept, half of them the first and half the last; the rest is read and counted, so
    /// that the child never waits for its reader and no memory fills up. It is read while the child is waited for.
    Capture {
        /// Bytes kept.
        limit: usize,
    },
}
